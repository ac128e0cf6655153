"""Apply what a person does to lists and tasks in the page: one form, one change."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from punchlist.agent import Agent
from punchlist.agent.leftovers import continue_for_person
from punchlist.core.task import USUAL
from punchlist.core.todo import TodoItem, TodoList, put_in_phase, sort_by_phase
from punchlist.errors import EditRefused, TaskTaken
from punchlist.people.back_channel import deliver
from punchlist.server.api import changes, tasks
from punchlist.server.api.calls import ApiCall
from punchlist.server.api.routing import Handler
from punchlist.server.api.tasks import TaskChangesBody
from punchlist.server.pages.rendering import content_digest
from punchlist.server.pages.tasks import open_list
from punchlist.settings.environment import project_of
from punchlist.text import repair
from punchlist.views.list_owners import MAIN

Form = Mapping[str, str]
"""The fields of a form, by name."""

_BETWEEN: Final = re.compile(r"[,\s]+")
_LENGTH: Final = re.compile(r"(\d{1,6})\s*(s|m|min|h|d)")
_SECONDS: Final = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}
_PRIORITIES: Final = ("0", "1", "2", "3", "4")
_MOVES: Final = ("up", "down", "move")
_VERBS: Final = ("start", "done", "drop", "reopen", "unblock")


def edit_list(call: ApiCall, form: Form) -> str:
    """Change the list of an agent as a form says, and tell the agent if it is idle; return the session to show.

    The form names the agent, the plan whose items it means, what to `do`, and with what; for an item also the digest of
    the text that was `read`. Raise `EditRefused` if that cannot be done; nothing is changed then.
    """
    call.path = {**call.path, "agent": form.get("agent", "")}
    if form.get("do") != "continue":
        changes.change_list(call, lambda agent: _apply(call, agent, form))
        return call.path["session"]
    row, before = call.find_agent(), call.board.store.last_seq()
    call.check_steering(row.session)
    session = continue_for_person(call.board, row.session, folder=row.folder, by=call.by).into
    call.after.append(lambda: deliver(call.board, session, MAIN, before))
    return session


def _apply(call: ApiCall, agent: Agent, form: Form) -> TodoList:
    todos = agent.todos
    if form.get("do") == "undo":
        return agent.undo(by=call.by)
    if form.get("plan") != todos.plan_id:
        raise EditRefused(problem="The agent began a new list meanwhile; nothing was changed.")
    if form.get("do") in _MOVES:
        # Not as a person's word: the completed items that are moved along would be confirmed by it.
        return agent.rewrite(_move(todos, form), by=call.by)
    operations = _list_operations(todos, form)
    return agent.edit(operations, by=call.by, person=call.is_person) if operations else todos


def _list_operations(todos: TodoList, form: Form) -> list[dict[str, str | None]]:
    verb, text = form.get("do", ""), form.get("text", "").strip()
    if verb == "add":
        if not text:
            raise EditRefused(problem="Write the item first.")
        last = todos.phases[-1].name if todos.phases else None
        return [{"op": "append", "item": text, "phase": form.get("phase") or last}]
    if verb == "restore":
        return [{"op": "restore"}]
    if verb == "save":
        return _save(todos, form, text)
    if verb not in _VERBS:
        raise EditRefused(problem="This page does not know that change.")
    proof = form.get("proof", "").strip()
    return [{"op": verb, "item": _find_item(todos, form).id, "evidence": proof or None}]


def _save(todos: TodoList, form: Form, text: str) -> list[dict[str, str | None]]:
    item = _find_item(todos, form)
    operations: list[dict[str, str | None]] = []
    if text and text != item.content:
        operations.append({"op": "reword", "item": item.id, "text": text})
    if note := form.get("note", "").strip():
        operations.append({"op": "note", "item": item.id, "text": note})
    if reason := form.get("reason", "").strip():
        operations.append({"op": "block", "item": item.id, "reason": reason})
    return operations


def _find_item(todos: TodoList, form: Form) -> TodoItem:
    """Return the item that a form means, as the person read it: a click on a stale page confirms no other work."""
    item = todos.find(form.get("item", ""))
    if item is None:
        raise EditRefused(problem="That item is no longer on the list; nothing was changed.")
    if form.get("read") != content_digest(item.content):
        raise EditRefused(problem="That item was reworded meanwhile; nothing was changed.")
    return item


def _move(todos: TodoList, form: Form) -> TodoList:
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


def add_task(call: ApiCall, name: str, form: Form) -> str:
    """Add a task to a list, by default that of the project in which the server runs; return the name of the list."""
    own = f"project:{project_of()}"
    call.path = {"list": name or own}
    if call.path["list"] != own:
        open_list(call.board, name)  # raises if there is none: only the project's own is made
    subject, priority = _read(form, "text"), form.get("priority")
    if not subject:
        raise EditRefused(problem="Write the task first.")
    body = tasks.NewTaskBody(
        subject=subject,
        description=_read(form, "description"),
        priority=int(priority) if priority in _PRIORITIES else USUAL,
        labels=_split(form, "labels"),
        blocked_by=_split_ids(form, "blocked_by"),
        parent=next(iter(_split_ids(form, "parent")), None),
        owner=_read(form, "owner") or None,
    )
    tasks.create_task(call, body)
    return call.path["list"]


def deliver_signal(call: ApiCall, form: Form) -> str:
    """Deliver an event to the tasks that wait for it; return the word of the notice."""
    topic, correlation, keeps = _read(form, "topic"), _read(form, "correlation"), "keep" in form
    if not (topic and correlation):
        raise EditRefused(problem="An event needs a topic and a correlation id.")
    payload = _parse_value(_read(form, "payload"))
    body = tasks.SignalBody(topic=topic, correlation_id=correlation, payload=payload, keep=keeps)
    if tasks.signal_tasks(call, body).tasks:  # pyright: ignore[reportUnknownMemberType]
        return "delivered"
    if not keeps:
        raise EditRefused(problem=f"No task waits for `{topic}` `{correlation}`; nothing was changed.")
    return "kept"


def change_task(call: ApiCall, form: Form) -> None:
    """Change the task of the path as a form says. Raise a `TaskError` if it is refused."""
    known = _TASK_FORMS.get(form.get("do", ""))
    if known is None:
        raise EditRefused(problem="This page does not know that change.")
    change, read_body = known
    try:
        change(call, read_body(form))
    except TaskTaken as error:
        taken = f"Task {call.path['task']} is under the lease of {error.data['owner']}{error.data['until']}"
        raise EditRefused(problem=f"{taken}. Its page has a box to do this all the same.") from error


def _read_changes(form: Form) -> TaskChangesBody:
    """Return the fields of the form; one that is empty clears its field, but a task keeps its subject."""
    return TaskChangesBody(
        subject=_read(form, "text") or UNSET,
        description=_read(form, "description") if "description" in form else UNSET,
        priority=int(form["priority"]) if form.get("priority") in _PRIORITIES else UNSET,
        labels=_split(form, "labels") if "labels" in form else UNSET,
    )


# Fields.


def _read(form: Form, name: str) -> str:
    return repair(form.get(name, "")).replace("\r\n", "\n").strip()


def _split(form: Form, name: str) -> list[str]:
    return [word for word in _BETWEEN.split(_read(form, name)) if word]


def _split_ids(form: Form, name: str) -> list[str]:
    return [word.removeprefix("#") for word in _split(form, name)]


def _read_place(form: Form) -> int:
    place = form.get("place", "")
    if not (place.isascii() and place.isdecimal() and len(place) < 6):
        raise EditRefused(problem="That line is not on the checklist.")
    return int(place)


def _read_seconds(form: Form) -> float | None:
    text = _read(form, "until")
    found = _LENGTH.fullmatch(text)
    if text and found is None:
        raise EditRefused(problem="Say how long: 90s, 10m, 2h or 3d.")
    return int(found[1]) * _SECONDS[found[2]] if found else None


def _read_answer(form: Form) -> Any:
    text = _read(form, "text")
    return {"answer": text} if text else None


def _parse_value(text: str) -> Any:
    if not text:
        return None
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text


_TASK_FORMS: Final[Mapping[str, tuple[Handler, Callable[[Form], Struct]]]] = {
    "start": (tasks.start_task, lambda _: tasks.FenceBody()),
    "release": (tasks.release_task, lambda _: tasks.FenceBody()),
    "done": (tasks.complete_task, lambda form: tasks.CompleteBody(force="force" in form)),
    "fail": (tasks.fail_task, lambda form: tasks.FailBody(_read(form, "text"))),
    "cancel": (tasks.cancel_task, lambda form: tasks.CancelBody(_read(form, "text") or None, force="force" in form)),
    "ask_cancel": (tasks.cancel_task, lambda form: tasks.CancelBody(_read(form, "text") or None, request=True)),
    "retry": (tasks.retry_task, lambda _: tasks.EmptyTaskBody()),
    "resume": (tasks.resume_task, lambda form: tasks.ResumeBody(_read_answer(form))),
    "wait": (tasks.set_waiting, lambda form: tasks.TaskWaitBody(seconds=_read_seconds(form))),
    "check": (tasks.update_task, lambda form: TaskChangesBody(checked=[_read_place(form)])),
    "uncheck": (tasks.update_task, lambda form: TaskChangesBody(unchecked=[_read_place(form)])),
    "block": (tasks.update_task, lambda form: TaskChangesBody(add_blocked_by=_split_ids(form, "blocked_by"))),
    "unblock": (tasks.update_task, lambda form: TaskChangesBody(remove_blocked_by=_split_ids(form, "blocked_by"))),
    "save": (tasks.update_task, _read_changes),
    "delete": (tasks.delete_task, lambda _: tasks.FenceQuery()),
}
"""The operation of the API behind each form of a task, and the function that reads its body from the form."""
