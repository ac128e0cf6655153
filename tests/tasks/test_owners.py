"""Whom a task is meant for, and how long it stays so."""

from datetime import timedelta

import pytest

from punchlist import TaskStatus
from tests.tasks.boards import Desk


@pytest.mark.parametrize("before", ["in_progress", "completed", "failed"])
def test_an_owner_given_together_with_pending_is_kept(desk: Desk, before: str) -> None:
    desk.tasks.create("one")
    desk.tasks.update("1", status=before)
    task = desk.tasks.update("1", owner="bob", status="pending")
    assert (task.status, task.owner) == (TaskStatus.PENDING, "bob")
    assert desk.tasks.claim("ann") is None
    assert desk.taken("bob").id == "1"


def test_a_model_gives_a_task_back_and_to_somebody_in_one_call(desk: Desk) -> None:
    agent = desk.board.agent("lead", session="s", dialect="claude-tasks")
    agent.call("TaskCreate", {"subject": "one", "description": ""})
    agent.call("TaskUpdate", {"taskId": "1", "status": "in_progress"})
    agent.call("TaskUpdate", {"taskId": "1", "status": "pending", "owner": "bob"})
    task = desk.board.tasks("session:s").get("1")
    assert (task.status, task.owner) == (TaskStatus.PENDING, "bob")


def test_a_task_that_is_meant_for_somebody_stays_so_over_its_waits(desk: Desk) -> None:
    desk.tasks.create("one", owner="bob")
    desk.tasks.wait("1")
    assert desk.tasks.resume("1").owner == "bob"
    desk.tasks.wait("1", until=timedelta(hours=2))
    desk.clock.advance(86_400)
    assert (desk.tasks.get("1").status, desk.tasks.get("1").owner) == (TaskStatus.PENDING, "bob")
    desk.tasks.wait("1", topic="a", correlation_id="b")
    assert desk.tasks.signal("a", "b")[0].owner == "bob"
    desk.tasks.wait("1")
    assert desk.tasks.update("1", status="pending").owner == "bob"


def test_a_waiting_task_can_be_given_to_somebody(desk: Desk) -> None:
    desk.tasks.create("one")
    desk.tasks.wait("1")
    desk.tasks.update("1", owner="bob")
    assert desk.tasks.resume("1").owner == "bob"


def test_a_worker_s_claim_ends_with_its_wait(desk: Desk) -> None:
    desk.tasks.create("one")
    task = desk.taken()
    desk.tasks.wait("1", fence=task.fence)
    assert desk.tasks.resume("1").owner is None
