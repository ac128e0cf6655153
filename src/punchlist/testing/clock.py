"""A clock that stands still until it is told otherwise."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_START = datetime(2025, 1, 1, 9, 0, tzinfo=UTC)


class FakeClock:
    """Give it to `Board.open(clock=…)`. It can be set back, as real clocks sometimes are."""

    def __init__(self, start: datetime = _START) -> None:
        self._now = start

    def __call__(self) -> datetime:
        return self._now

    def advance(self, seconds: float) -> datetime:
        """Moves the clock, back if the number is negative; the new time."""
        self._now += timedelta(seconds=seconds)
        return self._now

    def set(self, now: datetime) -> datetime:
        self._now = now
        return self._now
