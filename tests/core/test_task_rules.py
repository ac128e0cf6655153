"""What may become of a task, decided without a store."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from punchlist.core import task_rules as rules
from punchlist.core.task import (
    ENDED,
    Blocking,
    ChecklistLine,
    Task,
    TaskStatus,
    Wait,
    decode_task,
    draft_change,
    draft_creation,
    encode_task,
    fold_task,
    own_progress,
)
from punchlist.core.task_rules import HORIZON, make_wait
from punchlist.errors import (
    CancelPending,
    ChecklistOpen,
    FenceStale,
    TaskBlocked,
    TaskError,
    TaskNotReady,
    TaskRevisionConflict,
    TaskTaken,
    TransitionRefused,
    WaitRefused,
)

NOW = datetime(2025, 1, 1, 9, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
LEASE = timedelta(minutes=15)
_S = TaskStatus


def task(**fields: Any) -> Task:
    return replace(Task(list="l", id="1", subject="Ship it", created_at=NOW), **fields)


def claimed(**fields: Any) -> Task:
    return rules.claim(task(**fields), "worker", NOW, LEASE)


@pytest.mark.parametrize("before", _S)
@pytest.mark.parametrize("after", _S)
def test_only_legal_transitions_are_made(before: TaskStatus, after: TaskStatus) -> None:
    given = task(status=before)
    if before is after:
        assert rules.move(given, after, NOW) is given
    elif after in rules.LEGAL[before]:
        assert rules.move(given, after, NOW).status is after
    else:
        with pytest.raises(TransitionRefused):
            rules.move(given, after, NOW)


@pytest.mark.parametrize("before", _S)
@pytest.mark.parametrize("to", [_S.IN_PROGRESS, _S.COMPLETED])
def test_a_blocker_stands_before_every_path_to_work_and_to_completion(before: TaskStatus, to: TaskStatus) -> None:
    held = (Blocking("7", _S.FAILED),)
    given = task(status=before, open_blockers=1, held_by=held, wait=Wait(kind="manual", then="in_progress"))
    paths: list[Callable[[], Task]] = [lambda: rules.move(given, to, NOW)]
    if to is _S.IN_PROGRESS:
        paths += [lambda: rules.claim(given, "w", NOW, LEASE), lambda: rules.resume(given, NOW)]
    else:
        paths += [lambda: rules.complete(given, NOW, None, fence=0)]
    for path in paths:
        with suppress(TaskBlocked, TransitionRefused, TaskNotReady, TaskTaken):
            assert path().status is not to or before is to


def test_a_blocked_task_names_its_blockers_and_how_they_stand() -> None:
    held = tuple(Blocking(str(number), _S.FAILED) for number in range(12))
    with pytest.raises(TaskBlocked) as refused:
        rules.check_unblocked(task(open_blockers=12, held_by=held))
    assert "0 (failed)" in str(refused.value)
    assert "and 2 more" in str(refused.value)
    assert refused.value.data["blocked_by"] == [str(number) for number in range(12)]


def test_a_task_is_complete_when_its_checklist_is() -> None:
    half = task(checklist=(ChecklistLine("tests", True), ChecklistLine("docs")))
    with pytest.raises(ChecklistOpen) as refused:
        rules.complete(half, NOW, None, fence=None)
    assert "docs" in str(refused.value)
    assert "tests" not in str(refused.value.data["open"])
    whole = replace(half, checklist=(ChecklistLine("tests", True), ChecklistLine("docs", True)))
    assert rules.complete(whole, NOW, None, fence=None).status is _S.COMPLETED


@pytest.mark.parametrize(
    ("status", "runs_after", "holding"),
    [
        (_S.PENDING, "completed", True),
        (_S.WAITING, "ended", True),
        (_S.COMPLETED, "completed", False),
        (_S.FAILED, "completed", True),
        (_S.CANCELLED, "completed", True),
        (_S.FAILED, "ended", False),
        (_S.CANCELLED, "ended", False),
    ],
)
def test_a_blocker_holds_until_it_is_completed_or_by_policy_ended(
    status: TaskStatus, runs_after: Any, holding: bool
) -> None:
    assert rules.is_holding(status, runs_after) is holding


# Claims.


def test_a_claim_gives_a_lease_and_a_new_fence_and_counts_as_an_attempt() -> None:
    taken = claimed(fence=3, attempts=1)
    assert (taken.owner, taken.fence, taken.attempts, taken.started_at) == ("worker", 4, 2, NOW)
    assert taken.lease_until == NOW + LEASE


def test_what_is_not_ready_cannot_be_claimed() -> None:
    for unready, error in (
        (claimed(), TaskTaken),
        (task(owner="ada"), TaskTaken),
        (task(status=_S.COMPLETED), TaskNotReady),
        (task(status=_S.WAITING), TaskNotReady),
        (task(not_before=LATER), TaskNotReady),
        (task(open_blockers=1, held_by=(Blocking("2", _S.PENDING),)), TaskBlocked),
        (task(cancel_requested=True), CancelPending),
    ):
        with pytest.raises(error):
            rules.claim(unready, "worker", NOW, LEASE)
    assert rules.claim(task(owner="worker"), "worker", NOW, LEASE).status is _S.IN_PROGRESS


def test_after_its_lease_a_task_is_free_and_its_worker_may_still_finish_it() -> None:
    free = rules.expire(claimed(), LATER)
    assert (free.status, free.owner, free.fence, free.lease_until) == (_S.PENDING, None, 1, None)
    assert rules.complete(free, LATER, {"ok": 1}, fence=1).result == {"ok": 1}


def test_a_silent_worker_in_the_last_attempt_fails_the_task() -> None:
    lost = rules.expire(claimed(attempts=1, max_attempts=2), LATER)
    assert lost.status is _S.FAILED
    assert "worker" in (lost.failure or "")


def test_a_failed_attempt_is_followed_by_the_next_after_a_rest_that_doubles() -> None:
    rests = [rules.backoff_after(attempts, 30.0) for attempts in range(1, 12)]
    assert rests[:4] == [30.0, 60.0, 120.0, 240.0]
    assert max(rests) == rules.LONGEST_BACKOFF
    once = rules.fail(claimed(max_attempts=2), NOW, "no luck")
    assert (once.status, once.not_before) == (_S.PENDING, NOW + timedelta(seconds=30))
    again = rules.fail(rules.claim(replace(once, not_before=None), "w", NOW, LEASE), NOW, "none")
    assert (again.status, again.failure) == (_S.FAILED, "none")
    assert rules.fail(claimed(), NOW, "at once").status is _S.FAILED


def _fail(given: Task, now: datetime) -> Task:
    return rules.fail(given, now, "no luck")


@pytest.mark.parametrize("giving_up", [rules.release, _fail, rules.cancel])
def test_whoever_gives_a_task_up_has_lost_it(giving_up: Callable[[Task, datetime], Task]) -> None:
    taken = claimed()
    with pytest.raises(FenceStale):
        rules.check_fence(giving_up(taken, NOW), taken.fence)


def test_a_heartbeat_begins_the_lease_anew_also_after_its_end() -> None:
    taken = claimed()
    assert rules.renew_lease(taken, "worker", LATER, LEASE).lease_until == LATER + LEASE
    back = rules.renew_lease(rules.expire(taken, LATER), "worker", LATER, LEASE)
    assert (back.status, back.owner) == (_S.IN_PROGRESS, "worker")
    with pytest.raises(TransitionRefused):
        rules.renew_lease(rules.complete(taken, NOW, None, fence=1), "worker", LATER, LEASE)


def test_an_operator_who_completes_a_claimed_task_takes_it_from_its_worker() -> None:
    taken = claimed()
    assert rules.complete(taken, NOW, None, fence=None).fence == taken.fence + 1
    assert rules.complete(taken, NOW, None, fence=taken.fence).fence == taken.fence


def test_what_comes_late_is_kept_once_and_overwrites_nothing() -> None:
    done = task(status=_S.COMPLETED, result="mine")
    late = rules.add_late_result(
        rules.add_late_result(done, 1, "yours", by="w", now=NOW), 1, "yours", by="w", now=LATER
    )
    assert late.result == "mine"
    assert [each.result for each in late.late_results] == ["yours"]


def test_a_task_to_be_cancelled_can_only_be_cancelled() -> None:
    asked = rules.request_cancel(claimed())
    for to in rules.LEGAL[_S.IN_PROGRESS] - {_S.CANCELLED}:
        with pytest.raises(CancelPending):
            rules.move(asked, to, NOW)
    assert rules.release(asked, NOW).status is _S.CANCELLED
    assert rules.expire(asked, NOW).status is _S.CANCELLED
    assert rules.cancel(asked, NOW).cancel_requested
    assert rules.request_cancel(task(status=_S.COMPLETED)).cancel_requested is False
    assert not rules.retry(rules.cancel(asked, NOW), NOW).cancel_requested


def test_revisions_are_compared() -> None:
    rules.check_revision(task(revision=3), 3)
    rules.check_revision(task(revision=3), None)
    with pytest.raises(TaskRevisionConflict):
        rules.check_revision(task(revision=3), 2)


# Waits.


def test_timers_lie_in_the_future_within_thirty_days() -> None:
    assert make_wait(NOW, until=timedelta(seconds=1)).at == NOW + timedelta(seconds=1)
    assert make_wait(NOW, until=NOW + HORIZON).kind == "timer"
    refused: list[Any] = [NOW, NOW - HORIZON, NOW + HORIZON + timedelta(seconds=1), timedelta(0), timedelta.max]
    refused.append(datetime(2025, 1, 2))  # noqa: DTZ001 - a time without a zone is what is refused
    for until in refused:
        with pytest.raises(WaitRefused):
            make_wait(NOW, until=until)


def test_events_need_both_names_and_what_names_nothing_waits_for_a_person() -> None:
    assert make_wait(NOW).kind == "manual"
    assert make_wait(NOW, topic="t", correlation_id="c").kind == "event"
    refused: list[dict[str, Any]] = [
        {"topic": "t"},
        {"correlation_id": "c"},
        {"topic": " ", "correlation_id": "c"},
        {"topic": "t" * 501, "correlation_id": "c"},
        {"topic": "t", "correlation_id": "c", "until": LATER},
    ]
    for asked in refused:
        with pytest.raises(WaitRefused):
            make_wait(NOW, **asked)


def test_after_a_wait_a_claimed_task_is_free_and_one_without_a_lease_goes_on() -> None:
    aside = rules.wait(claimed(), Wait(kind="manual"), NOW)
    assert (aside.status, aside.lease_until, aside.fence) == (_S.WAITING, None, 2)
    assert rules.resume(aside, NOW).status is _S.PENDING
    started = replace(rules.move(task(), _S.IN_PROGRESS, NOW), owner="ada")
    on = rules.resume(rules.wait(started, Wait(kind="manual"), NOW), NOW, {"answer": 42})
    assert (on.status, on.owner, on.state) == (_S.IN_PROGRESS, "ada", {"answer": 42})
    with pytest.raises(TransitionRefused):
        rules.resume(on, NOW)


def test_state_is_merged_shallowly_and_metadata_without_what_is_none() -> None:
    assert rules.merge_state({"a": {"x": 1}, "b": 1}, {"a": {"y": 2}}) == {"a": {"y": 2}, "b": 1}
    assert rules.merge_state({"a": 1}, [1]) == [1]
    assert rules.merge_state([1], {"a": 1}) == {"a": 1}
    assert rules.merge_metadata({"a": 1, "b": 2}, {"a": None, "c": 3}) == {"b": 2, "c": 3}


def test_progress_comes_from_the_checklist_or_from_the_status() -> None:
    checks = (ChecklistLine("a", True), ChecklistLine("b"), ChecklistLine("c"))
    assert own_progress(_S.PENDING, checks) == (1, 3, 33)
    assert own_progress(_S.COMPLETED, checks) == (1, 1, 100)
    assert own_progress(_S.IN_PROGRESS, ()) == (0, 1, 0)
    assert own_progress(_S.CANCELLED, ()) == (0, 0, 0)


# Properties.

_names = st.sampled_from(["w1", "w2"])
_steps = st.lists(
    st.one_of(
        st.tuples(st.just("claim"), _names),
        st.tuples(
            st.sampled_from(["release", "expire", "complete", "fail", "retry", "cancel", "ask", "wait", "resume"])
        ),
    ),
    max_size=20,
)


def _after(now: Task, step: tuple[Any, ...], at: datetime) -> Task:
    match step:
        case ("claim", owner):
            return rules.claim(now, owner, at, LEASE)
        case ("release",):
            return rules.release(now, at)
        case ("expire",) if now.status is _S.IN_PROGRESS:
            return rules.expire(now, at)
        case ("complete",):
            return rules.complete(now, at, {"done": True}, fence=now.fence)
        case ("fail",):
            return rules.fail(now, at, "why")
        case ("retry",):
            return rules.retry(now, at)
        case ("cancel",):
            return rules.cancel(now, at, "no")
        case ("ask",):
            return rules.request_cancel(now)
        case ("wait",):
            return rules.wait(now, Wait(kind="manual"), at)
        case ("resume",):
            return rules.resume(now, at, {"n": 1})
        case _:
            return now


@given(_steps, st.sampled_from([None, 1, 3]))
def test_whatever_happens_a_task_stays_coherent_and_its_events_fold_to_it(
    steps: list[tuple[Any, ...]], most: int | None
) -> None:
    now = task(max_attempts=most, metadata={"k": [1, None]}, labels=("a",), checklist=(ChecklistLine("c", True),))
    draft = draft_creation(now)
    folded = fold_task(None, draft.kind, draft.data, NOW)
    for number, step in enumerate(steps):
        at = NOW + timedelta(minutes=number)
        try:
            after = _after(now, step, at)
        except TaskError:
            continue
        assert after.fence >= now.fence
        assert (after.lease_until is not None) <= (after.status is _S.IN_PROGRESS)
        assert (after.finished_at is not None) is (after.status in ENDED)
        assert (after.wait is not None) is (after.status is _S.WAITING)
        assert after.status is not _S.IN_PROGRESS or after.owner is not None
        if after.started_at is not None and after.finished_at is not None:
            assert after.started_at <= after.finished_at
        event = draft_change("task.changed", now, after)
        if event is not None:
            folded = fold_task(folded, event.kind, event.data, NOW)
        now = after
    assert folded is not None
    assert replace(folded, updated_at=None, lease_until=now.lease_until) == replace(now, progress=folded.progress)
    assert decode_task(encode_task(now)) == replace(now, lease_until=None, progress=folded.progress)
