"""The time of a board: it never goes back, and does not stand still after a clock that had run far ahead."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from punchlist.core.moments import Moment, gone_on

NOON = datetime(2025, 1, 1, 12, tzinfo=UTC)


def _times(*seconds: float) -> list[float]:
    moment, times = Moment(), list[float]()
    for read in seconds:
        moment = gone_on(moment, NOON + timedelta(seconds=read))
        times.append((moment.now - NOON).total_seconds())
    return times


def test_a_clock_that_is_set_back_a_little_is_waited_for() -> None:
    assert _times(0, 100, 50, 80, 110) == [0, 100, 100, 100, 110]


def test_after_a_clock_that_ran_far_ahead_time_goes_on_from_where_it_was() -> None:
    year = 365 * 86_400.0
    assert _times(0, year, 10, 70, 80) == [0, year, year, year + 60, year + 70]


def test_a_clock_that_has_caught_up_is_believed_again() -> None:
    assert _times(86_400, 0, 60, 90_000, 90_010) == [86_400, 86_400, 86_460, 90_000, 90_010]


@given(st.lists(st.integers(-(10**7), 10**7)))
def test_time_never_goes_back_and_is_never_behind_the_clock(reads: list[int]) -> None:
    times = _times(*reads)
    assert times == sorted(times)
    assert all(time >= read for time, read in zip(times, reads, strict=True))
