"""Keep the first screen up to date: the agents of this machine, the board, and the logs that agents write."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from punchlist.board import Board, settle_due
from punchlist.core.presence import Presence
from punchlist.errors import StoreClosed, StoreTooNew
from punchlist.hooks.inbox import ingest
from punchlist.logs.discovery import find_beginning
from punchlist.logs.watcher import Watcher
from punchlist.presence.roster import load_roster
from punchlist.presence.running_agents import PRESENCE_SECONDS, PresenceLog
from punchlist.settings.environment import Folder
from punchlist.store.sidecars import limit_wait
from punchlist.views.now import Roster
from punchlist_statusline import find_process

_LOAD_SECONDS: Final = 5.0
"""How often the board is read where nothing happens: an agent may have fallen silent."""

_SHORTEST_PAUSE: Final = 0.05
_LOAD_SHARE: Final = 12
"""After a load of the board it is left alone for so many times as long, so that busy agents do not cost a core."""

_WAIT_SECONDS: Final = 0.5
"""The longest wait at a time, so that the end is noticed."""

_LOCK_SECONDS: Final = 0.25
"""How long a look waits for the lock, to record what it found: the first screen waits for the look."""

_FAULT_SECONDS: Final = 2.0
_SINCE: Final = timedelta(days=1)
"""Logs that were last written before are not read until they grow; the settings may say less."""


class LiveRoster:
    """The first screen as it is now. It follows the board in threads of its own, from `start` to `stop`.

    `who` is the person whose last look counts; `watches` reads the logs of agents too, as `punchlist watch` does.
    """

    def __init__(self, board: Board, *, project: Folder = None, who: str = "", watches: bool = True) -> None:
        self.board = board
        self.watches = watches
        self._project = project
        self._who = who
        self._on_change: Callable[[], object] = lambda: None
        self._ends = threading.Event()
        self._loading = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._presence = PresenceLog(board)
        self._present: list[Presence] = []
        self._seen_at = board.now()
        self._next_look = 0.0
        self._basis: tuple[int, list[Presence], list[str]] | None = None
        """The last event, the agents that hosts know, and the processes that were noted, of which it was made."""
        self._looks: list[str] = []
        self._next_load = 0.0
        self._roster: Roster | None = None
        self._problem = ""
        self._ending: StoreTooNew | None = None
        """Why nothing can be read any more, whatever happens."""

    @property
    def roster(self) -> Roster:
        """The agents, and what waits; the same value as long as nothing changes. Raise once the board is too new."""
        if self._ending is not None:
            raise self._ending
        if self._roster is None:
            self.load()
        assert self._roster is not None
        return self._roster

    def find_present(self) -> tuple[Sequence[Presence], datetime]:
        """Return the agents that hosts know, and when these were asked: a few seconds ago at most."""
        if time.monotonic() >= self._next_look:
            self._look()
        seen_at = self._seen_at  # first: an agent that came after a time that is too late would seem to be gone
        return self._present, seen_at

    def take_problem(self) -> str:
        """Return why something cannot be read, once; empty if all is well."""
        problem, self._problem = self._problem, ""
        return problem

    def start(self, on_change: Callable[[], object]) -> None:
        """Begin to follow; `on_change` is called in another thread whenever there is something new."""
        self._on_change = on_change
        works = [self._follow_board, self._watch_logs] if self.watches else [self._follow_board]
        self._threads = [threading.Thread(target=self._repeat, args=(work,), daemon=True) for work in works]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End all threads; returns when they have ended."""
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def load(self) -> None:
        """Load what the board holds; look for agents too, if that is due."""
        # Of two threads that load at once, the slower one would put an older state in place of a newer one.
        with self._loading:
            if time.monotonic() >= self._next_look:
                self._look()
            basis = self.board.store.last_seq(), self._present, self._looks
            if basis == self._basis and time.monotonic() < self._next_load:
                return
            found = load_roster(
                self.board, project=self._project, who=self._who, present=self._present, seen_at=self._seen_at
            )
            self._basis, self._next_load = basis, time.monotonic() + _LOAD_SECONDS  # a load that fails is none
            if self._roster is None or replace(self._roster, at=found.at) != found:
                self._roster = found
                self._on_change()

    def _look(self) -> None:
        """Take what hooks left, settle tasks that are due, and ask the hosts for their agents."""
        with limit_wait(_LOCK_SECONDS, in_all=True):
            ingest(self.board)
            settle_due(self.board)
            asked_at = self.board.now()
            self._present = self._presence.look()
            known = () if self._roster is None else self._roster.agents
            self._looks = [find_process(row.process) for row in known]
        self._seen_at = asked_at
        self._next_look = time.monotonic() + PRESENCE_SECONDS

    def _repeat(self, work: Callable[[], None]) -> None:
        """Run a step again and again; keep the fault of one, and go on."""
        while not self._ends.is_set():
            try:
                work()
            except StoreClosed:
                return
            except StoreTooNew as error:
                self._ending = error
                self._on_change()
                return
            except Exception as error:
                self.report(str(error))
                self._ends.wait(_FAULT_SECONDS)

    def _follow_board(self) -> None:
        seen = self.board.store.last_seq()
        began = time.monotonic()
        self.load()
        self._ends.wait(max(_SHORTEST_PAUSE, _LOAD_SHARE * (time.monotonic() - began)))
        while not self._ends.is_set() and (left := self._next_look - time.monotonic()) > 0:
            if self.board.store.wait(seen, min(_WAIT_SECONDS, left)):
                return

    def _watch_logs(self) -> None:
        now = self.board.now()
        since = max(find_beginning(now), now - _SINCE)
        with closing(Watcher(self.board, since=since, report=self.report)) as watcher:
            while not self._ends.is_set():
                watcher.wait(0.0 if watcher.is_behind else _WAIT_SECONDS)
                if watcher.is_behind:
                    watcher.take_slice()

    def report(self, problem: str) -> None:
        """Keep a problem until it is taken."""
        self._problem = problem
        self._on_change()
