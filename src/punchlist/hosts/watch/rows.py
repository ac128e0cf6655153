"""Put on the board what agents write into a SQLite store: piece by piece, in slices that keep the place in it.

Several processes may read the same store: each slice begins after the place that the board has, whoever saved it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from punchlist.board import Board
from punchlist.bridges.replay import Replay, ReplayBoard, ReplayClock
from punchlist.errors import PunchlistError, StoreError
from punchlist.hosts.watch.scope import WatchScope
from punchlist.hosts.watch.served import bind_served
from punchlist.store import Transaction
from punchlist.store.hosts import FilePlace
from punchlist.transcripts.activity import Step, SubagentStart
from punchlist.transcripts.decoding import moment
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
            replay.is_served = conversation is not None
            replay.is_attached = conversation is not None and conversation.event != ""
            replay.read_before = moment(saved + 1) if self._is_timed else None
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
            clock = ReplayClock(latest=self._board.now)
            self._replays[session] = Replay(
                ReplayBoard(self._board.store, clock=clock),
                clock,
                session=session,
                project=tx.session_project(session) or piece.folder,
                dialect=self._host,
                restores=True,
                source=self._store,
            )
        return self._replays[session]
