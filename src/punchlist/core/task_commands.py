"""What a task tool may ask, as values; and what came of it, for the dialect that renders it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from msgspec import field

from punchlist.core.commands import Elsewhere
from punchlist.core.task import Task, TaskStatus
from punchlist.errors import PunchlistError


class CreateTask(Elsewhere, frozen=True):
    """A new task. `fields` are those of `tasks.fields.NewTask`, text as sent."""

    subject: str
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])


class UpdateTask(Elsewhere, frozen=True):
    """Changes to one task. `fields` are those of `tasks.fields.TaskChanges`; `delete` takes the task off its list.

    In a status of `unless` the task already shows as it is asked to be, and its status is left alone.
    """

    id: str
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    delete: bool = False
    unless: frozenset[TaskStatus] = frozenset()


class GetTask(Elsewhere, frozen=True):
    """One task, as it stands."""

    reads: ClassVar[bool] = True
    id: str


class ListTasks(Elsewhere, frozen=True):
    """All tasks of the list, by id."""

    reads: ClassVar[bool] = True


TaskCommand = CreateTask | UpdateTask | GetTask | ListTasks


class TaskResult(NamedTuple):
    """What a call did. `before` and `after` are the task that it was about, None where there was or is none.

    `error` is why nothing was done.
    """

    command: TaskCommand
    before: Task | None = None
    after: Task | None = None
    tasks: tuple[Task, ...] = ()
    error: PunchlistError | None = None
