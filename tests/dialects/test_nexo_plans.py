"""nexo's plan mode to the letter. The rules are those of manifest.toml, section nexo, that begin with `plan-`."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from punchlist import Agent, Board, Reply
from punchlist.dialects import nexo
from punchlist.testing import FakeClock
from tests.dialects.test_registry import check_schema

PLAN = "1. Read auth.rs\n2. Add the handler"
INSTRUCTIONS = (
    "You are in plan mode. Use FileRead, Glob, Grep, WebSearch and any read-only tool to explore. Mutating tools "
    "refuse with PlanModeRefusal. When the plan is ready, call ExitPlanMode { final_plan } (≤ 8 KiB)."
)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def board(clock: FakeClock) -> Iterator[Board]:
    with Board.open("memory:", clock=clock) as board:
        yield board


def opened(board: Board, **settings: Any) -> Agent:
    return board.agent("main", session="s", dialect="nexo", plan_tools=settings or True)


def entered(board: Board, **settings: Any) -> Agent:
    agent = opened(board, **settings)
    assert not agent.call("EnterPlanMode", {}).is_error
    return agent


def submit(agent: Agent, plan: str = PLAN) -> Reply:
    return agent.call("ExitPlanMode", {"final_plan": plan})


def operator(board: Board) -> Agent:
    return board.agent("operator", session="ops", dialect="nexo", plan_tools={"operator": True})


# The tools.


@pytest.mark.requirement("nexo.plan-tools")
def test_the_tools_are_offered_beside_the_todo_tool_and_the_operators_apart(board: Board):
    assert [tool.name for tool in opened(board).tools] == ["TodoWrite", "EnterPlanMode", "ExitPlanMode"]
    assert [tool.name for tool in operator(board).tools] == ["TodoWrite", "plan_mode_resolve"]
    assert [tool.name for tool in board.agent("x", session="s", dialect="nexo").tools] == ["TodoWrite"]
    assert opened(board).call("plan_mode_resolve", {"plan_id": "x", "decision": "approve"}).is_error


@pytest.mark.requirement("nexo.plan-schemas")
def test_the_schemas_are_the_originals():
    text = {"type": "string"}
    assert nexo.ENTER.input_schema == {"type": "object", "properties": {"reason": text}, "required": []}
    assert nexo.EXIT.input_schema == {"type": "object", "properties": {"final_plan": text}, "required": ["final_plan"]}
    assert nexo.RESOLVE.input_schema == {
        "type": "object",
        "properties": {"plan_id": text, "decision": {"type": "string", "enum": ["approve", "reject"]}, "reason": text},
        "required": ["plan_id", "decision"],
    }
    for tool in (nexo.ENTER, nexo.EXIT, nexo.RESOLVE):
        check_schema(tool.input_schema)
        assert 0 < len(tool.description) <= 300


# Entering.


@pytest.mark.requirement("nexo.plan-enter")
def test_entering_answers_with_an_object(board: Board, clock: FakeClock):
    agent = opened(board)
    reply = agent.call("EnterPlanMode", {"reason": "  two ways "})
    assert reply.data == {
        "already_in_plan_mode": False,
        "entered_at": int(clock().timestamp()),
        "entered_plan_mode": True,
        "instructions": INSTRUCTIONS,
        "reason": "two ways",
    }
    assert json.loads(reply.text) == reply.data
    assert list(json.loads(reply.text)) == sorted(reply.data)
    assert agent.mode == "plan"
    assert agent.plan_mode is not None
    assert agent.plan_mode.reason == "two ways"


@pytest.mark.requirement("nexo.plan-enter-again")
def test_entering_again_keeps_the_first_time(board: Board, clock: FakeClock):
    agent = opened(board)
    first = agent.call("EnterPlanMode", {}).data["entered_at"]
    clock.advance(100)
    again = agent.call("EnterPlanMode", {"reason": "other"}).data
    assert (again["already_in_plan_mode"], again["entered_at"], again["reason"]) == (True, first, "other")


@pytest.mark.requirement("nexo.plan-enter-reason")
@pytest.mark.parametrize("args", [None, {}, {"reason": None}, {"reason": 7}, {"reason": "  "}, "text", []])
def test_a_reason_that_is_no_text_is_none(board: Board, args: Any):
    assert opened(board).call("EnterPlanMode", args).data["reason"] is None


@pytest.mark.requirement("nexo.plan-enter-interactive")
def test_an_agent_that_no_person_hears_cannot_enter(board: Board):
    text = (
        "EnterPlanMode is unavailable in this context (sub-agent, cron, poller, or heartbeat-spawned goal). Plan mode "
        "requires an interactive channel that can deliver an approval message."
    )
    worker = board.agent("worker", session="s", dialect="nexo", plan_tools=True, subagent=True)
    for agent in (opened(board, interactive=False), opened(board).spawn("explore"), worker):
        reply = agent.call("EnterPlanMode", {})
        assert (reply.is_error, reply.text) == (True, text)
        assert agent.mode == "execute"
    assert not opened(board, interactive=True).spawn("other").call("EnterPlanMode", {}).is_error


# Leaving.


@pytest.mark.requirement("nexo.plan-exit")
def test_leaving_without_approval_answers_with_an_object(board: Board, clock: FakeClock):
    agent = entered(board)
    since = int(clock().timestamp())
    clock.advance(100)
    reply = submit(agent, "ä\r\nb")
    plan = agent.plan
    assert plan is not None
    assert reply.data == {
        "approval_required": False,
        "awaiting_acceptance": False,
        "entered_at": since,
        "exited_plan_mode": True,
        "plan_bytes": 5,
        "plan_chars": 4,
        "plan_id": plan.id,
        "unlocked_at": since + 100,
    }
    assert json.loads(reply.text) == reply.data
    assert (agent.mode, plan.state.value, plan.decided_by) == ("execute", "approved", "main")


@pytest.mark.requirement("nexo.plan-exit-required")
@pytest.mark.parametrize("args", [None, {}, {"final_plan": None}, {"final_plan": 7}, "x"])
def test_leaving_needs_a_plan(board: Board, args: Any):
    agent = entered(board)
    assert agent.call("ExitPlanMode", args).text == "ExitPlanMode requires `final_plan` (string)"
    assert agent.mode == "plan"


@pytest.mark.requirement("nexo.plan-exit-size")
def test_a_plan_has_8192_bytes_at_most(board: Board):
    agent = entered(board)
    reply = submit(agent, "ä" * 4096 + "x")
    assert reply.is_error
    assert reply.text == "PlanTooLarge: actual=8193 max=8192. Trim the plan and retry."
    assert agent.mode == "plan"
    assert not submit(agent, "ä" * 4096).is_error


@pytest.mark.requirement("nexo.plan-exit-outside")
def test_outside_plan_mode_there_is_nothing_to_leave(board: Board):
    reply = submit(opened(board))
    assert reply.is_error
    assert reply.text == (
        "ExitPlanMode called outside plan mode. Use EnterPlanMode first; the tool is only meaningful when a plan is in "
        "progress."
    )


@pytest.mark.requirement("nexo.plan-exit-order")
def test_the_size_is_looked_at_before_the_mode(board: Board):
    agent = opened(board)
    assert agent.call("ExitPlanMode", {}).text.startswith("ExitPlanMode requires")
    assert submit(agent, "x" * 8193).text.startswith("PlanTooLarge")


@pytest.mark.requirement("nexo.plan-exit-empty")
def test_an_empty_plan_passes(board: Board):
    assert submit(entered(board), "").data["plan_bytes"] == 0


@pytest.mark.parametrize("args", ["x" * 1_000_000, {"final_plan": "x" * 10_000_000}, {"final_plan": {"a": []}}, [], 7])
def test_garbage_is_refused_and_changes_nothing(board: Board, args: Any):
    agent = entered(board)
    reply = agent.call("ExitPlanMode", args)
    assert reply.is_error
    assert len(reply.text) < 1000
    assert (agent.mode, agent.plan) == ("plan", None)
