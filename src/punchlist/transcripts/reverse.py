"""Search a plain file of lines for the few lines that matter, from its end or from any place on.

Lines without a needle are never cut out, let alone decoded: blocks of raw bytes are searched, so memory stays at one
block and one line.
"""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple, Self

from punchlist.transcripts.decoding import LARGEST

BLOCK = 1 << 18
_NEWLINE = b"\n"
_MOST_LONG = 20


class Line(NamedTuple):
    """One line without its newline. `body` is None where it is too long for any list."""

    start: int
    end: int
    body: bytes | None


Needles = tuple[bytes, ...]
"""Words that make a line worth reading: any of them is enough."""


def open_plain(path: str) -> int:
    """Open a file to read it, if it is a regular one and no link; raise `OSError` for anything else."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"`{path}` is no file")
    return handle


class Log:
    """A file as it was when it was opened: what is appended meanwhile is not seen."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        self.size = os.fstat(self._file).st_size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` to `end`; fewer if the file became shorter."""
        found = os.pread(self._file, end - start, start)
        while len(found) < end - start:
            more = os.pread(self._file, end - start - len(found), start + len(found))
            if not more:
                break
            found += more
        return found

    def backwards(
        self, needles: Needles, end: int | None = None, stop: int = 0, *, block_size: int | None = None
    ) -> Iterator[Line]:
        """Yield lines that hold a needle, last first: those that begin before `end`, down to `stop`."""
        reach = _count_overhang(needles)
        size = block_size or BLOCK
        end = self.size if end is None else end
        while end > max(0, stop):
            start = max(0, end - size)
            size = min(BLOCK, 2 * size)
            block = self.read(start, min(self.size, end + reach))
            if not holds(block, needles):
                end = start
                continue
            spots = [end - start] * len(needles)
            while end > start:
                for place, word in enumerate(needles):
                    if spots[place] >= end - start:
                        spots[place] = block.rfind(word, 0, end - start + len(word) - 1)
                last = max(spots)
                if last < 0:
                    end = start
                    break
                line = self._read_line(start + last, block, start)
                yield line
                end = line.start

    def forwards(
        self, needles: Needles, start: int = 0, stop: int | None = None, *, block_size: int = BLOCK
    ) -> Iterator[Line]:
        """Yield lines that hold a needle before `stop`, in order, from the line at `start` on.

        With a small first block what is near is found at once; the blocks grow from there.
        """
        reach = _count_overhang(needles)
        limit = self.size if stop is None else min(stop, self.size)
        while start < limit:
            end = min(limit, start + block_size)
            block_size = min(BLOCK, 2 * block_size)
            block = self.read(start, min(self.size, end + reach))
            base = start
            spots = [-1] * len(needles)
            while start < end:
                for place, word in enumerate(needles):
                    if spots[place] < start - base:
                        found = block.find(word, start - base)
                        spots[place] = end - base if found < 0 else found
                first = min(spots)
                if base + first >= end:
                    start = end
                    break
                line = self._read_line(base + first, block, base)
                yield line
                start = line.end + 1

    def _read_line(self, at: int, block: bytes, base: int) -> Line:
        """Return the line around a place in a block that begins at `base`."""
        start = self._find_start(at, block, base)
        end = self._find_end(at, block, base)
        if end - start > LARGEST:
            return Line(start, end, None)
        inside = base <= start and end <= base + len(block)
        return Line(start, end, block[start - base : end - base] if inside else self.read(start, end))

    def _find_start(self, at: int, block: bytes, base: int) -> int:
        found = block.rfind(_NEWLINE, 0, at - base)
        while found < 0 and base > 0:
            end, base = base, max(0, base - BLOCK)
            found = self.read(base, end).rfind(_NEWLINE)
        return base + found + 1

    def _find_end(self, at: int, block: bytes, base: int) -> int:
        found = block.find(_NEWLINE, at - base)
        while found < 0 and base + len(block) < self.size:
            base += len(block)
            block = self.read(base, min(self.size, base + BLOCK))
            if not block:
                break
            found = block.find(_NEWLINE)
        return base + found if found >= 0 else self.size

    def edges(self, size: int = BLOCK) -> tuple[list[bytes], list[bytes]]:
        """Return whole lines at the beginning and at the end of the file, and a last one that has no end yet.

        Where a line is longer than that, the first one from there on that can be read.
        """
        head = self.read(0, min(size, self.size))
        first = head.split(_NEWLINE)
        if len(head) < self.size:
            first = first[:-1]
        tail = self.read(max(0, self.size - size), self.size)
        last = tail.split(_NEWLINE)
        if len(tail) < self.size:
            last = last[1:]
        first, last = [line for line in first if line.strip()], [line for line in last if line.strip()]
        return first or _first_line(self.forwards((b"{",))), last or _first_line(self.backwards((b"{",)))


