"""Change tasks by their rules: each function returns the task after a change, or raises the reason against it."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, cast

from msgspec.structs import replace

from punchlist import errors
from punchlist.core.task import ENDED, LateResult, RunsAfter, Task, TaskStatus, Wait
from punchlist.text import cut, for_prompt, repair_key

_P, _I, _W = TaskStatus.PENDING, TaskStatus.IN_PROGRESS, TaskStatus.WAITING
_C, _F, _X = TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED

LEGAL: Mapping[TaskStatus, frozenset[TaskStatus]] = {
    _P: frozenset({_I, _W, _C, _F, _X}),
    _I: frozenset({_P, _W, _C, _F, _X}),
    _W: frozenset({_P, _I, _C, _F, _X}),
    _C: frozenset({_P, _I}),
    _F: frozenset({_P, _I, _X}),
    _X: frozenset({_P}),
}
"""The legal transitions. A task that has ended opens again only through pending or in progress."""

LONGEST_BACKOFF = 3600.0
"""Seconds: a task that keeps failing is tried at least once an hour."""
_MOST_NAMED = 10
"""An error names at most so many blockers or open checks; models read it."""


def move(task: Task, to: TaskStatus, now: datetime, **more: Any) -> Task:
    """Move a task to another status: check blockers and checklist, set its times, and apply the changes in `more`."""
    if task.status is to:
        return replace(task, **more) if more else task
    if to is not _X:
        check_not_cancelling(task)
    if to not in LEGAL[task.status]:
        then = "retry it first" if _P in LEGAL[task.status] else "leave it"
        raise errors.TransitionRefused(id=task.id, status=task.status, to=to, next=then)
    if to in {_I, _C}:
        check_unblocked(task)
    missing = [for_prompt(cut(check.text, 80)) for check in task.checklist if not check.done] if to is _C else []
    if missing:
        more_lines = f"; and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        raise errors.ChecklistOpen(id=task.id, open="; ".join(missing[:_MOST_NAMED]) + more_lines)
    at = max(now, task.started_at or task.created_at or now)  # a clock may be set back
    ended = to in ENDED
    changes: dict[str, Any] = {
        "status": to,
        "owner": None if to is _P else task.owner,
        "started_at": at if to is _I and (task.started_at is None or task.status is _P) else task.started_at,
        "finished_at": at if ended else None,
        "not_before": None,
        "lease": None,
        "lease_until": None,
        "reserved": (),
        "wait": None,
        "result": task.result if ended or task.status not in ENDED else None,
        "failure": None if to is _C else task.failure,
    }
    return replace(task, **{**changes, **more})


def check_unblocked(task: Task) -> None:
    if task.open_blockers:
        named = [f"{each.id} ({each.status})" for each in task.held_by[:_MOST_NAMED]]
        more = task.open_blockers - len(named)
        said = ", ".join(named) + (f" and {more} more" if more > 0 else "")
        raise errors.TaskBlocked(id=task.id, blockers=said, blocked_by=[each.id for each in task.held_by])


def check_fence(task: Task, fence: int | None) -> None:
    """Raise if a worker shows another fence than the present one; a caller without a fence is no worker."""
    if fence is not None and fence != task.fence:
        raise errors.FenceStale(id=task.id, fence=fence, actual=task.fence, kept="")


def check_revision(task: Task, revision: int | None) -> None:
    if revision is not None and revision != task.revision:
        raise errors.TaskRevisionConflict(id=task.id, expected=revision, actual=task.revision)


def check_not_cancelling(task: Task) -> None:
    if task.cancel_requested:
        raise errors.CancelPending(id=task.id)


def is_holding(status: TaskStatus, runs_after: RunsAfter) -> bool:
    """True if a blocker in this status holds back a task that runs after it in this way."""
    return status is not TaskStatus.COMPLETED and (runs_after == "completed" or status not in ENDED)


# Claims.


def is_held(task: Task) -> bool:
    """True if a worker has the task, or it waits for the one whom it is meant for."""
    if task.status is _W:
        return task.wait is not None and (task.wait.meant or task.wait.then == "in_progress")
    return task.status is _I or (task.status is _P and task.owner is not None)


def taken_error(task: Task, holder: str | None = None) -> errors.TaskTaken:
    """Return the error for a caller that wants a task which is held. `holder` has it, where it has no owner."""
    until = "" if task.lease_until is None else f" until {task.lease_until:%Y-%m-%d %H:%M:%S %Z}"
    return errors.TaskTaken(id=task.id, owner=task.owner or holder or "another worker", until=until)


def check_not_leased(task: Task, by: str) -> None:
    """Raise if another worker than `by` has the task under a lease. A lease that ran out is settled before."""
    if task.lease_until is not None and task.owner != by:
        raise taken_error(task)


def claim(task: Task, owner: str, now: datetime, lease: timedelta, reserve: tuple[str, ...] = ()) -> Task:
    """Claim a task for a worker, under a lease and with a new fence."""
    if task.status is not _I and task.status is not _P:
        raise errors.TaskNotReady(id=task.id, problem=f"it is {task.status}")
    if task.status is _I or task.owner not in {None, owner}:
        raise taken_error(task)
    if task.not_before is not None:
        raise errors.TaskNotReady(id=task.id, problem=f"it rests until {task.not_before:%Y-%m-%d %H:%M:%S %Z}")
    return move(
        task,
        _I,
        now,
        owner=owner,
        lease=lease.total_seconds(),
        lease_until=now + lease,
        fence=task.fence + 1,
        attempts=task.attempts + 1,
        reserved=reserve,
    )


def start(task: Task, owner: str | None, now: datetime) -> Task:
    """Start a task without a lease, under a new fence; a task that had ended starts again."""
    fresh = replace(task, started_at=None) if task.status in ENDED else task
    return move(fresh, _I, now, owner=owner, fence=task.fence + 1)


def renew_lease(task: Task, owner: str | None, now: datetime, lease: timedelta) -> Task:
    """Renew a lease. A worker whose lease ran out gets its task back, if no other worker claimed it since."""
    if task.status is _P:
        task = move(task, _I, now, owner=owner or task.owner)
    elif task.status is not _I or task.lease_until is None:
        raise no_claim_error(task)
    return replace(task, lease=lease.total_seconds(), lease_until=now + lease)


def no_claim_error(task: Task) -> errors.TransitionRefused:
    """Return the error for a heartbeat on a task that no worker has claimed."""
    then = "there is no claim to keep alive"
    return errors.TransitionRefused(id=task.id, status=task.status, to="anybody's under a lease", next=then)


def release(task: Task, now: datetime) -> Task:
    """Release a task, so that others may claim it. A released claim was no attempt."""
    if task.status is not _I:
        raise errors.TransitionRefused(
            id=task.id, status=task.status, to=_P, next="only what is in progress can be released"
        )
    to = _X if task.cancel_requested else _P
    return move(task, to, now, fence=task.fence + 1, attempts=_count_earlier_attempts(task))


def _count_earlier_attempts(task: Task) -> int:
    return max(0, task.attempts - (task.lease_until is not None))


def expire(task: Task, now: datetime) -> Task:
    """End the lease of a silent worker. The fence stays: a late result counts if no other worker claimed it since."""
    if task.cancel_requested:
        return move(task, _X, now)
    if task.max_attempts is not None and task.attempts >= task.max_attempts:
        said = f"its worker `{task.owner}` went silent, in attempt {task.attempts} of {task.max_attempts}"
        return move(task, _F, now, failure=said)
    return move(task, _P, now)


# Ends.


def complete(task: Task, now: datetime, result: Any, *, fence: int | None) -> Task:
    """Complete a task. Without a fence, the worker that holds a claim loses it.

    A worker whose last attempt ran out of time is heard too: only then does a failed task have the fence of a worker.
    """
    if task.status is _C:
        return task
    if task.status is _F and fence is not None:
        task = move(task, _I, now)
    lost = fence is None and task.lease_until is not None
    return move(task, _C, now, result=result, fence=task.fence + lost)


def add_late_result(task: Task, fence: int, result: Any, *, by: str, now: datetime) -> Task:
    """Keep a result that came too late with the task; an equal one is kept once."""
    if any((known.fence, known.result) == (fence, result) for known in task.late_results):
        return task
    return replace(task, late_results=(*task.late_results, LateResult(fence=fence, result=result, by=by, at=now)))


def fail(task: Task, now: datetime, reason: str) -> Task:
    """Fail a task; while there are attempts left, make it pending again after a back-off.

    A claim was counted as an attempt when it was made; work that was started without one is counted now.
    """
    if task.status in ENDED and task.status is not _F:
        raise errors.TransitionRefused(id=task.id, status=task.status, to=_F, next="it has ended; reopen it first")
    attempts = task.attempts + (task.status is _I and task.lease_until is None)
    more = task.max_attempts is not None and attempts < task.max_attempts
    if more and task.status is not _F and not task.cancel_requested:
        rest = timedelta(seconds=backoff_after(attempts, task.backoff))
        return move(task, _P, now, not_before=now + rest, attempts=attempts, failure=reason, fence=task.fence + 1)
    return move(task, _F, now, attempts=attempts, failure=reason, fence=task.fence + 1)


def backoff_after(attempts: int, backoff: float) -> float:
    """Return the seconds before the next attempt: doubled with each one, up to an hour."""
    return min(LONGEST_BACKOFF, backoff * 2.0 ** min(max(0, attempts - 1), 30))


def retry(task: Task, now: datetime) -> Task:
    """Open a task again, as if it had not been tried.

    A worker that went silent in the last attempt is still heard until the task is claimed: its fence stays.
    """
    if task.status not in ENDED and task.not_before is None:
        raise errors.TransitionRefused(id=task.id, status=task.status, to=_P, next="it has not ended")
    fresh = replace(task, cancel_requested=False)
    fence = task.fence + (task.status is not _F)
    return move(fresh, _P, now, not_before=None, attempts=0, fence=fence, failure=None, started_at=None)


def cancel(task: Task, now: datetime, reason: str | None = None) -> Task:
    """Cancel a task. A request to cancel stays on record."""
    return task if task.status is _X else move(task, _X, now, failure=reason, fence=task.fence + 1)


def request_cancel(task: Task) -> Task:
    """Request that the worker cancels a task. A task that has ended stays as it is."""
    return task if task.status in ENDED else replace(task, cancel_requested=True)


# Waits.


def wait(task: Task, wait: Wait, now: datetime) -> Task:
    """Make a task wait. A worker's claim ends, and was no attempt; an owner without a lease continues afterwards."""
    then = "in_progress" if task.status is _I and task.lease_until is None else "pending"
    meant = task.status is _P and task.owner is not None
    if task.wait is not None:
        then, meant = task.wait.then, task.wait.meant
    held_lease = task.lease_until is not None
    wait = replace(wait, since=now, then=then, meant=meant)
    return move(task, _W, now, wait=wait, fence=task.fence + held_lease, attempts=_count_earlier_attempts(task))


