"""Lists of tasks as files: as JSON, with everything but the history; as a checklist, as far as that goes.

What is imported gets new ids, in the order of the file. Claims do not travel: what a worker had under a lease is
pending again.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from punchlist.core.task import Task, TaskStatus, Wait, encode_task
from punchlist.core.task_rules import HORIZON
from punchlist.core.todo import Blocker, Phase, Status, TodoItem, TodoList
from punchlist.errors import CycleRefused, InvalidInput
from punchlist.tasks.fields import MOST_PARTS, NewTask
from punchlist.tasks.foreign import Foreign, check_whole, foreign
from punchlist.tasks.work import Work
from punchlist.text import cut, for_prompt

KIND, VERSION = "punchlist-tasks", 1
MOST_TASKS = 100_000

_STATUSES = {
    TaskStatus.PENDING: Status.PENDING,
    TaskStatus.IN_PROGRESS: Status.IN_PROGRESS,
    TaskStatus.WAITING: Status.BLOCKED,
    TaskStatus.COMPLETED: Status.COMPLETED,
    TaskStatus.FAILED: Status.FAILED,
    TaskStatus.CANCELLED: Status.CANCELLED,
}
_FROM_STATUSES = {status: task for task, status in _STATUSES.items()}


# JSON.


def dump(name: str, tasks: Sequence[Task]) -> dict[str, Any]:
    """A list as JSON values."""
    return {
        "kind": KIND,
        "version": VERSION,
        "list": name,
        "tasks": [{**encode_task(task), "blocked_by": list(task.blocked_by)} for task in tasks],
    }


def load(data: Any) -> list[Foreign]:
    """The tasks of such a file; raises `InvalidInput`, naming the entry that cannot be read."""
    if not isinstance(data, dict) or cast("dict[str, Any]", data).get("kind") != KIND:
        raise InvalidInput(problem=f'This is no export of tasks: it lacks `"kind": "{KIND}"`; name its format.')
    told = cast("dict[str, Any]", data)
    if told.get("version") != VERSION:
        raise InvalidInput(
            problem=f"The export has version {str(told.get('version'))[:20]}; this program reads {VERSION}."
        )
    entries = told.get("tasks")
    if not isinstance(entries, list):
        raise InvalidInput(problem="The export has no list of `tasks`.")
    return [foreign(place, entry) for place, entry in enumerate(cast("list[Any]", entries), 1)]


# Checklists.


def as_todos(tasks: Sequence[Task]) -> TodoList:
    """Tasks as a list: the first label is the phase, the description a note. Edges and the rest are left out."""
    names = list(dict.fromkeys(task.labels[0] for task in tasks if task.labels))
    phases = {name: Phase(f"f{place}", name) for place, name in enumerate(names, 1)}
    items = tuple(
        TodoItem(
            id=task.id,
            content=task.subject,
            status=_STATUSES[task.status],
            phase_id=phases[task.labels[0]].id if task.labels else None,
            notes=(task.description,) if task.description else (),
            blocker=Blocker() if task.status is TaskStatus.WAITING else None,
        )
        for task in tasks
    )
    return TodoList(items=items, phases=tuple(phases.values()))


def from_todos(todos: TodoList) -> list[Foreign]:
    """The items of a list as tasks: the phase is a label, the notes are the description."""
    names = {phase.id: phase.name for phase in todos.phases}
    return [
        Foreign(
            Task(
                list="",
                id=item.id,
                subject=item.content,
                description="\n\n".join(item.notes),
                active_form=item.active_form,
                status=_FROM_STATUSES[item.status],
                labels=(names[item.phase_id],) if item.phase_id in names else (),
                wait=Wait(kind="manual") if item.status is Status.BLOCKED else None,
            )
        )
        for item in todos.items
    ]


# Into a list.


def bring(work: Work, found: Sequence[Foreign], *, key: str, in_order: bool = False) -> tuple[Task, ...]:
    """Adds the tasks of a file, all or none; under the same `key` again, nothing.

    `in_order`: one after the other. What was begun or has ended waits for nothing that is open; what follows it waits
    for it, and for what it left behind. Nothing waits for what was cancelled.
    """
    if len(found) > MOST_TASKS:
        raise InvalidInput(problem=f"The file holds {len(found)} tasks; at most {MOST_TASKS} can be imported at once.")
    check_whole(found)
    new: dict[str, str] = {}
    fresh = set[str]()
    for each in found:
        before = work.tasks.call(work.where, f"import {key} {each.task.id}"[:200])
        with _named(each.task):
            task = work.create(each.task.subject, call_id=f"import {key} {each.task.id}"[:200], **_given(each.task))
        new[each.task.id] = task.id
        if before is None:
            fresh.add(each.task.id)
    added = [each for each in found if each.task.id in fresh]
    for each in added:
        with _named(each.task):
            if each.task.parent is not None:
                work.update(new[each.task.id], parent=new[each.task.parent])
            _settle(work, new[each.task.id], each.task)
    # Edges come last, because what is done may have been done before its blocker was.
    ahead: dict[str, TaskStatus] = {}
    for each in added:
        known = new[each.task.id]
        blockers = [new[blocker] for blocker in each.blocked_by]
        if in_order:
            status = work.row(known, alone=True).task.status
            free = set(ahead.values()) <= {TaskStatus.COMPLETED}
            if free or status in {TaskStatus.PENDING, TaskStatus.WAITING}:
                blockers += ahead
                ahead = {}
            if status is not TaskStatus.CANCELLED:
                ahead[known] = status
        with _named(each.task):
            for first in range(0, len(blockers), MOST_PARTS):
                work.update(known, add_blocked_by=blockers[first : first + MOST_PARTS])
    return tuple(work.row(new[each.task.id]).task for each in added)


@contextmanager
def _named(task: Task) -> Generator[None]:
    """A refusal says of which task of the file it speaks; only the order of the file can still close a circle."""
    name = for_prompt(cut(task.id, 80))
    try:
        yield
    except CycleRefused as error:
        said = f"Task `{name}` of the file waits for a later one, so its tasks cannot be done in its order"
        raise InvalidInput(problem=f"{said}; nothing was imported.") from error
    except InvalidInput as error:
        raise InvalidInput(problem=f"Task `{name}` of the file: {error} Nothing was imported.") from error


def _given(task: Task) -> NewTask:
    given: NewTask = {
        "description": task.description,
        "active_form": task.active_form,
        "priority": task.priority,
        "labels": task.labels,
        "checklist": task.checklist,
        "state": task.state,
        "metadata": task.metadata,
        "max_attempts": task.max_attempts,
        "backoff": task.backoff,
        "runs_after": task.runs_after,
    }
    if task.owner is not None and (task.status is TaskStatus.PENDING or _is_held(task)):
        given["owner"] = task.owner
    return given


def _is_held(task: Task) -> bool:
    """Begun by somebody who needs no lease."""
    return task.status is TaskStatus.IN_PROGRESS and task.lease is None


def _settle(work: Work, id: str, task: Task) -> None:
    """Brings a new task to the status that it had."""
    match task.status:
        case TaskStatus.IN_PROGRESS if _is_held(task):
            work.update(id, status="in_progress", fence=0)  # whoever is to have it, it is new
        case TaskStatus.WAITING:
            _wait(work, id, task.wait or Wait(kind="manual"))
        case TaskStatus.COMPLETED:
            if task.checklist:
                work.update(id, checked=list(range(len(task.checklist))))
            work.complete(id, result=task.result)
        case TaskStatus.FAILED:
            work.update(id, max_attempts=None)  # so that this is the end, and no attempt
            work.fail(id, task.failure or "")
            work.update(id, max_attempts=task.max_attempts)
        case TaskStatus.CANCELLED:
            work.cancel(id, task.failure)
        case TaskStatus.PENDING | TaskStatus.IN_PROGRESS:
            pass


def _wait(work: Work, id: str, wait: Wait) -> None:
    """A timer that is over meanwhile leaves the task pending."""
    if wait.kind != "timer":
        work.wait(id, topic=wait.topic, correlation_id=wait.correlation_id)
    elif wait.at is not None and wait.at > work.now:
        work.wait(id, until=min(wait.at, work.now + HORIZON))
