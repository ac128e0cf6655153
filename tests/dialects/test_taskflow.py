"""nexo's `taskflow` to the letter: the tool, `start`, and which flow is meant. Its rules are in manifest.toml."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.dialects.flow_calls import ACTIONS, BAD_SHAPE, MANUAL, ON_ONE, Desk


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
