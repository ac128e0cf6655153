"""OpenClaw's `update_plan` to the letter. The rules are those of manifest.toml, section openclaw."""

from collections.abc import Iterator
from typing import Any

import pytest

from punchlist import Agent, Board
from punchlist.dialects.openclaw import plan_event
from tests.dialects.boards import last_kind, lines, memory_board, todo

PATCH = {"step": "patch", "status": "in_progress"}
TEST = {"step": "test", "status": "pending"}


@pytest.fixture
def board() -> Iterator[Board]:
    with memory_board() as board:
        yield board


@pytest.fixture
def agent(board: Board) -> Agent:
    return board.agent("main", session="s", dialect="openclaw")


@pytest.mark.requirement("openclaw.one-tool", "openclaw.schema")
def test_the_schema_wants_one_step_and_lets_steps_have_more_fields(agent: Agent) -> None:
    (tool,) = agent.tools
    plan = tool.input_schema["properties"]["plan"]
    assert (tool.name, tool.input_schema["required"], plan["minItems"]) == ("update_plan", ["plan"], 1)
    assert plan["items"]["required"] == ["step", "status"]
    assert plan["items"]["additionalProperties"] is True
    assert plan["items"]["properties"]["status"]["enum"] == ["pending", "in_progress", "completed"]


@pytest.mark.requirement("openclaw.annotations")
def test_the_tool_is_experimental(agent: Agent) -> None:
    assert agent.tools[0].annotations == {"label": "Update Plan", "experimental": True}


@pytest.mark.requirement("openclaw.details")
def test_the_reply_has_no_text_and_its_details_hold_the_plan(agent: Agent) -> None:
    reply = agent.call("update_plan", {"explanation": "Found it", "plan": [PATCH, TEST]})
    assert (reply.text, reply.is_error) == ("", False)
    assert reply.data == {"status": "updated", "explanation": "Found it", "plan": [PATCH, TEST]}
    assert list(reply.data) == ["status", "explanation", "plan"]
    assert lines(agent.todos) == ["1 > patch", "2   test"]


@pytest.mark.requirement("openclaw.explanation")
@pytest.mark.parametrize("explanation", [None, "", " ", 3, ["x"]])
def test_an_explanation_that_says_nothing_is_left_out(agent: Agent, explanation: Any) -> None:
    agent.call("update_plan", {"explanation": "Found it", "plan": [PATCH]})
    reply = agent.call("update_plan", {"explanation": explanation, "plan": [PATCH]})
    assert (reply.data, agent.todos.explanation) == ({"status": "updated", "plan": [PATCH]}, None)


@pytest.mark.requirement("openclaw.trimmed")
def test_texts_are_trimmed(agent: Agent) -> None:
    args = {"explanation": "\n why ", "plan": [{"step": " patch\n", "status": " in_progress "}]}
    assert agent.call("update_plan", args).data == {"status": "updated", "explanation": "why", "plan": [PATCH]}


@pytest.mark.requirement("openclaw.extra-fields")
def test_other_fields_of_a_step_are_ignored(agent: Agent) -> None:
    reply = agent.call("update_plan", {"plan": [{**PATCH, "owner": "agent-1", "notes": ["later"]}], "x": 1})
    assert reply.data["plan"] == [PATCH]


SIX = "must be one of pending, in_progress, completed"
NO_PLANS: list[Any] = [None, [], "x", {}, {"plan": None}, {"plan": []}, {"plan": {}}, {"plan": "[]"}]
NO_STEPS: list[Any] = [{}, [], {"step": ""}, {"step": " "}]
ERRORS: list[tuple[Any, str]] = [
    *((args, "plan required") for args in NO_PLANS),
    *(({"plan": [PATCH, entry]}, "plan[1] must be an object") for entry in (None, "test", 3, False)),
    *(({"plan": [PATCH, entry]}, "plan[1].step required") for entry in NO_STEPS),
    ({"plan": [{"step": 3, "status": "?"}]}, "plan[0].step required"),
    *(({"plan": [PATCH, {"step": "a", **more}]}, "plan[1].status required") for more in ({}, {"status": 3})),
    ({"plan": [PATCH, {"step": "a", "status": " "}]}, "plan[1].status required"),
    *(({"plan": [PATCH, {"step": "a", "status": word}]}, f"plan[1].status {SIX}") for word in ("done", "Pending")),
    ({"plan": [PATCH, TEST, PATCH]}, "plan can contain at most one in_progress step"),
    ({"plan": [PATCH, PATCH, {"step": "a", "status": "x"}]}, f"plan[2].status {SIX}"),
]


@pytest.mark.requirement("openclaw.error-texts", "openclaw.one-in-progress", "openclaw.refused-changes-nothing")
@pytest.mark.parametrize(("args", "said"), ERRORS)
def test_each_error_has_the_originals_words(board: Board, agent: Agent, args: Any, said: str) -> None:
    agent.call("update_plan", {"plan": [TEST]})
    reply = agent.call("update_plan", args)
    assert (reply.text, reply.is_error) == (said, True)
    assert (lines(agent.todos), last_kind(board)) == (["1   test"], "list.refused")


@pytest.mark.requirement("openclaw.event")
def test_the_event_names_each_step_with_its_status(agent: Agent) -> None:
    data = {"phase": "update", "title": "Plan updated", "source": "codex-app-server"}
    agent.call("update_plan", {"plan": [PATCH]})
    assert plan_event(agent.todos) == {"stream": "plan", "data": {**data, "steps": ["patch (in_progress)"]}}
    agent.call("update_plan", {"explanation": "Found it", "plan": [PATCH, TEST]})
    assert plan_event(agent.todos) == {
        "stream": "plan",
        "data": {**data, "explanation": "Found it", "steps": ["patch (in_progress)", "test (pending)"]},
    }


@pytest.mark.requirement("openclaw.plan-mode")
def test_the_tool_may_be_used_in_plan_mode(agent: Agent) -> None:
    agent.enter_plan_mode()
    assert not agent.call("update_plan", {"plan": [PATCH]}).is_error


@pytest.mark.requirement("openclaw.blocked")
def test_a_blocked_item_shows_as_pending_so_that_another_may_be_in_progress(board: Board, agent: Agent) -> None:
    todo(board.agent("main", session="s"), set=["test", "patch"], block={"1": "no key"})
    assert not agent.call("update_plan", {"plan": [TEST, PATCH]}).is_error
    assert lines(agent.todos) == ["1 ! test", "2 > patch"]
