"""Define durable tasks, work that outlives a conversation: fields, commands of task tools, and JSON form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, Literal, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from punchlist.core.commands import Elsewhere
from punchlist.core.events import Draft, FieldCodec, to_plain
from punchlist.core.todo import Progress
from punchlist.errors import PunchlistError


class TaskStatus(StrEnum):
    """The stored status. *Blocked* and *ready* follow from it and the neighbours."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED = frozenset({TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED})
SETTLED = frozenset({TaskStatus.COMPLETED, TaskStatus.CANCELLED})
"""Nothing is owed any more. A failed task has ended, and is still owed."""

RunsAfter = Literal["completed", "ended"]
"""The condition on a task's blockers: completed, or only ended in any way."""

WaitKind = Literal["timer", "event", "manual"]

FLOWS = "board:flows"
"""The list in which flows are kept (see `core/flow.py`). It is theirs alone."""

REASON = "blocked"
"""The key in a task's state under which a model's reason for blocking it is kept."""

FIRST, LAST, USUAL = 0, 4, 2
"""Priorities: 0 comes first, 4 last."""


NOT_DONE = Progress(0, 1, 0)


class Wait(Struct, frozen=True, kw_only=True):
    """The wait of a task. `then` is its status afterwards.

    `meant` says that its owner did not have it yet but is to have it, and keeps it when it goes on.
    """

    kind: WaitKind
    at: datetime | None = None
    topic: str | None = None
    correlation_id: str | None = None
    since: datetime | None = None
    then: Literal["pending", "in_progress"] = "pending"
    meant: bool = False


class ChecklistLine(Struct, frozen=True):
    """One line of a task's checklist."""

    text: str
    done: bool = False


class LateResult(Struct, frozen=True, kw_only=True):
    """The result of a worker that came after another one had taken the task."""

    fence: int
    result: Any = None
    by: str = ""
    at: datetime | None = None


class Worked(Struct, frozen=True, kw_only=True):
    """The todo list under a task: its agent, and the plan."""

    session: str
    agent: str
    plan_id: str


class Blocking(NamedTuple):
    """A blocker that still holds a task back, with its status."""

    id: str
    status: TaskStatus


class Task(Struct, frozen=True, kw_only=True):
    """One task of one list. `id` is a number as text, given in order within the list and never again.

    `lease_until`: when the owner's claim ends by itself; None without a lease. `fence` rises with every change of
    owner: a worker shows the one that it was given. `open_blockers` counts those in `held_by`. `started_at`: when its
    present or last owner started it. `revision` rises with every change, but not with a renewed lease. `grade` judges
    a completed task by the observed work (see `grounding/grades.py`); None where no work was reported.
    """

    list: str
    id: str
    subject: str
    description: str = ""
    active_form: str | None = None
    status: TaskStatus = TaskStatus.PENDING
    owner: str | None = None
    parent: str | None = None
    priority: int = USUAL
    labels: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()
    held_by: tuple[Blocking, ...] = ()
    open_blockers: int = 0
    runs_after: RunsAfter = "completed"
    checklist: tuple[ChecklistLine, ...] = ()
    state: Any = field(default_factory=dict[str, Any])
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    attempts: int = 0
    max_attempts: int | None = None
    backoff: float = 30.0
    not_before: datetime | None = None
    lease: float | None = None
    lease_until: datetime | None = None
    fence: int = 0
    cancel_requested: bool = False
    wait: Wait | None = None
    result: Any = None
    late_results: tuple[LateResult, ...] = ()
    failure: str | None = None
    reserved: tuple[str, ...] = ()
    worked: Worked | None = None
    created_at: datetime | None = None
    created_by: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    grade: str | None = None
    updated_at: datetime | None = None
    revision: int = 0
    progress: Progress = NOT_DONE

    @property
    def label(self) -> str:
        """The text that a person reads while the task is in progress."""
        return self.active_form or self.subject

    @property
    def is_open(self) -> bool:
        """True unless the task is completed or cancelled."""
        return self.status not in SETTLED

    @property
    def is_blocked(self) -> bool:
        """True if it has not ended and a blocker still holds it back."""
        return self.open_blockers > 0 and self.status not in ENDED

    @property
    def is_ready(self) -> bool:
        """True if a worker may take it now. The query `tasks_ready` of the store asks for the same."""
        return (
            self.status is TaskStatus.PENDING
            and self.owner is None
            and not self.open_blockers
            and self.not_before is None
            and not self.cancel_requested
        )

    @property
    def stuck_on(self) -> tuple[str, ...]:
        """Blockers that ended without being completed: only a person or a retry can release this task."""
        return tuple(blocker.id for blocker in self.held_by if blocker.status in ENDED)


