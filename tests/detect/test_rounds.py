"""Rounds without progress, as Magentic-One counts them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.detect.rounds import RoundState, count_round, has_moved, places, round_options
from punchlist.errors import ConfigInvalid


@pytest.mark.requirement("rounds.stalls")
def test_three_bad_rounds_are_a_stall_and_counting_begins_anew() -> None:
    state = RoundState()
    found: list[str | None] = []
    for _ in range(6):
        state, finding = count_round(state, progress=False)
        found.append(finding and finding.detector)
    assert found == [None, None, "stalled_rounds", None, None, "stalled_rounds"]
    assert (state.stalls, state.rounds) == (0, 6)


@pytest.mark.requirement("rounds.stalls")
def test_a_good_round_takes_one_bad_round_away() -> None:
    state = RoundState()
    for progress in (False, False, True, False):
        state, finding = count_round(state, progress=progress)
        assert finding is None
    assert state.stalls == 2
    assert count_round(RoundState(), progress=True)[0].stalls == 0


@pytest.mark.requirement("rounds.looping")
def test_a_round_that_loops_is_a_bad_one_whatever_its_progress() -> None:
    assert count_round(RoundState(), progress=True, looping=True)[0].stalls == 1


@pytest.mark.requirement("rounds.events")
@pytest.mark.parametrize(
    ("before", "after", "stalls"),
    [("pending", "completed", 0), ("pending", "in_progress", 0), ("blocked", "pending", 0), ("pending", "pending", 1)],
)
def test_a_round_has_progress_when_an_item_moved_on(before: str, after: str, stalls: int) -> None:
    was, now = (TodoList(items=(TodoItem(id="1", content="Paint", status=Status(word)),)) for word in (before, after))
    state, _ = count_round(RoundState(), progress=has_moved(places(was), places(now)))
    assert state.stalls == stalls
    assert count_round(state, progress=has_moved(places(now), places(now)))[0].stalls == stalls + 1


@pytest.mark.requirement("rounds.end")
def test_there_may_be_an_end_to_all_rounds() -> None:
    options = round_options({"max_rounds": 2})
    state, finding = count_round(RoundState(), progress=True, options=options)
    assert finding is None
    state, finding = count_round(state, progress=True, options=options)
    assert finding is not None
    assert (finding.detector, finding.level, finding.count) == ("rounds_over", "critical", 2)


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 6))
def test_the_count_stays_between_nothing_and_its_limit(rounds: list[bool], most: int) -> None:
    state = RoundState()
    for progress in rounds:
        state, finding = count_round(state, progress=progress, options=round_options({"max_stalls": most}))
        assert 0 <= state.stalls < most
        assert finding is None or not progress


@pytest.mark.parametrize("given_options", [None, {"stalls": 3}, {"max_stalls": 0}, {"max_rounds": -1}])
def test_a_mistake_in_the_settings_is_named(given_options: object) -> None:
    with pytest.raises(ConfigInvalid):
        round_options(given_options)
