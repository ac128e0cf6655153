"""Change the tasks of one list within one transaction: all verbs of tasks are here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Unpack, cast

import msgspec
from msgspec.structs import replace

from punchlist import errors
from punchlist.core import task_rules as rules
from punchlist.core.commands import Cleaner, Problem
from punchlist.core.events import Draft, json_time
from punchlist.core.inputs import check_json_size, plain_json
from punchlist.core.task import (
    ENDED,
    ChecklistLine,
    Task,
    TaskStatus,
    Worked,
    draft_change,
    draft_creation,
    fold_task,
    name_task,
    own_progress,
    share,
)
from punchlist.core.todo import Progress, Status, TodoList
from punchlist.store import AgentRow, Transaction
from punchlist.store.records import StoredCall
from punchlist.store.tasks import TaskListRow, TaskRow
from punchlist.tasks import fields
from punchlist.tasks.claims import LEASE, LONGEST_LEASE, Ownership, check_lease, check_patterns
from punchlist.text import repair_key
from punchlist.text.hashing import blake2b

_encode = msgspec.json.Encoder(order="deterministic", enc_hook=repr).encode
_decode = msgspec.json.Decoder(tuple[Task, ...]).decode
_SAME: Any = object()

MOST_READIED = 100
"""Ids of readied tasks or flows that one event names: thousands would make it as long as the list."""

_MOST_AT_ONCE = 1_000
"""Tasks in one claim: each is written and told in the same transaction."""

_DEEPEST = 100
"""Levels of parents: the way up is walked at each change of parent."""

_WORKERS_FIELDS = frozenset({"status", "state", "result", "checked", "unchecked"})
"""Fields that only the worker of a task changes; anybody may change the rest."""


class Work:
    """One list of tasks in one open transaction; `Tasks` opens one for each call.

    `by` is the author of what happens, the worker itself where it is empty. `agent` is the agent in whose name it
    happens, if it is one of this board. `grades` is its policy for completions that no evidence supports, and `doubts`
    collects the problems to tell about them. Without `settles` what has come due is left as it is, for a transaction
    that only reads.
    """

    def __init__(
        self,
        tx: Transaction,
        name: str,
        *,
        project: str,
        now: datetime,
        by: str = "",
        agent: AgentRow | None = None,
        grades: str = "show",
        settles: bool = True,
    ) -> None:
        self.tx = tx
        self.tasks = tx.tasks
        self.name = fields.check_list_name(name)
        self.now = now
        self.by = by
        self.agent = agent
        self.grades = grades
        self.doubts: list[Problem] = []
        self.ownership = Ownership(tx, by=by, agent=agent)
        self._project = project
        found = self.tasks.find_list_and_due(name, now)
        self._where, due = found or (None, False)
        self.settled = self._settle(self._where) if due and settles and self._where is not None else 0
        """How many tasks had come due and were written at the start: leases, timers and rests that are over."""

    @property
    def where(self) -> TaskListRow:
        """The list, made if it is not there yet."""
        if self._where is None:
            session = self.name.removeprefix("session:") if self.name.startswith("session:") else None
            project = self._project
            if session is not None:
                project = self.tx.session_project(session) or project
            self._where = self.tasks.add_list(self.name, project=project, session=session, at=self.now)
        return self._where

    def _settle(self, where: TaskListRow) -> int:
        count = 0
        while rows := self.tasks.due(where, self.now):
            for row in rows:
                kind, after = rules.apply_due(row.task, self.now)
                self.write(row, after, kind, by="")
            count += len(rows)
        return count

    # Reading and writing one task.

    def find(self, id: str | int, *, alone: bool = False) -> TaskRow | None:
        number = parse_task_id(id)
        return None if self._where is None or number is None else self.tasks.find(self._where, number, alone=alone)

    def row(self, id: str | int, *, alone: bool = False) -> TaskRow:
        """Return the task of that id, `alone` without its neighbours; raise `TaskUnknown`."""
        found = self.find(id, alone=alone)
        if found is None:
            raise errors.TaskUnknown(id=str(id)[:80], list=self.name)
        return found

    def write(
        self,
        row: TaskRow,
        after: Task,
        kind: str,
        *,
        parent: int | None = _SAME,
        by: str | None = None,
        fence: int | None = None,
        whose: int | None = None,
        person: bool = False,
    ) -> TaskRow:
        """Write a task under its next revision, with its event; write nothing if it did not change.

        Tasks that waited for it are counted in the same transaction. The event names the `fence` that a worker
        showed; `whose` is the agent that it is about, where no agent does this. What a `person` completes is confirmed.
        """
        before = row.task
        if (after.status is TaskStatus.COMPLETED) is not (before.status is TaskStatus.COMPLETED):
            after = replace(after, grade="confirmed") if person else self._add_grade(row, after)
        parent = row.parent if parent is _SAME else parent
        after = replace(
            after,
            revision=before.revision + 1,
            updated_at=self.now,
            progress=after.progress if row.children else own_progress(after.status, after.checklist),
        )
        draft = draft_change(kind, before, after, **({} if fence is None else {"fence": fence}))
        if draft is None:
            return row
        if after.status is not before.status and (readied := self.tasks.tell_dependents(row, after)):
            draft.data["readied"] = list(readied[:MOST_READIED])
        saved = self.tasks.save(row, after, parent=parent, agent=self._agent_of(row, after))
        self.tell(saved, draft, by=by, whose=whose)
        return saved

    def _add_grade(self, row: TaskRow, after: Task) -> Task:
        if after.status is not TaskStatus.COMPLETED:
            return replace(after, grade=None)
        worker = row.agent if row.agent is not None or self.agent is None else self.agent.number
        if worker is None or (self.grades == "show" and not self.tx.memory.load(worker).watched):
            return after  # no host reported the worker's tool calls
        from punchlist.tasks.grading import add_task_grade  # loads the checks, where tool calls are reported

        after, doubt = add_task_grade(self.tx, after, worker, self.grades, self.now)
        if doubt is not None:
            self.doubts.append(doubt)
        return after

    def tell(self, row: TaskRow, *drafts: Draft, by: str | None = None, whose: int | None = None) -> None:
        """Add events about a task."""
        author = (self.by or row.task.owner or "") if by is None else by
        number = whose if self.agent is None or (by == "" and self.by) else self.agent.number
        self.tasks.add_events(row, drafts, by=author, at=self.now, agent=number)

    def _agent_of(self, row: TaskRow, after: Task) -> int | None:
        """Return the agent of this board that works on the task now: it started it, or the task was given to it."""
        before, agent = row.task, self.agent
        if after.status is TaskStatus.PENDING and after.owner is None:
            return None
        if agent is not None:
            began = after.status is TaskStatus.IN_PROGRESS and (
                before.status is not TaskStatus.IN_PROGRESS or after.fence != before.fence
            )
            if (began and after.owner in {None, agent.name}) or (after.owner == agent.name != before.owner):
                return agent.number
        return row.agent if after.owner == before.owner else None

    def once(
        self, call_id: str | None, asked: Any, run: Callable[[], tuple[Task, ...]], *, empty: bool = False
    ) -> tuple[Task, ...]:
        """Run a call once under its id; the same call again gets the same answer, byte for byte.

        A call that returned nothing is not remembered, unless it did something even where it is `empty`.
        """
        if call_id is None:
            return run()
        fields.check_name("call id", call_id)
        fingerprint = _fingerprint(asked)
        known = self.tasks.call(self.where, call_id)
        if known is not None:
            if known.fingerprint != fingerprint:
                raise errors.CallReused(call_id=call_id)
            return _decode(known.reply)
        tasks = run()
        if tasks or empty:
            self.tasks.save_call(self.where, call_id, StoredCall(fingerprint, _encode(tasks)), at=self.now)
        return tasks

    # Making, changing and deleting.

    def create(self, subject: str, *, call_id: str | None = None, **given: Unpack[fields.NewTask]) -> Task:
        (task,) = self.once(call_id, ["create", subject, given], lambda: (self._create(subject, given),))
        return task

    def _create(self, subject: str, given: fields.NewTask) -> Task:
        fields.check_known(given, fields.NewTask)
        new = Task(list=self.name, id="", subject="", created_at=self.now, created_by=self.by, updated_at=self.now)
        task = fields.describe_task(new, {**given, "subject": subject})
        owner = given.get("owner")
        if owner is not None:
            task = replace(task, owner=fields.check_name("owner", owner))
        if task.checklist:
            task = replace(task, progress=own_progress(task.status, task.checklist))
        parent = given.get("parent")
        above = None if parent is None else self.row(parent, alone=True)
        if above is not None:
            self._check_parent(above)
            task = replace(task, parent=above.task.id)
        own = self.agent is not None and owner == self.agent.name
        row = self.tasks.add(self.where, task, parent=above, agent=self.agent.number if own and self.agent else None)
        self.tell(row, draft_creation(row.task))
        linked = self._link(row, {"add_blocked_by": given.get("blocked_by"), "add_blocks": given.get("blocks")})
        return self.row(row.task.id).task if linked else row.task

    def update(
        self,
        id: str,
        *,
        revision: int | None = None,
        fence: int | None = None,
        person: bool = False,
        **given: Unpack[fields.TaskChanges],
    ) -> Task:
        """Change all that is given, or nothing: words first, then edges, then the status."""
        fields.check_known(given, fields.TaskChanges)
        row = self.row(id)
        # Starting a task has its own rule, in `_start`.
        if given.get("status") != TaskStatus.IN_PROGRESS and not _WORKERS_FIELDS.isdisjoint(given):
            self.ownership.check(row, fence)
        else:
            rules.check_fence(row.task, fence)
        rules.check_revision(row.task, revision)
        if "state" in given:
            rules.check_not_cancelling(row.task)
        after, parent = fields.describe_task(row.task, given), row.parent
        if "parent" in given:
            above = None if given["parent"] is None else self.row(given["parent"])
            if above is not None:
                self._check_parent(above, row)
            after = replace(after, parent=None if above is None else above.task.id)
            parent = None if above is None else above.number
        if "owner" in given:
            after = self._give(after, given["owner"], keep_status="status" in given)
        if "result" in given:
            after = replace(after, result=plain_json("result", given["result"]))
        kind = "task.changed"
        if after.status is not row.task.status:
            kind = "task.cancelled" if after.status is TaskStatus.CANCELLED else "task.released"
        row = self.write(row, after, kind, parent=parent)
        if self._link(row, given) or "runs_after" in given:
            row = self.row(id)
        if "status" in given:
            to = fields.parse_status(given["status"])
            row = self._set_status(row, to, fence, keep_owner="owner" in given, person=person)
        return row.task

    def _give(self, task: Task, owner: str | None, *, keep_status: bool) -> Task:
        """Return the task with another owner: the claim on it is lost. Without an owner it is released."""
        owner = None if owner is None else fields.check_name("owner", owner)
        if owner == task.owner:
            return task
        if task.wait is not None:
            then = task.wait.then if owner is not None else "pending"
            task = replace(task, wait=replace(task.wait, meant=owner is not None, then=then))
        if owner is None and task.status is TaskStatus.IN_PROGRESS and not keep_status:
            return rules.release(task, self.now)
        return replace(task, owner=owner, fence=task.fence + 1, lease=None, lease_until=None, reserved=())

    def _set_status(
        self, row: TaskRow, to: TaskStatus, fence: int | None, *, keep_owner: bool, person: bool
    ) -> TaskRow:
        """Move a task to a status; with `keep_owner` one that is open again stays its new owner's."""
        task = row.task
        if to is TaskStatus.IN_PROGRESS:
            return self._start(row, given=keep_owner, fence=fence)
        if task.status is to:
            return self._confirm(row) if person and to is TaskStatus.COMPLETED else row
        match to:
            case TaskStatus.PENDING:
                kind, after = self._reopen(task)
                return self.write(row, replace(after, owner=task.owner) if keep_owner else after, kind)
            case TaskStatus.COMPLETED:
                done = rules.complete(with_list_ticks(self.tx, row), self.now, task.result, fence=fence)
                return self.write(row, done, "task.completed", fence=fence, person=person)
            case TaskStatus.FAILED:
                return self.write(row, rules.move(task, to, self.now, fence=task.fence + 1), "task.failed")
            case TaskStatus.CANCELLED:
                return self.write(row, rules.cancel(task, self.now), "task.cancelled")
            case TaskStatus.WAITING:
                raise errors.InvalidInput(problem="Say what the task is to wait for: use `wait`.")

    def _start(self, row: TaskRow, *, given: bool, fence: int | None) -> TaskRow:
        """Start a task for the writer, or for the owner it was just `given`; raise if another worker has it."""
        task, own = row.task, given or self.ownership.has(row, fence)
        if rules.is_held(task) and not own:
            raise rules.taken_error(task, self.ownership.holder(row))
        if task.status is TaskStatus.IN_PROGRESS and (given or fence is not None or self.ownership.is_at_work(row)):
            return row
        said = self.by if self.agent is None else ""
        owner = (task.owner if own else None) or said or None
        return self.write(row, rules.start(task, owner, self.now), "task.started")

    def _confirm(self, row: TaskRow) -> TaskRow:
        """Record a person's word for a task that was completed before."""
        return self.write(row, replace(row.task, grade="confirmed"), "task.graded")

    def _reopen(self, task: Task) -> tuple[str, Task]:
        """Return the task as pending, from any status, and the kind of event for it."""
        if task.status in ENDED:
            return "task.reopened", rules.retry(task, self.now)
        if task.wait is not None:
            return "task.resumed", rules.resume(replace(task, wait=replace(task.wait, then="pending")), self.now)
        return "task.released", rules.release(task, self.now)

    def _check_parent(self, above: TaskRow, row: TaskRow | None = None) -> None:
        for _ in range(_DEEPEST):
            if row is not None and above.number == row.number:
                raise errors.InvalidInput(problem=f"Task `{row.task.id}` cannot be below itself.")
            if above.parent is None:
                return
            above = self.tasks.get(above.parent)
        raise errors.InvalidInput(problem=f"Tasks lie at most {_DEEPEST} deep.")

    def _link(self, row: TaskRow, given: Mapping[str, Any]) -> bool:
        """Add and remove edges; True if there were any."""
        touched = False
        for name in fields.EDGES:
            for each in _ids(name, given.get(name)):
                other = self.row(each, alone=True)
                task, blocker = (row, other) if name.endswith("blocked_by") else (other, row)
                adds = name.startswith("add")
                if self.tasks.add_edge(task, blocker) if adds else self.tasks.remove_edge(task, blocker):
                    told = {**name_task(task.task), "blocker": blocker.task.id}
                    self.tell(task, Draft("task.linked" if adds else "task.unlinked", told))
                    touched = True
        return touched

    def delete(self, id: str, *, revision: int | None = None, fence: int | None = None) -> Task:
        """Delete a task with its edges, and return it as it was; its history stays, and its id is never given again.

        Its children move to its parent, which is a change to each of them.
        """
        row = self.row(id)
        self.ownership.check(row, fence)
        rules.check_revision(row.task, revision)
        for child in self.tasks.move_children(row, at=self.now):
            before = child.task
            after = replace(before, parent=row.task.parent, revision=before.revision + 1)
            moved = draft_change("task.changed", before, after)
            if moved is not None:
                self.tell(child, moved)
        readied = self.tasks.delete(row)
        told = {**name_task(row.task), "readied": list(readied)} if readied else name_task(row.task)
        self.tell(row, Draft("task.deleted", told))
        return row.task

    # Claiming and releasing.

    def claim(
        self,
        owner: str,
        *,
        id: str | None = None,
        limit: int = 1,
        label: str | None = None,
        lease: float | None = None,
        reserve: Sequence[str] = (),
        call_id: str | None = None,
    ) -> tuple[Task, ...]:
        """Claim the first ready tasks, or the one of that id, for this worker."""
        fields.check_name("owner", owner)
        lease = check_lease(LEASE if lease is None else lease)
        if not 1 <= limit <= _MOST_AT_ONCE:
            raise errors.InvalidInput(problem=f"From 1 to {_MOST_AT_ONCE} tasks can be claimed at once.")
        asked = ["claim", owner, id, limit, label, lease, list(reserve)]
        patterns = check_patterns(reserve, self._project if self.agent is None else self.agent.folder)
        label = None if label is None else repair_key(label)
        length = timedelta(seconds=lease)

        def run() -> tuple[Task, ...]:
            if patterns:
                self.ownership.check_reservable(patterns, self.where.project, self.now)
            if id is None:
                rows = self._claim_next(owner, limit, label, length, patterns)
            else:
                row = self.row(id)
                if label is not None and label not in row.task.labels:
                    raise errors.TaskNotReady(id=row.task.id, problem=f"it is not labelled `{label[:80]}`")
                if rules.is_held(row.task) and row.task.owner is None:
                    raise rules.taken_error(row.task, self.ownership.holder(row))
                rows = [self.write(row, rules.claim(row.task, owner, self.now, length, patterns), "task.claimed")]
            self.ownership.claimed.update(row.number for row in rows)
            return tuple(row.task for row in rows)

        return self.once(call_id, asked, run)

    def _claim_next(
        self, owner: str, limit: int, label: str | None, lease: timedelta, patterns: tuple[str, ...]
    ) -> Sequence[TaskRow]:
        number = None if self.agent is None else self.agent.number
        rows = self.tasks.claim(
            self.where, owner, agent=number, now=self.now, lease=lease, limit=limit, label=label, reserve=patterns
        )
        for row in rows:
            self.tell(row, Draft("task.claimed", {**name_task(row.task), "set": _claim_fields(row.task)}))
        # Leases that end later than any can were given by a clock that is ahead.
        most = self.now + timedelta(seconds=LONGEST_LEASE)
        for row in self.tasks.leases_beyond(self.where, most) if not rows else ():
            until = self.now + timedelta(seconds=row.task.lease or LEASE)
            self.tasks.save_lease(row, replace(row.task, lease_until=until))
        return rows

    def heartbeat(self, id: str, *, fence: int, lease: float | None = None) -> Task:
        """Renew the lease of a claim. The returned task says if it is to be cancelled."""
        row = self.row(id)
        task = row.task
        rules.check_fence(task, fence)
        if task.status is TaskStatus.PENDING:
            return self._claim_again(row, lease)
        length = timedelta(seconds=check_lease(lease or task.lease or LEASE))
        alive = rules.renew_lease(task, task.owner, self.now, length)
        self.tasks.save_lease(row, alive)
        return alive

    def _claim_again(self, row: TaskRow, lease: float | None) -> Task:
        """Give a task back to its last worker, as it had it; raise if its files are reserved by another now."""
        claim = self.ownership.find_claim(row)
        if claim is None:
            raise rules.no_claim_error(row.task)
        had = claim.task
        length = timedelta(seconds=check_lease(lease or had.lease or LEASE))
        self.ownership.check_reservable(had.reserved, self.where.project, self.now, claim)
        alive = replace(rules.renew_lease(row.task, had.owner, self.now, length), reserved=had.reserved)
        return self.write(row, alive, "task.claimed").task

    def release(self, id: str, *, fence: int | None = None) -> Task:
        """Release a task, so that others may claim it."""
        row = self.row(id)
        self.ownership.check(row, fence)
        after = rules.release(row.task, self.now)
        kind = "task.cancelled" if after.status is TaskStatus.CANCELLED else "task.released"
        return self.write(row, after, kind, fence=fence).task

    # Completing, failing and cancelling.

    def complete(
        self,
        id: str,
        *,
        fence: int | None = None,
        result: Any = None,
        revision: int | None = None,
        call_id: str | None = None,
        person: bool = False,
        force: bool = True,
    ) -> Task | errors.TaskError:
        """Complete a task; or, where that comes too late, keep the result and return the error to raise."""
        late: list[errors.TaskError] = []

        def run() -> tuple[Task, ...]:
            done = self._complete(id, fence, plain_json("result", result), revision, person=person, force=force)
            if isinstance(done, errors.TaskError):
                late.append(done)
                return ()
            return (done,)

        found = self.once(call_id, ["complete", id, fence, result], run)
        return late[0] if late else found[0]

    def _complete(
        self, id: str, fence: int | None, result: Any, revision: int | None, *, person: bool, force: bool
    ) -> Task | errors.TaskError:
        row = self.find(id)
        if row is None:
            return self._complete_deleted(id, fence, result)
        late = self.check_late(row, fence, result)
        if late is not None:
            return late
        rules.check_revision(row.task, revision)
        if fence is None and not force:
            rules.check_not_leased(row.task, self.by)
        if row.task.status is TaskStatus.COMPLETED and person:
            return self._confirm(row).task
        done = rules.complete(with_list_ticks(self.tx, row), self.now, result, fence=fence)
        return self.write(row, done, "task.completed", fence=fence, person=person).task

    def check_late(self, row: TaskRow, fence: int | None, result: Any) -> errors.TaskError | None:
        """Keep the result of a completion under this fence that comes too late, and return its error; else None.

        An agent need show no fence: the board knows that it had the task, and that another has it now.
        """
        task, fence = row.task, self.ownership.fence_of(row, fence)
        then = "what you brought is kept beside it"
        if fence in {None, task.fence} and task.status is TaskStatus.COMPLETED and result not in (None, task.result):
            refused = errors.TransitionRefused(id=task.id, status=task.status, to="completed once more", next=then)
            return self._keep_late(row, task.fence, result, refused)
        if fence is None:
            return None
        if fence != task.fence:
            kept = " What you brought is kept with the task." if result is not None else ""
            stale = errors.FenceStale(id=task.id, fence=fence, actual=task.fence, kept=kept)
            return self._keep_late(row, fence, result, stale)
        if task.cancel_requested and task.status not in ENDED:
            return self._keep_late(row, fence, result, errors.CancelPending(id=task.id))
        if task.status is TaskStatus.CANCELLED:
            refused = errors.TransitionRefused(id=task.id, status=task.status, to="completed", next=then)
            return self._keep_late(row, fence, result, refused)
        return None

    def find_late(self, id: str, fence: int | None, result: Any) -> errors.TaskError | None:
        """Return the error of a late completion as `check_late` does, also of a task that was deleted."""
        row = self.find(id)
        return self._complete_deleted(id, fence, result) if row is None else self.check_late(row, fence, result)

    def _complete_deleted(self, id: str, fence: int | None, result: Any) -> errors.TaskError:
        """Keep the result of a deleted task in its history; raise `TaskUnknown` if there never was one."""
        gone, known = None, False
        for event in () if self._where is None else self.tasks.history(self._where, parse_task_id(id) or 0):
            gone = fold_task(gone, event.kind, event.data, event.at) or gone
            brought = (event.data.get("fence"), event.data.get("result"))
            known |= event.kind == "task.late" and brought == (fence, result)
        if gone is None or fence is None:
            raise errors.TaskUnknown(id=str(id)[:80], list=self.name)
        if result is not None and not known:
            told = {**name_task(gone), "fence": fence, "result": result}
            self.tell(TaskRow(0, self.where, 0, None, None, 0, gone), Draft("task.late", told), by=self.by)
        then = "stop working on it" if result is None else "what you brought is kept in its history"
        return errors.TaskDeleted(id=gone.id, list=self.name, next=then)

    def _keep_late(self, row: TaskRow, fence: int, result: Any, error: errors.TaskError) -> errors.TaskError:
        if result is not None:
            after = rules.add_late_result(row.task, fence, result, by=self.by, now=self.now)
            self.write(row, after, "task.late", by=self.by)
        return error

    def fail(self, id: str, reason: str = "", *, fence: int | None = None) -> Task:
        """Fail a task; while there are attempts left, it is retried after a pause."""
        row = self.row(id)
        self.ownership.check(row, fence)
        after = rules.fail(row.task, self.now, fields.check_text("reason", reason, Cleaner()))
        kind = "task.failed" if after.status is TaskStatus.FAILED else "task.retrying"
        return self.write(row, after, kind, fence=fence).task

    def retry(self, id: str) -> Task:
        """Reopen a task that has ended, with no attempts counted."""
        row = self.row(id)
        return self.write(row, rules.retry(row.task, self.now), "task.reopened").task

    def cancel(
        self,
        id: str,
        reason: str | None = None,
        *,
        request: bool = False,
        fence: int | None = None,
        force: bool = True,
    ) -> Task:
        """Cancel a task at once; with `request` ask its worker to, which may then do nothing else with it.

        Without `force`, a task under another worker's lease raises `TaskTaken`, unless a fence is shown.
        """
        row = self.row(id)
        if request:
            rules.check_fence(row.task, fence)
            return self.write(row, rules.request_cancel(row.task), "task.cancel_requested").task
        self.ownership.check(row, fence)
        if fence is None and not force:
            rules.check_not_leased(row.task, self.by)
        reason = None if reason is None else fields.check_text("reason", reason, Cleaner())
        return self.write(row, rules.cancel(row.task, self.now, reason), "task.cancelled", fence=fence).task

    # Waiting.

    def wait(
        self,
        id: str,
        *,
        until: datetime | timedelta | None = None,
        topic: str | None = None,
        correlation_id: str | None = None,
        state: Any = None,
        fence: int | None = None,
        revision: int | None = None,
    ) -> Task:
        """Set a task waiting: `until` a time, for an event of that `topic` and `correlation_id`, or for a person.

        `state` is merged into its own. An event that was kept for it is delivered at once.
        """
        row = self.row(id)
        self.ownership.check(row, fence)
        rules.check_revision(row.task, revision)
        wait = rules.make_wait(self.now, until=until, topic=topic, correlation_id=correlation_id)
        after = rules.wait(row.task, wait, self.now)
        if state is not None:
            after = rules.patch_state(after, plain_json("state", state))
            check_json_size("state", after.state)
        row = self.write(row, after, "task.waiting", fence=fence)
        if wait.topic is not None and wait.correlation_id is not None:
            kept = self.tasks.take_signal(self.where, wait.topic, wait.correlation_id)
            if kept is not None:
                return self._resume(self.row(row.task.id), {"resume_event": kept[0]})
        return row.task

    def signal(
        self, topic: str, correlation_id: str, payload: Any = None, *, keep: bool = False, call_id: str | None = None
    ) -> tuple[Task, ...]:
        """Deliver an event to each task that waits for it, once; they find it in `state["resume_event"]`.

        With `keep` an event that no task waits for yet is delivered to the first that does.
        """
        wait = rules.make_wait(self.now, topic=topic, correlation_id=correlation_id)
        payload = plain_json("payload", payload)
        where, topic, correlation_id = self.where, wait.topic or "", wait.correlation_id or ""

        def run() -> tuple[Task, ...]:
            rows = self.tasks.waiting_for(where, topic, correlation_id)
            if not rows and keep:
                self.tasks.keep_signal(where, topic, correlation_id, payload, at=self.now)
            # Each row is read again: to resume one may have changed the next.
            return tuple(self._resume(self.row(row.task.id), {"resume_event": payload}) for row in rows)

        return self.once(call_id, ["signal", topic, correlation_id, payload, keep], run, empty=keep)

    def resume(self, id: str, *, state: Any = None, revision: int | None = None) -> Task:
        """Resume a task, whatever it waits for; `state` is merged into its own."""
        row = self.row(id)
        rules.check_revision(row.task, revision)
        return self._resume(row, None if state is None else plain_json("state", state), fits=state is not None)

    def _resume(self, row: TaskRow, state: Any, *, fits: bool = False) -> Task:
        after = rules.resume(row.task, self.now, state)
        if fits:
            check_json_size("state", after.state)
        kind = "task.cancelled" if after.status is TaskStatus.CANCELLED else "task.resumed"
        return self.write(row, after, kind).task


