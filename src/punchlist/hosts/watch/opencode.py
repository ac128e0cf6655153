"""Read the tool calls and list writes of opencode from its store, in the order in which they were written.

The store keeps each piece of a message as a row, which changes while a tool runs. The place in it is a time: rows of
the same time are read again, and calls that the board knows by their id are passed over.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from punchlist.board import Board
from punchlist.hosts.watch.rows import Piece, StoreRows
from punchlist.hosts.watch.scope import WatchScope
from punchlist.transcripts.activity import (
    CallEnd,
    CallStart,
    ListWrite,
    Step,
    TurnEnd,
    read_own_tool,
    read_own_write,
)
from punchlist.transcripts.decoding import call_key, moment, name, object_at, path, record
from punchlist.transcripts.stores import list_tables, read_rows
from punchlist.transcripts.values import MAIN, Origin, TranscriptCall

HOST: Final = "opencode"
_LIST_TOOL: Final = "todowrite"
_SHELL: Final = "bash"
_SLACK: Final = 60_000
"""Milliseconds by which a session may be older than its latest piece."""

_SESSIONS: Final = "SELECT id, parent_id, directory FROM session WHERE time_updated >= ? ORDER BY time_updated"
_PARENT: Final = "SELECT parent_id, directory FROM session WHERE id = ?"
_PIECES: Final = "SELECT time_updated, data FROM part WHERE session_id = ? AND time_updated >= ?"
_DEEPEST: Final = 8


def has_calls(store: str) -> bool:
    """True for a store of today's form; older ones have lists only."""
    return "part" in list_tables(store)


def read_calls(board: Board, store: str, since: float | None, scope: WatchScope) -> None:
    """Put on the board what was written to a store since the last time."""
    first = 0 if since is None else int(since * 1000)
    StoreRows(board, HOST, store, scope, is_timed=True).take(lambda place: _read_pieces(store, place), lambda: first)


def _read_pieces(store: str, place: int) -> Iterator[Piece]:
    for session, parent, folder in list(read_rows(store, _SESSIONS, (place - _SLACK,))):
        root, where = (session, folder) if parent is None else _find_root(store, parent)
        known, agent = name(root), MAIN if root == session else name(session)
        if known is None or agent is None:
            continue
        for at, data in read_rows(store, _PIECES, (session, place)):
            told = record(data) if isinstance(data, str) else None
            if told is not None and isinstance(at, int) and told.get("type") in ("tool", "step-finish"):
                steps = list(_read_steps(at, agent, told))
                yield Piece(at, known, agent, path(where) or os.path.dirname(store), steps)


def _find_root(store: str, session: str) -> tuple[str, str | None]:
    """Return the session that started a subagent's, or its parent's, and the folder of it."""
    folder: str | None = None
    for _ in range(_DEEPEST):
        parent, folder = next(iter(read_rows(store, _PARENT, (session,))), (None, folder))
        if parent is None:
            break
        session = parent
    return session, folder


def _read_steps(at: int, agent: str, data: dict[str, Any]) -> Iterator[Step]:
    if data.get("type") == "step-finish":
        if data.get("reason") == "stop":
            yield TurnEnd(at=_at(at), agent=agent)
        return
    state, tool = object_at(data, "state"), name(data.get("tool"))
    call_id, status, times = call_key(data.get("callID")), state.get("status"), object_at(state, "time")
    if tool is None or call_id is None or status == "pending":
        return
    args, begun, ended = state.get("input"), moment(times.get("start")), moment(times.get("end")) or _at(at)
    own = read_own_tool(tool)
    if tool == _LIST_TOOL or own is not None:
        if status == "completed":
            call = TranscriptCall(tool, args, call_id, Origin(agent))
            written = ListWrite(at=ended, agent=agent, call_id=call_id, name=tool, args=args, dialect=HOST)
            found = written if own is None else read_own_write(call, own, call_id, agent, ended)
            yield from () if found is None else (found,)
        return
    yield CallStart(at=begun or ended, agent=agent, call_id=call_id, name=tool, args=args)
    if status in ("completed", "error"):
        code = object_at(state, "metadata").get("exit")
        # A command that ran into its timeout, or was aborted, is completed too.
        is_cut_short = status == "completed" and tool == _SHELL and type(code) is not int
        yield CallEnd(
            at=ended,
            agent=agent,
            call_id=call_id,
            name=tool,
            result=state.get("output") if status == "completed" else state.get("error"),
            is_error=None if is_cut_short else status == "error",
            exit_code=code if type(code) is int else None,
        )


def _at(milliseconds: int) -> datetime:
    return moment(milliseconds) or datetime.fromtimestamp(0, UTC)
