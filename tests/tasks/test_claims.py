"""Taking tasks and giving them back: claims, leases, fences, attempts, reservations."""

from datetime import timedelta
from typing import Any, cast

import pytest
from msgspec.structs import replace

from punchlist import Board, TaskStatus
from punchlist.core import task_rules as rules
from punchlist.errors import (
    CallReused,
    CancelPending,
    ConfigInvalid,
    FenceStale,
    InvalidInput,
    TaskBlocked,
    TaskNotReady,
    TaskTaken,
    TransitionRefused,
    WaitRefused,
)
from punchlist.testing import FakeClock
from tests.tasks.boards import Desk, ids


def test_the_next_task_is_the_first_by_priority_and_then_by_id(desk: Desk) -> None:
    for priority in (3, 2, 0, 2):
        desk.tasks.create("task", priority=priority)
    assert ids(desk.tasks.ready()) == ["3", "2", "4", "1"]
    taken = [desk.taken() for _ in range(4)]
    assert ids(taken) == ["3", "2", "4", "1"]
    assert desk.tasks.claim("worker") is None


def test_the_statement_of_the_store_and_the_rule_agree(desk: Desk) -> None:
    before = desk.tasks.create("one", max_attempts=3)
    by_rule = rules.claim(before, "worker", desk.clock(), timedelta(seconds=900))
    after = desk.taken()
    assert after == replace(by_rule, revision=1, updated_at=desk.clock())
    assert desk.tasks.get("1") == after


def test_claims_by_label_by_id_and_in_batches(desk: Desk) -> None:
    for number in range(6):
        desk.tasks.create("task", labels=["web"] if number % 2 else [])
    assert ids(desk.tasks.ready(label="web")) == ["2", "4", "6"]
    task = desk.tasks.claim("w", label="web")
    assert task is not None
    assert task.id == "2"
    five = desk.tasks.claim("w", id="5")
    assert five is not None
    assert ids(desk.tasks.claim("w", limit=10)) == ["1", "3", "4", "6"]
    assert desk.tasks.claim("w", limit=10) == ()
    assert desk.tasks.claim("w", label="none") is None
    for wrong in (0, -1, 1001):
        with pytest.raises(InvalidInput):
            desk.tasks.claim("w", limit=wrong)


def test_what_is_meant_for_a_worker_is_its_first_and_nobody_else_s(desk: Desk) -> None:
    desk.tasks.create("for all")
    desk.tasks.create("for bob", owner="bob", priority=4)
    assert ids(desk.tasks.ready()) == ["1"]
    assert ids(desk.tasks.claim("bob", limit=1)) == ["2"]
    assert ids(desk.tasks.claim("eve", limit=5)) == ["1"]


def test_a_claim_of_what_cannot_be_had_says_why(desk: Desk) -> None:
    desk.many("one", "two", "three")
    desk.tasks.update("2", add_blocked_by=["1"])
    desk.tasks.fail("1", "broken")
    with pytest.raises(TaskBlocked) as refused:
        desk.tasks.claim("w", id="2")
    assert "1 (failed)" in str(refused.value)
    assert desk.tasks.get("2").stuck_on == ("1",)
    with pytest.raises(TaskNotReady):
        desk.tasks.claim("w", id="1")
    desk.tasks.claim("w", id="3")
    with pytest.raises(TaskTaken):
        desk.tasks.claim("v", id="3")


def test_the_same_claim_again_answers_the_same(desk: Desk) -> None:
    desk.many("one", "two")
    first = desk.tasks.claim("w", call_id="c1")
    assert desk.tasks.claim("w", call_id="c1") == first
    with pytest.raises(CallReused):
        desk.tasks.claim("v", call_id="c1")
    assert ids(desk.tasks.ready()) == ["2"]
    assert desk.tasks.claim("w", id="2", call_id="c2") == desk.tasks.claim("w", id="2", call_id="c2")


