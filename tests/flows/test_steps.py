"""Steps of a flow as they are seen: one row a run."""

from typing import Any
from uuid import uuid4

import pytest

from punchlist.errors import FlowUnknown, InvalidInput
from tests.flows.boards import Desk


def test_a_run_that_is_seen_again_is_the_same_step(desk: Desk) -> None:
    flow = desk.running()
    first = desk.flows.record_step_observation(
        flow.id, "run-1", "Look", "running", child_session_key="agent:sub:session:x"
    )
    assert (first.runtime, first.status, first.flow_id) == ("mirrored", "running", flow.id)
    desk.clock.advance(5)
    again = desk.flows.record_step_observation(flow.id, "run-1", "Look twice", "succeeded", result={"found": 3})
    assert again.id == first.id
    assert again.child_session_key == "agent:sub:session:x"
    assert (again.task, again.status, again.result) == ("Look twice", "succeeded", {"found": 3})
    assert (again.created_at, again.updated_at) == (first.created_at, desk.board.now())
    assert desk.flows.list_steps(flow.id) == (again,)
    other = desk.flows.record_step_observation(flow.id, "run-1", "Look", "failed", child_session_key="y")
    assert (other.child_session_key, other.result) == ("y", None)


def test_steps_come_the_oldest_first_and_each_flow_has_its_own(desk: Desk) -> None:
    flow, other = desk.running(), desk.running()
    for run in ("b", "a", "c"):
        desk.flows.record_step_observation(flow.id, run, "Look", "pending", runtime="managed")
        desk.clock.advance(1)
    desk.flows.record_step_observation(other.id, "b", "Look", "pending")
    assert [step.run_id for step in desk.flows.list_steps(flow.id)] == ["b", "a", "c"]
    assert [step.runtime for step in desk.flows.list_steps(other.id)] == ["mirrored"]


def test_a_step_is_told_and_leaves_the_flow_as_it_is(desk: Desk) -> None:
    flow = desk.running()
    desk.flows.finish(flow.id)
    desk.flows.record_step_observation(flow.id, "r", "Look", "cancelled")
    event = desk.flows.list_events(flow.id)[0]
    assert event.kind == "flow.step_observed"
    assert {key: event.data[key] for key in ("run_id", "status", "runtime")} == {
        "run_id": "r",
        "status": "cancelled",
        "runtime": "mirrored",
    }
    assert desk.seen(flow).revision == 2


def test_a_step_needs_a_flow_and_known_words(desk: Desk) -> None:
    wrong: Any = "asleep"
    with pytest.raises(FlowUnknown):
        desk.flows.record_step_observation(str(uuid4()), "r", "Look", "running")
    flow = desk.running()
    with pytest.raises(InvalidInput):
        desk.flows.record_step_observation(flow.id, "r", "Look", wrong)
    with pytest.raises(InvalidInput):
        desk.flows.record_step_observation(flow.id, "r", "Look", "running", runtime=wrong)
    with pytest.raises(InvalidInput):
        desk.flows.record_step_observation(flow.id, " ", "Look", "running")
    assert desk.flows.list_steps(flow.id) == ()
