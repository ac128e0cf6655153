"""Time in which something ran, where several things may run at once: the union of spans, in bounded room."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

MOST: Final = 128
"""Spans with gaps between them that are kept apart. Older ones become a sum: what is reported later about the time
before `until` adds nothing."""

Span = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans in order that neither touch nor overlap, and the sum of those before `until`."""

    kept: tuple[Span, ...] = ()
    settled: timedelta = timedelta(0)
    until: datetime | None = None

    @property
    def total(self) -> timedelta:
        return sum((end - start for start, end in self.kept), self.settled)

    def plus(self, start: datetime, end: datetime) -> Spans:
        """With one more span; one that ends before it begins, because a clock was set back, counts nothing."""
        if self.until is not None and start < self.until:
            start = self.until
        if end <= start:
            return self
        kept = self.kept
        if not kept or start > kept[-1][1]:
            return self._settling((*kept, (start, end)))
        first = bisect_left(kept, start, key=_end)
        last = first
        while last < len(kept) and kept[last][0] <= end:
            last += 1
        if first < last:
            start, end = min(start, kept[first][0]), max(end, kept[last - 1][1])
        return self._settling((*kept[:first], (start, end), *kept[last:]))

    def joined(self, other: Spans) -> Spans:
        """With all spans of another; what that one has only as a sum is added as it is."""
        found = Spans(self.kept, self.settled + other.settled, self.until)
        for start, end in other.kept:
            found = found.plus(start, end)
        return found

    def _settling(self, kept: tuple[Span, ...]) -> Spans:
        if len(kept) <= MOST:
            return Spans(kept, self.settled, self.until)
        old, kept = kept[: MOST // 2], kept[MOST // 2 :]
        return Spans(kept, sum((end - start for start, end in old), self.settled), old[-1][1])


def _end(span: Span) -> datetime:
    return span[1]


NO_TIME: Final = Spans()
