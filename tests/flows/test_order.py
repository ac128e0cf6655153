"""Flows that come after others: they begin only when those are finished; circles are refused, and named."""

from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punchlist.errors import FlowCycle, FlowHeld, FlowStarted, FlowUnknown
from punchlist.flows import FlowStatus
from tests.flows.boards import MANUAL, Desk


def test_a_flow_begins_when_those_before_it_are_finished(desk: Desk) -> None:
    first, second = desk.running("first"), desk.running("second")
    last = desk.created("last", after=[first.id, second.id, first.id])
    assert (last.after, last.held_by) == ((first.id, second.id), (first.id, second.id))
    with pytest.raises(FlowHeld) as refused:
        desk.flows.start_running(last.id)
    assert refused.value.data["held_by"] == (first.id, second.id)
    desk.flows.finish(first.id)
    assert desk.seen(last).held_by == (second.id,)
    with pytest.raises(FlowHeld):
        desk.flows.resume(last.id)
    desk.flows.set_waiting(second.id, MANUAL)
    desk.flows.resume(second.id)
    done = desk.flows.finish(second.id)
    assert desk.flows.list_events(done.id)[0].data["readied"] == [last.id]
    assert desk.flows.start_running(last.id).status is FlowStatus.RUNNING
    assert desk.flows.list_events(last.id)[-1].data["after"] == [first.id, second.id]


@pytest.mark.parametrize("end", ["fail", "cancel"])
def test_what_failed_or_was_cancelled_still_holds_what_comes_after_it(desk: Desk, end: str) -> None:
    first = desk.running("first")
    last = desk.created("last", after=[first.id])
    if end == "fail":
        desk.flows.fail(first.id, "no")
    else:
        desk.flows.cancel(first.id)
    with pytest.raises(FlowHeld):
        desk.flows.start_running(last.id)
    desk.clock.advance(100 * 86_400)
    assert desk.flows.prune_terminal_flows(1) == 0
    desk.flows.come_freely(last.id, first.id)
    assert desk.flows.start_running(last.id).after == ()
    assert desk.flows.prune_terminal_flows(1) == 1


def test_a_circle_is_refused_and_named(desk: Desk) -> None:
    first = desk.created("first")
    second = desk.created("second", after=[first.id])
    third = desk.created("third", after=[second.id])
    with pytest.raises(FlowCycle) as refused:
        desk.flows.come_after(first.id, third.id)
    assert refused.value.data["path"] == " → ".join((first.id, third.id, second.id, first.id))
    with pytest.raises(FlowCycle):
        desk.flows.come_after(first.id, first.id)
    assert desk.seen(first).after == ()
    assert desk.kinds(first) == ["created"]


def test_what_comes_before_is_said_until_a_flow_begins(desk: Desk) -> None:
    first, last = desk.created("first"), desk.created("last")
    assert desk.flows.come_after(last.id, first.id).held_by == (first.id,)
    assert desk.flows.come_after(last.id, first.id).held_by == (first.id,)
    assert desk.kinds(last) == ["created", "linked"]
    assert desk.flows.come_freely(last.id, first.id).after == ()
    assert desk.flows.come_freely(last.id, first.id).after == ()
    assert desk.kinds(last) == ["created", "linked", "unlinked"]
    desk.flows.start_running(last.id)
    with pytest.raises(FlowStarted):
        desk.flows.come_after(last.id, first.id)


def test_a_flow_that_cannot_be_made_whole_is_not_made(desk: Desk) -> None:
    with pytest.raises(FlowUnknown):
        desk.created(after=[str(uuid4())])
    held = desk.created("first")
    with pytest.raises(FlowHeld):
        desk.flows.create_mirrored("c", "last", after=[held.id])
    assert [flow.goal for flow in desk.flows.list()] == ["first"]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=25))
def test_no_flow_ever_comes_after_itself(pairs: list[tuple[int, int]]) -> None:
    desk = Desk()
    made = [desk.created(str(number)).id for number in range(7)]
    edges: set[tuple[int, int]] = set()

    def reaches(start: int, goal: int) -> bool:
        return start == goal or any(reaches(before, goal) for each, before in edges if each == start)

    for flow, before in pairs:
        if reaches(before, flow):
            with pytest.raises(FlowCycle):
                desk.flows.come_after(made[flow], made[before])
        else:
            desk.flows.come_after(made[flow], made[before])
            edges.add((flow, before))
    begun: list[str] = []
    while len(begun) < len(made):
        ready = [each for each in made if each not in begun and not desk.flows.list()[6 - made.index(each)].held_by]
        assert ready
        for each in ready:
            desk.flows.start_running(each)
            desk.flows.finish(each)
            begun.append(each)
    desk.board.close()
