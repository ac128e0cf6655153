"""Find agents' transcripts: the newest of a project, or that of a session by its id.

Homes come from each agent's own variables. Hermes and qwen do not say which project a conversation belongs to, so
theirs are found by session id, never as "the newest of this project".
"""

from __future__ import annotations

import glob
import heapq
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from punchlist.config import project_of
from punchlist.errors import PunchlistError
from punchlist.transcripts import claude_code, codex, zst
from punchlist.transcripts.decoding import name
from punchlist.transcripts.formats import LINES, open_transcript
from punchlist.transcripts.values import MAIN

_LOOKED_AT = 200
"""Of files that name their project only inside, at most so many are opened, newest first."""


class Place(NamedTuple):
    """A transcript: its file, and the session within it if it holds several."""

    path: str
    format: str
    session: str | None
    changed: float


_HOMES = {
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude", "projects"),
    "codex": ("CODEX_HOME", ".codex", "sessions"),
    "hermes": ("HERMES_HOME", ".hermes", ""),
    "oh-my-pi": ("PI_CODING_AGENT_DIR", ".omp/agent", "sessions"),
    "openclaw": ("OPENCLAW_STATE_DIR", ".openclaw", "acp"),
    "opencode": ("XDG_DATA_HOME", ".local/share", "opencode"),
    "qwen": ("QWEN_RUNTIME_DIR", ".qwen", "todos"),
}
"""Of each agent: the variable that names its home, its home in the user's, and the folder of transcripts there."""


def find_home(agent: str, *parts: str) -> str:
    """Return the path of a file or a folder among an agent's transcripts."""
    variable, default, inner = _HOMES[agent]
    return os.path.join(os.environ.get(variable) or os.path.join(os.path.expanduser("~"), default), inner, *parts)


_LOGS = {"openclaw": ("..", "agents"), "qwen": ("..", "projects")}
"""Folders of logs that lie beside those of lists."""


def find_logs(agent: str) -> str:
    """Return the folder in which an agent keeps its logs; Gemini CLI's hold no list to restore."""
    if agent == "gemini":
        return os.path.join(os.environ.get("GEMINI_CLI_HOME") or os.path.expanduser("~"), ".gemini", "tmp")
    return os.path.normpath(find_home(agent, *_LOGS.get(agent, ())))


def list_agents() -> dict[str, str]:
    """Return the agents that keep transcripts on this machine, each with their folder."""
    return {agent: folder for agent in _HOMES if os.path.isdir(folder := find_home(agent))}


def find_newest(folder: str) -> Place | None:
    """Return the newest transcript of the folder's project."""
    project = project_of(folder)
    found = (
        _find_newest_of_claude(project, os.path.realpath(folder)),
        _find_newest_file("codex", find_home("codex", "*", "*", "*", "rollout-*.jsonl*"), project),
        _find_newest_file("oh-my-pi", find_home("oh-my-pi", "*", "*.jsonl"), project),
        _find_newest_in_store("opencode", find_home("opencode", "opencode.db"), project),
        _find_newest_in_store("openclaw", find_home("openclaw", "event-ledger.json"), project),
    )
    return max(filter(None, found), key=lambda place: place.changed, default=None)


def find_session(session: str) -> Place | None:
    """Return the transcript of a session, by its id."""
    if not re.fullmatch(r"[\w.-]{1,200}", session) or session.startswith("."):
        return None
    patterns = (
        ("claude-code", "*", f"{session}.jsonl"),
        ("codex", "*", "*", "*", f"rollout-*{session}.jsonl*"),
        ("oh-my-pi", "*", f"*{session}.jsonl"),
        ("qwen", f"{session}.json"),
        ("opencode", "storage", "todo", f"{session}.json"),
    )
    for kind, *pattern in patterns:
        for path in _sort_by_time(glob.iglob(find_home(kind, *pattern))):
            return Place(path, kind, None, _modified_at(path))
    for kind, file in (("hermes", "state.db"), ("opencode", "opencode.db"), ("openclaw", "event-ledger.json")):
        path = find_home(kind, file)
        if os.path.isfile(path):
            with suppress(PunchlistError):
                if session in open_transcript(path, kind).sessions:
                    return Place(path, kind, session, _modified_at(path))
    return None


def list_subagents(path: str) -> Iterator[tuple[str, str]]:
    """Yield ids and files of the subagents of a Claude Code transcript, oldest first."""
    folder = os.path.join(path.removesuffix(".jsonl"), "subagents")
    for file in reversed(_sort_by_time(glob.iglob(os.path.join(glob.escape(folder), "agent-*.jsonl")))):
        yield os.path.basename(file).removeprefix("agent-").removesuffix(".jsonl"), file


def subagent_name(path: str, format: str, own: str) -> str:
    """Return a subagent's name: its type or nickname if it has one, else its id."""
    if format == "claude-code":
        told = name(claude_code.read_meta(path).get("agentType"))
    elif format == "codex":
        told = codex.read_nickname(_read_first(path))
    else:
        told = None
    return told or f"agent-{own}"[:200]


def _read_first(path: str) -> dict[str, Any] | None:
    """Return the first record of a rollout; None if it cannot be read."""
    with suppress(OSError):
        return next(zst.read_records(path), None)


def _find_newest_of_claude(project: str, folder: str) -> Place | None:
    """Return the newest transcript of Claude Code, which names a folder after the project; others say it inside."""
    names = {re.sub(r"[^A-Za-z0-9]", "-", one) for one in (project, folder)}
    files = [file for one in names for file in glob.iglob(find_home("claude-code", glob.escape(one), "*.jsonl"))]
    own = [file for file in _sort_by_time(files) if not os.path.basename(file).startswith("agent-")]
    return Place(own[0], "claude-code", None, _modified_at(own[0])) if own else None


def _find_newest_file(format: str, pattern: str, project: str) -> Place | None:
    """Return the newest of these files that is about the project and no subagent's."""
    for path in _sort_by_time(glob.iglob(pattern)):
        with suppress(PunchlistError):
            if path.endswith(".zst"):  # of a compressed file only the head is read
                origin = LINES[format].read_head(zst.read_first(path), (), path).origin
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
