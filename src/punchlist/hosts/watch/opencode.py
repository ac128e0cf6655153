"""Read the tool calls and list writes of opencode from its store, in the order in which they were written.

The store keeps each piece of a message as a row, which changes while a tool runs. The place in it is a time: rows of
the same time are read again, and calls that the board knows by their id are passed over.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from punchlist.board import Board
from punchlist.bridges.replay import Replay, ReplayBoard, ReplayClock
from punchlist.errors import PunchlistError, StoreError
from punchlist.store import Transaction
from punchlist.store.hosts import FilePlace
from punchlist.transcripts.activity import CallEnd, CallStart, ListWrite, Step, SubagentStart, TurnEnd
from punchlist.transcripts.decoding import call_key, moment, name, object_at, path, record
from punchlist.transcripts.stores import list_tables, read_rows
from punchlist.transcripts.values import MAIN

HOST: Final = "opencode"
_LIST_TOOL: Final = "todowrite"
_SLICE: Final = 0.012
_LOCK_SECONDS: Final = 1.0
_SLACK: Final = 60_000
"""Milliseconds by which a session may be older than its latest piece."""

_SESSIONS: Final = "SELECT id, parent_id, directory FROM session WHERE time_updated >= ? ORDER BY time_updated"
_PARENT: Final = "SELECT parent_id, directory FROM session WHERE id = ?"
_PIECES: Final = "SELECT time_updated, data FROM part WHERE session_id = ? AND time_updated >= ?"
_DEEPEST: Final = 8


class Piece(NamedTuple):
    """A row of a session: when it was last written, the session of the board, the agent, and what it tells."""

    at: int
    session: str
    agent: str
    folder: str
    data: dict[str, Any]


def has_calls(store: str) -> bool:
    """True for a store of today's form; older ones have lists only."""
    return "part" in list_tables(store)


def read_calls(board: Board, store: str, since: float | None) -> None:
    """Put on the board what was written to a store since the last time."""
    first = 0 if since is None else int(since * 1000)
    found = os.stat(store)
    file = f"{found.st_dev}:{found.st_ino}"
    known = board.store.read(lambda tx: tx.hosts.find_file_place(store))
    place = known.place if known is not None and known.file == file else first
    pieces = sorted(_read_pieces(store, place), key=lambda piece: piece.at)
    replays: dict[str, Replay] = {}
    done = 0
    while done < len(pieces):
        done = board.store.joined(
            lambda tx, start=done: _apply(tx, board, store, file, pieces, start, replays, place),
            durable=False,
            wait=_LOCK_SECONDS,
        )


def _read_pieces(store: str, place: int) -> Iterator[Piece]:
    for session, parent, folder in list(read_rows(store, _SESSIONS, (place - _SLACK,))):
        root, where = (session, folder) if parent is None else _find_root(store, parent)
        known, agent = name(root), MAIN if root == session else name(session)
        if known is None or agent is None:
            continue
        for at, data in read_rows(store, _PIECES, (session, place)):
            told = record(data) if isinstance(data, str) else None
            if told is not None and isinstance(at, int) and told.get("type") in ("tool", "step-finish"):
                yield Piece(at, known, agent, path(where) or os.path.dirname(store), told)


def _find_root(store: str, session: str) -> tuple[str, str | None]:
    """Return the session that started a subagent's, or its parent's, and the folder of it."""
    folder: str | None = None
    for _ in range(_DEEPEST):
        parent, folder = next(iter(read_rows(store, _PARENT, (session,))), (None, folder))
        if parent is None:
            break
        session = parent
    return session, folder


def _apply(
    tx: Transaction,
    board: Board,
    store: str,
    file: str,
    pieces: list[Piece],
    start: int,
    replays: dict[str, Replay],
    place: int,
) -> int:
    """Apply pieces from `start` on for the time of a slice; return the number of the next one."""
    tx.watched = True
    ends, done = time.monotonic() + _SLICE, start
    for piece in pieces[start:]:
        if piece.session not in replays:
            clock = ReplayClock(latest=board.now)
            replays[piece.session] = _make_replay(tx, board, clock, store, piece)
        replay = replays[piece.session]
        replay.is_attached = tx.hosts.find_conversation(HOST, piece.session) is not None
        replay.read_before = moment(place)
        for step in _read_steps(piece):
            try:
                if piece.agent != MAIN:
                    replay.take(SubagentStart(agent=piece.agent, at=step.at))
                replay.take(step)
            except StoreError:
                raise
            except PunchlistError:
                continue  # a step that is refused would be refused again
        done += 1
        if time.monotonic() > ends:
            break
    tx.hosts.save_file_place(store, FilePlace(file, pieces[done - 1].at, b"", "{}"), at=board.now())
    return done


def _make_replay(tx: Transaction, board: Board, clock: ReplayClock, store: str, piece: Piece) -> Replay:
    project = tx.session_project(piece.session) or piece.folder
    made = ReplayBoard(board.store, clock=clock)
    return Replay(made, clock, session=piece.session, project=project, dialect=HOST, restores=True, source=store)


def _read_steps(piece: Piece) -> Iterator[Step]:
    data, agent = piece.data, piece.agent
    if data.get("type") == "step-finish":
        if data.get("reason") == "stop":
            yield TurnEnd(at=_at(piece.at), agent=agent)
        return
    state, tool = object_at(data, "state"), name(data.get("tool"))
    call_id, status, times = call_key(data.get("callID")), state.get("status"), object_at(state, "time")
    if tool is None or call_id is None or status == "pending":
        return
    args, begun, ended = state.get("input"), moment(times.get("start")), moment(times.get("end")) or _at(piece.at)
    if tool == _LIST_TOOL:
        if status == "completed":
            yield ListWrite(at=ended, agent=agent, call_id=call_id, name=tool, args=args, dialect=HOST)
        return
    yield CallStart(at=begun or ended, agent=agent, call_id=call_id, name=tool, args=args)
    if status in ("completed", "error"):
        code = object_at(state, "metadata").get("exit")
        yield CallEnd(
            at=ended,
            agent=agent,
            call_id=call_id,
            name=tool,
            result=state.get("output") if status == "completed" else state.get("error"),
            is_error=status == "error",
            exit_code=code if type(code) is int else None,
        )


def _at(milliseconds: int) -> datetime:
    return moment(milliseconds) or datetime.fromtimestamp(0, UTC)
