"""Under which ids a conversation went on, told by its transcript: each copy of an older one stands before what is new.

The lines of one id stand together, so where one ends and the next begins is found by halving; nothing is decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from punchlist.transcripts.reverse import BLOCK, Log

_MOST = 16
_FARTHEST = 16 * BLOCK
"""Bytes in which an id is looked for; nearly every line has one."""


class _Place(NamedTuple):
    at: int
    session: str


def sessions_in(log: Log, key: str) -> Iterator[str]:
    """The ids that stand under a key at the top of lines, the latest first; without those between two far away."""
    pattern = re.compile(rb'"%s"\s*:\s*"([\w.:-]{1,200})"' % key.encode(), re.ASCII)
    last, first = _last(log, pattern, log.size), _first(log, pattern, 0, log.size)
    for _ in range(_MOST):
        if last is None or first is None:
            return
        yield last.session
        if first.session == last.session:
            return
        last = _before(log, pattern, first, last)


def _before(log: Log, pattern: re.Pattern[bytes], first: _Place, last: _Place) -> _Place:
    """The last place with another id than that of `last`, as `first` is one."""
    low, high = first, last.at
    while high - low.at > BLOCK:
        middle = (low.at + high) // 2
        found = _first(log, pattern, middle, high)
        if found is None or found.session == last.session:
            high = middle
        else:
            low = found
    block = log.read(low.at, high)
    others = [place for place in _places(block, low.at, pattern) if place.session != last.session]
    return others[-1] if others else low


def _first(log: Log, pattern: re.Pattern[bytes], start: int, stop: int) -> _Place | None:
    stop = min(stop, start + _FARTHEST)
    while start < stop:
        block = log.read(start, min(log.size, start + BLOCK + 512))
        if (found := next(_places(block, start, pattern), None)) is not None:
            return found if found.at < stop else None
        start += BLOCK
    return None


def _last(log: Log, pattern: re.Pattern[bytes], end: int) -> _Place | None:
    stop = max(0, end - _FARTHEST)
    while end > stop:
        start = max(0, end - BLOCK)
        places = list(_places(log.read(start, min(log.size, end + 512)), start, pattern))
        if places:
            return places[-1]
        end = start
    return None


def _places(block: bytes, base: int, pattern: re.Pattern[bytes]) -> Iterator[_Place]:
    for found in pattern.finditer(block):
        yield _Place(base + found.start(), found[1].decode())
