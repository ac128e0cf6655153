"""Combine an agent's todo list with the open tasks that it started or owns into its current work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from msgspec import Struct, field
from msgspec.structs import replace

from punchlist.core.task import FLOWS, SETTLED, Task, TaskStatus
from punchlist.core.todo import Blocker, Status, TodoItem, TodoList

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
    """Return the names of tasks that a tool does not reach, and the lists that they are on.

    Flows are on none: they have commands of their own.
    """
    found = [task for task in tasks if task.list != own]
    return frozenset(task_name(task, own=own) for task in found), frozenset(task.list for task in found) - {FLOWS}


def _find_blocker(task: Task) -> Blocker | None:
    if task.wait is not None:
        return Blocker("waiting", _WAITS_ON[task.wait.kind])
    if not task.open_blockers:
        return None
    before = "other flows" if task.list == FLOWS else ", ".join(f"#{each.id}" for each in task.held_by)
    return Blocker(f"after {before}")
