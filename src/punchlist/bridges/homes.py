"""Find agents' transcripts: the newest of a project, or that of a session by its id.

Hermes and qwen do not say which project a conversation belongs to, so theirs are found by session id, never as "the
newest of this project".
"""

from __future__ import annotations

import glob
import heapq
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from punchlist.bridges.programs import find_home
from punchlist.core.programs import PROGRAMS
from punchlist.errors import PunchlistError
from punchlist.settings.environment import project_of
from punchlist.transcripts.formats import LINES, LOGS, open_transcript
from punchlist.transcripts.log_files import read_first
from punchlist.transcripts.values import MAIN

_CLAUDE = "claude-code"
_LOOKED_AT = 200
"""Of files that name their project only inside, at most so many are opened, newest first."""


class Place(NamedTuple):
    """A transcript: its file, and the session within it if it holds several."""

    path: str
    format: str
    session: str | None
    changed: float


def find_newest(folder: str) -> Place | None:
    """Return the newest transcript of the folder's project."""
    project = project_of(folder)
    found = [_find_newest_of_claude(project, os.path.realpath(folder))]
    for program in PROGRAMS.values():
        if program.store and program.is_project_told:
            found.append(_find_newest_in_store(program.name, find_home(program.name, program.store), project))
        elif program.name in LINES and program.name != _CLAUDE:
            pattern = find_home(program.name, program.file.format(session=""))
            found.append(_find_newest_file(program.name, pattern, project))
    return max(filter(None, found), key=lambda place: place.changed, default=None)


def find_session(session: str) -> Place | None:
    """Return the transcript of a session, by its id."""
    if not re.fullmatch(r"[\w.-]{1,200}", session) or session.startswith("."):
        return None
    for program in PROGRAMS.values():
        pattern = find_home(program.name, program.file.format(session=session))
        for path in _sort_by_time(glob.iglob(pattern) if program.file else ()):
            return Place(path, program.name, None, _modified_at(path))
    for program in PROGRAMS.values():
        path = find_home(program.name, program.store)
        if os.path.isfile(path):
            with suppress(PunchlistError):
                if session in open_transcript(path, program.name).sessions:
                    return Place(path, program.name, session, _modified_at(path))
    return None


def list_subagents(path: str) -> Iterator[tuple[str, str]]:
    """Yield ids and files of the subagents of a Claude Code transcript, oldest first."""
    folder = os.path.join(path.removesuffix(".jsonl"), "subagents")
    for file in reversed(_sort_by_time(glob.iglob(os.path.join(glob.escape(folder), "agent-*.jsonl")))):
        yield os.path.basename(file).removeprefix("agent-").removesuffix(".jsonl"), file


def subagent_name(path: str, format: str, own: str) -> str:
    """Return a subagent's name: its type or nickname if it has one, else its id."""
    told = LOGS[format].read_start(path, own).name if format in LOGS else None
    return told or f"agent-{own}"[:200]


def _find_newest_of_claude(project: str, folder: str) -> Place | None:
    """Return the newest transcript of Claude Code, which names a folder after the project; others say it inside."""
    names = {re.sub(r"[^A-Za-z0-9]", "-", one) for one in (project, folder)}
    files = [file for one in names for file in glob.iglob(find_home(_CLAUDE, "projects", glob.escape(one), "*.jsonl"))]
    own = [file for file in _sort_by_time(files) if not os.path.basename(file).startswith("agent-")]
    return Place(own[0], _CLAUDE, None, _modified_at(own[0])) if own else None


def _find_newest_file(format: str, pattern: str, project: str) -> Place | None:
    """Return the newest of these files that is about the project and no subagent's."""
    for path in _sort_by_time(glob.iglob(pattern)):
        with suppress(PunchlistError):
            if path.endswith(".zst"):  # of a compressed file only the head is read
                origin = LINES[format].read_head(read_first(path), (), path).origin
            else:
                origin = open_transcript(path, format).origin
            if origin.agent == MAIN and _is_within(origin.cwd, project):
                return Place(path, format, None, _modified_at(path))
    return None


def _find_newest_in_store(format: str, path: str, project: str) -> Place | None:
    """Return the newest conversation of a store that is about the project."""
    if not os.path.isfile(path):
        return None
    with suppress(PunchlistError):
        store = open_transcript(path, format)
        for session in store.sessions[:_LOOKED_AT]:
            written = store.latest(session=session)
            if written is not None and _is_within(written.origin.cwd, project):
                at = written.origin.at
                return Place(path, format, session, _modified_at(path) if at is None else at.timestamp())
    return None


def _is_within(folder: str | None, project: str) -> bool:
    return folder is not None and project_of(folder) == project


def _sort_by_time(files: Iterable[str]) -> list[str]:
    return heapq.nlargest(_LOOKED_AT, files, key=_modified_at)


def _modified_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
