"""One task, one worker: who may begin it, and who is told that somebody else has it."""

from collections.abc import Callable
from threading import Barrier, Thread
from typing import Any

import pytest

from punchlist import Board, TaskStatus
from punchlist.agent import Agent
from punchlist.errors import TaskTaken
from tests.tasks.boards import Desk


def _at_once(*work: Callable[[], Any]) -> list[bool]:
    """Whether each of these succeeded, done by as many threads at the same time."""
    barrier, won = Barrier(len(work)), list[bool]()

    def run(each: Callable[[], Any]) -> None:
        barrier.wait()
        try:
            each()
            won.append(True)
        except TaskTaken:
            won.append(False)

    threads = [Thread(target=run, args=(each,)) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return won


@pytest.mark.parametrize("names", [[f"w{number}" for number in range(8)], ["ada"] * 8, [""] * 8])
def test_of_eight_who_start_the_same_task_one_has_it_and_the_others_are_told_whose_it_is(
    desk: Desk, names: list[str]
) -> None:
    desk.tasks.create("one")
    handles = [desk.board.tasks("default", by=name) for name in names]
    won = _at_once(*(lambda handle=handle: handle.update("1", status="in_progress") for handle in handles))
    assert sorted(won) == [False] * 7 + [True]
    owner = desk.tasks.get("1").owner
    with pytest.raises(TaskTaken) as taken:
        desk.board.tasks("default", by="eve").update("1", status="in_progress")
    assert taken.value.data["owner"] == (owner or "another worker")


def test_starting_does_not_take_a_task_out_of_a_worker_s_claim(desk: Desk) -> None:
    desk.tasks.create("one")
    task = desk.taken("bob")
    with pytest.raises(TaskTaken, match="`bob` until "):
        desk.tasks.update("1", status="in_progress")
    assert desk.tasks.get("1") == task
    assert desk.tasks.update("1", status="in_progress", fence=task.fence) == task


@pytest.mark.parametrize("waits", [False, True])
def test_a_task_that_is_meant_for_somebody_is_begun_by_nobody_else(desk: Desk, waits: bool) -> None:
    desk.tasks.create("one", owner="bob")
    if waits:
        desk.tasks.wait("1")
    with pytest.raises(TaskTaken, match="`bob`"):
        desk.tasks.update("1", status="in_progress")
    assert desk.board.tasks("default", by="bob").update("1", status="in_progress").owner == "bob"


def test_a_task_may_be_begun_for_whom_it_is_given_to_in_the_same_write(desk: Desk) -> None:
    desk.tasks.create("one")
    desk.taken("bob")
    task = desk.tasks.update("1", owner="eve", status="in_progress")
    assert (task.status, task.owner) == (TaskStatus.IN_PROGRESS, "eve")


def test_what_a_worker_put_aside_or_finished_belongs_to_who_begins_it_again(desk: Desk) -> None:
    desk.many("one", "two")
    desk.tasks.wait("1", fence=desk.taken("bob").fence)
    desk.tasks.complete("2", fence=desk.taken("bob").fence)
    assert [desk.tasks.update(each, status="in_progress").owner for each in ("1", "2")] == ["ada", "ada"]


# Agents.


def _session(board: Board, *names: str) -> list[Agent]:
    return [board.agent(name, session="s", dialect="claude-tasks") for name in names]


def test_an_agent_begins_its_own_task_again_and_no_other_does(desk: Desk) -> None:
    lead, other = _session(desk.board, "lead", "other")
    lead.call("TaskCreate", {"subject": "one", "description": ""})
    begin = {"taskId": "1", "status": "in_progress"}
    assert not lead.call("TaskUpdate", begin).is_error
    reply = other.call("TaskUpdate", {**begin, "subject": "mine"})
    assert reply.is_error
    assert "`lead`" in reply.text
    assert reply.data["success"] is False
    assert not lead.call("TaskUpdate", begin).is_error
    assert desk.board.tasks("session:s").get("1").subject == "one"
    with pytest.raises(TaskTaken, match="`lead`"):
        other.tasks("session:s").update("1", status="in_progress")
    with pytest.raises(TaskTaken, match="`lead`"):
        other.tasks("session:s").claim(id="1")


def test_agents_of_one_name_in_two_sessions_are_two(desk: Desk) -> None:
    desk.tasks.create("one")
    first, second = (desk.board.agent("main", session=session).tasks("default") for session in ("s1", "s2"))
    first.update("1", status="in_progress")
    with pytest.raises(TaskTaken):
        second.update("1", status="in_progress")


def test_what_is_in_progress_and_nobody_s_is_taken_up_by_one_agent(desk: Desk) -> None:
    lead, other = _session(desk.board, "lead", "other")
    tasks = desk.board.tasks("session:s")
    tasks.create("one")
    tasks.update("1", status="in_progress")
    assert not lead.call("TaskUpdate", {"taskId": "1", "status": "in_progress"}).is_error
    assert [task.id for task in lead.work.tasks] == ["1"]
    assert other.call("TaskUpdate", {"taskId": "1", "status": "in_progress"}).is_error


def test_a_model_may_call_itself_what_it_likes(desk: Desk) -> None:
    lead, other = _session(desk.board, "lead", "other")
    lead.call("TaskCreate", {"subject": "one", "description": ""})
    lead.call("TaskUpdate", {"taskId": "1", "owner": "Claude the painter"})
    begin = {"taskId": "1", "status": "in_progress"}
    assert [lead.call("TaskUpdate", begin).is_error for _ in range(2)] == [False, False]
    assert "Claude the painter" in other.call("TaskUpdate", begin).text


def test_a_model_does_not_begin_what_is_meant_for_another_agent(desk: Desk) -> None:
    lead, other = _session(desk.board, "lead", "other")
    other.call("TaskList")
    lead.call("TaskCreate", {"subject": "one", "description": ""})
    lead.call("TaskUpdate", {"taskId": "1", "owner": "other"})
    begin = {"taskId": "1", "status": "in_progress"}
    assert "`other`" in lead.call("TaskUpdate", begin).text
    assert not other.call("TaskUpdate", begin).is_error


# Given to somebody.


@pytest.mark.parametrize("lease", [True, False])
def test_a_task_that_is_given_back_can_be_taken_by_the_next(desk: Desk, lease: bool) -> None:
    desk.tasks.create("one")
    desk.taken("w1") if lease else desk.tasks.update("1", status="in_progress")
    task = desk.tasks.update("1", owner=None)
    assert (task.status, task.owner, task.lease_until) == (TaskStatus.PENDING, None, None)
    assert desk.kinds("1")[-1] == "released"
    assert desk.taken("w2").id == "1"


def test_a_model_gives_a_task_back_with_an_empty_owner(desk: Desk) -> None:
    (agent,) = _session(desk.board, "main")
    agent.call("TaskCreate", {"subject": "one", "description": ""})
    agent.tasks("session:s").claim()
    reply = agent.call("TaskUpdate", {"taskId": "1", "owner": ""})
    assert reply.data["statusChange"] == {"from": "in_progress", "to": "pending"}
    assert agent.tasks("session:s").claim("w2") is not None


def test_a_waiting_task_that_is_taken_from_its_owner_goes_on_as_nobody_s(desk: Desk) -> None:
    desk.tasks.create("one")
    desk.tasks.update("1", status="in_progress")
    desk.tasks.wait("1")
    desk.tasks.update("1", owner=None)
    assert (desk.tasks.resume("1").status, desk.taken("w2").id) == (TaskStatus.PENDING, "1")


@pytest.mark.parametrize("lease", [True, False])
def test_what_was_begun_and_is_given_to_somebody_is_taken_up_once(desk: Desk, lease: bool) -> None:
    desk.tasks.create("one")
    desk.taken("w1") if lease else desk.tasks.update("1", status="in_progress")
    assert desk.tasks.update("1", owner="bob").status is TaskStatus.IN_PROGRESS
    bob = desk.board.tasks("default", by="bob")
    with pytest.raises(TaskTaken):
        desk.tasks.update("1", status="in_progress")
    assert bob.update("1", status="in_progress").owner == "bob"
    with pytest.raises(TaskTaken):
        bob.update("1", status="in_progress")
