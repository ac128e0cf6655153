"""Read a log on from the place up to which it is on the board, record by record.

A place is in bytes, and always at the end of a line, so a line that is half written is read once it is whole. In a
compressed log it is minus the number of lines, and the size of the file once all of it was read.
"""

from __future__ import annotations

import json
import os
from collections import deque
from datetime import datetime
from itertools import islice
from typing import Any, Final, NamedTuple

from punchlist.hosts.watch.logs import COMPRESSED, LogFile
from punchlist.store.hosts import FilePlace
from punchlist.text.hashing import blake2b
from punchlist.transcripts.decoding import LARGEST, fields, moment, record
from punchlist.transcripts.formats import LOGS
from punchlist.transcripts.log_files import open_plain, read_lines
from punchlist.transcripts.steps import StepReader, SubagentStart
from punchlist.transcripts.values import MAIN

_CHUNK: Final = 1 << 17
"""Bytes that are read at a time. That many lines take about as long as a slice."""

_LINES: Final = 256
_MARK: Final = 256
"""Bytes before a place that tell whether it is still the same file."""


class Entry(NamedTuple):
    """A line: its time, or that of the line before, the place after it, and its record if it has one.

    `inside`: the place lies within a line that is too long to be read.
    """

    at: datetime | None
    end: int
    record: dict[str, Any] | None
    inside: bool = False


class Source:
    """A log that is being read. `entries` are read and not applied yet; `place` is after the last one applied."""

    def __init__(self, log: LogFile, saved: FilePlace | None) -> None:
        self.log = log
        self.saved = saved
        self.entries: deque[Entry] = deque()
        self.is_ended = False
        self.is_begun = False
        """True once the start of the subagent whose log it is was told."""
        self._handle = open_plain(log.path)
        found = os.fstat(self._handle)
        self._file = f"{found.st_dev}:{found.st_ino}"
        self._size = found.st_size
        self._is_compressed = log.path.endswith(COMPRESSED)
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

    def take(self) -> Entry:
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
        self.entries.append(Entry(self._last, end, found))

    def _fill_from_compressed(self) -> None:
        while not self.entries:
            read = list(islice(self._lines, _LINES))
            for number, line in read:
                if number >= -self.place:
                    self._add(line, -(number + 1))
            if not read:
                self.is_ended = True
                self.entries.append(Entry(self._last, self._size, None))

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
            self.entries.append(Entry(self._last, self._read_upto + start, None))
        at = self._read_upto + start
        for line in data[start:end].splitlines(keepends=True) if end > start else ():
            at += len(line)
            self._add(line, at)
        self._read_upto = at

    def _skip(self, size: int) -> None:
        """Pass over a part of a line that is too long."""
        self.is_ended = not size
        if size:
            self._read_upto += size
            self.entries.append(Entry(self._last, self._read_upto, None, inside=True))
