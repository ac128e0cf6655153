"""Read files of lines: search a plain one for the few lines that matter, from any place on.

Lines without a needle are never cut out, let alone decoded: blocks of raw bytes are searched, so memory stays at one
block and one line. A compressed file is read forwards. A few kilobytes of zstd can unpack to gigabytes, so text is
unpacked piece by piece, and there is a ceiling on what is unpacked.
"""

import os
import re
import stat
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from typing import Any, NamedTuple, Self

from punchlist.errors import ExtraMissing, TranscriptError
from punchlist.transcripts.decoding import LARGEST, record

BLOCK = 1 << 18
_NEWLINE = b"\n"
_LONGEST_KEY = 512
"""Bytes of a key and its id, which may begin in one block and end in the next."""


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

    def forwards(self, needles: Needles, start: int = 0, stop: int | None = None) -> Iterator[Line]:
        """Yield lines that hold a needle before `stop`, in order, from the line at `start` on."""
        reach = _count_overhang(needles)
        limit = self.size if stop is None else min(stop, self.size)
        while start < limit:
            end = min(limit, start + BLOCK)
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
                line = self._find_line(base + first, block, base)
                yield line
                start = line.end + 1

    def _find_line(self, at: int, block: bytes, base: int) -> Line:
        """Return the line around a place in a block that begins at `base`."""
        start = self._find_start(at, block, base)
        end = self._find_end(at, block, base)
        if base <= start and end <= base + len(block) and end - start <= LARGEST:
            return Line(start, end, block[start - base : end - base])
        return self.read_line(start, end)

    def read_line(self, start: int, end: int) -> Line:
        return Line(start, end, None if end - start > LARGEST else self.read(start, end))

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
        if first and last:
            return first, last
        readable = (line.body for line in self.forwards((b"{",)) if line.body is not None)
        one = list(islice(readable, 1))
        return first or one, last or list(deque(chain(one, readable), maxlen=1))


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


def _count_overhang(words: Sequence[bytes]) -> int:
    """Return how many bytes of a needle may lie beyond the end of a block."""
    return max(map(len, words)) - 1


def find_sessions(log: Log, key: str) -> list[str]:
    """Return the session ids under a key, latest first: those under which a resumed conversation went on.

    Where the first and the last are one there are no others: a new id is not given up for an old one.
    """
    pattern = re.compile(rb'"%s"\s*:\s*"([\w.:-]{1,200})"' % key.encode(), re.ASCII)
    starts = range(0, log.size, BLOCK)

    def find(start: int) -> list[bytes]:
        return pattern.findall(log.read(start, min(log.size, start + BLOCK + _LONGEST_KEY)))

    oldest = next((found[0] for start in starts if (found := find(start))), None)
    newest = next((found[-1] for start in reversed(starts) if (found := find(start))), None)
    if oldest == newest:
        return [] if oldest is None else [oldest.decode()]
    every = dict.fromkeys(session for start in reversed(starts) for session in reversed(find(start)))
    return [session.decode() for session in every]


# Compressed files.

COMPRESSED = ".zst"
_SLICE = 1 << 12
"""Unpacked bytes that are split into lines at once. In a slice with damage nothing is read."""
_MOST_TEXT = 1 << 30
LINE_COST = 1024
"""Counted as bytes of text, so that millions of empty lines do not go on for minutes."""
FIRST = 20


class Allowance:
    """Bytes that may still be unpacked, or kept."""

    def __init__(self, path: str, size: int) -> None:
        self._path = path
        self._left = size

    def spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            problem = "it is too large to be read while it is compressed; unpack it with `zstd -d` and name that file"
            raise TranscriptError(path=self._path, problem=problem)


def read_first(path: str, count: int = FIRST) -> list[dict[str, Any]]:
    """Return the first records of the file."""
    found: list[dict[str, Any]] = []
    for place, line in enumerate(read_lines(path)):
        if place >= count:
            break
        if line is not None and (entry := record(line)) is not None:
            found.append(entry)
    return found


def read_records(path: str) -> Iterator[dict[str, Any]]:
    """Yield the records of a file, compressed or not."""
    with ExitStack() as stack:
        if path.endswith(COMPRESSED):
            lines = read_lines(path)
        else:
            lines = (line.body for line in stack.enter_context(Log(path)).forwards((b"{",)))
        for line in lines:
            if line and (found := record(line)) is not None:
                yield found


def read_lines(path: str) -> Iterator[bytes | None]:
    """Yield the lines of a compressed file up to where it is damaged or cut off, which None stands for.

    A line that is too long comes as nothing.
    """
    allowance = Allowance(path, _MOST_TEXT)
    line, any_text, is_damaged = bytearray(), False, False
    for text in _unpack(path, allowance):
        if text is None:
            is_damaged = True
            break
        any_text = True
        *ends, last = text.split(b"\n")
        allowance.spend(LINE_COST * len(ends))
        for end in ends:
            line += end
            yield bytes(line) if len(line) <= LARGEST else b""
            line.clear()
        line += last
        del line[LARGEST + 1 :]  # still too long, and no longer
    if line and record(bytes(line)) is not None:
        yield bytes(line)
    elif line or is_damaged:
        yield None
    if not any_text and os.path.getsize(path):
        raise TranscriptError(path=path, problem="it is no zstd file, or all of it is damaged")


def _unpack(path: str, allowance: Allowance) -> Iterator[bytes | None]:
    """Yield slices of the text, and None where it is damaged: what comes after that is not read."""
    try:
        import zstandard
    except ImportError:
        raise ExtraMissing(what=f"A compressed transcript (`{path}`)", extra="zst") from None
    unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 27)
    with open(path, "rb") as file, unpacker.stream_reader(file, read_across_frames=True) as reader:
        try:
            while text := reader.read(_SLICE):
                allowance.spend(len(text))
                yield text
        except zstandard.ZstdError:
            yield None
