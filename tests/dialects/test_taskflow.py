"""nexo's `taskflow` to the letter. The rules are those of manifest.toml, section taskflow."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from punchlist import Agent, Board, Reply
from punchlist.testing import FakeClock

ACTIONS = ["start", "status", "advance", "wait", "finish", "fail", "cancel", "list_mine"]
ON_ONE = ["status", "advance", "wait", "finish", "fail", "cancel"]
MANUAL = {"kind": "manual"}
BAD_SHAPE = "invalid wait_condition shape; expected {kind:'timer'|'external_event'|'manual', ...}"


class Desk:
    """A board at a fixed time, and one agent with the tool."""

    def __init__(self) -> None:
        self.clock = FakeClock()  # 2025-01-01 09:00:00 UTC
        self.board = Board.open("memory:", clock=self.clock)
        self.agent: Agent = self.board.agent("kate", session="s1", dialect="taskflow")

    def call(self, action: str, flow: str | None = None, **more: Any) -> Reply:
        named = {} if flow is None else {"flow_id": flow}
        return self.agent.call("taskflow", {"action": action, **named, **more})

    def flow(self, action: str, flow: str | None = None, **more: Any) -> dict[str, Any]:
        reply = self.call(action, flow, **more)
        assert not reply.is_error, reply.text
        assert reply.data["ok"] is True
        return reply.data["flow"]

    def started(self, **more: Any) -> str:
        return self.flow("start", controller_id="kate/inbox", goal="Sort the inbox", **more)["id"]

    def refused(self, action: str, flow: str | None = None, **more: Any) -> str:
        before = self.board.flows().list()
        reply = self.call(action, flow, **more)
        assert reply.is_error
        assert self.board.flows().list() == before
        return reply.text


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.board.close()


# The tool.


@pytest.mark.requirement("taskflow.one-tool", "taskflow.schema")
def test_the_schema_has_eight_actions_and_nine_other_fields(desk: Desk) -> None:
    (tool,) = desk.agent.tools
    assert tool.name == "taskflow"
    schema = tool.input_schema
    kinds = {name: part["type"] for name, part in schema["properties"].items()}
    assert schema["required"] == ["action"]
    assert "additionalProperties" not in schema
    assert schema["properties"]["action"] == {"type": "string", "enum": ACTIONS}
    assert kinds == {
        "action": "string",
        "flow_id": "string",
        "controller_id": "string",
        "goal": "string",
        "current_step": "string",
        "state": "object",
        "patch": "object",
        "wait_condition": "object",
        "final_state": "object",
        "reason": "string",
    }


@pytest.mark.requirement("taskflow.unknown-action")
@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({"action": "begin"}, "begin"),
        ({"action": " START "}, "START"),
        ({"action": 7}, ""),
        ({}, ""),
        (None, ""),
        (["start"], ""),
    ],
)
def test_an_unknown_action_is_told_the_eight(desk: Desk, args: Any, named: str) -> None:
    reply = desk.agent.call("taskflow", args)
    expected = "start|status|advance|wait|finish|fail|cancel|list_mine"
    assert (reply.text, reply.is_error) == (f"unknown action `{named}`; expected {expected}", True)


@pytest.mark.requirement("taskflow.plan-mode")
def test_plan_mode_does_not_stand_in_its_way(desk: Desk) -> None:
    desk.agent.enter_plan_mode()
    assert desk.flow("start", controller_id="c", goal="g")["status"] == "running"


# start.


@pytest.mark.requirement("taskflow.start", "taskflow.start-defaults", "taskflow.envelope", "taskflow.times")
def test_a_flow_starts_and_runs_at_once(desk: Desk) -> None:
    reply = desk.call("start", controller_id="kate/inbox", goal="Sort the inbox")
    name = reply.data["flow"]["id"]
    assert reply.data == {
        "ok": True,
        "flow": {
            "id": name,
            "controller_id": "kate/inbox",
            "goal": "Sort the inbox",
            "current_step": "init",
            "status": "running",
            "cancel_requested": False,
            "state": {},
            "wait": None,
            "revision": 1,
            "created_at": "2025-01-01T09:00:00+00:00",
            "updated_at": "2025-01-01T09:00:00+00:00",
        },
    }
    flow = desk.board.flows().get(name)
    assert flow is not None
    assert (flow.owner_session_key, flow.requester_origin) == ("agent:kate:session:s1", "s1")
    desk.clock.advance(0.25)
    assert desk.flow("advance", name)["updated_at"] == "2025-01-01T09:00:00.250+00:00"


@pytest.mark.requirement("taskflow.alphabetical-keys")
def test_the_text_is_the_object_as_compact_json_with_its_keys_in_order(desk: Desk) -> None:
    reply = desk.call("start", controller_id="c", goal="é", state={"z": 1, "a": {"y": 1, "b": []}})
    assert reply.text == json.dumps(reply.data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert reply.text.startswith('{"flow":{"cancel_requested":false,"controller_id":"c","created_at":')
    assert '"state":{"a":{"b":[],"y":1},"z":1}' in reply.text


@pytest.mark.requirement("taskflow.trimmed", "taskflow.blank-step")
@pytest.mark.parametrize("step", ["", "  ", None, 7, ["x"]])
def test_texts_are_trimmed_and_a_blank_step_is_none(desk: Desk, step: Any) -> None:
    flow = desk.flow(" start\n", controller_id=" c ", goal="\tg\n", current_step=step)
    assert (flow["controller_id"], flow["goal"], flow["current_step"]) == ("c", "g", "init")
    flow = desk.flow("advance", f" {flow['id']} ", current_step=" classify ")
    assert flow["current_step"] == "classify"
    assert desk.flow("advance", flow["id"], current_step=step)["current_step"] == "classify"


@pytest.mark.requirement("taskflow.missing-text", "taskflow.empty-text")
def test_a_required_text_is_there_and_is_not_blank(desk: Desk) -> None:
    assert desk.refused("start") == "missing or invalid `controller_id`"
    assert desk.refused("start", controller_id=None, goal="g") == "missing or invalid `controller_id`"
    assert desk.refused("start", controller_id=" ") == "`controller_id` cannot be empty"
    assert desk.refused("start", controller_id="c", goal=7) == "missing or invalid `goal`"
    assert desk.refused("start", controller_id="c", goal="\n") == "`goal` cannot be empty"
    for action in ON_ONE:
        assert desk.refused(action) == "missing or invalid `flow_id`"
        assert desk.refused(action, "") == "`flow_id` cannot be empty"
    assert desk.refused("fail", desk.started()) == "missing or invalid `reason`"
    assert desk.refused("fail", desk.started(), reason=" ") == "`reason` cannot be empty"


@pytest.mark.requirement("taskflow.any-state")
@pytest.mark.parametrize("state", [None, [], "text", 7, 1.5, True, {"a": None}])
def test_a_state_is_any_json(desk: Desk, state: Any) -> None:
    name = desk.started(state=state)
    assert desk.flow("status", name)["state"] == state


def test_a_state_that_is_no_json_or_too_large_is_invalid_data(desk: Desk) -> None:
    for state in ({"a": object()}, {"a": 10**400}, {"a": float("nan")}, {1.5: "x"}, {"a": "x" * 1_000_001}):
        assert desk.refused("start", controller_id="c", goal="g", state=state).startswith("invalid data: ")
    name = desk.started()
    assert desk.refused("advance", name, patch={"a": "x" * 1_000_001}).startswith("invalid data: ")
    assert desk.refused("start", controller_id="c", goal="x" * 100_001).startswith("invalid data: ")


# Which flow.


@pytest.mark.requirement("taskflow.uuid")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "nope",
            "invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `n`",
        ),
        ("abc", "invalid length: expected length 32 for simple format, found 3"),
        ("ab-cd", "invalid group count: expected 5, found 2"),
        ("00000000-0000-0000-0000-00000000000", "invalid group length in group 4: expected 12, found 11"),
        ("{00000000000000000000000000000000}", "invalid group count: expected 5, found 1"),
    ],
)
def test_what_is_no_uuid_is_told_why(desk: Desk, text: str, why: str) -> None:
    for action in ON_ONE:
        said = desk.refused(action, text)
        assert said.startswith("`flow_id` is not a valid UUID: ")
        assert why in said


@pytest.mark.requirement("taskflow.uuid-spellings")
def test_a_uuid_may_be_spelt_in_four_ways(desk: Desk) -> None:
    name = desk.started()
    for spelling in (name.upper(), name.replace("-", ""), f"{{{name}}}", f"urn:uuid:{name}"):
        assert desk.flow("status", spelling)["id"] == name


@pytest.mark.requirement("taskflow.not-found")
@pytest.mark.parametrize("action", ON_ONE)
def test_an_unknown_flow_is_no_error(desk: Desk, action: str) -> None:
    name = str(uuid4())
    reply = desk.call(action, name.upper())
    assert not reply.is_error
    assert reply.data == {"ok": False, "error": "not_found", "flow_id": name}
    assert reply.text == f'{{"error":"not_found","flow_id":"{name}","ok":false}}'


@pytest.mark.requirement("taskflow.ownership")
@pytest.mark.parametrize("action", ON_ONE)
@pytest.mark.parametrize(("agent", "session"), [("kate", "s2"), ("ana", "s1")])
def test_a_flow_of_another_session_is_refused(desk: Desk, action: str, agent: str, session: str) -> None:
    other = desk.board.agent(agent, session=session, dialect="taskflow")
    theirs = other.call("taskflow", {"action": "start", "controller_id": "c", "goal": "g"}).data["flow"]["id"]
    said = desk.refused(action, theirs, reason="no", wait_condition=MANUAL)
    assert said == f"flow {theirs} belongs to a different session; refusing cross-session access"
    assert desk.call("list_mine").data["count"] == 0


@pytest.mark.requirement("taskflow.order-of-checks")
def test_what_else_is_wrong_is_said_once_the_flow_is_known(desk: Desk) -> None:
    nobody = str(uuid4())
    assert desk.call("fail", nobody).data["error"] == "not_found"
    assert desk.call("wait", nobody, wait_condition=7).data["error"] == "not_found"
    other = desk.board.agent("ana", session="s2", dialect="taskflow")
    theirs = other.call("taskflow", {"action": "start", "controller_id": "c", "goal": "g"}).data["flow"]["id"]
    assert "different session" in desk.refused("fail", theirs)
    assert "different session" in desk.refused("wait", theirs)
    name = desk.started()
    desk.flow("finish", name)
    assert desk.refused("wait", name, wait_condition={"kind": "moon"}) == BAD_SHAPE
    assert desk.refused("fail", name) == "missing or invalid `reason`"


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
