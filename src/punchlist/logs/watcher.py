"""Read the logs of agents as they grow, and apply them to the board: in slices, each committed with its places.

So a process may be killed at any point, and several may watch at once: what one has applied the others pass over. The
logs of a session and its subagents are merged by time, because the work behind an item is found by its order.

A place is in bytes, and always at the end of a line, so a line that is half written is read once it is whole. In a
compressed log it is minus the number of lines, and the size of the file once all of it was read.
"""

import json
import os
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from punchlist.board import Board
from punchlist.errors import PunchlistError, StoreBusy, StoreError, StoreFailed
from punchlist.logs import discovery
from punchlist.logs.lists import LOCK_SECONDS, SLICE, ListFiles, bind_served
from punchlist.logs.replay import Replay, open_replay
from punchlist.store import Transaction
from punchlist.store.hosts import FilePlace
from punchlist.text.hashing import blake2b
from punchlist.transcripts.decoding import LARGEST, fields, moment, object_at, path, record
from punchlist.transcripts.formats import LOGS
from punchlist.transcripts.log_files import open_plain, read_lines
from punchlist.transcripts.steps import Step, StepReader, SubagentStart
from punchlist.transcripts.values import MAIN

_CHUNK: Final = 1 << 17
"""Bytes that are read at a time. That many lines take about as long as a slice."""

_LINES: Final = 256
_MARK: Final = 256
"""Bytes before a place that tell whether it is still the same file."""

_LOOK_SECONDS: Final = 2.0
"""How often it is looked for agents that were started for the first time, and at files that are not logs."""

_KEPT: Final = timedelta(days=1)
_MOST_REPLAYS: Final = 128
_MOST_TOGETHER: Final = 64
"""Logs of one session that are merged at a time."""

Report = Callable[[str], None]

# Reading one log.


class SourceEntry(NamedTuple):
    """A line: its time, or that of the line before, the place after it, and its record if it has one.

    `inside`: the place lies within a line that is too long to be read.
    """

    at: datetime | None
    end: int
    record: dict[str, Any] | None
    inside: bool = False


class Source:
    """A log that is being read. `entries` are read and not applied yet; `place` is after the last one applied."""

    def __init__(self, log: discovery.LogFile, saved: FilePlace | None) -> None:
        self.log = log
        self.saved = saved
        self.entries: deque[SourceEntry] = deque()
        self.is_ended = False
        self.is_begun = False
        """True once the start of the subagent whose log it is was told."""
        self._handle = open_plain(log.path)
        found = os.fstat(self._handle)
        self._file = f"{found.st_dev}:{found.st_ino}"
        self._size = found.st_size
        self._is_compressed = log.path.endswith(discovery.COMPRESSED)
        state = self._load_state(saved)
        self._upto = None if saved is None else moment(json.loads(saved.state).get("upto"))
        self._last = None if state is None else self._upto
        self.read_before = self._upto
        """The time up to which the log was read before, perhaps in another file of its name."""
        self.place = 0 if saved is None or state is None else saved.place
        self.is_inside = bool(state) and state.get("inside") is True
        self._read_upto, self._skips = self.place, self.is_inside
        steps = None if state is None else fields(state.get("steps"))
        self.reader = StepReader(LOGS[log.host], None if log.agent == MAIN else log.agent, steps)
        if self._is_compressed:
            self.is_ended = self.place > 0
            self._lines = enumerate(read_lines(log.path))

    def read_start(self) -> SubagentStart:
        """Return the start of the subagent whose log it is."""
        return LOGS[self.log.host].read_start(self.log.path, self.log.agent)

    def close(self) -> None:
        os.close(self._handle)

    def _load_state(self, saved: FilePlace | None) -> dict[str, Any] | None:
        """Return the state to read on with; None if the file is another one, or was cut, since it was saved."""
        if saved is None or saved.file != self._file:
            return None
        if self._is_compressed:
            return json.loads(saved.state) if saved.place in (self._size, min(saved.place, 0)) else None
        if saved.place > self._size or self._fingerprint(saved.place) != saved.sum:
            return None
        return json.loads(saved.state)

    def _fingerprint(self, place: int) -> bytes:
        start = max(0, place - _MARK)
        return blake2b(os.pread(self._handle, place - start, start), digest_size=16).digest()

    def save(self) -> FilePlace:
        """Return how far the log was applied, for the board."""
        upto = None if self._upto is None else self._upto.isoformat()
        state = json.dumps({"steps": self.reader.save(), "inside": self.is_inside, "upto": upto})
        mark = b"" if self._is_compressed else self._fingerprint(self.place)
        self.saved = FilePlace(self._file, self.place, mark, state)
        return self.saved

    def take(self) -> SourceEntry:
        """Take the next entry, to be applied."""
        entry = self.entries.popleft()
        self.place, self.is_inside = entry.end, entry.inside
        if entry.at is not None and (self._upto is None or entry.at > self._upto):
            self._upto = entry.at
        return entry

    def fill(self) -> None:
        """Read on if no entry is left; at the end of the log for now, `is_ended` is set."""
        if not self.entries and not self.is_ended:
            if self._is_compressed:
                self._fill_from_compressed()
            else:
                self._fill_from_file()

    def _add(self, line: bytes | None, end: int) -> None:
        found = None if not line else record(line)
        at = None if found is None else moment(found.get("timestamp"))
        if at is not None and (self._last is None or at > self._last):
            self._last = at  # logs are merged by time, and within one the order of lines counts
        self.entries.append(SourceEntry(self._last, end, found))

    def _fill_from_compressed(self) -> None:
        while not self.entries:
            read = list(islice(self._lines, _LINES))
            for number, line in read:
                if number >= -self.place:
                    self._add(line, -(number + 1))
            if not read:
                self.is_ended = True
                self.entries.append(SourceEntry(self._last, self._size, None))

    def _fill_from_file(self) -> None:
        data = os.pread(self._handle, _CHUNK, self._read_upto)
        start = 0
        if self._skips:
            start = data.find(b"\n") + 1
            if not start:
                self._skip(len(data))
                return
            self._skips = False
        end = data.rfind(b"\n") + 1
        while end <= start and len(data) < LARGEST:
            more = os.pread(self._handle, _CHUNK, self._read_upto + len(data))
            if not more:
                break
            end = more.rfind(b"\n") + 1
            end = end and end + len(data)
            data += more
        if end <= start and len(data) >= LARGEST:
            self._skips = True
            self._skip(len(data))
            return
        self.is_ended = end <= start
        if start:
            self.entries.append(SourceEntry(self._last, self._read_upto + start, None))
        at = self._read_upto + start
        for line in data[start:end].splitlines(keepends=True) if end > start else ():
            at += len(line)
            self._add(line, at)
        self._read_upto = at

    def _skip(self, size: int) -> None:
        self.is_ended = not size
        if size:
            self._read_upto += size
            self.entries.append(SourceEntry(self._last, self._read_upto, None, inside=True))


