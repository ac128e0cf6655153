"""Name the list that a person keeps by hand in a project, and tell it from those of agents."""

from __future__ import annotations

import os
from typing import Final

from punchlist.text.hashing import blake2b

MAIN: Final = "main"
"""The name of the first agent of a session or conversation, whose children its subagents are, and of the agent under
which a person's own list is kept."""


def is_own_list(session: str, agent: str, project: str) -> bool:
    """True for the list that a person began by hand in a project, and that no agent works on."""
    return (session, agent) == (name_session(project), MAIN)


def name_session(path: str) -> str:
    """Name a session after a project's folder or a file: by the last part of its path, and a hash of all of it.

    A session belongs to one project for good, so the name alone would not do for two projects called `api`.
    """
    name = "".join(char if char.isalnum() else "-" for char in os.path.basename(path)).strip("-")[:40]
    return f"{name or 'project'}-{blake2b(os.fsencode(path), digest_size=3).hexdigest()}"
