"""Time in which something ran, where several things may run at once: the union of spans, in bounded room."""

from __future__ import annotations

from bisect import bisect_left
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

MOST: Final = 128
"""Spans with gaps between them that are kept apart. Older ones become a sum: what is reported later about the time
before `until` adds nothing."""

Span = tuple[datetime, datetime]


class Spans(Struct, frozen=True):
    """Spans in order that neither touch nor overlap, and the sum of those before `until`."""

    kept: tuple[Span, ...] = ()
    settled: timedelta = timedelta(0)
    until: datetime | None = None

    @property
    def total(self) -> timedelta:
        return sum((end - start for start, end in self.kept), self.settled)

    def plus(self, start: datetime, end: datetime) -> Spans:
        """With one more span; one that ends before it begins, because a clock was set back, counts nothing."""
        growing = GrowingSpans(self)
        growing.add(start, end)
        return growing.spans()

    def joined(self, other: Spans) -> Spans:
        """With all spans of another; what that one has only as a sum is added as it is."""
        growing = GrowingSpans(Spans(self.kept, self.settled + other.settled, self.until))
        for start, end in other.kept:
            growing.add(start, end)
        return growing.spans()


class GrowingSpans:
    """Spans that are added to in place."""

    __slots__ = ("_kept", "_settled", "_until")

    def __init__(self, spans: Spans) -> None:
        self._kept = list(spans.kept)
        self._settled = spans.settled
        self._until = spans.until

    def spans(self) -> Spans:
        return Spans(tuple(self._kept), self._settled, self._until)

    def add(self, start: datetime, end: datetime) -> None:
        """One more span, as `Spans.plus` takes it."""
        if self._until is not None and start < self._until:
            start = self._until
        if end <= start:
            return
        kept = self._kept
        if not kept or start > kept[-1][1]:
            kept.append((start, end))
        else:
            first = bisect_left(kept, start, key=_end)
            last = first
            while last < len(kept) and kept[last][0] <= end:
                last += 1
            if first < last:
                start, end = min(start, kept[first][0]), max(end, kept[last - 1][1])
            kept[first:last] = [(start, end)]
        if len(kept) > MOST:
            self._settle()

    def _settle(self) -> None:
        """Makes a sum of the older half."""
        old = self._kept[: MOST // 2]
        self._settled = sum((end - start for start, end in old), self._settled)
        self._until = old[-1][1]
        del self._kept[: MOST // 2]


def _end(span: Span) -> datetime:
    return span[1]


NO_TIME: Final = Spans()
