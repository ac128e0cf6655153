"""Place the moments of a session on an axis for a drawing, with time without activity folded."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

_IDLE: Final = timedelta(minutes=10)
"""Time without activity that is folded, if it is longer."""

_FOLD: Final = 4.0
_FOLDS: Final = 40.0
"""Percent of the axis for one fold, and for all of them at most."""

_LEAST_STRETCH: Final = 0.03


class Axis:
    """Places moments on an axis of 100 percent, on which time without activity is folded."""

    def __init__(self, active: Iterable[tuple[datetime, datetime]]) -> None:
        stretches: list[tuple[datetime, datetime]] = []
        for start, end in sorted(active):
            if stretches and start - stretches[-1][1] <= _IDLE:
                stretches[-1] = stretches[-1][0], max(end, stretches[-1][1])
            else:
                stretches.append((start, end))
        self.stretches = stretches
        self.fold = min(_FOLD, _FOLDS / max(1, len(stretches) - 1))
        lengths = [(end - start).total_seconds() for start, end in stretches]
        weights = [max(length, _LEAST_STRETCH * sum(lengths), 1.0) for length in lengths]
        share = (100 - self.fold * (len(stretches) - 1)) / sum(weights)
        self.widths = [weight * share for weight in weights]
        self.lefts = [sum(self.widths[:index]) + index * self.fold for index in range(len(stretches))]

    @property
    def idle(self) -> list[tuple[datetime, datetime]]:
        return [(before[1], after[0]) for before, after in pairwise(self.stretches)]

    @property
    def folds(self) -> list[float]:
        """The place of each fold: its left edge."""
        return [left - self.fold for left in self.lefts[1:]]

    def place(self, at: datetime) -> float:
        for (start, end), left, width in zip(self.stretches, self.lefts, self.widths, strict=True):
            if at <= start:
                return left
            if at <= end:
                return left + width * (at - start) / (end - start)
        return 100.0

    def bar(self, begin: datetime, stop: datetime) -> str:
        left = min(self.place(begin), 99.7)
        return f'x="{left:.2f}%" width="{max(self.place(stop) - left, 0.3):.2f}%"'