def resume(task: Task, now: datetime, patch: Any = None) -> Task:
    """Resume a task after its wait and merge `patch` into its state; cancel it if that was requested."""
    if task.status is not _W:
        raise errors.TransitionRefused(id=task.id, status=task.status, to=_P, next="it does not wait")
    if task.cancel_requested:
        return cancel(task, now)
    goes_on = task.wait is not None and task.wait.then == "in_progress" and not task.open_blockers
    keeps = goes_on or (task.wait is not None and task.wait.meant)
    again = move(task, _I if goes_on else _P, now, owner=task.owner if keeps else None)
    return again if patch is None else patch_state(again, patch)


def patch_state(task: Task, patch: Any) -> Task:
    return replace(task, state=merge_state(task.state, patch))


def apply_due(task: Task, now: datetime) -> tuple[str, Task]:
    """Apply what happens to a task by itself when its time has come; return the kind of event and the task."""
    match task.status:
        case TaskStatus.IN_PROGRESS:
            after = expire(task, now)
            return "task.cancelled" if after.status is _X else "task.expired", after
        case TaskStatus.PENDING | TaskStatus.WAITING if task.cancel_requested:
            return "task.cancelled", cancel(task, now)
        case TaskStatus.WAITING:
            return "task.resumed", resume(task, now)
        case _:
            return "task.due", replace(task, not_before=None)


