"""Find the calls that make commits: lines of Git that may, and calls whose result names a commit that they made."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final, NamedTuple

from punchlist.core.grounding.tool_call import Subject, ToolCall

_MAKES: Final = re.compile(r"\bgit\b.*\b(?:commit|merge|cherry-pick|revert|rebase|pull|am)\b")
_MADE: Final = re.compile(r"\[[^\[\]]{1,200} ([0-9a-f]{7,40})\]")
"""The line that Git prints: `[main 3fa2b1c] Paint the door`."""


class CommitCall(NamedTuple):
    """A call that makes commits. `names` are those that its result names; `is_git`: it is a line for Git.

    `of` are the subjects that it may count for: its agent with the item that was in progress, then each agent that
    started that one, with its item.
    """

    of: tuple[Subject, ...]
    start: datetime
    end: datetime | None
    names: tuple[str, ...]
    is_git: bool


def find_commit_call(call: ToolCall, of: tuple[Subject, ...]) -> CommitCall | None:
    """Return the call as one that makes commits; None if nothing says so."""
    names = tuple(_MADE.findall(call.result)) if "[" in call.result else ()
    is_git = _is_git(call)
    if call.started is None or not (names or is_git):
        return None
    return CommitCall(of, call.started.at, None if call.finished is None else call.finished.at, names, is_git)


def _is_git(call: ToolCall) -> bool:
    """True if a call may make a commit. Where the preview is cut or not kept, any line for Git may."""
    if call.kind != "shell":
        return re.search("git.*commit", call.name.lower()) is not None
    is_whole = call.preview != "" and not call.preview.endswith("…")
    return _MAKES.search(call.preview) is not None or (call.program == "git" and not is_whole)