class MemoryLog(Log):
    """Lines in memory."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.size = len(body)

    def __exit__(self, *_: object) -> None: ...

    def read(self, start: int, end: int) -> bytes:
        return self._body[start:end]


def holds(block: bytes, words: Needles) -> bool:
    """True if any of the words is in the block."""
    return any(word in block for word in words)


def _first_line(lines: Iterator[Line]) -> list[bytes]:
    found = next((line.body for line in islice(lines, _MOST_LONG) if line.body is not None), None)
    return [] if found is None else [found]


def _count_overhang(words: Sequence[bytes]) -> int:
    """Return how many bytes of a needle may lie beyond the end of a block."""
    return max(map(len, words)) - 1


_MOST = 16
_FARTHEST = 16 * BLOCK
"""Bytes in which an id is searched; nearly every line has one."""


class _Place(NamedTuple):
    at: int
    session: str


def find_sessions(log: Log, key: str) -> Iterator[str]:
    """Yield the session ids under a key, latest first: those under which a resumed conversation went on.

    A copy of each older session stands before what is new, so the lines of one id stand together, and where one ends
    is found by halving, without decoding. An id between two far apart may be missed.
    """
    pattern = re.compile(rb'"%s"\s*:\s*"([\w.:-]{1,200})"' % key.encode(), re.ASCII)
    last, first = _find_last(log, pattern, log.size), _find_first(log, pattern, 0, log.size)
    for _ in range(_MOST):
        if last is None or first is None:
            return
        yield last.session
        if first.session == last.session:
            return
        last = _find_before(log, pattern, first, last)


def _find_before(log: Log, pattern: re.Pattern[bytes], first: _Place, last: _Place) -> _Place:
    """Return the last place with another id than that of `last`, as `first` has one."""
    low, high = first, last.at
    while high - low.at > BLOCK:
        middle = (low.at + high) // 2
        found = _find_first(log, pattern, middle, high)
        if found is None or found.session == last.session:
            high = middle
        else:
            low = found
    block = log.read(low.at, high)
    others = [place for place in _find_places(block, low.at, pattern) if place.session != last.session]
    return others[-1] if others else low


def _find_first(log: Log, pattern: re.Pattern[bytes], start: int, stop: int) -> _Place | None:
    stop = min(stop, start + _FARTHEST)
    while start < stop:
        block = log.read(start, min(log.size, start + BLOCK + 512))
        if (found := next(_find_places(block, start, pattern), None)) is not None:
            return found if found.at < stop else None
        start += BLOCK
    return None


def _find_last(log: Log, pattern: re.Pattern[bytes], end: int) -> _Place | None:
    stop = max(0, end - _FARTHEST)
    while end > stop:
        start = max(0, end - BLOCK)
        places = list(_find_places(log.read(start, min(log.size, end + 512)), start, pattern))
        if places:
            return places[-1]
        end = start
    return None


def _find_places(block: bytes, base: int, pattern: re.Pattern[bytes]) -> Iterator[_Place]:
    for found in pattern.finditer(block):
        yield _Place(base + found.start(), found[1].decode())