# Watching.


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
    """The board knows another place of the log than we do: another process was here, or a slice was not committed."""


class Watcher:
    """Keeps a board in step with the logs of the agents on this machine.

    `since` leaves out logs that were last written before, until they grow. `report` gets what cannot be read. Which
    agents, and which folders, the settings say.
    """

    def __init__(
        self, board: Board, *, since: datetime | None = None, native: bool = True, report: Report | None = None
    ) -> None:
        self._board = board
        self._scope = discovery.load_scope()
        self._since = None if since is None else since.timestamp()
        self._report = report
        self._waiting: OrderedDict[SessionKey, dict[str, discovery.LogFile]] = OrderedDict()
        """Sessions with logs to read, the next one first."""
        self._urgent: OrderedDict[SessionKey, dict[str, discovery.LogFile]] = OrderedDict()
        """Sessions with logs that grow just now; they are read before the waiting ones."""
        self._running: dict[SessionKey, Generator[int]] = {}
        self._replays: OrderedDict[SessionKey, Replay] = OrderedDict()
        self._logs: dict[str, discovery.LogFile] = {}
        self._reported: set[str] = set()
        self._sizes: dict[str, int] = {}
        self._done = 0
        self.roots: dict[str, str] = {}
        self._changes: discovery.Changes = discovery.open_changes(native=native)
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
        for root, host in discovery.list_roots(self._scope.agents).items():
            if root not in self.roots:
                self.roots[root] = host
                self._changes.add(root)  # before the look: what is written meanwhile is not missed
                self._scan(root)
        self.lists.look()

    def _scan(self, root: str) -> None:
        places = self._board.store.read(lambda tx: tx.hosts.list_file_places())
        found = sorted(discovery.list_files(root), key=lambda file: file.changed, reverse=True)
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

    def _find_log(self, file: str) -> discovery.LogFile | None:
        if file not in self._logs and discovery.find_file(file) is not None:
            root = next((root for root in self.roots if file.startswith(root + os.sep)), None)
            try:
                log = None if root is None else discovery.describe_log(self.roots[root], root, file)
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
            # Forget what a process believes of a session, and read it again from what the board says.
            reading.close()
            self._replays.pop(key, None)
            for log in self._logs.values():
                if (log.host, log.session) == key:
                    self._add(log.path)
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

    def _read_session(self, key: SessionKey, logs: Iterable[discovery.LogFile]) -> Generator[int]:
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
        has_begun = False

        def work(tx: Transaction) -> int:
            nonlocal has_begun
            if has_begun:  # its connection broke, and the entries that it took are gone from `sources`
                raise _StalePlace
            has_begun = True
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
                if self._scope.folders and not self._scope.has_folder(tx.session_folder(session) or cwd):
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
