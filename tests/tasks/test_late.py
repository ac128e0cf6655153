"""Who finishes late: what still counts, and what is kept beside the task."""

from collections.abc import Callable

import pytest

from punchlist import Task, TaskStatus
from punchlist.agent import Agent
from punchlist.errors import FenceStale, GateRefused, ReservationRefused, TaskTaken, TaskUnknown, TransitionRefused
from tests.tasks.boards import Desk


def _outrun(desk: Desk) -> Task:
    """A worker's task that somebody else has by now, as the worker knows it."""
    desk.tasks.create("one")
    slow = desk.tasks.claim("slow", lease=60)
    assert slow is not None
    desk.clock.advance(120)
    assert desk.taken("quick").id == slow.id
    return slow


def test_a_late_finisher_counts_though_its_last_attempt_expired(desk: Desk) -> None:
    desk.tasks.create("one", max_attempts=1)
    desk.tasks.create("two", blocked_by=["1"])
    slow = desk.tasks.claim("slow", lease=60)
    assert slow is not None
    desk.clock.advance(120)
    assert desk.tasks.get("1").status is TaskStatus.FAILED
    done = desk.tasks.complete("1", fence=slow.fence, result="mine")
    assert (done.status, done.result, done.failure, done.late_results) == (TaskStatus.COMPLETED, "mine", None, ())
    assert desk.tasks.get("1") == done
    assert desk.tasks.get("2").is_ready


def test_a_late_finisher_counts_though_its_task_was_opened_again_if_nobody_took_it(desk: Desk) -> None:
    desk.tasks.create("one", max_attempts=1)
    slow = desk.tasks.claim("slow", lease=60)
    assert slow is not None
    desk.clock.advance(120)
    desk.tasks.retry("1")
    assert desk.tasks.complete("1", fence=slow.fence, result="mine").result == "mine"


def test_a_failed_task_that_another_tries_again_keeps_the_late_result_beside_it(desk: Desk) -> None:
    desk.tasks.create("one", max_attempts=1)
    slow = desk.tasks.claim("slow", lease=60)
    assert slow is not None
    desk.clock.advance(120)
    desk.tasks.retry("1")
    desk.taken("quick")
    with pytest.raises(FenceStale):
        desk.tasks.complete("1", fence=slow.fence, result="mine")
    assert [late.result for late in desk.tasks.get("1").late_results] == ["mine"]


@pytest.mark.parametrize("end", ["fail", "complete", "cancel"])
def test_who_has_ended_a_task_is_not_heard_again_once_it_is_open(desk: Desk, end: str) -> None:
    desk.tasks.create("one")
    task = desk.taken()
    getattr(desk.tasks, end)("1", fence=task.fence)
    desk.tasks.retry("1")
    with pytest.raises(FenceStale):
        desk.tasks.complete("1", fence=task.fence)


def test_what_is_brought_to_a_task_that_was_cancelled_on_expiry_is_kept(desk: Desk) -> None:
    desk.tasks.create("one")
    slow = desk.tasks.claim("slow", lease=60)
    assert slow is not None
    desk.tasks.cancel("1", request=True)
    desk.clock.advance(120)
    with pytest.raises(TransitionRefused):
        desk.tasks.complete("1", fence=slow.fence, result="mine")
    task = desk.tasks.get("1")
    assert (task.status, task.late_results[0].result) == (TaskStatus.CANCELLED, "mine")


def test_a_late_result_given_by_update_is_kept_as_well(desk: Desk) -> None:
    slow = _outrun(desk)
    for _ in range(2):
        with pytest.raises(FenceStale) as caught:
            desk.tasks.update("1", status="completed", fence=slow.fence, result="mine", subject="other")
        assert "kept" in str(caught.value)
    task = desk.tasks.get("1")
    assert (task.status, task.subject, task.owner) == (TaskStatus.IN_PROGRESS, "one", "quick")
    assert [late.result for late in task.late_results] == ["mine"]


def test_a_gate_is_not_asked_about_what_comes_too_late(desk: Desk) -> None:
    asked: list[str] = []

    def refuse(task: Task) -> str:
        asked.append(task.id)
        return "no"

    slow = _outrun(desk)
    desk.board.gate("complete", refuse)
    with pytest.raises(FenceStale):
        desk.tasks.complete("1", fence=slow.fence, result="mine")
    with pytest.raises(FenceStale):
        desk.tasks.update("1", status="completed", fence=slow.fence, result="mine too")
    assert not asked
    assert [late.result for late in desk.tasks.get("1").late_results] == ["mine", "mine too"]


