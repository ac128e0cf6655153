"""Making, changing and deleting tasks, and the edges between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Unpack, cast

from msgspec.structs import replace

from punchlist.core import task_rules as rules
from punchlist.core.events import Draft
from punchlist.core.task import ENDED, Task, TaskStatus, draft_change, draft_creation, own_progress
from punchlist.errors import InvalidInput
from punchlist.store.task_rows import TaskRow
from punchlist.tasks.fields import EDGES, MOST_PARTS, NewTask, TaskChanges, check_known, described, name_of, plain
from punchlist.tasks.fields import status_of as status_named
from punchlist.tasks.hands import Hands
from punchlist.tasks.worked import ticked

_DEEPEST = 100
_WORK = frozenset({"status", "state", "result", "checked", "unchecked"})
"""What whoever works on a task changes about it; anybody may change the rest."""


class Edits(Hands):
    """What a task is, and whom it waits for."""

    def create(self, subject: str, *, call_id: str | None = None, **given: Unpack[NewTask]) -> Task:
        (task,) = self.once(call_id, ["create", subject, given], lambda: (self._create(subject, given),))
        return task

    def _create(self, subject: str, given: NewTask) -> Task:
        check_known(given, NewTask)
        new = Task(list=self.name, id="", subject="", created_at=self.now, created_by=self.by, updated_at=self.now)
        task = described(new, {**given, "subject": subject})
        owner = given.get("owner")
        if owner is not None:
            task = replace(task, owner=name_of("owner", owner))
        if task.checklist:
            task = replace(task, progress=own_progress(task.status, task.checklist))
        parent = given.get("parent")
        above = None if parent is None else self.row(parent, alone=True)
        if above is not None:
            self._check_above(above)
            task = replace(task, parent=above.task.id)
        own = self.agent is not None and owner == self.agent.name
        row = self.tasks.add(self.where, task, parent=above, agent=self.agent.number if own and self.agent else None)
        self.tell(row, draft_creation(row.task))
        linked = self._link(row, {"add_blocked_by": given.get("blocked_by"), "add_blocks": given.get("blocks")})
        return self.row(row.task.id).task if linked else row.task

    def update(
        self, id: str, *, revision: int | None = None, fence: int | None = None, **given: Unpack[TaskChanges]
    ) -> Task:
        """All that is given, or nothing. Words first, then edges, then the status."""
        check_known(given, TaskChanges)
        row = self.row(id)
        if _is_work(given):
            self.check_hands(row, fence)
        else:
            rules.check_fence(row.task, fence)
        rules.check_revision(row.task, revision)
        if "state" in given:
            rules.check_not_cancelling(row.task)
        after, parent = described(row.task, given), row.parent
        if "parent" in given:
            above = self._parent(row, given["parent"])
            after = replace(after, parent=None if above is None else above.task.id)
            parent = None if above is None else above.number
        if "owner" in given:
            after = self._owned(after, given["owner"], stays="status" in given)
        if "result" in given:
            after = replace(after, result=plain("result", given["result"]))
        kind = "task.changed"
        if after.status is not row.task.status:
            kind = "task.cancelled" if after.status is TaskStatus.CANCELLED else "task.released"
        row = self.write(row, after, kind, parent=parent)
        if self._link(row, given) or "runs_after" in given:
            row = self.row(id)
        if "status" in given:
            row = self._set_status(row, status_named(given["status"]), fence, keep_owner="owner" in given)
        return row.task

    def _owned(self, task: Task, owner: str | None, *, stays: bool) -> Task:
        """In other hands: whoever had a claim on it has lost it.

        In nobody's it is given back, unless its status `stays` what it is told to be.
        """
        owner = None if owner is None else name_of("owner", owner)
        if owner == task.owner:
            return task
        if task.wait is not None:
            then = task.wait.then if owner is not None else "pending"
            task = replace(task, wait=replace(task.wait, meant=owner is not None, then=then))
        if owner is None and task.status is TaskStatus.IN_PROGRESS and not stays:
            return rules.release(task, self.now)
        return replace(task, owner=owner, fence=task.fence + 1, lease=None, lease_until=None, reserved=())

    def _set_status(self, row: TaskRow, to: TaskStatus, fence: int | None, *, keep_owner: bool = False) -> TaskRow:
        """With `keep_owner` a task that is open again is meant for whom it has just been given to."""
        task = row.task
        if to is TaskStatus.IN_PROGRESS:
            return self._start(row, given=keep_owner, fence=fence)
        if task.status is to:
            return row
        match to:
            case TaskStatus.PENDING:
                kind, after = self._opened(task)
                return self.write(row, replace(after, owner=task.owner) if keep_owner else after, kind)
            case TaskStatus.COMPLETED:
                done = rules.complete(ticked(self.tx, row), self.now, task.result, fence=fence)
                return self.write(row, done, "task.completed", fence=fence)
            case TaskStatus.FAILED:
                return self.write(row, rules.move(task, to, self.now, fence=task.fence + 1), "task.failed")
            case TaskStatus.CANCELLED:
                return self.write(row, rules.cancel(task, self.now), "task.cancelled")
            case TaskStatus.WAITING:
                raise InvalidInput(problem="Say what the task is to wait for: use `wait`.")

    def _start(self, row: TaskRow, *, given: bool, fence: int | None) -> TaskRow:
        """In progress, for whoever says so or has just been `given` it; refused if it is another's."""
        task, own = row.task, given or self.has(row, fence)
        if rules.is_held(task) and not own:
            raise rules.taken_error(task, self.holder(row))
        if task.status is TaskStatus.IN_PROGRESS and (given or fence is not None or self.is_at_work(row)):
            return row
        said = self.by if self.agent is None else ""
        owner = (task.owner if own else None) or said or None
        return self.write(row, rules.start(task, owner, self.now), "task.started")

    def _opened(self, task: Task) -> tuple[str, Task]:
        """Pending again, from wherever it is, and what that is called."""
        if task.status in ENDED:
            return "task.reopened", rules.retry(task, self.now)
        if task.wait is not None:
            return "task.resumed", rules.resume(replace(task, wait=replace(task.wait, then="pending")), self.now)
        return "task.released", rules.release(task, self.now)

    def _parent(self, row: TaskRow, parent: str | None) -> TaskRow | None:
        if parent is None:
            return None
        found = self.row(parent)
        self._check_above(found, row)
        return found

    def _check_above(self, above: TaskRow, row: TaskRow | None = None) -> None:
        """Raises if a task cannot lie below that one."""
        for _ in range(_DEEPEST):
            if row is not None and above.number == row.number:
                raise InvalidInput(problem=f"Task `{row.task.id}` cannot be below itself.")
            if above.parent is None:
                return
            above = self.tasks.get(above.parent)
        raise InvalidInput(problem=f"Tasks lie at most {_DEEPEST} deep.")

    # Edges.

    def _link(self, row: TaskRow, given: Mapping[str, Any]) -> bool:
        """Adds and takes away edges; whether there were any."""
        touched = False
        for name in EDGES:
            for each in _ids(name, given.get(name)):
                other = self.row(each, alone=True)
                task, blocker = (row, other) if name.endswith("blocked_by") else (other, row)
                touched |= self._add(task, blocker) if name.startswith("add") else self._remove(task, blocker)
        return touched

    def _add(self, task: TaskRow, blocker: TaskRow) -> bool:
        if not self.tasks.add_edge(task, blocker):
            return False
        self._touched(task, "task.linked", blocker)
        return True

    def _remove(self, task: TaskRow, blocker: TaskRow) -> bool:
        if not self.tasks.remove_edge(task, blocker):
            return False
        self._touched(task, "task.unlinked", blocker)
        return True

    def _touched(self, row: TaskRow, kind: str, blocker: TaskRow) -> None:
        task = row.task
        told = {"list": task.list, "id": task.id, "subject": task.subject, "blocker": blocker.task.id}
        self.tell(row, Draft(kind, told))

    def delete(self, id: str, *, revision: int | None = None, fence: int | None = None) -> Task:
        """Takes a task off its list, with its edges; its id is never given again. The task as it was.

        What lies below it then lies below its parent, which is a change to each of them.
        """
        row = self.row(id)
        self.check_hands(row, fence)
        rules.check_revision(row.task, revision)
        for child in self.tasks.move_children(row, at=self.now):
            before = child.task
            moved = draft_change(
                "task.changed", before, replace(before, parent=row.task.parent, revision=before.revision + 1)
            )
            if moved is not None:
                self.tell(child, moved)
        readied = self.tasks.delete(row)
        told: dict[str, Any] = {"list": row.task.list, "id": row.task.id, "subject": row.task.subject}
        self.tell(row, Draft("task.deleted", {**told, "readied": list(readied)} if readied else told))
        return row.task

    def ended_before(self, before: datetime, *, limit: int = 100) -> Sequence[TaskRow]:
        """What ended before a time, has nothing below it, and is waited for by nobody who is still open."""
        return self.tasks.ended_before(self.where, before, limit=limit)


def _is_work(given: TaskChanges) -> bool:
    """Whether only who has the task may do this to it. To begin it has a rule of its own."""
    return given.get("status") != TaskStatus.IN_PROGRESS and not _WORK.isdisjoint(given)


def _ids(name: str, given: Any) -> list[str]:
    if given is None:
        return []
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidInput(problem=f"`{name.removeprefix('add_')}` is a list of ids.")
    ids = list(dict.fromkeys(str(each) for each in cast("Iterable[Any]", given)))
    if len(ids) > MOST_PARTS:
        raise InvalidInput(problem=f"{len(ids)} edges are too many for one call; at most {MOST_PARTS} fit.")
    return ids