def own_progress(status: TaskStatus, checklist: tuple[ChecklistLine, ...]) -> Progress:
    """Return the progress of a task without children: by its checklist, else by its status."""
    if status is TaskStatus.CANCELLED:
        return Progress(0, 0, 0)
    if status is TaskStatus.COMPLETED or not checklist:
        done = status is TaskStatus.COMPLETED
        return Progress(int(done), 1, 100 * done)
    return share(sum(check.done for check in checklist), len(checklist))


def share(done: int, total: int) -> Progress:
    """Return a progress; the percentage is rounded half up."""
    return Progress(done, total, (200 * done + total) // (2 * total) if total else 0)


def find_tasks(tasks: Sequence[Task], query: str) -> Sequence[Task]:
    """Return the tasks of that subject, else all that hold it; of several, those still open.

    Several mean that the query does not tell them apart. Case and whitespace around it do not count.
    """
    wanted = query.strip().lower()
    if not wanted:
        return ()
    equal = [task for task in tasks if task.subject.strip().lower() == wanted]
    found = equal or [task for task in tasks if wanted in task.subject.lower()]
    return [task for task in found if task.is_open] or found if len(found) > 1 else found


# What a task tool may ask, and what came of it.


class CreateTask(Elsewhere, frozen=True):
    """A new task. `fields` are those of `tasks.fields.NewTask`, text as sent."""

    subject: str
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])


class UpdateTask(Elsewhere, frozen=True):
    """Changes to one task. `fields` are those of `tasks.fields.TaskChanges`; `delete` takes the task off its list.

    In a status of `unless` the task already shows as it is asked to be, and its status is left alone. With `only_own`
    a task that another worker has in progress is refused.
    """

    id: str
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    delete: bool = False
    unless: frozenset[TaskStatus] = frozenset()
    only_own: bool = False


class GetTask(Elsewhere, frozen=True):
    reads: ClassVar[bool] = True
    id: str


class ListTasks(Elsewhere, frozen=True):
    reads: ClassVar[bool] = True


class ClaimTask(Elsewhere, frozen=True):
    """Claim one task, or the next ready one; nothing changes where there is none, or where the agent has it already."""

    id: str | None = None


class BlockTask(Elsewhere, frozen=True):
    """Set a task waiting for a person; `reason` is kept in its state."""

    id: str
    reason: str = ""


TaskCommand = CreateTask | UpdateTask | GetTask | ListTasks | ClaimTask | BlockTask


class TaskResult(NamedTuple):
    """The result of a call. `before` and `after` are the task that it was about, None where there was or is none.

    `error` is why nothing was done.
    """

    command: TaskCommand
    before: Task | None = None
    after: Task | None = None
    tasks: tuple[Task, ...] = ()
    error: PunchlistError | None = None


# Tasks as JSON values and back: what an event carries.


_TASKS = FieldCodec(
    Task(list="", id="", subject=""),
    # What follows from the neighbours, and the running lease, are no part of an event.
    without=("list", "id", "blocks", "blocked_by", "held_by", "open_blockers", "lease_until", "progress"),
    encoders={"wait": lambda wait: wait and {name: value for name, value in to_plain(wait).items() if value}},
)


def encode_task(task: Task) -> dict[str, Any]:
    """Return a task as JSON values, without the fields that hold their default."""
    return {**name_task(task), **_TASKS.encode(task)}


def decode_task(data: Mapping[str, Any]) -> Task:
    """Return the task that `encode_task` encoded. Fields of a later version are ignored."""
    return with_fields(Task(list=data["list"], id=data["id"], subject=data["subject"]), data)


def with_fields(task: Task, fields: Mapping[str, Any]) -> Task:
    """Return the task with these fields, given in JSON form."""
    return _TASKS.apply(task, fields)


def name_task(task: Task) -> dict[str, Any]:
    """Return the fields by which every event names its task."""
    return {"list": task.list, "id": task.id, "subject": task.subject}


def draft_creation(task: Task) -> Draft:
    return Draft("task.created", {**name_task(task), "task": encode_task(task)})


def draft_change(kind: str, before: Task, after: Task, **extra: Any) -> Draft | None:
    """Draft the event that leads from one task to the other, with `extra` data; None if they are the same.

    A new time or revision alone is no change.
    """
    fields = _TASKS.diff(before, after)
    fields.pop("updated_at", None)
    if not fields.keys() - {"revision"}:
        return None
    return Draft(kind, {**name_task(after), "set": fields, **extra})


def fold_task(task: Task | None, kind: str, data: Mapping[str, Any], at: datetime) -> Task | None:
    """Return the task after one more of its events; None once it is deleted. Unknown kinds leave it as it is."""
    if kind == "task.created":
        return decode_task(data["task"])
    if kind == "task.deleted":
        return None
    if task is None or "set" not in data:
        return task
    return replace(with_fields(task, data["set"]), updated_at=at)
