"""Apply what a person does to lists and tasks in the page: one form, one change."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from punchlist.agent import Agent
from punchlist.agent.leftovers import continue_for_person
from punchlist.board import Board
from punchlist.core import commands as do
from punchlist.core.commands import Entry, Operation, Target
from punchlist.core.task import USUAL
from punchlist.core.todo import Evidence, TodoItem, TodoList, put_in_phase, sort_by_phase
from punchlist.errors import EditRefused, SessionUnknown, TaskTaken
from punchlist.people.back_channel import deliver
from punchlist.server.pages.rendering import content_digest
from punchlist.server.pages.tasks import open_list
from punchlist.settings.environment import project_of
from punchlist.tasks import NewTask, TaskChanges, Tasks
from punchlist.text import repair
from punchlist.views.list_owners import MAIN

_BETWEEN: Final = re.compile(r"[,\s]+")
_LENGTH: Final = re.compile(r"(\d{1,6})\s*(s|m|min|h|d)")
_UNITS: Final = {"s": "seconds", "m": "minutes", "min": "minutes", "h": "hours", "d": "days"}
_PRIORITIES: Final = ("0", "1", "2", "3", "4")
_MOVES: Final = ("up", "down", "move")
_VERBS: Final = {
    "start": do.Start,
    "done": do.Done,
    "drop": do.Drop,
    "reopen": do.Reopen,
    "unblock": do.Unblock,
}


def edit_list(board: Board, session: str, form: Mapping[str, str], *, by: str, person: bool) -> str:
    """Change the list of an agent as a form says, and tell the agent if it is idle; return the session to show.

    The form names the agent, the plan whose items it means, what to `do`, and with what; for an item also the digest of
    the text that was `read`. Raise `EditRefused` if that cannot be done; nothing is changed then.
    """
    name = form.get("agent", "")
    if board.store.agent(session, name) is None:
        raise SessionUnknown(session=session)
    agent = board.agent(name, session=session)
    before = board.store.last_seq()
    if form.get("do") == "continue":
        session = continue_for_person(board, session, folder=agent.folder, by=by).into
        deliver(board, session, MAIN, before)
        return session
    # In one transaction: an agent that writes at the same time does so before or after.
    board.store.joined(lambda _: _apply(agent, form, by=by, person=person))
    deliver(board, session, name, before)
    return session


def _apply(agent: Agent, form: Mapping[str, str], *, by: str, person: bool) -> None:
    todos = agent.todos
    if form.get("do") == "undo":
        agent.undo(by=by)
    elif form.get("plan") != todos.plan_id:
        raise EditRefused(problem="The agent began a new list meanwhile; nothing was changed.")
    elif form.get("do") in _MOVES:
        # Not as a person's word: the completed items that are moved along would be confirmed by it.
        agent.rewrite(_move(todos, form), by=by)
    elif operations := _plan_operations(todos, form):
        agent.edit(operations, by=by, person=person)


def _plan_operations(todos: TodoList, form: Mapping[str, str]) -> list[Operation]:
    verb, text = form.get("do", ""), form.get("text", "").strip()
    if verb == "add":
        if not text:
            raise EditRefused(problem="Write the item first.")
        last = todos.phases[-1].name if todos.phases else None
        return [do.Append((Entry(content=text),), form.get("phase") or last)]
    if verb == "restore":
        return [do.Restore()]
    if verb == "save":
        return _save(todos, form, text)
    if verb not in _VERBS:
        raise EditRefused(problem="This page does not know that change.")
    target = Target(item=_find_item(todos, form).id, by="id")
    if verb == "done" and (proof := form.get("proof", "").strip()):
        return [do.Done(target, (Evidence(proof),))]
    return [_VERBS[verb](target)]


def _save(todos: TodoList, form: Mapping[str, str], text: str) -> list[Operation]:
    item = _find_item(todos, form)
    target = Target(item=item.id, by="id")
    operations: list[Operation] = []
    if text and text != item.content:
        operations.append(do.Reword(target, text))
    if note := form.get("note", "").strip():
        operations.append(do.Note(target, note))
    if reason := form.get("reason", "").strip():
        operations.append(do.Block(target, reason))
    return operations


def _find_item(todos: TodoList, form: Mapping[str, str]) -> TodoItem:
    """Return the item that a form means, as the person read it: a click on a stale page confirms no other work."""
    item = todos.find(form.get("item", ""))
    if item is None:
        raise EditRefused(problem="That item is no longer on the list; nothing was changed.")
    if form.get("read") != content_digest(item.content):
        raise EditRefused(problem="That item was reworded meanwhile; nothing was changed.")
    return item


def _move(todos: TodoList, form: Mapping[str, str]) -> TodoList:
    """Return the list with an item one place up or down, or before the item that the form names (else at the end).

    It joins the phase of the item that it was put next to. At the edge of its phase one step only leads into the next.
    """
    item = _find_item(todos, form)
    items = list(sort_by_phase(todos))
    place = items.index(item)
    others = [one for one in items if one is not item]
    match form["do"]:
        case "up":
            beside = others[place - 1] if place else item
            place -= beside.phase_id == item.phase_id and place > 0
        case "down":
            beside = others[place] if place < len(others) else item
            place += beside.phase_id == item.phase_id and place < len(others)
        case _:
            place = next((at for at, one in enumerate(others) if one.id == form.get("before")), len(others))
            beside = next(iter(others[place : place + 1] or others[-1:]), item)
    phase = next((one for one in todos.phases if one.id == beside.phase_id), None)
    others.insert(place, put_in_phase(item, phase))
    return replace(todos, items=tuple(others))


# Tasks.


def add_task(board: Board, name: str, form: Mapping[str, str], *, by: str) -> str:
    """Add a task to a list, by default that of the project in which the server runs; return the name of the list."""
    own = f"project:{project_of()}"
    if (name or own) == own:
        tasks = board.tasks(own, by=by)
    else:
        _, tasks = open_list(board, name, by=by)
    subject = _read(form, "text")
    if not subject:
        raise EditRefused(problem="Write the task first.")
    tasks.create(subject, **_read_new(form))
    return tasks.name


def _read_new(form: Mapping[str, str]) -> NewTask:
    priority = form.get("priority", "2")
    return {
        "description": _read(form, "description"),
        "priority": int(priority) if priority in _PRIORITIES else USUAL,
        "labels": _split(form, "labels"),
        "blocked_by": _split_ids(form, "blocked_by"),
        "parent": next(iter(_split_ids(form, "parent")), None),
        "owner": _read(form, "owner") or None,
    }


def deliver_signal(board: Board, name: str, form: Mapping[str, str], *, by: str) -> str:
    """Deliver an event to the tasks that wait for it; return the word of the notice."""
    _, tasks = open_list(board, name, by=by)
    topic, correlation = _read(form, "topic"), _read(form, "correlation")
    if not (topic and correlation):
        raise EditRefused(problem="An event needs a topic and a correlation id.")
    keeps = "keep" in form
    woken = tasks.signal(topic, correlation, _parse_value(_read(form, "payload")), keep=keeps)
    if woken:
        return "delivered"
    if not keeps:
        raise EditRefused(problem=f"No task waits for `{topic}` `{correlation}`; nothing was changed.")
    return "kept"


def change_task(board: Board, name: str, wanted: str, form: Mapping[str, str], *, by: str, person: bool) -> bool:
    """Change a task as a form says; return False if it is gone after that. Raise a `TaskError` if it is refused."""
    _, tasks = open_list(board, name, by=by)
    verb, text = form.get("do", ""), _read(form, "text")
    force = "force" in form
    try:
        match verb:
            case "done":
                tasks.complete(wanted, person=person, force=force)
            case "cancel":
                tasks.cancel(wanted, text or None, force=force)
            case "ask_cancel":
                tasks.cancel(wanted, text or None, request=True)
            case "delete":
                tasks.delete(wanted)
                return False
            case _:
                _change_more(tasks, wanted, verb, text, form)
    except TaskTaken as error:
        taken = f"Task {wanted} is under the lease of {error.data['owner']}{error.data['until']}"
        raise EditRefused(problem=f"{taken}. Its page has a box to do this all the same.") from error
    return True


def _change_more(tasks: Tasks, wanted: str, verb: str, text: str, form: Mapping[str, str]) -> None:
    match verb:
        case "start":
            tasks.update(wanted, status="in_progress")
        case "release":
            tasks.release(wanted)
        case "fail":
            tasks.fail(wanted, text)
        case "retry":
            tasks.retry(wanted)
        case "resume":
            tasks.resume(wanted, state={"answer": text} if text else None)
        case "wait":
            length = _read(form, "until")
            tasks.wait(wanted, until=_parse_length(length) if length else None)
        case "check":
            tasks.update(wanted, checked=[_read_place(form)])
        case "uncheck":
            tasks.update(wanted, unchecked=[_read_place(form)])
        case "block":
            tasks.update(wanted, add_blocked_by=_split_ids(form, "blocked_by"))
        case "unblock":
            tasks.update(wanted, remove_blocked_by=_split_ids(form, "blocked_by"))
        case "save":
            tasks.update(wanted, **_read_changes(form))
        case _:
            raise EditRefused(problem="This page does not know that change.")


def _read_changes(form: Mapping[str, str]) -> TaskChanges:
    """Return the fields of the form; one that is empty clears its field, but a task keeps its subject."""
    changes: TaskChanges = {}
    if subject := _read(form, "text"):
        changes["subject"] = subject
    if "description" in form:
        changes["description"] = _read(form, "description")
    if form.get("priority") in _PRIORITIES:
        changes["priority"] = int(form["priority"])
    if "labels" in form:
        changes["labels"] = _split(form, "labels")
    return changes


# Fields.


def _read(form: Mapping[str, str], name: str) -> str:
    return repair(form.get(name, "")).replace("\r\n", "\n").strip()


def _split(form: Mapping[str, str], name: str) -> list[str]:
    return [word for word in _BETWEEN.split(_read(form, name)) if word]


def _split_ids(form: Mapping[str, str], name: str) -> list[str]:
    return [word.removeprefix("#") for word in _split(form, name)]


def _read_place(form: Mapping[str, str]) -> int:
    place = form.get("place", "")
    if not (place.isascii() and place.isdecimal() and len(place) < 6):
        raise EditRefused(problem="That line is not on the checklist.")
    return int(place)


def _parse_length(text: str) -> timedelta:
    found = _LENGTH.fullmatch(text)
    if found is None:
        raise EditRefused(problem="Say how long: 90s, 10m, 2h or 3d.")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def _parse_value(text: str) -> Any:
    if not text:
        return None
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text
