"""Apply the logs of agents to the board as they grow: in slices, each committed together with the places it came to.

So a process may be killed at any point, and several may watch at once: what one has applied the others pass over. The
logs of a session and its subagents are merged by time, because the work behind an item is found by its order.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from punchlist.board import Board
from punchlist.bridges.replay import Replay, open_replay
from punchlist.errors import PunchlistError, StoreBusy, StoreError, StoreFailed
from punchlist.hosts.watch.changes import Changes, open_changes
from punchlist.hosts.watch.lists import ListFiles
from punchlist.hosts.watch.logs import LogFile, describe_log, find_file, list_files, list_roots
from punchlist.hosts.watch.rows import LOCK_SECONDS, SLICE, bind_served
from punchlist.hosts.watch.scope import load_scope
from punchlist.hosts.watch.sources import Source
from punchlist.store import Transaction
from punchlist.transcripts.decoding import object_at, path
from punchlist.transcripts.steps import Step
from punchlist.transcripts.values import MAIN

_LOOK_SECONDS: Final = 2.0
"""How often it is looked for agents that were started for the first time, and at files that are not logs."""

_KEPT: Final = timedelta(days=1)
_MOST_REPLAYS: Final = 128
_MOST_TOGETHER: Final = 64
"""Logs of one session that are merged at a time."""

Report = Callable[[str], None]


class SessionKey(NamedTuple):
    """A conversation of a host, by the host's own id."""

    host: str
    session: str


class WatchProgress(NamedTuple):
    """How far the logs have been read: bytes, and those that there are."""

    done: int
    total: int
    logs: int


class _StalePlace(Exception):
    """Another process has applied a part of the log meanwhile."""


