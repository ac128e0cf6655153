"""Times of an item: when it came, began and ended."""

from datetime import timedelta

import pytest

from punchlist.core.commands import Done, Edit, Reopen, Start
from tests.core.build import EMPTY, NOW, item, on, run, write

HOUR = timedelta(hours=1)


def test_an_item_knows_when_and_by_whom_it_was_made() -> None:
    known = item(run(EMPTY, write("a"), by="main").state, "a")
    assert (known.created_at, known.created_by, known.started_at, known.finished_at) == (NOW, "main", None, None)


def test_an_item_that_comes_in_progress_or_finished_says_so_at_once() -> None:
    state = run(EMPTY, write("> a", "x b")).state
    assert (item(state, "a").started_at, item(state, "b").finished_at) == (NOW, NOW)


def test_the_first_start_is_kept_over_a_pause() -> None:
    state = run(EMPTY, write("> a", "b")).state
    state = run(state, Edit((Start(on("2")),)), at=NOW + HOUR).state
    state = run(state, Edit((Start(on("1")),)), at=NOW + 2 * HOUR).state
    assert item(state, "a").started_at == NOW


@pytest.mark.parametrize("mark", ["x", "f", "-"])
def test_every_end_has_a_time_and_leaving_it_takes_that_away(mark: str) -> None:
    state = run(EMPTY, write("> aa", "b")).state
    state = run(state, write(f"{mark} aa", "b"), at=NOW + HOUR).state
    assert item(state, "aa").finished_at == NOW + HOUR
    assert item(run(state, Edit((Reopen(on("1")),))).state, "aa").finished_at is None


def test_an_item_that_goes_from_pending_to_done_has_no_start() -> None:
    state = run(run(EMPTY, write("aa", "b")).state, Edit((Done(on("1")),)), at=NOW + HOUR).state
    assert (item(state, "aa").started_at, item(state, "aa").finished_at) == (None, NOW + HOUR)


def test_nothing_ends_before_it_began_even_when_the_clock_goes_back() -> None:
    state = run(EMPTY, write("> aa", "b")).state
    state = run(state, write("x aa", "> b"), at=NOW - HOUR).state
    assert item(state, "aa").finished_at == NOW
    assert item(state, "b").started_at == NOW