def _claim_fields(task: Task) -> dict[str, Any]:
    """Return the fields that the store's own claim statement changes."""
    started = None if task.started_at is None else json_time(task.started_at)
    told = {"status": task.status.value, "owner": task.owner, "attempts": task.attempts, "lease": task.lease}
    reserved = {"reserved": list(task.reserved)} if task.reserved else {}
    return {**told, "fence": task.fence, "started_at": started, "revision": task.revision, **reserved}


def _ids(name: str, given: Any) -> list[str]:
    if given is None:
        return []
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise errors.InvalidInput(problem=f"`{name.removeprefix('add_')}` is a list of ids.")
    ids = list(dict.fromkeys(str(each) for each in cast("Iterable[Any]", given)))
    if len(ids) > fields.MOST_PARTS:
        raise errors.InvalidInput(
            problem=f"{len(ids)} edges are too many for one call; at most {fields.MOST_PARTS} fit."
        )
    return ids


def _fingerprint(asked: Any) -> bytes:
    try:
        body = _encode(asked)
    except (TypeError, ValueError, RecursionError):
        body = repr(asked).encode("utf-8", "backslashreplace")
    return blake2b(body, digest_size=16).digest()


# Reading tasks: their ids, and the progress of the todo list that belongs to one.


def parse_task_id(id: str | int) -> int | None:
    """Return the number of a task id; None if the text is no such id."""
    said = str(id)
    return int(said) if said.isascii() and said.isdecimal() and len(said) < 19 else None


