"""Tasks as a report needs them: put together from the log, each with who worked on it last."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.events import Event
from punchlist.core.grounding.calls import Subject, task_subject
from punchlist.core.task import Task, TaskStatus
from punchlist.core.task_records import fold
from punchlist.core.todo import Blocker, Status, TodoItem

_AS_ITEM = {
    TaskStatus.PENDING: Status.PENDING,
    TaskStatus.IN_PROGRESS: Status.IN_PROGRESS,
    TaskStatus.WAITING: Status.BLOCKED,
    TaskStatus.COMPLETED: Status.COMPLETED,
    TaskStatus.FAILED: Status.FAILED,
    TaskStatus.CANCELLED: Status.CANCELLED,
}


class TaskEntry(Struct, frozen=True):
    """A task; `worker` is the session and the name of the agent that touched it last, empty where that was no agent.

    `is_gone`: it was deleted while open. `touched` is the last event about it.
    """

    task: Task
    worker: tuple[str, str] = ("", "")
    is_gone: bool = False
    touched: int = 0

    @property
    def is_work(self) -> bool:
        """Whether it is more than a note for later: somebody began it, or a session keeps it as its list."""
        return self.task.status is not TaskStatus.PENDING or self.task.list.startswith("session:")

    @property
    def item(self) -> TodoItem:
        task = self.task
        wait = None if task.wait is None or task.status is not TaskStatus.WAITING else Blocker(f"a {task.wait.kind}")
        return TodoItem(
            id=task.id,
            content=task.subject,
            active_form=task.active_form,
            status=_AS_ITEM[task.status],
            blocker=wait,
            created_at=task.created_at,
            created_by=task.created_by,
            started_at=task.started_at,
            finished_at=task.finished_at,
            grade=task.grade,
        )


class TaskBooks:
    """Takes in the events about tasks, in the order of the log."""

    def __init__(self) -> None:
        self.entries: dict[Subject, TaskEntry] = {}

    def add(self, event: Event) -> Subject | None:
        """The task that the event is about, if it is about one."""
        name, number, subject = (event.data.get(part) for part in ("list", "id", "subject"))
        if not (isinstance(name, str) and isinstance(number, str) and isinstance(subject, str)):
            return None
        of = task_subject(name, number)
        known = self.entries.get(of) or TaskEntry(Task(list=name, id=number, subject=subject))
        worker = (event.session or "", event.agent) if event.agent else known.worker
        if event.kind == "task.deleted":
            gone = known.task.status not in (TaskStatus.COMPLETED, TaskStatus.CANCELLED)
            self.entries[of] = replace(known, is_gone=gone, touched=event.seq)
            return of
        self.entries[of] = TaskEntry(_folded(known.task, event), worker, touched=event.seq)
        return of


def _folded(task: Task, event: Event) -> Task:
    data: dict[str, Any] = dict(event.data)
    try:
        return fold(task, event.kind, data, event.at) or task
    except (LookupError, TypeError, ValueError):
        return task  # of a later version
