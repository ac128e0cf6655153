"""Lists of tasks as files: as JSON, with everything but the history; as a checklist, as far as that goes.

What is imported gets new ids, in the order of the file. Claims do not travel: what a worker had under a lease is
pending again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple, cast

from punchlist.core.task import Task, TaskStatus, Wait
from punchlist.core.task_records import task_data, task_from
from punchlist.core.task_waits import HORIZON
from punchlist.core.todo import Blocker, Phase, Status, TodoItem, TodoList
from punchlist.errors import InvalidInput
from punchlist.tasks.fields import MOST_PARTS, NewTask
from punchlist.tasks.work import Work

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


class Foreign(NamedTuple):
    """A task of a file, under its id there, and the ids there that it waits for."""

    task: Task
    blocked_by: Sequence[str] = ()


# JSON.


def dump(name: str, tasks: Sequence[Task]) -> dict[str, Any]:
    """A list as JSON values."""
    return {
        "kind": KIND,
        "version": VERSION,
        "list": name,
        "tasks": [{**task_data(task), "blocked_by": list(task.blocked_by)} for task in tasks],
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
    return [_foreign(place, entry) for place, entry in enumerate(cast("list[Any]", entries), 1)]


def _foreign(place: int, entry: Any) -> Foreign:
    if not isinstance(entry, dict):
        raise InvalidInput(problem=f"Task number {place} of the file is no object.")
    given = cast("dict[str, Any]", entry)
    try:
        task = task_from({"list": "", **given})
        blockers = [str(each) for each in given.get("blocked_by", ())]
        _check_texts(task)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise InvalidInput(problem=f"Task number {place} of the file cannot be read: {_fault(given)}.") from error
    return Foreign(task, blockers)


def _check_texts(task: Task) -> None:
    """What is looked at before the rules of a new task are asked. Everything else they check themselves."""
    wait = task.wait or Wait(kind="manual")
    texts: list[Any] = [task.id, task.subject, task.parent, wait.topic, wait.correlation_id]
    if not all(isinstance(text, str | None) for text in texts) or task.id is cast("Any", None):
        raise TypeError("an id, a subject, a parent or a topic is no text")
    if wait.at is not None and wait.at.tzinfo is None:
        raise ValueError("the time that it waits for has no time zone")


def _fault(given: Mapping[str, Any]) -> str:
    """What is wrong with a task that cannot be read, in words for whoever wrote the file."""
    for name in ("id", "subject"):
        if not isinstance(given.get(name), str):
            return f"its `{name}` is no text"
    if given.get("status", TaskStatus.PENDING) not in tuple(TaskStatus):
        return f"its `status` is none of {', '.join(TaskStatus)}"
    for name, value in given.items():
        try:
            task = task_from({"list": "", "id": "", "subject": "", name: value})
            _check_texts(task)
        except (TypeError, ValueError, KeyError, AttributeError):
            return f"its `{name[:80]}` is not what it should be"
    return "its `blocked_by` is no list of ids"


def _check_neighbours(found: Sequence[Foreign]) -> None:
    """Raises if a task of the file waits for, or lies below, one that is not in it; or for itself, or below itself."""
    ids = {each.task.id for each in found}
    blockers: dict[str, Sequence[str]] = {each.task.id: each.blocked_by for each in found}
    parents = {each.task.id: [each.task.parent] if each.task.parent is not None else [] for each in found}
    for edges, said in ((blockers, "waits for"), (parents, "lies below")):
        for task, others in edges.items():
            for other in others:
                if other not in ids:
                    raise InvalidInput(
                        problem=f"Task `{task[:80]}` of the file {said} `{other[:80]}`, which is not in it."
                    )
        try:
            TopologicalSorter(edges).prepare()
        except CycleError as circle:
            path = " → ".join(f"`{each[:80]}`" for each in reversed(circle.args[1]))
            raise InvalidInput(problem=f"In the file a task {said} itself: {path}.") from circle


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
    ids = {each.task.id for each in found}
    if len(ids) < len(found):
        raise InvalidInput(problem="The file has two tasks with one id; give each its own.")
    _check_neighbours(found)
    new: dict[str, str] = {}
    fresh = set[str]()
    for each in found:
        before = work.tasks.call(work.where, f"import {key} {each.task.id}"[:200])
        task = work.create(each.task.subject, call_id=f"import {key} {each.task.id}"[:200], **_given(each.task))
        new[each.task.id] = task.id
        if before is None:
            fresh.add(each.task.id)
    added = [each for each in found if each.task.id in fresh]
    for each in added:
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
        for first in range(0, len(blockers), MOST_PARTS):
            work.update(known, add_blocked_by=blockers[first : first + MOST_PARTS])
    return tuple(work.row(new[each.task.id]).task for each in added)


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
