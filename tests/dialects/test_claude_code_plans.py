"""Claude Code's plan mode, as far as it is known. The rules are those of manifest.toml that begin with `plan-`."""

from collections.abc import Iterator
from typing import Any

import pytest

from punchlist import Agent, Board, Reply
from punchlist.testing import FakeClock
from tests.dialects.boards import write
from tests.dialects.test_registry import check_schema

PLAN = "# Sessions\n\n1. Add the table\n2. Run the tests"
ENTERED = "Entered plan mode. You should now focus on exploring the codebase and designing an implementation approach."
APPROVED = "User has approved your plan. You can now start coding. Start with updating your todo list if applicable"


@pytest.fixture
def board() -> Iterator[Board]:
    with Board.open("memory:", clock=FakeClock()) as board:
        yield board


@pytest.fixture
def agent(board: Board) -> Agent:
    return board.agent("main", session="s", dialect="claude-code", plan_tools=True)


def submitted(agent: Agent, plan: str = PLAN) -> Reply:
    agent.call("EnterPlanMode", {})
    return agent.call("ExitPlanMode", {"plan": plan})


@pytest.mark.requirement("claude-code.plan-tools")
def test_the_tools_ask_before_they_act_and_only_leaving_changes_something(agent: Agent):
    todo, enter, leave = agent.tools
    assert (todo.name, enter.name, leave.name) == ("TodoWrite", "EnterPlanMode", "ExitPlanMode")
    assert (enter.annotations["readOnly"], leave.annotations["readOnly"]) == (True, False)
    assert (enter.annotations["permission"], leave.annotations["permission"]) == ("ask", "ask")
    assert enter.input_schema["properties"] == {}
    assert leave.input_schema["required"] == ["plan"]
    for tool in (enter, leave):
        check_schema(tool.input_schema)
        assert 0 < len(tool.description) <= 300


@pytest.mark.requirement("claude-code.plan-enter")
def test_entering_switches_plan_mode_on_and_the_todo_tool_off(agent: Agent):
    inputs: list[Any] = [{}, None]
    for args in inputs:
        reply = agent.call("EnterPlanMode", args)
        assert (reply.text, reply.data) == (ENTERED, {"message": ENTERED})
    assert agent.mode == "plan"
    assert agent.call("TodoWrite", {"todos": []}).is_error


@pytest.mark.requirement("claude-code.plan-approval")
def test_leaving_waits_for_a_person_and_then_says_so(agent: Agent):
    reply = submitted(agent)
    plan = agent.plan
    assert plan is not None
    assert (reply.is_error, reply.awaits, agent.mode) == (False, plan.id, "plan")
    agent.approve_plan(plan.revision, by="ada", todos=True)
    final = agent.plan_reply(agent.wait_for_plan(reply.awaits))
    assert (final.text, final.data) == (APPROVED, {"plan": PLAN, "isAgent": False})
    assert agent.mode == "execute"
    assert [item.content for item in agent.todos.items] == ["Add the table", "Run the tests"]
    write(agent, "> Add the table", "Run the tests")


@pytest.mark.requirement("claude-code.plan-confirmed")
def test_a_host_that_asked_before_it_calls_is_answered_at_once(board: Board):
    agent = board.agent("main", session="s", dialect="claude-code", plan_tools={"require_approval": False})
    reply = submitted(agent)
    assert (reply.text, reply.awaits, agent.mode) == (APPROVED, None, "execute")


@pytest.mark.requirement("claude-code.plan-reject")
def test_a_rejection_gives_the_reason_and_stays_in_plan_mode(agent: Agent):
    submitted(agent)
    reply = agent.plan_reply(agent.reject_plan("Tests first", by="ada"))
    assert reply.is_error
    assert "Tests first" in reply.text
    assert agent.mode == "plan"


@pytest.mark.requirement("claude-code.plan-input")
@pytest.mark.parametrize(
    ("args", "issue"),
    [
        (None, "The input type is expected as `object` but provided as `null`"),
        ([], "The input type is expected as `object` but provided as `array`"),
        ({}, "The required parameter `plan` is missing"),
        ({"plan": 7}, "The parameter `plan` type is expected as `string` but provided as `number`"),
    ],
)
def test_input_of_the_wrong_shape_is_named(agent: Agent, args: Any, issue: str):
    agent.call("EnterPlanMode", {})
    reply = agent.call("ExitPlanMode", args)
    assert reply.text == f"InputValidationError: ExitPlanMode failed due to the following issue:\n{issue}"
    assert agent.plan is None


@pytest.mark.requirement("claude-code.plan-input")
def test_the_path_of_the_plan_file_is_taken_and_never_opened(agent: Agent):
    agent.call("EnterPlanMode", {})
    reply = agent.call("ExitPlanMode", {"plan": PLAN, "planFilePath": "/etc/passwd"})
    plan = agent.plan
    assert not reply.is_error
    assert plan is not None
    assert plan.text == PLAN


@pytest.mark.requirement("claude-code.plan-refusals")
def test_outside_plan_mode_for_a_child_or_without_words_nothing_happens(agent: Agent):
    assert agent.call("ExitPlanMode", {"plan": PLAN}).problems[0].code == "outside_plan_mode"
    assert agent.spawn("explore").call("EnterPlanMode", {}).problems[0].code == "plan_mode_unavailable"
    assert agent.call("EnterPlanMode", "x").is_error
    agent.call("EnterPlanMode", {})
    assert agent.call("ExitPlanMode", {"plan": " "}).problems[0].code == "plan_refused"
    assert agent.call("ExitPlanMode", {"plan": "x" * 70_000}).problems[0].code == "plan_refused"
    assert agent.plan is None


def test_without_the_option_the_tools_are_unknown(board: Board):
    agent = board.agent("main", session="s", dialect="claude-code")
    assert agent.call("ExitPlanMode", {"plan": PLAN}).problems[0].code == "unknown_tool"
