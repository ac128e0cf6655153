"""Tasks that are put aside until a time, an event or a person."""

from datetime import timedelta
from pathlib import Path

import pytest

from punchlist import Board, TaskStatus
from punchlist.errors import CallReused, TransitionRefused, WaitRefused
from punchlist.testing import FakeClock
from tests.tasks.boards import Desk, ids


def test_a_timer_is_over_when_somebody_looks(desk: Desk) -> None:
    desk.tasks.create("one")
    task = desk.taken()
    aside = desk.tasks.wait("1", until=timedelta(hours=1), state={"asked": True}, fence=task.fence)
    assert (aside.status, aside.state, aside.lease_until) == (TaskStatus.WAITING, {"asked": True}, None)
    assert aside.wait is not None
    assert aside.wait.at == desk.clock() + timedelta(hours=1)
    desk.clock.advance(3599)
    assert desk.tasks.ready() == ()
    desk.clock.advance(1)
    assert ids(desk.tasks.ready()) == ["1"]
    assert desk.tasks.get("1").wait is None
    assert desk.kinds("1") == ["created", "claimed", "waiting", "resumed"]


def test_what_was_started_without_a_lease_goes_on_by_itself(desk: Desk) -> None:
    desk.tasks.create("one")
    desk.tasks.update("1", status="in_progress")
    desk.tasks.wait("1", until=timedelta(seconds=1))
    desk.clock.advance(1)
    task = desk.tasks.get("1")
    assert (task.status, task.owner) == (TaskStatus.IN_PROGRESS, "ada")


def test_an_event_reaches_all_who_wait_for_it_once(desk: Desk) -> None:
    desk.many("one", "two", "three")
    for waiting, correlation in (("1", "pr-7"), ("2", "pr-7"), ("3", "pr-8")):
        desk.tasks.wait(waiting, topic="review", correlation_id=correlation)
    assert desk.tasks.signal("review", "pr-9") == ()
    assert desk.tasks.signal("build", "pr-7") == ()
    woken = desk.tasks.signal("review", "pr-7", {"approved": True})
    assert ids(woken) == ["1", "2"]
    assert woken[0].state == {"resume_event": {"approved": True}}
    assert desk.tasks.signal("review", "pr-7", {"approved": False}) == ()
    assert desk.tasks.get("1").state == {"resume_event": {"approved": True}}
    assert desk.tasks.get("3").status is TaskStatus.WAITING


def test_an_event_that_comes_early_is_kept_if_asked_for(desk: Desk) -> None:
    desk.many("one", "two")
    desk.tasks.signal("review", "pr-7", 1)
    assert desk.tasks.wait("1", topic="review", correlation_id="pr-7").status is TaskStatus.WAITING
    desk.tasks.resume("1")
    desk.tasks.signal("review", "pr-8", 1, keep=True)
    desk.tasks.signal("review", "pr-8", 2, keep=True)
    task = desk.tasks.wait("1", topic="review", correlation_id="pr-8")
    assert (task.status, task.state) == (TaskStatus.PENDING, {"resume_event": 1})
    assert desk.tasks.wait("1", topic="review", correlation_id="pr-8").state == {"resume_event": 2}
    assert desk.tasks.wait("2", topic="review", correlation_id="pr-8").status is TaskStatus.WAITING


def test_the_same_signal_again_answers_the_same(desk: Desk) -> None:
    desk.tasks.create("one")
    desk.tasks.wait("1", topic="t", correlation_id="c")
    first = desk.tasks.signal("t", "c", {"n": 1}, call_id="s1")
    desk.tasks.wait("1", topic="t", correlation_id="c")
    assert desk.tasks.signal("t", "c", {"n": 1}, call_id="s1") == first
    assert desk.tasks.get("1").status is TaskStatus.WAITING
    with pytest.raises(CallReused):
        desk.tasks.signal("t", "c", {"n": 2}, call_id="s1")


def test_a_person_lets_a_task_go_on(desk: Desk) -> None:
    desk.tasks.create("one")
    assert desk.tasks.wait("1").status is TaskStatus.WAITING
    desk.clock.advance(86_400 * 365)
    assert desk.tasks.ready() == ()
    assert desk.tasks.resume("1", state={"answer": 42}).state == {"answer": 42}
    with pytest.raises(TransitionRefused):
        desk.tasks.resume("1")


def test_what_cannot_be_waited_for_is_refused(desk: Desk) -> None:
    desk.tasks.create("one")
    for asked in ({"until": timedelta(days=31)}, {"until": timedelta(0)}, {"topic": "t"}):
        with pytest.raises(WaitRefused):
            desk.tasks.wait("1", **asked)  # type: ignore[arg-type]
    with pytest.raises(WaitRefused):
        desk.tasks.signal("", "c")
    desk.tasks.complete("1")
    with pytest.raises(TransitionRefused):
        desk.tasks.wait("1")


def test_a_waiting_task_that_is_to_be_cancelled_is(desk: Desk) -> None:
    desk.many("one", "two")
    desk.tasks.wait("1")
    assert desk.tasks.cancel("1", request=True).status is TaskStatus.WAITING
    assert desk.tasks.get("1").status is TaskStatus.CANCELLED
    desk.tasks.wait("2", topic="t", correlation_id="c")
    desk.tasks.cancel("2", request=True)
    assert desk.board.tick() == 1
    assert desk.tasks.signal("t", "c") == ()


def test_waits_survive_a_restart(tmp_path: Path) -> None:
    clock = FakeClock()
    with Board.open(tmp_path / "board.db", clock=clock) as board:
        tasks = board.tasks("default")
        for number in range(1, 4):
            tasks.create(f"task {number}")
        tasks.wait("1", until=timedelta(days=1))
        tasks.wait("2", topic="t", correlation_id="c")
        tasks.signal("early", "c", {"n": 1}, keep=True)
    clock.advance(86_400)
    with Board.open(tmp_path / "board.db", clock=clock) as board:
        tasks = board.tasks("default")
        assert ids(tasks.ready()) == ["1", "3"]
        assert ids(tasks.signal("t", "c")) == ["2"]
        assert tasks.wait("3", topic="early", correlation_id="c").state == {"resume_event": {"n": 1}}


def test_of_many_who_tick_one_acts(tmp_path: Path) -> None:
    clock = FakeClock()
    boards = [Board.open(tmp_path / "board.db", clock=clock) for _ in range(3)]
    try:
        for number in range(4):
            tasks = boards[0].tasks(f"list {number}")
            tasks.create("one")
            tasks.wait("1", until=timedelta(minutes=1))
            tasks.create("two")
            tasks.claim("w", lease=60)
        assert [board.tick() for board in boards] == [0, 0, 0]
        clock.advance(60)
        assert sorted(board.tick() for board in boards) == [0, 0, 8]
        kinds = [event.kind for event in boards[0].events()]
        assert (kinds.count("task.resumed"), kinds.count("task.expired")) == (4, 4)
    finally:
        for board in boards:
            board.close()


def test_kept_events_of_one_name_queue_up_and_are_delivered_one_each_in_order(desk: Desk) -> None:
    desk.many("one", "two", "three")
    for payload in ("first", "second"):
        desk.tasks.signal("review", "pr-7", payload, keep=True)
    waited = [desk.tasks.wait(one, topic="review", correlation_id="pr-7") for one in ("1", "2", "3")]
    assert [task.state.get("resume_event") for task in waited] == ["first", "second", None]
    assert waited[2].status is TaskStatus.WAITING
