"""Define durable tasks, work that outlives a conversation: fields, commands of task tools, and tasks as items."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, Literal, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from punchlist.core.commands import Elsewhere
from punchlist.core.events import Draft, FieldCodec, to_plain
from punchlist.core.todo import Blocker, Progress, Status, TodoItem, TodoList
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
    """Return the tasks of that subject, else all that hold it; of several, those still open. Case does not count."""
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
    """The result of a call: the task `before` and `after` it, None where there was or is none; or the error."""

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
    """Draft the event that leads from one task to the other; None if they differ in a time or revision alone."""
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


# Tasks with a list: an agent's current work, and tasks shown as items.

_NEAREST = {TaskStatus.WAITING: Status.BLOCKED}
_WAITS_ON = {"timer": "a time", "event": "an event", "manual": "a person"}


class CurrentWork(Struct, frozen=True):
    """The present list, and the tasks in the order in which they were started."""

    todos: TodoList = field(default_factory=TodoList)
    tasks: tuple[Task, ...] = ()

    @property
    def open_items(self) -> tuple[TodoItem, ...]:
        """Open items of the list, in order."""
        return self.todos.open_items

    @property
    def focus(self) -> TodoItem | Task | None:
        """The todo in progress, else the task that was started last."""
        item = self.todos.focus
        if item is not None:
            return item
        return next((task for task in reversed(self.tasks) if task.status is TaskStatus.IN_PROGRESS), None)

    @property
    def is_finished(self) -> bool:
        """True if nothing is owed."""
        return not self.tasks and self.todos.is_finished


def append_tasks(todos: TodoList, tasks: Iterable[Task], *, own: str | None = None) -> TodoList:
    """Append tasks to the items of a list, each under its name, to show to a model. Never stored."""
    items = tuple(tasks_as_items(tasks, own=own))
    return replace(todos, items=(*todos.items, *items)) if items else todos


def tasks_as_items(tasks: Iterable[Task], *, own: str | None = None) -> Iterator[TodoItem]:
    """Yield an agent's tasks as items; a wait becomes the blocker. A task that waits for another agent's is blocked.

    `own` is the list that the agent's tool writes, if it is a task tool: a task of another list is named with its list.
    """
    found = tuple(tasks)
    names = {(task.list, task.id) for task in found}
    for task in found:
        name = task_name(task, own=own)
        item = replace(task_as_item(task), id=name, content=f"{name} {task.subject}", blocker=_find_blocker(task))
        theirs = [each.id for each in task.held_by if (task.list, each.id) not in names] if task.list != FLOWS else []
        if theirs and item.status is Status.PENDING:
            said = "after " + ", ".join(f"#{each}" for each in theirs)
            item = replace(item, status=Status.BLOCKED, blocker=Blocker(said, "other tasks"))
        yield item


def task_as_item(task: Task) -> TodoItem:
    """Return a task as an item for a person: the id is its name, a wait becomes the blocker."""
    wait = task.wait if task.status is TaskStatus.WAITING else None
    return TodoItem(
        id=task_name(task),
        content=task.subject,
        active_form=task.active_form,
        status=_NEAREST.get(task.status) or Status(task.status.value),
        blocker=None if wait is None else Blocker(wait.topic or "", _WAITS_ON[wait.kind]),
        started_at=task.started_at,
        finished_at=task.finished_at,
        grade=task.grade,
    )


def show_tasks(todos: TodoList, tasks: Sequence[Task]) -> TodoList:
    """Return a list with tasks after its items, to show to a person. Never stored."""
    return replace(todos, items=(*todos.items, *map(task_as_item, tasks))) if tasks else todos


def find_shown_focus(todos: TodoList, tasks: Iterable[Task]) -> TodoItem | None:
    """Return the item in progress, else the task that was started last; None if there is neither."""
    if todos.focus is not None:
        return todos.focus
    begun = [(task.started_at, task) for task in tasks if task.status is TaskStatus.IN_PROGRESS and task.started_at]
    return task_as_item(max(begun, key=lambda pair: pair[0])[1]) if begun else None


def latest_batch(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """Return the tasks of a list, by id, without those before a moment at which all had ended: they are past work."""
    batch: list[Task] = []
    last_end: datetime | None = None  # when the batch ended; None while one of it is open
    for task in tasks:
        if last_end is not None and task.created_at is not None and last_end < task.created_at:
            batch.clear()
        end = task.finished_at if task.status in SETTLED else None
        if end is None or (batch and last_end is None):
            last_end = None
        else:
            last_end = end if last_end is None else max(last_end, end)
        batch.append(task)
    return tuple(batch)


def task_name(task: Task, *, own: str | None = None) -> str:
    """Return the name by which a tool calls a task: its number, or the id of a flow."""
    if task.list == FLOWS and "flow" in task.metadata:
        return str(task.metadata["flow"])
    return f"#{task.id}" if own is None or task.list in {own, FLOWS} else f"#{task.id} of {task.list}"


def is_task_item(item: TodoItem) -> bool:
    """True for an item that stands for a task: its text begins with the task's name."""
    return not item.id.isdecimal() and item.content.startswith(f"{item.id} ")


def own_task_list(layer: str, task_list: str) -> str | None:
    """Return the task list that a tool of this layer writes; None if it writes todos."""
    return {"tasks": task_list, "flows": FLOWS}.get(layer)


def find_unreachable(tasks: Iterable[Task], own: str | None) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of tasks that a tool does not reach, and their lists; flows are on none."""
    found = [task for task in tasks if task.list != own]
    return frozenset(task_name(task, own=own) for task in found), frozenset(task.list for task in found) - {FLOWS}


def _find_blocker(task: Task) -> Blocker | None:
    if task.wait is not None:
        return Blocker("waiting", _WAITS_ON[task.wait.kind])
    if not task.open_blockers:
        return None
    before = "other flows" if task.list == FLOWS else ", ".join(f"#{each.id}" for each in task.held_by)
    return Blocker(f"after {before}")
