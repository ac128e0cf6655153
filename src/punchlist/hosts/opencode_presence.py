"""Find the conversations of opencode that run: by its processes, and by its store, which they have open.

The store is only read while a process has it open: to read what a killed one left, SQLite would write next to it. A
process shows the latest conversation of its folder, of those that changed since it was started.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from punchlist.bridges.homes import find_home
from punchlist.core.presence import Presence, PresenceState
from punchlist.errors import TranscriptError
from punchlist.hosts.host_words import describe_arguments, shorten
from punchlist.hosts.processes import find_folder, find_open_files, find_start
from punchlist.transcripts.decoding import moment, name, object_at, objects, record
from punchlist.transcripts.stores import read_rows

_HOST: Final = "opencode"
_QUESTION: Final = "question"
_SESSIONS: Final = """
SELECT id, title FROM session WHERE directory = ? AND parent_id IS NULL AND time_updated >= ?
ORDER BY time_updated DESC LIMIT ?
"""
_LAST_MESSAGE: Final = "SELECT data FROM message WHERE session_id = ? ORDER BY time_created DESC, id DESC LIMIT 1"
_LAST_PIECES: Final = "SELECT data FROM part WHERE session_id = ? ORDER BY time_created DESC, id DESC LIMIT 20"


def find_opencode() -> Iterator[Presence]:
    """Yield the conversation that each process of opencode shows; none of a process that has not begun one."""
    store = os.path.realpath(find_home(_HOST, "opencode.db"))
    if not os.path.isfile(store):
        return
    folders: dict[str, list[int]] = {}
    for pid in sorted({pid for _, pid in find_open_files(_HOST, store)}):
        folders.setdefault(find_folder(pid), []).append(pid)
    for folder, pids in folders.items():
        try:
            yield from _read_sessions(store, folder, pids)
        except TranscriptError:
            continue  # of another version, or held by its program


def _read_sessions(store: str, folder: str, pids: list[int]) -> list[Presence]:
    starts = [start for pid in pids if (start := find_start(pid)) is not None]
    first = int(min(starts).timestamp() * 1000) if starts else 0
    rows = list(read_rows(store, _SESSIONS, (folder, first, len(pids))))
    found: list[Presence] = []
    # Which of several processes in one folder shows which conversation is not told; the latest started, the latest.
    for (given, title), pid in zip(rows, reversed(pids), strict=False):
        session = name(given)
        if session is None:
            continue
        state, since = _read_state(_read_data(store, _LAST_MESSAGE, session))
        calls = [piece for piece in _read_data(store, _LAST_PIECES, session) if piece.get("type") == "tool"]
        call = calls[0] if calls else None
        waits_for = _find_question(call)
        found.append(
            Presence(
                host=_HOST,
                session=session,
                state="waiting" if waits_for and state == "busy" else state,
                since=since,
                project=folder,
                waits_for=waits_for if state == "busy" else "",
                title=shorten(title),
                pid=pid,
                doing=_describe_call(call) if state == "busy" and call is not None else "",
            )
        )
    return found


def _read_data(store: str, query: str, session: str) -> list[dict[str, Any]]:
    rows = (record(data) for (data,) in read_rows(store, query, (session,)) if isinstance(data, str))
    return [row for row in rows if row is not None]


def _read_state(last: list[dict[str, Any]]) -> tuple[PresenceState, datetime | None]:
    """Return the state by the last message: the model's that has ended and asks for no tool ends the turn."""
    if not last:
        return "idle", None
    message, times = last[0], object_at(last[0], "time")
    ended = moment(times.get("completed"))
    if message.get("role") == "assistant":
        if message.get("error"):
            return "idle", ended or moment(times.get("created"))
        if ended is not None and message.get("finish") != "tool-calls":
            return "idle", ended
    return "busy", moment(times.get("created"))


def _find_question(call: dict[str, Any] | None) -> str:
    """Return the question that a tool call puts before the person; empty if it is none, or was answered."""
    state = object_at(call, "state")
    if call is None or call.get("tool") != _QUESTION or state.get("status") not in ("pending", "running"):
        return ""
    asked = objects(object_at(state, "input").get("questions"))
    return (shorten(asked[0].get("question")) if asked else "") or "input needed"


def _describe_call(call: dict[str, Any]) -> str:
    return describe_arguments(str(call.get("tool")), object_at(call, "state").get("input"))