def with_list_progress(tx: Transaction, row: TaskRow) -> Task:
    """Return an open task without children with the progress of the list that is worked under it."""
    task, worked = row.task, row.task.worked
    if worked is None or row.children or not task.is_open:
        return task
    found = _worked_list(tx, row, worked)
    if found is None:
        return task
    agent, progress = found
    now = Worked(session=agent.session, agent=agent.name, plan_id=worked.plan_id)
    return replace(task, progress=progress, worked=now)


def name_workers(tx: Transaction, found: Sequence[Task]) -> list[Task]:
    """Return tasks to show to a person: one that an agent began without a name as owner gets the agent's."""
    shown: list[Task] = []
    for task in found:
        is_unnamed = task.status is TaskStatus.IN_PROGRESS and task.owner is None
        where = tx.tasks.find_list(task.list) if is_unnamed else None
        worker = None if where is None else tx.tasks.worker(where, int(task.id))
        shown.append(task if worker is None else replace(task, owner=worker[1]))
    return shown


def with_list_ticks(tx: Transaction, row: TaskRow) -> Task:
    """Return the task with those lines of its checklist ticked that the list made from it has completed."""
    task, worked = row.task, row.task.worked
    if worked is None or all(check.done for check in task.checklist):
        return task
    found = _worked_list(tx, row, worked)
    if found is None:
        return task
    agent, progress = found
    todos = agent.state.todos
    items = todos.items if todos.plan_id == worked.plan_id else ()
    done = {item.content for item in items if item.status is Status.COMPLETED}
    everything = 0 < progress.done == progress.total  # its dialect may have cleared them off the list
    checks = [ChecklistLine(check.text, check.done or everything or check.text in done) for check in task.checklist]
    return replace(task, checklist=tuple(checks))


def _worked_list(tx: Transaction, row: TaskRow, worked: Worked) -> tuple[AgentRow, Progress] | None:
    """Return the agent that works the list, and its progress; None if the agent no longer follows that plan."""
    session, name = tx.tasks.worked_by(row) or (worked.session, worked.agent)
    agent = tx.agent(session, name)
    if agent is None:
        return None
    todos = agent.state.todos
    is_same_plan = todos.plan_id == worked.plan_id
    wiped = tx.history.count_wiped(agent, worked.plan_id)
    if wiped is None:
        return (agent, todos.progress) if is_same_plan and todos.items else None
    count, revision = wiped  # items that the dialect cleared off the list are done
    left = todos if is_same_plan else tx.history.at(agent.number, revision)
    done, total, _ = (left or TodoList()).progress
    return agent, share(done + count, total + count)
