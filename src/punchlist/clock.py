"""The time of a board: that of the system, as long as nobody sets it back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from time import monotonic

Clock = Callable[[], datetime]


def system_clock() -> datetime:
    return datetime.now(UTC)


_wall: Clock = partial(datetime.now, UTC)


class SteadyClock:
    """Goes on from where it was, at its usual pace, when the clock that it reads is set back.

    So neither does time stand still until that clock has caught up, with leases that never end, nor does anything seem
    to happen before what it follows. A clock that is set forward is believed.
    """

    def __init__(self, wall: Clock = _wall, steady: Callable[[], float] = monotonic) -> None:
        self._wall = wall
        self._steady = steady
        self._latest = wall()
        self._at = steady()

    def __call__(self) -> datetime:
        said, at = self._wall(), self._steady()
        if said < self._latest:
            said = self._latest + timedelta(seconds=max(0.0, at - self._at))
        self._latest, self._at = said, at
        return said
