"""How Codex tells others about a proposed plan."""

from datetime import UTC, datetime
from typing import Any

import pytest

from punchlist.core.plan import PlanStream, PlanStreamStep
from punchlist.dialects.codex import plan_event, plan_notification, plan_step
from tests.dialects.boards import memory_board

PIECES = ("Look:\n<prop", "osed_plan>\n1. Paint\n", "</proposed_plan>\n")
WHERE: Any = {"thread_id": "th", "turn_id": "t1"}


def steps() -> list[tuple[str, PlanStreamStep]]:
    stream = PlanStream("t1")
    made = [step for piece in PIECES for step in stream.push(piece)]
    return [(stream.item, step) for step in [*made, *stream.message("".join(PIECES))]]


@pytest.mark.requirement("codex.plan-core-events")
def test_the_core_events_of_a_plan_item():
    events = [plan_event(step, item_id=item, **WHERE) for item, step in steps()]
    place = {"thread_id": "th", "turn_id": "t1"}
    assert events == [
        None,
        {"type": "item_started", **place, "item": {"type": "Plan", "id": "t1-plan", "text": ""}},
        {"type": "plan_delta", **place, "item_id": "t1-plan", "delta": "1. Paint\n"},
        {"type": "item_completed", **place, "item": {"type": "Plan", "id": "t1-plan", "text": "1. Paint\n"}},
    ]
    at = datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)
    completed: Any = plan_event(PlanStreamStep("completed", "x"), item_id="i", at=at, **WHERE)
    assert completed["completed_at_ms"] == 2000
    assert "completed_at_ms" not in (plan_event(PlanStreamStep("started"), item_id="i", at=at, **WHERE) or {})


@pytest.mark.requirement("codex.plan-notifications")
def test_the_notifications_of_the_app_server():
    place = {"threadId": "th", "turnId": "t1"}
    assert [plan_notification(step, item_id=item, **WHERE) for item, step in steps()] == [
        None,
        {"method": "item/started", "params": {**place, "item": {"type": "plan", "id": "t1-plan", "text": ""}}},
        {"method": "item/plan/delta", "params": {**place, "itemId": "t1-plan", "delta": "1. Paint\n"}},
        {
            "method": "item/completed",
            "params": {**place, "item": {"type": "plan", "id": "t1-plan", "text": "1. Paint\n"}},
        },
    ]


@pytest.mark.requirement("codex.plan-one-item", "codex.plan-final-text")
def test_a_turn_has_one_item_and_its_final_text_is_the_messages():
    stream = PlanStream("t1")
    stream.push("<proposed_plan>\nhalf")
    (completed,) = [
        step for step in stream.message("<proposed_plan>\nall\n</proposed_plan>") if step.kind == "completed"
    ]
    assert completed.text == "all\n"
    assert stream.push("<proposed_plan>\nmore\n") == []
    assert stream.message("<proposed_plan>\nmore\n</proposed_plan>") == []


@pytest.mark.requirement("codex.plan-visible-text")
def test_a_message_begins_with_its_first_visible_text():
    stream = PlanStream("t1")
    assert stream.push("\n ") == []
    assert stream.push("Hi") == [PlanStreamStep("visible", "\n Hi")]


def test_the_log_of_the_board_tells_the_same():
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect="codex")
        agent.enter_plan_mode()
        for piece in PIECES:
            agent.plan_delta(piece, turn="t1")
        agent.plan_message("".join(PIECES), turn="t1")
        agent.approve_plan()
        told = [one for event in board.events() if (one := plan_step(event.kind, event.data)) is not None]
    assert told == [one for one in steps() if one[1].kind != "visible"]


def test_other_events_are_no_steps_of_a_stream():
    assert plan_step("approval.proposed", {"text": "x", "item": None}) is None
    assert plan_step("list.replaced", {"item": "x"}) is None