def test_a_claim_that_found_nothing_may_find_something_when_it_is_repeated(desk: Desk) -> None:
    assert desk.tasks.claim("w", call_id="c1") is None
    desk.tasks.create("one")
    assert desk.tasks.claim("w", call_id="c1") is not None


def test_a_claim_repeated_after_it_was_lost_does_not_give_the_new_fence(desk: Desk) -> None:
    desk.tasks.create("one")
    first = desk.tasks.claim("w", call_id="c1")
    desk.clock.advance(1000)
    desk.taken("v")
    again = desk.tasks.claim("w", call_id="c1")
    assert again == first
    assert again is not None
    with pytest.raises(FenceStale):
        desk.tasks.complete("1", fence=again.fence)


# Leases.


def test_a_silent_worker_s_task_is_free_after_its_lease_without_any_daemon(desk: Desk) -> None:
    desk.tasks.create("one")
    task = desk.tasks.claim("w", lease=60)
    desk.clock.advance(59)
    assert desk.tasks.ready() == ()
    desk.clock.advance(1)
    assert ids(desk.tasks.ready()) == ["1"]
    assert desk.kinds("1") == ["created", "claimed", "expired"]
    assert desk.taken("v").attempts == 2
    assert task is not None


def test_claim_alone_takes_what_has_expired(desk: Desk) -> None:
    desk.tasks.create("one")
    first = desk.taken("w")
    desk.clock.advance(901)
    second = desk.taken("v")
    assert (second.id, second.fence) == (first.id, first.fence + 1)


def test_a_heartbeat_keeps_a_claim_and_is_no_change(desk: Desk) -> None:
    desk.tasks.create("one")
    task = desk.taken()
    events = len(list(desk.board.events()))
    for _ in range(5):
        desk.clock.advance(800)
        alive = desk.tasks.heartbeat("1", fence=task.fence)
        assert (alive.lease_until, alive.revision) == (desk.clock() + timedelta(seconds=900), task.revision)
    assert len(list(desk.board.events())) == events
    assert desk.tasks.heartbeat("1", fence=task.fence, lease=5).lease == 5
    desk.clock.advance(5)
    assert ids(desk.tasks.ready()) == ["1"]


def test_a_late_heartbeat_has_the_task_back_if_nobody_took_it(desk: Desk) -> None:
    desk.tasks.create("one")
    worker = desk.board.tasks("default", by="w")
    task = worker.claim()
    assert task is not None
    desk.clock.advance(2000)
    assert ids(desk.tasks.ready()) == ["1"]
    back = worker.heartbeat("1", fence=task.fence)
    assert (back.status, back.owner, back.fence) == (TaskStatus.IN_PROGRESS, "w", task.fence)
    assert desk.tasks.ready() == ()
    assert worker.complete("1", fence=task.fence).status is TaskStatus.COMPLETED


@pytest.mark.parametrize("seconds", [0, -1, 86_401, float("nan"), float("inf")])
def test_a_lease_lasts_more_than_nothing_and_at_most_a_day(desk: Desk, seconds: float) -> None:
    desk.tasks.create("one")
    with pytest.raises(InvalidInput):
        desk.tasks.claim("w", lease=seconds)
    with pytest.raises(ConfigInvalid):
        desk.board.tasks("default", lease=seconds)