class Watcher:
    """Keeps a board in step with the logs of the agents on this machine.

    `since` leaves out logs that were last written before, until they grow. `report` gets what cannot be read. Which
    agents, and which folders, the settings say.
    """

    def __init__(
        self, board: Board, *, since: datetime | None = None, native: bool = True, report: Report | None = None
    ) -> None:
        self._board = board
        self._scope = load_scope()
        self._since = None if since is None else since.timestamp()
        self._report = report
        self._waiting: OrderedDict[SessionKey, dict[str, LogFile]] = OrderedDict()
        """Sessions with logs to read, the next one first."""
        self._urgent: OrderedDict[SessionKey, dict[str, LogFile]] = OrderedDict()
        """Sessions with logs that grow just now; they are read before the waiting ones."""
        self._running: dict[SessionKey, Generator[int]] = {}
        self._replays: OrderedDict[SessionKey, Replay] = OrderedDict()
        self._logs: dict[str, LogFile] = {}
        self._reported: set[str] = set()
        self._sizes: dict[str, int] = {}
        self._done = 0
        self.roots: dict[str, str] = {}
        self._changes: Changes = open_changes(native=native)
        self.lists = ListFiles(board, self._since, self._scope, self._report_once)
        self._next_look = 0.0
        self._forget_deleted()
        self.find_roots()

    def close(self) -> None:
        for one in self._running.values():
            one.close()
        self._changes.close()

    # Finding logs.

    def _forget_deleted(self) -> None:
        """Forget how far logs were read that were deleted. Where the folder is gone too, it may come back.

        So may a log that was moved away: its place is kept for a day.
        """
        places = self._board.store.read(lambda tx: tx.hosts.list_file_places())
        gone = [file for file in places if not os.path.lexists(file) and os.path.isdir(os.path.dirname(file))]

        def forget(tx: Transaction) -> None:
            for file in gone:
                tx.hosts.forget_file_place(file, before=self._board.now() - _KEPT)

        if gone:
            with suppress(StoreBusy):
                self._board.store.transact(forget, durable=False, wait=LOCK_SECONDS)

    def find_roots(self) -> None:
        """Look for agents that keep logs here, put those of new ones in line, and take over lists of other agents."""
        self._next_look = time.monotonic() + _LOOK_SECONDS
        for root, host in list_roots(self._scope.agents).items():
            if root not in self.roots:
                self.roots[root] = host
                self._changes.add(root)  # before the look: what is written meanwhile is not missed
                self._scan(root)
        self.lists.look()

    def _scan(self, root: str) -> None:
        places = self._board.store.read(lambda tx: tx.hosts.list_file_places())
        found = sorted(list_files(root), key=lambda file: file.changed, reverse=True)
        for file in found:
            is_read = places.get(file.path) == (file.file, file.size)
            if not is_read and (self._since is None or file.changed >= self._since):
                seen, place = places.get(file.path, ("", 0))
                self._sizes[file.path] = file.size - (max(0, place) if seen == file.file else 0)
                self._add(file.path)

    def _add(self, file: str, *, first: bool = False) -> None:
        """Put a log in line, before those that do not grow if it is to be `first`."""
        log = self._find_log(file)
        if log is not None:
            line = self._urgent if first else self._waiting
            line.setdefault(SessionKey(log.host, log.session), {})[file] = log

    def _find_log(self, file: str) -> LogFile | None:
        if file not in self._logs and find_file(file) is not None:
            root = next((root for root in self.roots if file.startswith(root + os.sep)), None)
            try:
                log = None if root is None else describe_log(self.roots[root], root, file)
            except (OSError, PunchlistError) as error:
                self._report_once(file, error)
                log = None
            if log is not None:
                self._logs[file] = log
        return self._logs.get(file)

    def _report_once(self, what: str, error: Exception) -> None:
        if self._report is not None and what not in self._reported:
            self._reported.add(what)
            self._report(f"{what}: {error}")

    # Reading them.

    @property
    def progress(self) -> WatchProgress:
        return WatchProgress(self._done, sum(self._sizes.values()), len(self._sizes))

    @property
    def is_behind(self) -> bool:
        """True while a log is to be read on."""
        return bool(self._urgent or self._running or self._waiting)

    def wait(self, seconds: float) -> None:
        """Wait for a change of a log, and put what has changed first in line."""
        changed = self._changes.wait(max(0.0, min(seconds, self._next_look - time.monotonic())))
        if changed is None:
            for root in self.roots:
                self._scan(root)
        for file in changed or ():
            self._add(file, first=True)
        if time.monotonic() >= self._next_look:
            self.find_roots()

    def take_slice(self) -> int:
        """Apply the next records of the session that is first in line; return how many steps these were."""
        fresh = next((key for key in self._urgent if key not in self._running), None)
        key = fresh or next(iter(self._running), None) or next(iter(self._waiting), None)
        if key is None:
            return 0
        reading = self._running.pop(key, None) or self._begin(key)
        try:
            taken = next(reading)
        except StopIteration:
            return 0
        except (_StalePlace, StoreBusy):
            self._give_up(key, reading)
            return 0
        except OSError as error:
            self._report_once(f"the logs of session {key.session}", error)
            return 0
        self._running[key] = reading  # at the end: every session has its turn
        return taken

    def _begin(self, key: SessionKey) -> Generator[int]:
        """Begin to read a session's logs that are in line. Of very many, some are left for the next time."""
        logs = {**self._waiting.pop(key, {}), **self._urgent.pop(key, {})}
        for file in list(logs)[_MOST_TOGETHER:]:
            self._waiting.setdefault(key, {})[file] = logs.pop(file)
        return self._read_session(key, list(logs.values()))

    def _give_up(self, key: SessionKey, reading: Generator[int]) -> None:
        """Forget what a process believes of a session, and read it again from what the board says."""
        reading.close()
        self._replays.pop(key, None)
        for log in self._logs.values():
            if (log.host, log.session) == key:
                self._add(log.path)

    def _read_session(self, key: SessionKey, logs: Iterable[LogFile]) -> Generator[int]:
        sources: list[Source] = []
        try:
            for log in logs:
                saved = self._board.store.read(lambda tx, log=log: tx.hosts.find_file_place(log.path))
                try:
                    sources.append(Source(log, saved))
                except (OSError, PunchlistError) as error:
                    self._report_once(log.path, error)
            while self._fill(sources):
                yield self._apply(key, sources)
        finally:
            for source in sources:
                source.close()

    def _fill(self, sources: list[Source]) -> bool:
        for source in sources:
            try:
                source.fill()
            except (OSError, PunchlistError) as error:
                self._report_once(source.log.path, error)
                source.is_ended = True
        return any(source.entries for source in sources)

    # Applying them.

    def _apply(self, key: SessionKey, sources: list[Source]) -> int:
        before = sum(max(0, source.place) for source in sources)

        def work(tx: Transaction) -> int:
            tx.watched = True
            for source in sources:
                if tx.hosts.find_file_place(source.log.path) != source.saved:
                    raise _StalePlace
            return self._apply_slice(tx, key, sources)

        try:
            taken = self._board.store.joined(work, durable=False, wait=LOCK_SECONDS)
        except BaseException:
            self._replays.pop(key, None)
            raise
        self._done += max(0, sum(max(0, source.place) for source in sources) - before)
        return taken

    def _apply_slice(self, tx: Transaction, key: SessionKey, sources: list[Source]) -> int:
        ends, taken = time.monotonic() + SLICE, 0
        touched: dict[str, Source] = {}
        conversation = tx.hosts.find_conversation(key.host, key.session)
        for source in _merge(sources):
            entry = source.take()
            touched[source.log.path] = source
            steps = [] if entry.record is None else list(source.reader.take(entry.record))
            if steps:
                cwd = _find_folder(source, entry.record)
                conversation = conversation or bind_served(tx, key.host, key.session, cwd, steps)
                session = key.session if conversation is None else conversation.session
                if self._scope.folders and not self._scope.has_folder(tx.session_project(session) or cwd):
                    continue
                replay = self._find_replay(tx, key, session, source, cwd)
                replay.meet(conversation, source.read_before)
                if source.log.agent != MAIN and not source.is_begun:
                    source.is_begun = True
                    steps.insert(0, replace(source.read_start(), at=steps[0].at))
                for step in steps:
                    self._take(tx, replay, step)
                taken += len(steps)
            if time.monotonic() > ends:
                break
        for source in touched.values():
            tx.hosts.save_file_place(source.log.path, source.save(), at=self._board.now())
        return taken

    def _take(self, tx: Transaction, replay: Replay, step: Step) -> None:
        """Apply a step. One that meets a fault is left out, as it would again; a fault of the store is not its own."""
        try:
            replay.take(step)
        except StoreError:
            raise
        except Exception as error:
            self._report_once(f"a step of a log was left out ({type(step).__name__})", error)
        if not tx.connection.in_transaction:
            raise StoreFailed(path=self._board.store.path, problem="a fault rolled back the transaction")

    def _find_replay(self, tx: Transaction, key: SessionKey, session: str, source: Source, cwd: str) -> Replay:
        known = self._replays.get(key)
        if known is not None and known.session == session:
            self._replays.move_to_end(key)
            return known
        made = open_replay(tx, self._board, host=key.host, session=session, folder=cwd, source=source.log.path)
        self._replays[key] = made
        if len(self._replays) > _MOST_REPLAYS:
            self._replays.popitem(last=False)
        return made


def _find_folder(source: Source, record: dict[str, Any] | None) -> str:
    told = path(object_at(record).get("cwd")) or source.reader.cwd or source.log.cwd
    return told or os.path.dirname(source.log.path)


def _merge(sources: list[Source]) -> Iterable[Source]:
    """Yield the source whose next entry is the earliest, until one of them has to be read on."""
    while True:
        heads = [source for source in sources if source.entries]
        if not heads or any(not source.entries and not source.is_ended for source in sources):
            return
        yield min(heads, key=_time_of)


def _time_of(source: Source) -> float:
    at = source.entries[0].at
    return 0.0 if at is None else at.timestamp()
