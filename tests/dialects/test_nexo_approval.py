"""nexo's plan mode to the letter: what an operator decides, and what people read and write."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from punchlist import Board, Reply
from punchlist.dialects import nexo
from punchlist.dialects.base import Invalid, ResolvePlan
from punchlist.errors import ConfigInvalid, PlanMissing, PlanRefused
from punchlist.testing import FakeClock
from tests.dialects.test_nexo_plans import PLAN, entered, opened, operator, submit
from tests.store.contracts.checks import PATIENCE, in_threads


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def board(clock: FakeClock) -> Iterator[Board]:
    with Board.open("memory:", clock=clock) as board:
        yield board


# Approval.


@pytest.mark.requirement("nexo.plan-approval")
def test_with_approval_the_answer_comes_once_the_operator_decided(board: Board):
    agent = entered(board, require_approval=True)
    reply = submit(agent)
    assert (reply.is_error, agent.mode) == (False, "plan")
    assert reply.data == {"approval_required": True, "exited_plan_mode": False, "plan_id": reply.awaits}
    resolved = operator(board).call("plan_mode_resolve", {"plan_id": reply.awaits, "decision": "approve"})
    assert resolved.data == {"plan_id": reply.awaits, "resolved": True}
    assert agent.mode == "execute"
    final = agent.plan_reply(agent.wait_for_plan(reply.awaits))
    assert final.data["exited_plan_mode"] is True
    assert final.data["approval_required"] is True
    assert final.data["plan_id"] == reply.awaits
    plan = agent.plan
    assert plan is not None
    assert plan.decided_by == "operator"


def test_a_host_may_wait_in_a_thread_while_the_operator_decides_in_another(board: Board):
    agent = entered(board, require_approval=True)
    plan_id = submit(agent).awaits
    answers: list[Reply] = []

    def one(number: int) -> None:
        if number:
            operator(board).call("plan_mode_resolve", {"plan_id": plan_id, "decision": "approve"})
        else:
            answers.append(agent.plan_reply(agent.wait_for_plan(plan_id, timeout=PATIENCE)))

    in_threads(2, one)
    assert [answer.data["exited_plan_mode"] for answer in answers] == [True]


@pytest.mark.requirement("nexo.plan-reject")
def test_a_rejection_says_why_and_plan_mode_stays_on(board: Board):
    agent = entered(board, require_approval=True)
    plan_id = submit(agent).awaits
    args = {"plan_id": plan_id, "decision": "reject", "reason": " scope too small "}
    assert not operator(board).call("plan_mode_resolve", args).is_error
    reply = agent.plan_reply(agent.wait_for_plan(plan_id))
    assert reply.is_error
    assert reply.text == (
        "Plan rejected by operator. Reason: scope too small.\n"
        "Do not call ExitPlanMode again with the same plan.\n"
        "Adjust the plan based on the rejection reason and present a revised plan."
    )
    assert agent.mode == "plan"


@pytest.mark.requirement("nexo.plan-timeout")
def test_an_operator_who_takes_too_long_decides_nothing(board: Board, clock: FakeClock):
    agent = entered(board, require_approval=True, approval_timeout_secs=60)
    plan_id = submit(agent).awaits
    clock.advance(60)
    reply = agent.plan_reply(agent.wait_for_plan(plan_id, timeout=PATIENCE))
    assert reply.is_error
    assert reply.text == (
        f"ApprovalTimeout: no operator decision within 60s for plan_id={plan_id}. Plan mode remains active; revisit "
        "the plan or reduce scope."
    )
    assert agent.mode == "plan"
    late = operator(board).call("plan_mode_resolve", {"plan_id": plan_id, "decision": "approve"})
    assert late.text == f"no pending plan_mode approval for plan_id={plan_id}"
    assert agent.mode == "plan"


@pytest.mark.requirement("nexo.plan-settings")
def test_approval_is_off_and_the_operator_has_a_day(board: Board):
    assert submit(entered(board)).data["approval_required"] is False
    agent = entered(board, require_approval=True)
    plan = agent.wait_for_plan(submit(agent).awaits, timeout=0)
    assert plan.expires_at is not None
    assert plan.proposed_at is not None
    assert plan.expires_at - plan.proposed_at == timedelta(seconds=86_400)
    assert [tool.name for tool in opened(board, enabled=False).tools] == ["TodoWrite"]
    short = entered(board, require_approval=True, approval_timeout_secs=0)
    short.reject_plan("next")
    plan = short.wait_for_plan(submit(short, "short").awaits, timeout=0)
    assert plan.expires_at is not None
    assert plan.proposed_at is not None
    assert plan.expires_at - plan.proposed_at == timedelta(seconds=1)


@pytest.mark.parametrize(
    "wanted",
    [
        7,
        0,
        None,
        "yes",
        {"require_approval": 1},
        {"approval_timeout_secs": -1},
        {"approval_timeout_secs": "1"},
        {"other": 1},
    ],
)
def test_a_setting_that_is_none_is_refused(board: Board, wanted: Any):
    with pytest.raises(ConfigInvalid):
        board.agent("main", session="s", dialect="nexo", plan_tools=wanted)


def test_a_dialect_without_plan_tools_has_none_to_offer(board: Board):
    agent = board.agent("main", session="s", dialect="codex", plan_tools=True)
    assert [tool.name for tool in agent.tools] == ["update_plan"]
    assert len(board.agent("main", session="s", dialect="nexo", plan_tools={}).tools) == 3
    assert len(board.agent("main", session="s", dialect="nexo", plan_tools=False).tools) == 1


@pytest.mark.requirement("nexo.plan-resolve-errors")
@pytest.mark.parametrize(
    ("args", "said"),
    [
        (None, "plan_mode_resolve requires `plan_id`"),
        ({"plan_id": 7}, "plan_mode_resolve requires `plan_id`"),
        ({"plan_id": "x"}, "plan_mode_resolve requires `decision`"),
        ({"plan_id": "x", "decision": 1}, "plan_mode_resolve requires `decision`"),
        (
            {"plan_id": "x", "decision": "maybe"},
            "plan_mode_resolve: unknown decision `maybe` (expected approve|reject)",
        ),
        ({"plan_id": "x", "decision": "reject"}, "plan_mode_resolve(decision=reject) requires `reason`"),
        ({"plan_id": "x", "decision": "reject", "reason": " "}, "plan_mode_resolve(decision=reject) requires `reason`"),
        ({"plan_id": "x", "decision": "approve"}, "no pending plan_mode approval for plan_id=x"),
    ],
)
def test_what_an_operator_gets_wrong_is_said(board: Board, args: Any, said: str):
    reply = operator(board).call("plan_mode_resolve", args)
    assert (reply.is_error, reply.text) == (True, said)


def test_a_plan_is_resolved_once(board: Board):
    agent = entered(board, require_approval=True)
    args = {"plan_id": submit(agent).awaits, "decision": "approve"}
    assert not operator(board).call("plan_mode_resolve", args).is_error
    assert operator(board).call("plan_mode_resolve", args).is_error


def test_a_repeated_call_is_answered_with_the_first_reply(board: Board):
    agent = entered(board, require_approval=True)
    first = agent.call("ExitPlanMode", {"final_plan": PLAN}, call_id="c1")
    assert agent.call("ExitPlanMode", {"final_plan": PLAN}, call_id="c1") == first
    assert len(agent.plans) == 1
    assert agent.call("ExitPlanMode", {"final_plan": "other"}, call_id="c1").is_error


def test_a_newer_plan_closes_the_wait_for_the_older(board: Board):
    agent = entered(board, require_approval=True)
    first = submit(agent, "one").awaits
    submit(agent, "two")
    reply = agent.plan_reply(agent.wait_for_plan(first, timeout=PATIENCE))
    assert reply.text == (
        f"Plan approval channel closed unexpectedly for plan_id={first}. Plan mode remains active; rebuild the plan "
        "and try again."
    )


@pytest.mark.requirement("nexo.plan-todo-write")
def test_the_todo_tool_may_be_used_in_plan_mode(board: Board):
    agent = entered(board)
    assert not agent.call("TodoWrite", {"todos": []}).is_error
    assert agent.permits("ExitPlanMode") is None
    assert agent.permits("EnterPlanMode") is None


def test_a_refused_call_is_recorded(board: Board):
    submit(opened(board))
    event = list(board.events())[-1]
    assert (event.kind, event.data["code"]) == ("approval.refused", "outside_plan_mode")


# What people read and write.


@pytest.mark.requirement("nexo.plan-chat")
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[plan-mode] approve plan_id=a-1", ResolvePlan("a-1")),
        ("  [plan-mode]\tapprove   plan_id=a-1 \n", ResolvePlan("a-1")),
        ("[plan-mode] approve plan_id=a-1 reason=fine", ResolvePlan("a-1")),
        ("[plan-mode] reject plan_id=a-1 reason=too big, sorry  ", ResolvePlan("a-1", "too big, sorry")),
        ("[plan-mode] reject plan_id=a-1", Invalid("plan_mode_resolve(decision=reject) requires `reason`")),
        ("[plan-mode] Approve plan_id=a-1", None),
        ("please [plan-mode] approve plan_id=a-1", None),
        ("[plan-mode] approve plan_id=", None),
        ("[plan-mode] approve plan_id=a-1 extra", None),
        ("[plan-mode]approve plan_id=a-1", None),
        ("", None),
    ],
)
def test_the_line_with_which_people_decide(line: str, said: Any):
    assert nexo.read_decision(line) == said


@pytest.mark.requirement("nexo.plan-chat")
def test_a_chat_message_decides(board: Board):
    agent = entered(board, require_approval=True)
    plan_id = submit(agent).awaits
    assert board.resolve_plan("hello", by="ada") is False
    with pytest.raises(PlanRefused):
        board.resolve_plan(f"[plan-mode] reject plan_id={plan_id}", by="ada")
    with pytest.raises(PlanMissing):
        board.resolve_plan("[plan-mode] approve plan_id=other", by="ada")
    assert board.resolve_plan(f"[plan-mode] reject plan_id={plan_id} reason=no", by="ada") is True
    plan = agent.plan
    assert plan is not None
    assert (plan.state.value, plan.reason, plan.decided_by) == ("rejected", "no", "ada")


@pytest.mark.requirement("nexo.plan-notify")
def test_the_lines_for_people():
    at = datetime(2026, 3, 1, 9, 30, 5, 700, tzinfo=UTC)
    start = "[plan-mode] entered at 2026-03-01T09:30:05+00:00 — reason: "
    assert nexo.notify_entered(at) == f"{start}model"
    assert nexo.notify_entered(at, reason="two ways") == f"{start}model: two ways"
    assert nexo.notify_entered(at, by="operator") == f"{start}operator"
    assert nexo.notify_entered_for_danger(at, "rm -rf") == f"{start}auto-destructive: rm -rf"
    assert nexo.notify_exited("x" * 200, 7) == f"[plan-mode] exited — plan: {'x' * 200} (full plan in turn log #7)"
    assert nexo.notify_exited("x" * 201, 7) == f"[plan-mode] exited — plan: {'x' * 200}… (full plan in turn log #7)"
    assert nexo.notify_refused("Bash", "bash") == "[plan-mode] refused tool=Bash kind=bash"
    assert nexo.notify_acceptance(" 3 passed\n", passed=True) == "[plan-mode] acceptance: pass (3 passed)"
    assert nexo.notify_acceptance("1 failed", passed=False) == "[plan-mode] acceptance: fail (1 failed)"
