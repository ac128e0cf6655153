"""Writing down what happened to tasks elsewhere, in a transcript or in somebody else's files.

Rules that refuse are for those who ask. What was done is recorded as it was: a task that another program began though
it was blocked is in progress here too, and stays blocked in the record. Edges that cannot be (to itself, to a task
that is not there, in a circle) are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from punchlist.core import task_rules as rules
from punchlist.core.task import ENDED, Task, TaskStatus
from punchlist.errors import CycleRefused, InvalidInput, TaskUnknown
from punchlist.store.task_rows import TaskRow
from punchlist.tasks.fields import status_of
from punchlist.tasks.work import Work

_KINDS = {
    TaskStatus.PENDING: "task.reopened",
    TaskStatus.IN_PROGRESS: "task.started",
    TaskStatus.COMPLETED: "task.completed",
}
EDGES = ("remove_blocked_by", "remove_blocks", "add_blocked_by", "add_blocks")


def record_new(work: Work, number: int, subject: str, fields: Mapping[str, Any]) -> Task | None:
    """A new task under its own number; None if that number was given here before, or it cannot be a task."""
    if work.find(number) is not None or not work.tasks.skip_ids(work.where, number):
        return None
    try:
        return work.create(subject, **fields)
    except InvalidInput:
        return None


def record_change(work: Work, task: str, fields: Mapping[str, Any]) -> Task | None:
    """What was changed about a task, as far as it can be; None if there is no such task."""
    row = work.find(task)
    if row is None:
        return None
    words = {name: value for name, value in fields.items() if name not in (*EDGES, "status")}
    _record_words(work, task, words)
    if "status" in fields:
        record_status(work, work.row(task), status_of(fields["status"]), keep_owner="owner" in fields)
    for name in EDGES:
        for other in fields.get(name) or ():
            record_edge(work, task, name, other)
    return work.row(task).task


def _record_words(work: Work, task: str, words: Mapping[str, Any]) -> None:
    """All of them in one event; where one cannot be kept, the others on their own."""
    try:
        work.update(task, **words)
    except InvalidInput:
        for name, value in words.items() if len(words) > 1 else ():
            _record_words(work, task, {name: value})


def record_edge(work: Work, task: str, name: str, other: str) -> None:
    edge: dict[str, Any] = {name: [other]}
    try:
        work.update(task, **edge)
    except (CycleRefused, TaskUnknown, InvalidInput):
        return


def record_status(work: Work, row: TaskRow, to: TaskStatus, *, keep_owner: bool = False) -> Task:
    """The task in that status, whatever holds it back; with `keep_owner` also a pending one stays its owner's."""
    task = row.task
    if task.status is to:
        return task
    fresh = replace(task, cancel_requested=False, checklist=())
    if to is not TaskStatus.PENDING and task.status in ENDED:
        fresh = rules.move(fresh, TaskStatus.PENDING, work.now)
    free = replace(fresh, open_blockers=0)
    after = rules.move(free, to, work.now, owner=task.owner if keep_owner or to is not TaskStatus.PENDING else None)
    kept = replace(after, open_blockers=task.open_blockers, checklist=task.checklist, fence=task.fence + 1)
    kind = "task.released" if task.status is TaskStatus.IN_PROGRESS and to is TaskStatus.PENDING else _KINDS[to]
    return work.write(row, kept, kind).task
