"""Export and import tasks as files, and apply changes that another program made.

A file holds a list as JSON, with everything but the history, or as a checklist, as far as that goes. Imported tasks get
new ids, in the order of the file; a refusal names them as the file does. Claims do not travel: a task that was leased
is pending again.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from punchlist.core import task_rules as rules
from punchlist.core.task import ENDED, Task, TaskStatus, Wait, encode_task, with_fields
from punchlist.core.task_rules import HORIZON
from punchlist.core.todo import Blocker, Phase, Status, TodoItem, TodoList
from punchlist.errors import CycleRefused, InvalidInput, TaskUnknown
from punchlist.store.tasks import TaskRow
from punchlist.tasks.fields import MOST_PARTS, NewTask, parse_status
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
_MOST_NAMED = 12


# JSON.


class ForeignTask(NamedTuple):
    """A task of a file, under its id there, and the ids there that block it."""

    task: Task
    blocked_by: Sequence[str] = ()


def parse_task(place: int, entry: Any) -> ForeignTask:
    """Return the task of an entry, by its place in the file from 1; raise `InvalidInput` with what is wrong in it."""
    if not isinstance(entry, dict):
        raise _unreadable_task(place, "it is no object")
    told = cast("dict[str, Any]", entry)
    for name in ("id", "subject"):
        if not isinstance(told.get(name), str):
            raise _unreadable_task(place, f"its `{name}` is no text")
    if not isinstance(told.get("parent"), str | None):
        raise _unreadable_task(place, "its `parent` is no text")
    blockers = told.get("blocked_by", [])
    if not isinstance(blockers, list) or not all(isinstance(each, str) for each in cast("list[Any]", blockers)):
        raise _unreadable_task(place, "its `blocked_by` is no list of ids")
    task = Task(list="", id=told["id"], subject=told["subject"])
    for name, value in told.items():
        try:
            task = with_fields(task, {name: parse_status(value) if name == "status" else value})
        except InvalidInput as error:
            raise _unreadable_task(place, str(error).rstrip(".")) from error
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise _unreadable_task(place, f"its `{_clean_name(name)}` is not what an export has there") from error
    wait = task.wait
    if wait is not None:  # the rules of a new task take these for granted
        texts: list[Any] = [wait.topic, wait.correlation_id]
        if not all(isinstance(text, str | None) for text in texts):
            raise _unreadable_task(place, "the topic that it waits for is no text")
        if wait.at is not None and wait.at.tzinfo is None:
            raise _unreadable_task(place, "the time that it waits for has no time zone")
    return ForeignTask(task, list(dict.fromkeys(cast("list[str]", blockers))))


def check_references(found: Sequence[ForeignTask]) -> None:
    """Raise `InvalidInput` for an id that is there twice, an edge or a parent to nowhere, or a cycle."""
    ids = {each.task.id for each in found}
    if len(ids) < len(found):
        raise InvalidInput(problem="The file has two tasks with one id; give each its own.")
    for each in found:
        for blocker in each.blocked_by:
            if blocker not in ids:
                raise _missing_reference(each.task, "waits for", blocker)
        if each.task.parent is not None and each.task.parent not in ids:
            raise _missing_reference(each.task, "lies below", each.task.parent)
    _check_cycle({each.task.id: each.blocked_by for each in found}, "wait for each other in a cycle")
    below = {each.task.id: [each.task.parent] for each in found if each.task.parent is not None}
    _check_cycle(below, "are parents of each other in a cycle")


def _check_cycle(edges: Mapping[str, Iterable[str]], said: str) -> None:
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        way = cast("list[str]", error.args[1])[::-1]
        named = " → ".join(_clean_name(each) for each in way[:_MOST_NAMED]) + (" → …" if len(way) > _MOST_NAMED else "")
        raise InvalidInput(problem=f"Tasks of the file {said}: {named}; nothing was imported.") from None


def _missing_reference(task: Task, said: str, other: str) -> InvalidInput:
    named = f"Task `{_clean_name(task.id)}` of the file {said} `{_clean_name(other)}`, which is not in it"
    return InvalidInput(problem=f"{named}; mend the file. Nothing was imported.")


def _unreadable_task(place: int, problem: str) -> InvalidInput:
    return InvalidInput(problem=f"Task number {place} of the file cannot be read: {problem}. Nothing was imported.")


def _clean_name(said: str) -> str:
    return for_prompt(cut(said, 80))


def dump(name: str, tasks: Sequence[Task]) -> dict[str, Any]:
    """Return a list of tasks as JSON values."""
    return {
        "kind": KIND,
        "version": VERSION,
        "list": name,
        "tasks": [{**encode_task(task), "blocked_by": list(task.blocked_by)} for task in tasks],
    }


def load(data: Any) -> list[ForeignTask]:
    """Return the tasks of an exported file; raise `InvalidInput`, naming the entry that cannot be read."""
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
    return [parse_task(place, entry) for place, entry in enumerate(cast("list[Any]", entries), 1)]


# Checklists.


def as_todos(tasks: Sequence[Task]) -> TodoList:
    """Return tasks as a todo list: the first label is the phase, the description a note; the rest is left out."""
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


def from_todos(todos: TodoList) -> list[ForeignTask]:
    """Return the items of a list as tasks: the phase is a label, the notes are the description."""
    names = {phase.id: phase.name for phase in todos.phases}
    return [
        ForeignTask(
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


def import_tasks(work: Work, found: Sequence[ForeignTask], *, key: str, in_order: bool = False) -> tuple[Task, ...]:
    """Add the tasks of a file, all or none; under the same `key` again, add nothing. Return the new ones.

    A task that was exported from this list and is still on it stays as it is.
    `in_order`: each blocks the next. A task that was begun or has ended is blocked by nothing that is open; the next
    one is blocked by it, and by the open ones before it. A cancelled task blocks nothing.
    """
    if len(found) > MOST_TASKS:
        raise InvalidInput(problem=f"The file holds {len(found)} tasks; at most {MOST_TASKS} can be imported at once.")
    check_references(found)
    new: dict[str, str] = {}
    fresh = set[str]()
    for each in found:
        own = work.find(each.task.id, alone=True)
        if own is not None and own.task.created_at == each.task.created_at:
            new[each.task.id] = own.task.id
            continue
        call_id = f"import {key} {each.task.id}"[:200]
        before = work.tasks.call(work.where, call_id)
        with _name_task_in_errors(each.task):
            task = work.create(each.task.subject, call_id=call_id, **_make_fields(each.task))
        new[each.task.id] = task.id
        if before is None:
            fresh.add(each.task.id)
    added = [each for each in found if each.task.id in fresh]
    for each in added:
        with _name_task_in_errors(each.task):
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
        with _name_task_in_errors(each.task):
            for first in range(0, len(blockers), MOST_PARTS):
                work.update(known, add_blocked_by=blockers[first : first + MOST_PARTS])
    return tuple(work.row(new[each.task.id]).task for each in added)


@contextmanager
def _name_task_in_errors(task: Task) -> Generator[None]:
    """Name the task of the file in each refusal; only the order of the file can still close a cycle."""
    name = _clean_name(task.id)
    try:
        yield
    except CycleRefused as error:
        said = f"Task `{name}` of the file waits for a later one, so its tasks cannot be done in its order"
        raise InvalidInput(problem=f"{said}; nothing was imported.") from error
    except InvalidInput as error:
        raise InvalidInput(problem=f"Task `{name}` of the file: {error} Nothing was imported.") from error


def _make_fields(task: Task) -> NewTask:
    names = "description active_form priority labels checklist state metadata max_attempts backoff runs_after"
    given = cast("NewTask", {name: getattr(task, name) for name in names.split()})
    if task.owner is not None and (task.status is TaskStatus.PENDING or _is_held(task)):
        given["owner"] = task.owner
    return given


def _is_held(task: Task) -> bool:
    """True if the task was begun without a lease."""
    return task.status is TaskStatus.IN_PROGRESS and task.lease is None


def _settle(work: Work, id: str, task: Task) -> None:
    """Bring a new task to the status that it had."""
    match task.status:
        case TaskStatus.IN_PROGRESS if _is_held(task):
            work.update(id, status="in_progress", fence=0)  # a new task has fence 0, with any owner
        case TaskStatus.WAITING:
            wait = task.wait or Wait(kind="manual")
            if wait.kind != "timer":
                work.wait(id, topic=wait.topic, correlation_id=wait.correlation_id)
            elif wait.at is not None and wait.at > work.now:  # a timer that is over meanwhile leaves it pending
                work.wait(id, until=min(wait.at, work.now + HORIZON))
        case TaskStatus.COMPLETED:
            if task.checklist:
                work.update(id, checked=list(range(len(task.checklist))))
            work.complete(id, result=task.result)
        case TaskStatus.FAILED:
            work.update(id, max_attempts=None)  # or the failure would only count as an attempt
            work.fail(id, task.failure or "")
            work.update(id, max_attempts=task.max_attempts)
        case TaskStatus.CANCELLED:
            work.cancel(id, task.failure)
        case TaskStatus.PENDING | TaskStatus.IN_PROGRESS:
            pass


# Changes that another program made: recorded as they were, whatever our rules say.

_EVENTS = {
    TaskStatus.PENDING: "task.reopened",
    TaskStatus.IN_PROGRESS: "task.started",
    TaskStatus.COMPLETED: "task.completed",
}
_EDGES = ("remove_blocked_by", "remove_blocks", "add_blocked_by", "add_blocks")


def record_new(work: Work, number: int, subject: str, fields: Mapping[str, Any]) -> Task | None:
    """Create a task under its own number; None if that number was given here before, or the fields are invalid."""
    if work.find(number) is not None or not work.tasks.skip_ids(work.where, number):
        return None
    try:
        return work.create(subject, **fields)
    except InvalidInput:
        return None


def record_change(work: Work, task: str, fields: Mapping[str, Any]) -> Task | None:
    """Record a change to a task, as far as it is possible; None if there is no such task.

    A task that another program began though it was blocked is in progress here too, and stays blocked. Edges that
    cannot be (to itself, to a task that is not there, in a cycle) are left out.
    """
    row = work.find(task)
    if row is None:
        return None
    words = {name: value for name, value in fields.items() if name not in (*_EDGES, "status")}
    _record_words(work, task, words)
    if "status" in fields:
        _record_status(work, work.row(task), parse_status(fields["status"]), keep_owner="owner" in fields)
    for name in _EDGES:
        for other in fields.get(name) or ():
            edge: dict[str, Any] = {name: [other]}
            with suppress(CycleRefused, TaskUnknown, InvalidInput):
                work.update(task, **edge)
    return work.row(task).task


def _record_words(work: Work, task: str, words: Mapping[str, Any]) -> None:
    """Record fields in one event; where one cannot be kept, record the others one by one."""
    try:
        work.update(task, **words)
    except InvalidInput:
        for name, value in words.items() if len(words) > 1 else ():
            _record_words(work, task, {name: value})


def _record_status(work: Work, row: TaskRow, to: TaskStatus, *, keep_owner: bool = False) -> Task:
    """Move a task to a status, whatever holds it back; with `keep_owner` a pending one keeps its owner too."""
    task = row.task
    if task.status is to:
        return task
    fresh = replace(task, cancel_requested=False, checklist=())
    if to is not TaskStatus.PENDING and task.status in ENDED:
        fresh = rules.move(fresh, TaskStatus.PENDING, work.now)
    free = replace(fresh, open_blockers=0)
    after = rules.move(free, to, work.now, owner=task.owner if keep_owner or to is not TaskStatus.PENDING else None)
    kept = replace(after, open_blockers=task.open_blockers, checklist=task.checklist, fence=task.fence + 1)
    kind = "task.released" if task.status is TaskStatus.IN_PROGRESS and to is TaskStatus.PENDING else _EVENTS[to]
    return work.write(row, kept, kind).task
