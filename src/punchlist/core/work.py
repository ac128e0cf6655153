"""What an agent is at: its open todos, and the open tasks that it started or owns. One value, whichever it uses."""

from __future__ import annotations

from dataclasses import dataclass, field

from punchlist.core.task import Task, TaskStatus
from punchlist.core.todo import TodoItem, TodoList


@dataclass(frozen=True, slots=True)
class CurrentWork:
    """The list as it stands, and the tasks in the order in which they were started, the last one last."""

    todos: TodoList = field(default_factory=TodoList)
    tasks: tuple[Task, ...] = ()

    @property
    def open_items(self) -> tuple[TodoItem, ...]:
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
        """Whether nothing is owed."""
        return not self.tasks and self.todos.is_finished
