"""Taking tasks and giving them back, done or not: claims, leases and fences."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from msgspec.structs import replace

from punchlist.core import task_rules as rules
from punchlist.core.commands import Cleaner
from punchlist.core.events import Draft
from punchlist.core.task import ENDED, Task, TaskStatus, fold_task
from punchlist.errors import (
    CancelPending,
    FenceStale,
    InvalidInput,
    TaskDeleted,
    TaskError,
    TaskNotReady,
    TaskUnknown,
    TransitionRefused,
)
from punchlist.store.task_rows import TaskRow
from punchlist.tasks.change import check_lease, number_of
from punchlist.tasks.fields import name_of, plain, text
from punchlist.tasks.reservations import Reservations
from punchlist.tasks.worked import ticked
from punchlist.text import repair

LEASE = 900.0
"""Seconds that a claim lasts without a sign of life, unless it says otherwise."""

LONGEST_LEASE = 86_400.0
_MOST_AT_ONCE = 1_000


class Late(NamedTuple):
    """A completion that came too late: the task, with what was brought kept beside it, and the error to tell."""

    task: Task
    error: TaskError


class Claims(Reservations):
    """Who works on what."""

    def claim(
        self,
        owner: str,
        *,
        id: str | None = None,
        limit: int = 1,
        label: str | None = None,
        lease: float = LEASE,
        reserve: Sequence[str] = (),
        call_id: str | None = None,
    ) -> tuple[Task, ...]:
        """The first ready tasks, or the one of that id, in the hands of this worker."""
        name_of("owner", owner)
        check_lease(lease, LONGEST_LEASE)
        if not 1 <= limit <= _MOST_AT_ONCE:
            raise InvalidInput(problem=f"From 1 to {_MOST_AT_ONCE} tasks can be claimed at once.")
        asked = ["claim", owner, id, limit, label, lease, list(reserve)]
        patterns = self.patterns(reserve)
        label = None if label is None else repair(label)
        length = timedelta(seconds=lease)

        def run() -> tuple[Task, ...]:
            self.check_free(patterns)
            if id is not None:
                row = self.row(id)
                if label is not None and label not in row.task.labels:
                    raise TaskNotReady(id=row.task.id, problem=f"it is not labelled `{label[:80]}`")
                if rules.is_held(row.task) and row.task.owner is None:
                    raise rules.taken_error(row.task, self.holder(row))
                after = rules.claim(row.task, owner, self.now, length, patterns)
                rows: Sequence[TaskRow] = (self.write(row, after, "task.claimed"),)
            else:
                rows = self._next(owner, limit, label, length, patterns)
            self.claimed.update(row.number for row in rows)
            return tuple(row.task for row in rows)

        return self.once(call_id, asked, run)

    def _next(
        self, owner: str, limit: int, label: str | None, lease: timedelta, patterns: tuple[str, ...]
    ) -> Sequence[TaskRow]:
        number = None if self.agent is None else self.agent.number
        rows = self.tasks.claim(
            self.where, owner, agent=number, now=self.now, lease=lease, limit=limit, label=label, reserve=patterns
        )
        if not rows:
            self._shorten()
        for row in rows:
            task = row.task
            draft = Draft(
                "task.claimed", {"list": task.list, "id": task.id, "subject": task.subject, "set": _taken(task)}
            )
            self.tell(row, draft)
        return rows

    def _shorten(self) -> None:
        """Leases that end later than any can were given by a clock that is ahead; they begin anew now."""
        most = self.now + timedelta(seconds=LONGEST_LEASE)
        for row in self.tasks.leases_beyond(self.where, most):
            until = self.now + timedelta(seconds=row.task.lease or LEASE)
            self.tasks.save_lease(row, replace(row.task, lease_until=until))

    def heartbeat(self, id: str, *, fence: int, lease: float | None = None) -> Task:
        """A sign of life: the lease begins anew. The task says whether it is to be cancelled."""
        row = self.row(id)
        task = row.task
        rules.check_fence(task, fence)
        if task.status is not TaskStatus.PENDING:
            length = timedelta(seconds=check_lease(lease or task.lease or LEASE, LONGEST_LEASE))
            alive = rules.renew_lease(task, task.owner, self.now, length)
            self.tasks.save_lease(row, alive)
            return alive
        return self._taken_back(row, lease)

    def _taken_back(self, row: TaskRow, lease: float | None) -> Task:
        """In the hands of its last worker once more, as it had it; refused if its files are another's by now."""
        claim = self.claim_of(row)
        if claim is None:
            raise rules.no_claim_error(row.task)
        had = claim.task
        length = timedelta(seconds=check_lease(lease or had.lease or LEASE, LONGEST_LEASE))
        self.check_free(had.reserved, claim)
        alive = replace(rules.renew_lease(row.task, had.owner, self.now, length), reserved=had.reserved)
        return self.write(row, alive, "task.claimed").task

    def release(self, id: str, *, fence: int | None = None) -> Task:
        row = self.row(id)
        self.check_hands(row, fence)
        after = rules.release(row.task, self.now)
        kind = "task.cancelled" if after.status is TaskStatus.CANCELLED else "task.released"
        return self.write(row, after, kind, fence=fence).task

    def complete(
        self,
        id: str,
        *,
        fence: int | None = None,
        result: Any = None,
        revision: int | None = None,
        call_id: str | None = None,
    ) -> Task | Late:
        """Done; or, where somebody else has it by now, late: what was brought is kept, and nothing else changes."""
        late: list[Late] = []

        def run() -> tuple[Task, ...]:
            done = self._complete(id, fence, plain("result", result), revision)
            if isinstance(done, Late):
                late.append(done)
                return ()
            return (done,)

        found = self.once(call_id, ["complete", id, fence, result], run)
        return late[0] if late else found[0]

    def _complete(self, id: str, fence: int | None, result: Any, revision: int | None) -> Task | Late:
        row = self.find(id)
        if row is None:
            return self._deleted(id, fence, result)
        late = self.too_late(row, fence, result)
        if late is not None:
            return late
        rules.check_revision(row.task, revision)
        if row.task.status is TaskStatus.COMPLETED and row.task.grade is not None and self.is_person(fence):
            return self.write(row, replace(row.task, grade="confirmed"), "task.graded").task
        done = rules.complete(ticked(self.tx, row), self.now, result, fence=fence)
        return self.write(row, done, "task.completed", fence=fence).task

    def too_late(self, row: TaskRow, fence: int | None, result: Any) -> Late | None:
        """What becomes of a completion under this fence that can no longer count; None if it still can.

        An agent need show none: the board knows that it had the task, and that another has it now.
        """
        task, fence = row.task, self.stands_under(row, fence)
        then = "what you brought is kept beside it"
        if fence in {None, task.fence} and task.status is TaskStatus.COMPLETED and result not in (None, task.result):
            refused = TransitionRefused(id=task.id, status=task.status, to="completed once more", next=then)
            return self._late(row, task.fence, result, refused)
        if fence is None:
            return None
        if fence != task.fence:
            kept = " What you brought is kept with the task." if result is not None else ""
            stale = FenceStale(id=task.id, fence=fence, actual=task.fence, kept=kept)
            return self._late(row, fence, result, stale)
        if task.cancel_requested and task.status not in ENDED:
            return self._late(row, fence, result, CancelPending(id=task.id))
        if task.status is TaskStatus.CANCELLED:
            refused = TransitionRefused(id=task.id, status=task.status, to="completed", next=then)
            return self._late(row, fence, result, refused)
        return None

    def late_for(self, id: str, fence: int | None, result: Any) -> Late | None:
        """The same, of a task that may have been deleted."""
        row = self.find(id)
        return self._deleted(id, fence, result) if row is None else self.too_late(row, fence, result)

    def _deleted(self, id: str, fence: int | None, result: Any) -> Late:
        """What a worker brings to a task that was deleted is told in its history; raises if there never was one."""
        gone, known = None, False
        for event in () if self._where is None else self.tasks.history(self._where, number_of(id) or 0):
            gone = fold_task(gone, event.kind, event.data, event.at) or gone
            known |= event.kind == "task.late" and (event.data.get("fence"), event.data.get("result")) == (
                fence,
                result,
            )
        if gone is None or fence is None:
            raise TaskUnknown(id=str(id)[:80], list=self.name)
        if result is not None and not known:
            told = {"list": gone.list, "id": gone.id, "subject": gone.subject, "fence": fence, "result": result}
            self.tell(TaskRow(0, self.where, 0, None, None, 0, gone), Draft("task.late", told), by=self.by)
        then = "stop working on it" if result is None else "what you brought is kept in its history"
        return Late(gone, TaskDeleted(id=gone.id, list=self.name, next=then))

    def _late(self, row: TaskRow, fence: int, result: Any, error: TaskError) -> Late:
        if result is None:
            return Late(row.task, error)
        after = rules.add_late_result(row.task, fence, result, by=self.by, now=self.now)
        return Late(self.write(row, after, "task.late", by=self.by).task, error)

    def fail(self, id: str, reason: str = "", *, fence: int | None = None) -> Task:
        """Failed; or pending again after a rest, while there are attempts left."""
        row = self.row(id)
        self.check_hands(row, fence)
        after = rules.fail(row.task, self.now, text("reason", reason, Cleaner()))
        kind = "task.failed" if after.status is TaskStatus.FAILED else "task.retrying"
        return self.write(row, after, kind, fence=fence).task

    def retry(self, id: str) -> Task:
        row = self.row(id)
        return self.write(row, rules.retry(row.task, self.now), "task.reopened").task

    def cancel(self, id: str, reason: str | None = None, *, request: bool = False, fence: int | None = None) -> Task:
        """Given up at once; with `request` by whoever works on it, who then may do nothing else with it."""
        row = self.row(id)
        if request:
            rules.check_fence(row.task, fence)
            return self.write(row, rules.request_cancel(row.task), "task.cancel_requested").task
        self.check_hands(row, fence)
        reason = None if reason is None else text("reason", reason, Cleaner())
        given_up = rules.cancel(row.task, self.now, reason)
        return self.write(row, given_up, "task.cancelled", fence=fence).task


def _taken(task: Task) -> dict[str, Any]:
    """What the store's own statement changes about a task."""
    started = None if task.started_at is None else task.started_at.isoformat()
    told = {"status": task.status.value, "owner": task.owner, "attempts": task.attempts, "lease": task.lease}
    reserved = {"reserved": list(task.reserved)} if task.reserved else {}
    return {**told, "fence": task.fence, "started_at": started, "revision": task.revision, **reserved}
