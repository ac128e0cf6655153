"""A list written again with a few statuses changed takes a short way, and comes out where the long way does."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from punchlist.core.again import written_again
from punchlist.core.apply import apply
from punchlist.core.commands import Entry, Limits, Policy, Replace
from punchlist.core.todo import ListState, Status
from tests.core import strategies as some
from tests.core.build import EMPTY, NARROW, NOW, PLAIN
from tests.sizes import size

examples = settings(max_examples=size(200, 20_000), deadline=None, print_blob=True)

FINISHED_GO = replace(NARROW, wipe_finished=True)
ONE_AT_A_TIME = replace(NARROW, focus="first")
POLICIES = [NARROW, PLAIN, FINISHED_GO, ONE_AT_A_TIME]

steps = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(0, 6), some.statuses), max_size=3), st.sampled_from(POLICIES), st.booleans()
    ),
    min_size=3,
    max_size=8,
)
Step = tuple[list[tuple[int, Status]], Policy, bool]


def flipped(entries: tuple[Entry, ...], flips: list[tuple[int, Status]]) -> tuple[Entry, ...]:
    """The same entries, as the same objects, but for a few statuses."""
    changed = list(entries)
    for place, status in flips:
        if place < len(changed):
            changed[place] = changed[place]._replace(status=status)
    return tuple(changed)


@examples
@given(some.plain_writes, steps, some.policies)
def test_the_short_way_gives_what_the_long_way_gives(first: Replace, history: list[Step], other: Policy) -> None:
    state, entries = EMPTY, first.entries
    for flips, policy, own in history:
        entries = flipped(entries, flips)
        chosen = other if len(flips) == 3 else policy
        short = apply(state, Replace(entries), chosen, NOW, by="agent" if own else "ada", own=own)
        plain = ListState(state.todos, state.shown)
        long = apply(plain, Replace(entries), chosen, NOW, by="agent" if own else "ada", own=own)
        assert short == long
        state = short.state


@examples
@given(some.plain_writes, st.lists(some.plain_entries, max_size=7), st.integers(0, 6))
def test_another_text_or_another_length_takes_the_long_way(first: Replace, more: list[Entry], place: int) -> None:
    state = EMPTY
    for _ in range(3):
        state = apply(state, first, NARROW, NOW, by="agent").state
    entries = (*first.entries[:place], *more, *first.entries[place + 1 :])
    short = apply(state, Replace(entries), NARROW, NOW, by="agent")
    assert short == apply(ListState(state.todos), Replace(entries), NARROW, NOW, by="agent")


def test_the_third_write_of_the_same_texts_takes_the_short_way() -> None:
    entries = tuple(Entry(f"step {number}", Status.PENDING, f"doing {number}") for number in range(3))
    state = EMPTY
    for _ in range(2):
        state = apply(state, Replace(entries), NARROW, NOW, by="agent").state
    started = Replace((entries[0]._replace(status=Status.IN_PROGRESS), *entries[1:]))
    assert written_again(state, started, NARROW, NOW) is not None
    assert written_again(state, started, replace(NARROW, limits=Limits(items=2)), NOW) is None
    assert written_again(state, started._replace(explanation="why"), NARROW, NOW) is None
    assert written_again(state, started._replace(begin=True), NARROW, NOW) is None


def test_what_a_state_was_written_by_makes_it_no_other_state() -> None:
    entries = (Entry("paint", Status.PENDING, "painting"),)
    state = EMPTY
    for _ in range(2):
        state = apply(state, Replace(entries), NARROW, NOW, by="agent").state
    assert state.written is not None
    assert state == ListState(state.todos)
    assert "written" not in repr(state)


def test_an_item_that_its_dialect_no_longer_sees_is_another_one_when_it_is_written_again() -> None:
    entries = (Entry("paint", Status.PENDING, "painting"),)
    state = EMPTY
    for status in (Status.PENDING, Status.PENDING, Status.CANCELLED, Status.CANCELLED):
        entries = (entries[0]._replace(status=status),) if entries[0].status is not status else entries
        short = apply(state, Replace(entries), NARROW, NOW, by="agent")
        assert short == apply(ListState(state.todos), Replace(entries), NARROW, NOW, by="agent")
        state = short.state
    assert state.todos.plan_id != "p1"
