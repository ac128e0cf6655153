"""Durable tasks, with what follows from their neighbours."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import asdict

from punchlist.core.task import Task
from punchlist.views.lists import ProgressView, make_view


class BlockingView(Struct, frozen=True):
    """A blocker that still holds a task back."""

    id: str
    status: str


TaskView = make_view(
    "Task",
    "One durable task. `fence` is what its worker shows with every change.",
    Task,
    held_by=tuple[BlockingView, ...],
    progress=ProgressView,
    ready=bool,
    blocked=bool,
    stuck_on=tuple[str, ...],
)


def view_task(task: Task) -> Struct:
    """Return a task with what follows from its neighbours."""
    known = asdict(task) | {
        "held_by": tuple(BlockingView(*each) for each in task.held_by),
        "progress": ProgressView(*task.progress),
    }
    return TaskView(**known, ready=task.is_ready, blocked=task.is_blocked, stuck_on=task.stuck_on)


class EdgeView(Struct, frozen=True):
    """One task waits for another."""

    blocker: str
    task: str


class TaskGraphView(Struct, frozen=True):
    """All tasks of a list, with their edges."""

    tasks: tuple[TaskView, ...]  # pyright: ignore[reportInvalidTypeForm]
    edges: tuple[EdgeView, ...]


def view_graph(tasks: Iterable[Task], edges: Iterable[tuple[str, str]]) -> TaskGraphView:
    """Return tasks with what waits for what."""
    return TaskGraphView(tuple(map(view_task, tasks)), tuple(EdgeView(*edge) for edge in edges))