def merge_state(state: Any, patch: Any) -> Any:
    """Merge a patch into a state, one level deep; anything but two objects replaces the whole."""
    if isinstance(state, Mapping) and isinstance(patch, Mapping):
        return {**cast("Mapping[str, Any]", state), **cast("Mapping[str, Any]", patch)}
    return patch


def merge_metadata(metadata: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Merge metadata key by key; None removes a key."""
    return {key: value for key, value in {**metadata, **patch}.items() if value is not None}


HORIZON = timedelta(days=30)
LONGEST_NAME = 500


def make_wait(
    now: datetime,
    *,
    until: datetime | timedelta | None = None,
    topic: str | None = None,
    correlation_id: str | None = None,
) -> Wait:
    """Make a wait: a timer with `until`, an event with `topic` and `correlation_id`, else for a person."""
    if until is not None:
        if topic is not None or correlation_id is not None:
            raise errors.WaitRefused(problem="A task waits for a time or for an event, not for both: give one of them.")
        try:
            at = now + until if isinstance(until, timedelta) else until
            late, far = at <= now, at > now + HORIZON
        except (OverflowError, TypeError) as error:
            problem = "That is no time to wait for: give one with a time zone, within 30 days."
            raise errors.WaitRefused(problem=problem) from error
        if late:
            raise errors.WaitRefused(problem="That time has passed: give one in the future.")
        if far:
            raise errors.WaitRefused(problem=f"That is more than {HORIZON.days} days away: give an earlier time.")
        return Wait(kind="timer", at=at)
    if topic is None and correlation_id is None:
        return Wait(kind="manual")
    return Wait(
        kind="event", topic=_check_name("topic", topic), correlation_id=_check_name("correlation_id", correlation_id)
    )


def _check_name(what: str, text: Any) -> str:
    if not isinstance(text, str) or not text.strip():
        raise errors.WaitRefused(problem=f"An event needs a `{what}`: a text that is not empty.")
    if len(text) > LONGEST_NAME:
        raise errors.WaitRefused(problem=f"A `{what}` has at most {LONGEST_NAME} characters.")
    return repair_key(text)