def test_the_usual_lease_comes_from_the_handle_or_the_environment(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.many("one", "two")
    monkeypatch.setenv("PUNCHLIST_LEASE", "7")
    by_environment = desk.board.tasks("default").claim("w")
    by_handle = desk.board.tasks("default", lease=8).claim("w")
    assert by_environment is not None
    assert by_handle is not None
    assert (by_environment.lease, by_handle.lease) == (7, 8)


def test_a_clock_that_is_far_ahead_gives_no_lease_for_years() -> None:
    ahead, right = FakeClock(), FakeClock()
    ahead.advance(86_400 * 365)
    with Board.open("memory:", clock=ahead) as early:
        now = Board(early.store, clock=right)
        early.tasks("default").create("one")
        early.tasks("default").claim("w", lease=60)
        assert now.tasks("default").claim("v") is None
        right.advance(61)
        task = now.tasks("default").claim("v")
        assert task is not None
        assert task.owner == "v"


def test_a_clock_set_back_ends_no_lease_early(desk: Desk) -> None:
    desk.tasks.create("one")
    desk.tasks.claim("w", lease=60)
    for step in (-3600, 30, 29, -86_400):
        desk.clock.advance(step)
        assert desk.tasks.ready() == ()


# Ends.


def test_a_late_finisher_counts_if_nobody_claimed_since(desk: Desk) -> None:
    desk.tasks.create("one")
    task = desk.taken("w")
    desk.clock.advance(2000)
    assert ids(desk.tasks.ready()) == ["1"]
    done = desk.tasks.complete("1", fence=task.fence, result={"sha": "abc"})
    assert (done.status, done.result) == (TaskStatus.COMPLETED, {"sha": "abc"})


def test_a_late_finisher_s_result_is_kept_beside_the_new_worker_s(desk: Desk) -> None:
    desk.tasks.create("one")
    late = desk.taken("w")
    desk.clock.advance(2000)
    new = desk.taken("v")
    for _ in range(2):
        with pytest.raises(FenceStale) as refused:
            desk.board.tasks("default", by="w").complete("1", fence=late.fence, result="mine")
        assert "kept" in str(refused.value)
    done = desk.tasks.complete("1", fence=new.fence, result="theirs")
    assert done.result == "theirs"
    assert [(each.fence, each.by, each.result) for each in done.late_results] == [(1, "w", "mine")]
    with pytest.raises(FenceStale):
        desk.tasks.complete("1", fence=late.fence, result="mine again")
    assert len(desk.tasks.get("1").late_results) == 2
    assert desk.tasks.get("1").result == "theirs"


def test_a_late_completion_is_refused_each_time_it_is_repeated(desk: Desk) -> None:
    desk.tasks.create("one")
    late = desk.taken("w")
    desk.clock.advance(2000)
    desk.taken("v")
    for _ in range(2):
        with pytest.raises(FenceStale):
            desk.tasks.complete("1", fence=late.fence, result="mine", call_id="c1")
    assert len(desk.tasks.get("1").late_results) == 1


def test_an_old_fence_opens_nothing(desk: Desk) -> None:
    desk.tasks.create("one")
    old = desk.taken("w").fence
    desk.clock.advance(2000)
    desk.taken("v")
    before = desk.tasks.get("1")
    for write in (
        lambda: desk.tasks.heartbeat("1", fence=old),
        lambda: desk.tasks.release("1", fence=old),
        lambda: desk.tasks.fail("1", fence=old),
        lambda: desk.tasks.complete("1", fence=old),
        lambda: desk.tasks.update("1", subject="mine", fence=old),
        lambda: desk.tasks.wait("1", fence=old),
        lambda: desk.tasks.cancel("1", fence=old),
        lambda: desk.tasks.delete("1", fence=old),
    ):
        with pytest.raises(FenceStale):
            write()
    assert desk.tasks.get("1") == before


def test_completing_twice_is_completing_once(desk: Desk) -> None:
    desk.tasks.create("one")
    task = desk.taken()
    first = desk.tasks.complete("1", fence=task.fence, result=1)
    assert desk.tasks.complete("1", fence=task.fence, result=1) == first
    assert desk.tasks.complete("1") == first
    with pytest.raises(TransitionRefused):
        desk.tasks.complete("1", fence=task.fence, result=2)
    assert desk.tasks.get("1").result == 1
    assert desk.tasks.get("1").late_results[0].result == 2


def test_the_same_completion_under_its_call_id_answers_the_same(desk: Desk) -> None:
    desk.tasks.create("one")
    task = desk.taken()
    first = desk.tasks.complete("1", fence=task.fence, result=1, call_id="c1")
    desk.tasks.retry("1")
    assert desk.tasks.complete("1", fence=task.fence, result=1, call_id="c1") == first
    assert desk.tasks.get("1").status is TaskStatus.PENDING


def test_a_result_that_meets_a_cancellation_is_kept(desk: Desk) -> None:
    desk.tasks.create("one")
    task = desk.taken()
    desk.tasks.cancel("1", request=True)
    with pytest.raises(CancelPending):
        desk.tasks.complete("1", fence=task.fence, result="done anyway")
    assert desk.tasks.get("1").late_results[0].result == "done anyway"
    assert desk.tasks.release("1", fence=task.fence).status is TaskStatus.CANCELLED


def test_attempts_end_in_failure_after_rests(desk: Desk) -> None:
    desk.tasks.create("one", max_attempts=2, backoff=10)
    task = desk.taken()
    again = desk.tasks.fail("1", "flaky", fence=task.fence)
    assert (again.status, again.failure, desk.tasks.ready()) == (TaskStatus.PENDING, "flaky", ())
    with pytest.raises(TaskNotReady):
        desk.tasks.claim("w", id="1")
    desk.clock.advance(10)
    assert ids(desk.tasks.ready()) == ["1"]
    task = desk.taken()
    assert desk.tasks.fail("1", fence=task.fence).status is TaskStatus.FAILED
    assert desk.tasks.retry("1").attempts == 0
    assert desk.kinds("1") == ["created", "claimed", "retrying", "due", "claimed", "failed", "reopened"]


def test_what_is_not_in_progress_cannot_be_released(desk: Desk) -> None:
    desk.tasks.create("one")
    with pytest.raises(TransitionRefused):
        desk.tasks.release("1")
    with pytest.raises(TransitionRefused):
        desk.tasks.retry("1")
    task = desk.taken()
    assert desk.tasks.release("1", fence=task.fence).owner is None
    assert ids(desk.tasks.ready()) == ["1"]


def test_a_cancelled_task_is_claimed_by_nobody_until_it_is_retried(desk: Desk) -> None:
    desk.many("one", "two")
    desk.tasks.cancel("1", "not needed")
    assert desk.tasks.get("1").failure == "not needed"
    desk.tasks.cancel("2", request=True)
    assert desk.tasks.ready() == ()
    assert desk.tasks.get("2").status is TaskStatus.CANCELLED
    assert ids([desk.tasks.retry("1"), desk.tasks.retry("2")]) == ids(desk.tasks.ready()) == ["1", "2"]


def test_a_claim_that_is_given_back_or_put_aside_is_no_attempt(desk: Desk) -> None:
    desk.tasks.create("one", max_attempts=2, backoff=0)
    for _ in range(3):
        desk.tasks.release("1", fence=desk.taken().fence)
    desk.tasks.wait("1", topic="review", correlation_id="7", fence=desk.taken().fence)
    desk.tasks.signal("review", "7")
    assert desk.tasks.get("1").attempts == 0
    first = desk.tasks.fail("1", "no luck", fence=desk.taken().fence)
    assert (first.status, first.attempts) == (TaskStatus.PENDING, 1)
    second = desk.tasks.fail("1", "no luck", fence=desk.taken().fence)
    assert (second.status, second.attempts) == (TaskStatus.FAILED, 2)


def test_to_fail_a_failed_task_once_more_does_not_open_it(desk: Desk) -> None:
    desk.tasks.create("one", max_attempts=3)
    desk.tasks.update("1", status="failed")
    assert desk.tasks.fail("1", "again").status is TaskStatus.FAILED


def test_misuse_is_told_in_a_sentence(desk: Desk) -> None:
    desk.tasks.create("one")
    wrong: Any = 5
    with pytest.raises(WaitRefused):
        desk.tasks.wait("1", topic=wrong, correlation_id="a")
    with pytest.raises(InvalidInput):
        desk.tasks.claim("w", lease=cast("Any", "5"))
