"""How much one run measures: all of it, a tenth, or next to nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """Counts are given for the full size and divided for the smaller ones."""

    divisor: int

    def count(self, full: int, *, least: int = 1) -> int:
        return max(least, full // self.divisor)


FULL = Scale(1)
QUICK = Scale(10)
TINY = Scale(1000)
"""Only shows that a benchmark runs; its numbers mean nothing."""