def test_what_a_gate_refuses_while_the_task_changes_hands_is_kept(desk: Desk) -> None:
    def refuse(task: Task) -> str:
        desk.tasks.release(task.id)
        desk.tasks.claim("quick")
        return "no"

    desk.tasks.create("one")
    slow = desk.taken("slow")
    desk.board.gate("complete", refuse)
    with pytest.raises(FenceStale):
        desk.tasks.complete("1", fence=slow.fence, result="mine")
    assert [late.result for late in desk.tasks.get("1").late_results] == ["mine"]


def test_what_a_gate_refuses_its_worker_is_not_late(desk: Desk) -> None:
    desk.tasks.create("one")
    task = desk.taken()
    desk.board.gate("complete", lambda _: "no")
    with pytest.raises(GateRefused):
        desk.tasks.complete("1", fence=task.fence, result="mine")
    assert desk.tasks.get("1").late_results == ()


def test_a_heartbeat_after_expiry_restores_the_worker_its_lease_and_its_files(desk: Desk) -> None:
    desk.tasks.create("one")
    desk.tasks.create("two")
    task = desk.tasks.claim("slow", lease=60, reserve=["src/**"])
    assert task is not None
    for _ in range(2):
        desk.clock.advance(120)
        assert desk.tasks.get("1").owner is None
        back = desk.tasks.heartbeat("1", fence=task.fence)
        assert (back.owner, back.lease, back.reserved, back.fence) == ("slow", 60, ("src/**",), task.fence)
    with pytest.raises(ReservationRefused):
        desk.tasks.claim("quick", reserve=["src/a.py"])


def test_a_heartbeat_after_expiry_is_refused_when_its_files_are_another_s(desk: Desk) -> None:
    desk.tasks.create("one")
    desk.tasks.create("two")
    task = desk.tasks.claim("slow", lease=60, reserve=["src/**"])
    assert task is not None
    desk.clock.advance(120)
    desk.tasks.claim("quick", id="2", reserve=["src/a.py"])
    with pytest.raises(ReservationRefused) as caught:
        desk.tasks.heartbeat("1", fence=task.fence)
    assert "quick" in str(caught.value)
    assert desk.tasks.get("1").status is TaskStatus.PENDING


def test_a_heartbeat_for_a_task_that_nobody_has_claimed_is_refused(desk: Desk) -> None:
    desk.tasks.create("one")
    desk.tasks.create("two", owner="bob")
    desk.tasks.create("three")
    begun = desk.tasks.update("3", status="in_progress")
    for task in desk.tasks.list():
        with pytest.raises(TransitionRefused, match="no claim to keep alive"):
            desk.tasks.heartbeat(task.id, fence=task.fence)
        assert desk.tasks.get(task.id) == task
    assert (begun.owner, begun.lease_until) == ("ada", None)


# Agents, which show no fence.


def _lost(desk: Desk) -> tuple[Agent, Task]:
    """An agent whose claim ran out, and its task as somebody else has it now."""
    agent = desk.board.agent("main", session="s", dialect="claude-tasks")
    agent.call("TaskCreate", {"subject": "one", "description": ""})
    agent.tasks("session:s").claim(id="1", lease=60)
    desk.clock.advance(120)
    taken = desk.board.tasks("session:s").claim("other")
    assert taken is not None
    return agent, taken


def test_a_model_that_lost_its_claim_completes_nothing_and_what_it_brought_is_kept(desk: Desk) -> None:
    agent, taken = _lost(desk)
    tasks = desk.board.tasks("session:s")
    done = {"taskId": "1", "status": "completed", "metadata": {"files": 3}}
    replies = [agent.call("TaskUpdate", done) for _ in range(2)]
    assert [(reply.is_error, "kept" in reply.text, reply.problems[0].code) for reply in replies] == [
        (True, True, "fence_stale")
    ] * 2
    task = tasks.get("1")
    assert (task.status, task.owner, task.metadata) == (TaskStatus.IN_PROGRESS, "other", {})
    assert [(late.fence, late.result, late.by) for late in task.late_results] == [
        (1, {"status": "completed", "metadata": {"files": 3}}, "main")
    ]
    assert tasks.complete("1", fence=taken.fence, result="the work").result == "the work"


