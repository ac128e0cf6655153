"""Put on the board what agents write into a SQLite store: piece by piece, in slices that keep the place in it.

Several processes may read the same store: each slice begins after the place that the board has, whoever saved it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from punchlist.agent.tool_reports import SAME_CALL
from punchlist.board import Board
from punchlist.bridges.replay import OWN, Replay, open_replay
from punchlist.errors import PunchlistError, StoreError
from punchlist.hosts.watch.scope import WatchScope
from punchlist.settings.environment import project_of
from punchlist.store import Transaction
from punchlist.store.hosts import Conversation, FilePlace
from punchlist.transcripts import chats, stores
from punchlist.transcripts.decoding import moment, name, path, record
from punchlist.transcripts.steps import ListWrite, Step, StepReader, SubagentStart
from punchlist.transcripts.stores import list_tables, read_rows
from punchlist.transcripts.values import MAIN

SLICE: Final = 0.005
"""Seconds of work in one transaction; saving the places and the commit come on top, to 20 ms at most."""

LOCK_SECONDS: Final = 1.0


class Piece(NamedTuple):
    """Something in a store: the place to read on from after it, the session of the board, the agent, and its steps."""

    place: int
    session: str
    agent: str
    folder: str
    steps: list[Step]


class StoreRows:
    """A store of one agent. `is_timed`: its places are times in milliseconds."""

    def __init__(self, board: Board, host: str, store: str, scope: WatchScope, *, is_timed: bool) -> None:
        self._board = board
        self._host = host
        self._store = store
        self._scope = scope
        self._is_timed = is_timed
        found = os.stat(store)
        self._file = f"{found.st_dev}:{found.st_ino}"
        self._replays: dict[str, Replay] = {}

    def take(self, read: Callable[[int], Iterable[Piece]], first: Callable[[], int]) -> None:
        """Apply what `read` finds after the place of the last time, or after the `first` one."""
        known = self._board.store.read(self._find_place)
        place = first() if known is None else known
        pieces = sorted(read(place), key=lambda piece: piece.place)
        done = 0
        while done < len(pieces):
            done = self._board.store.joined(
                lambda tx, start=done: self._apply(tx, pieces, start, place), durable=False, wait=LOCK_SECONDS
            )

    def _find_place(self, tx: Transaction) -> int | None:
        known = tx.hosts.find_file_place(self._store)
        return known.place if known is not None and known.file == self._file else None

    def _apply(self, tx: Transaction, pieces: list[Piece], start: int, place: int) -> int:
        """Apply pieces from `start` on for the time of a slice; return the number of the next one.

        Pieces of the same place are applied together: so a turn that ends at the saved place was told.
        """
        tx.watched = True
        known = self._find_place(tx)
        saved = place if known is None else known
        if known is not None and known != (pieces[start - 1].place if start else place):
            self._replays.clear()  # another process has applied pieces meanwhile
        ends, done = time.monotonic() + SLICE, start
        for piece in pieces[start:]:
            if done > start and time.monotonic() > ends and piece.place != pieces[done - 1].place:
                break
            done += 1
            is_applied = piece.place < saved if self._is_timed else piece.place <= saved
            if is_applied or not self._scope.has_folder(piece.folder):
                continue
            conversation = tx.hosts.find_conversation(self._host, piece.session)
            conversation = conversation or bind_served(tx, self._host, piece.session, piece.folder, piece.steps)
            replay = self._find_replay(tx, piece, piece.session if conversation is None else conversation.session)
            replay.meet(conversation, moment(saved + 1) if self._is_timed else None)
            for step in piece.steps:
                try:
                    if piece.agent != MAIN:
                        replay.take(SubagentStart(agent=piece.agent, at=step.at))
                    replay.take(step)
                except StoreError:
                    raise
                except PunchlistError:
                    continue  # a step that is refused would be refused again
        upto = FilePlace(self._file, max(saved, pieces[done - 1].place), b"", "{}")
        tx.hosts.save_file_place(self._store, upto, at=self._board.now())
        return done

    def _find_replay(self, tx: Transaction, piece: Piece, session: str) -> Replay:
        if session not in self._replays:
            self._replays[session] = open_replay(
                tx, self._board, host=self._host, session=session, folder=piece.folder, source=self._store
            )
        return self._replays[session]


# The session that our MCP server made for a conversation.


def bind_served(
    tx: Transaction, host: str, conversation: str, folder: str, steps: Iterable[Step]
) -> Conversation | None:
    """Bind a conversation to the session that our MCP server made for it, if a step is a call that it answered.

    Gemini CLI and opencode do not tell our server which conversation calls it, so its list has a session of its own.
    The log has the same call: what began there within five seconds in the same project is the same.
    """
    for step in steps:
        if isinstance(step, ListWrite) and step.dialect == OWN and step.at is not None:
            project = project_of(folder)
            session = tx.hosts.find_served_session(host, project, step.at, within=SAME_CALL)
            if session is not None:
                tx.hosts.bind_conversation(host, conversation, session, project=project, at=step.at)
                return tx.hosts.find_conversation(host, conversation)
    return None


# Hermes.

_HERMES_FIRST: Final = "SELECT coalesce(max(id), 0) FROM messages WHERE timestamp < ?"
_HERMES_CHANGED: Final = "SELECT DISTINCT session_id FROM messages WHERE id > ? AND active = 1"
_HERMES_ASKED: Final = (
    "SELECT max(id) FROM messages WHERE session_id = ? AND id <= ? AND role = 'assistant' AND active = 1"
)
_HERMES_MESSAGES: Final = """
SELECT id, role, content, tool_call_id, tool_calls, timestamp FROM messages
WHERE session_id = ? AND id >= ? AND active = 1 ORDER BY id
"""
_HERMES_COLUMNS: Final = "SELECT name FROM pragma_table_info('sessions')"
_HERMES_FOLDER: Final = "SELECT cwd FROM sessions WHERE id = ?"


def read_hermes(board: Board, store: str, since: float | None, scope: WatchScope) -> None:
    """Put on the board what Hermes wrote to its store since the last time. A place is the number of a message."""

    def find_first() -> int:
        return 0 if since is None else next(read_rows(store, _HERMES_FIRST, (since,)))[0]

    StoreRows(board, chats.NAME, store, scope, is_timed=False).take(
        lambda place: _read_hermes_pieces(store, place), find_first
    )


def _read_hermes_pieces(store: str, place: int) -> Iterator[Piece]:
    has_folders = any(column == "cwd" for (column,) in read_rows(store, _HERMES_COLUMNS))
    for (given,) in list(read_rows(store, _HERMES_CHANGED, (place,))):
        session = name(given)
        if session is None:
            continue
        told: Any = next(read_rows(store, _HERMES_FOLDER, (given,)), (None,))[0] if has_folders else None
        steps = StepReader(chats.STEPS, None)
        asked = next(read_rows(store, _HERMES_ASKED, (given, place)))[0]  # its calls may end after the place
        for number, *fields in list(read_rows(store, _HERMES_MESSAGES, (given, place if asked is None else asked))):
            message = dict(zip(chats.COLUMNS, fields, strict=True))
            taken = list(steps.take(chats.unwrap_content(message)))
            if number > place:
                yield Piece(number, session, MAIN, path(told) or os.path.dirname(store), taken)


# opencode.

_OPENCODE_SLACK: Final = 60_000
"""Milliseconds by which a session may be older than its latest piece."""

_OPENCODE_SESSIONS: Final = "SELECT id, parent_id, directory FROM session WHERE time_updated >= ? ORDER BY time_updated"
_OPENCODE_PARENT: Final = "SELECT parent_id, directory FROM session WHERE id = ?"
_OPENCODE_PIECES: Final = "SELECT time_updated, data FROM part WHERE session_id = ? AND time_updated >= ?"
_OPENCODE_DEEPEST: Final = 8


def has_opencode_calls(store: str) -> bool:
    """True for a store of today's form; older ones have lists only."""
    return "part" in list_tables(store)


