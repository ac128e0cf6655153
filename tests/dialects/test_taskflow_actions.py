"""nexo's `taskflow` to the letter: what its actions do and refuse. Its rules are in manifest.toml."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.dialects.flow_calls import BAD_SHAPE, MANUAL, Desk


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.board.close()


# What is done.


@pytest.mark.requirement("taskflow.status")
def test_status_changes_nothing(desk: Desk) -> None:
    name = desk.started()
    before = len(list(desk.board.events()))
    assert desk.flow("status", name)["revision"] == 1
    assert len(list(desk.board.events())) == before


@pytest.mark.requirement("taskflow.advance")
def test_advance_merges_by_the_top_keys_and_moves_on(desk: Desk) -> None:
    name = desk.started(state={"a": 1, "b": {"x": 1}})
    flow = desk.flow("advance", name, patch={"b": {"y": 2}, "c": None}, current_step="answer")
    assert (flow["state"], flow["current_step"]) == ({"a": 1, "b": {"y": 2}, "c": None}, "answer")
    assert (flow["revision"], flow["status"]) == (2, "running")
    assert desk.flow("advance", name)["state"] == flow["state"]


@pytest.mark.requirement("taskflow.advance-replaces")
@pytest.mark.parametrize("patch", [None, [1], "text", 7, False])
def test_a_patch_that_is_no_object_replaces_the_state(desk: Desk, patch: Any) -> None:
    name = desk.started(state={"a": 1})
    assert desk.flow("advance", name, patch=patch)["state"] == patch
    assert desk.flow("advance", name, patch={"b": 1})["state"] == {"b": 1}


@pytest.mark.requirement("taskflow.wait", "taskflow.times")
@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        (
            {"kind": "timer", "at": "2025-01-02T10:00:00+01:00"},
            {"kind": "timer", "at": "2025-01-02T09:00:00Z"},
        ),
        (
            {"kind": "external_event", "topic": " t", "correlation_id": "c", "more": 1},
            {"kind": "external_event", "topic": " t", "correlation_id": "c"},
        ),
        ({"kind": "manual", "signal": "go"}, MANUAL),
    ],
)
def test_a_flow_waits_for_a_time_an_event_or_a_person(desk: Desk, condition: Any, kept: Any) -> None:
    name = desk.started()
    flow = desk.flow("wait", name, wait_condition=condition)
    assert (flow["status"], flow["wait"], flow["revision"]) == ("waiting", kept, 2)


@pytest.mark.requirement("taskflow.wait-missing", "taskflow.wait-shape")
def test_a_condition_is_there_and_has_its_shape(desk: Desk) -> None:
    name = desk.started()
    assert desk.refused("wait", name) == "missing `wait_condition`"
    shapes: list[Any] = [None, "manual", {}, {"kind": "timer"}, {"kind": "timer", "at": "soon"}, {"kind": "event"}]
    for shape in shapes:
        assert desk.refused("wait", name, wait_condition=shape) == BAD_SHAPE


@pytest.mark.requirement("taskflow.wait-future", "taskflow.wait-horizon", "taskflow.wait-blank")
@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ({"kind": "timer", "at": "2025-01-01T09:00:00Z"}, "timer.at must be in the future"),
        ({"kind": "timer", "at": "2025-01-31T09:00:00.001Z"}, "timer.at exceeds max horizon (30 days)"),
        ({"kind": "external_event", "topic": "", "correlation_id": ""}, "external_event.topic cannot be empty"),
        (
            {"kind": "external_event", "topic": "t", "correlation_id": " "},
            "external_event.correlation_id cannot be empty",
        ),
    ],
)
def test_the_guard_rails_before_a_wait(desk: Desk, condition: Any, said: str) -> None:
    assert desk.refused("wait", desk.started(), wait_condition=condition) == said


@pytest.mark.requirement("taskflow.wait-horizon")
def test_the_horizon_is_a_setting(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    name = desk.started()
    assert desk.flow("wait", name, wait_condition={"kind": "timer", "at": "2025-01-31T09:00:00Z"})["wait"]
    monkeypatch.setenv("PUNCHLIST_TIMER_HORIZON", "2d")
    late = {"kind": "timer", "at": "2025-01-03T09:00:00.001Z"}
    assert desk.refused("wait", desk.started(), wait_condition=late) == "timer.at exceeds max horizon (2 days)"


@pytest.mark.requirement("taskflow.finish")
def test_finish_merges_the_final_state(desk: Desk) -> None:
    name = desk.started(state={"a": 1})
    flow = desk.flow("finish", name, final_state={"b": 2})
    assert (flow["status"], flow["state"]) == ("finished", {"a": 1, "b": 2})
    assert desk.flow("finish", desk.started(state={"a": 1}))["state"] == {"a": 1}
    assert desk.flow("finish", desk.started(state={"a": 1}), final_state=None)["state"] is None


@pytest.mark.requirement("taskflow.fail")
@pytest.mark.parametrize("waits", [False, True])
def test_fail_says_why_in_the_state(desk: Desk, waits: bool) -> None:
    name = desk.started(state={"a": 1})
    if waits:
        desk.flow("wait", name, wait_condition=MANUAL)
    flow = desk.flow("fail", name, reason=" no disk ")
    assert flow["status"] == "failed"
    assert flow["state"] == {"a": 1, "failure": {"reason": "no disk", "at": "2025-01-01T09:00:00+00:00"}}


@pytest.mark.requirement("taskflow.cancel")
def test_cancel_ends_what_is_open(desk: Desk) -> None:
    for status in ("running", "waiting", "asked", "created"):
        name = desk.board.flows(agent=desk.agent).create_managed("c", "g").id if status == "created" else desk.started()
        if status == "waiting":
            desk.flow("wait", name, wait_condition=MANUAL)
        if status == "asked":
            desk.board.flows().request_cancel(name)
        assert desk.flow("cancel", name)["status"] == "cancelled"


@pytest.mark.requirement("taskflow.list-mine")
def test_list_mine_shows_envelopes_the_newest_first(desk: Desk) -> None:
    assert desk.call("list_mine").data == {"ok": True, "count": 0, "flows": []}
    first = desk.started()
    desk.clock.advance(1)
    second = desk.started()
    desk.flow("finish", first)
    data = desk.call("list_mine").data
    assert (data["ok"], data["count"]) == (True, 2)
    assert data["flows"] == [desk.call("status", name).data for name in (second, first)]


# What may not be.


@pytest.mark.requirement("taskflow.illegal")
def test_an_illegal_step_names_both_statuses(desk: Desk) -> None:
    name = desk.started()
    desk.flow("wait", name, wait_condition=MANUAL)
    assert desk.refused("finish", name) == "illegal transition from Waiting to Finished"
    assert desk.refused("wait", name, wait_condition=MANUAL) == "illegal transition from Waiting to Waiting"
    made = desk.board.flows(agent=desk.agent).create_managed("c", "g").id
    assert desk.refused("finish", made) == "illegal transition from Created to Finished"
    assert desk.refused("fail", made, reason="no") == "illegal transition from Created to Failed"
    assert desk.refused("wait", made, wait_condition=MANUAL) == "illegal transition from Created to Waiting"


@pytest.mark.requirement("taskflow.terminal")
@pytest.mark.parametrize(("end", "word"), [("finish", "Finished"), ("fail", "Failed"), ("cancel", "Cancelled")])
def test_what_has_ended_stays_as_it_is(desk: Desk, end: str, word: str) -> None:
    name = desk.started()
    desk.flow(end, name, reason="no")
    for action in ("advance", "wait", "finish", "fail", "cancel"):
        said = desk.refused(action, name, reason="no", wait_condition=MANUAL)
        assert said == f"flow {name} is already terminal ({word})"


@pytest.mark.requirement("taskflow.cancel-pending")
def test_a_flow_that_is_to_be_cancelled_takes_nothing_else(desk: Desk) -> None:
    name = desk.started()
    desk.board.flows().request_cancel(name)
    assert desk.flow("status", name)["cancel_requested"] is True
    for action in ("advance", "wait", "finish", "fail"):
        said = desk.refused(action, name, reason="no", wait_condition=MANUAL)
        assert said == f"flow {name} has cancel_requested; only Cancelled transition allowed"
    assert desk.flow("cancel", name)["status"] == "cancelled"


# Ours.


@pytest.mark.requirement("taskflow.call-id")
def test_a_call_that_comes_again_starts_no_second_flow(desk: Desk) -> None:
    args = {"action": "start", "controller_id": "c", "goal": "g"}
    first = desk.agent.call("taskflow", args, call_id="toolu_1")
    desk.clock.advance(10)
    assert desk.agent.call("taskflow", args, call_id="toolu_1") == first
    assert desk.call("list_mine").data["count"] == 1
    other = desk.agent.call("taskflow", {**args, "goal": "h"}, call_id="toolu_1")
    assert other.is_error
    refused = desk.agent.call("taskflow", {"action": "fail", "flow_id": first.data["flow"]["id"]}, call_id="toolu_2")
    assert desk.agent.call("taskflow", {"action": "fail", "flow_id": first.data["flow"]["id"]}, call_id="toolu_2") == (
        refused
    )


@pytest.mark.requirement("taskflow.time-is-over")
@pytest.mark.parametrize("action", ["status", "list_mine", "advance", "finish"])
def test_a_flow_runs_for_whoever_looks_when_its_time_has_come(desk: Desk, action: str) -> None:
    name = desk.started()
    desk.flow("wait", name, wait_condition={"kind": "timer", "at": "2025-01-01T10:00:00Z"})
    desk.clock.advance(3600)
    data = desk.call(action, None if action == "list_mine" else name).data
    flow = data["flows"][0]["flow"] if action == "list_mine" else data["flow"]
    assert (flow["status"], flow["wait"]) == ("finished" if action == "finish" else "running", None)
    assert "flow.resumed" in [event.kind for event in desk.board.events()]


@pytest.mark.requirement("taskflow.refused-event")
def test_a_refusal_is_told(desk: Desk) -> None:
    name = desk.started()
    desk.flow("finish", name)
    desk.refused("finish", name)
    last = list(desk.board.events())[-1]
    assert (last.kind, last.agent) == ("flow.refused", "kate")
    assert last.data == {"code": "flow_ended", "problem": f"flow {name} is already terminal (Finished)"}


@pytest.mark.requirement("taskflow.cleaned")
def test_the_echo_is_what_was_sent_and_the_state_holds_it_cleaned(desk: Desk) -> None:
    reply = desk.call("start", controller_id="c\x1b[2J", goal="Sort\u202e it", state={"k": "\ud800"})
    assert reply.data["flow"]["goal"] == "Sort\u202e it"
    assert [problem.code for problem in reply.problems] == ["cleaned"]
    shown = desk.flow("status", reply.data["flow"]["id"])
    assert (shown["controller_id"], shown["goal"], shown["state"]) == ("c", "Sort it", {"k": "\ufffd"})
    assert reply.text.encode()


def test_the_list_of_todos_is_not_touched(desk: Desk) -> None:
    own = desk.board.agent("kate", session="s1")
    own.call("todo", {"set": ["Paint"]})
    desk.flow("finish", desk.started())
    assert [item.content for item in desk.agent.todos.items] == ["Paint"]
    assert own.todos.revision == 1