def test_an_agent_that_lost_its_claim_can_do_nothing_more_to_the_task(desk: Desk) -> None:
    agent, _ = _lost(desk)
    tasks, before = agent.tasks("session:s"), desk.board.tasks("session:s").get("1")
    writes: list[Callable[[], object]] = [
        lambda: tasks.complete("1"),
        lambda: tasks.update("1", status="completed"),
        lambda: tasks.update("1", status="pending"),
        lambda: tasks.update("1", state={"a": 1}),
        lambda: tasks.fail("1"),
        lambda: tasks.release("1"),
        lambda: tasks.wait("1"),
        lambda: tasks.cancel("1"),
        lambda: tasks.delete("1"),
    ]
    for write in writes:
        with pytest.raises(FenceStale):
            write()
    for change in ({"status": "pending"}, {"status": "deleted"}):
        assert agent.call("TaskUpdate", {"taskId": "1", **change}).is_error
    with pytest.raises(TaskTaken, match="`other`"):
        tasks.update("1", status="in_progress")
    assert desk.board.tasks("session:s").get("1") == before


def test_a_result_that_an_agent_brings_late_is_kept_though_it_shows_no_fence(desk: Desk) -> None:
    agent, _ = _lost(desk)
    tasks = agent.tasks("session:s")
    with pytest.raises(FenceStale, match="kept"):
        tasks.complete("1", result="first")
    with pytest.raises(FenceStale, match="kept"):
        tasks.update("1", status="completed", result="second")
    late = tasks.get("1").late_results
    assert [each.result for each in late] == ["first", "second"]


def test_an_agent_is_heard_if_nobody_took_its_task_or_it_gave_it_away_itself(desk: Desk) -> None:
    agent = desk.board.agent("main", session="s", dialect="claude-tasks")
    for number in ("1", "2", "3"):
        agent.call("TaskCreate", {"subject": "one", "description": ""})
        agent.tasks("session:s").claim(id=number, lease=60)
    desk.clock.advance(120)
    desk.board.tasks("session:s").claim("other", id="3")
    desk.board.tasks("session:s").release("3")
    agent.call("TaskUpdate", {"taskId": "2", "owner": "helper", "status": "in_progress"})
    for number in ("1", "2", "3"):
        assert not agent.call("TaskUpdate", {"taskId": number, "status": "completed"}).is_error


def test_a_gate_is_not_asked_about_what_a_model_completes_too_late(desk: Desk) -> None:
    agent, _ = _lost(desk)
    asked: list[str] = []
    desk.board.gate("complete", lambda task: asked.append(task.id))
    agent.call("TaskUpdate", {"taskId": "1", "status": "completed"})
    assert not asked


@pytest.mark.parametrize("gated", [True, False])
def test_what_is_brought_to_a_deleted_task_is_kept_in_its_history_once(desk: Desk, gated: bool) -> None:
    desk.tasks.create("one")
    task = desk.taken()
    desk.tasks.delete("1")
    if gated:
        desk.board.gate("complete", lambda _: None)
    for _ in range(2):
        with pytest.raises(TaskUnknown, match="kept in its history"):
            desk.tasks.complete("1", fence=task.fence, result="a day of work")
    late = [event for event in desk.tasks.history("1") if event.kind == "task.late"]
    assert [(event.data["result"], event.data["fence"]) for event in late] == [("a day of work", 1)]
    with pytest.raises(TaskUnknown):
        desk.tasks.complete("9", fence=1, result="of nothing")


def test_a_second_result_of_a_completed_task_is_kept_beside_it(desk: Desk) -> None:
    desk.tasks.create("one")
    desk.tasks.complete("1", result="first")
    assert desk.tasks.complete("1", result="first") == desk.tasks.complete("1")
    with pytest.raises(TransitionRefused, match="kept beside it"):
        desk.tasks.complete("1", result="second")
    task = desk.tasks.get("1")
    assert (task.result, [late.result for late in task.late_results]) == ("first", ["second"])