def read_opencode(board: Board, store: str, since: float | None, scope: WatchScope) -> None:
    """Put on the board what opencode wrote to its store since the last time, in that order.

    The store keeps each piece of a message as a row, which changes while a tool runs. A place is a time: rows of the
    same time are read again, and calls that the board knows by their id are passed over.
    """
    first = 0 if since is None else int(since * 1000)
    StoreRows(board, stores.OPENCODE, store, scope, is_timed=True).take(
        lambda place: _read_opencode_pieces(store, place), lambda: first
    )


def _read_opencode_pieces(store: str, place: int) -> Iterator[Piece]:
    for session, parent, folder in list(read_rows(store, _OPENCODE_SESSIONS, (place - _OPENCODE_SLACK,))):
        root, where = (session, folder) if parent is None else _find_root(store, parent)
        known, agent = name(root), MAIN if root == session else name(session)
        if known is None or agent is None:
            continue
        for at, data in read_rows(store, _OPENCODE_PIECES, (session, place)):
            told = record(data) if isinstance(data, str) else None
            if told is not None and isinstance(at, int) and told.get("type") in ("tool", "step-finish"):
                reader = StepReader(stores.OPENCODE_STEPS, None if agent == MAIN else agent)
                steps = list(reader.take({**told, "updated": at}))
                yield Piece(at, known, agent, path(where) or os.path.dirname(store), steps)


def _find_root(store: str, session: str) -> tuple[str, str | None]:
    """Return the session that started a subagent's, or its parent's, and the folder of it."""
    folder: str | None = None
    for _ in range(_OPENCODE_DEEPEST):
        parent, folder = next(iter(read_rows(store, _OPENCODE_PARENT, (session,))), (None, folder))
        if parent is None:
            break
        session = parent
    return session, folder
