"""Apply what a person does to a list in the page: one form, one change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from punchlist.agent import Agent
from punchlist.board import Board
from punchlist.core import commands as do
from punchlist.core.commands import Entry, Operation, Target
from punchlist.core.todo import TodoItem, TodoList, put_in_phase, sort_by_phase
from punchlist.errors import EditRefused, RevisionConflict, SessionUnknown
from punchlist.hosts.back_channel import deliver
from punchlist.server.pages.rendering import content_digest

_TRIES: Final = 8
"""An agent that writes at the same time moves the list on; the edit is then worked out again."""

_MOVES: Final = ("up", "down", "move")
_VERBS: Final = {
    "start": do.Start,
    "done": do.Done,
    "drop": do.Drop,
    "reopen": do.Reopen,
    "unblock": do.Unblock,
}


def edit_list(board: Board, session: str, form: Mapping[str, str], *, by: str, person: bool) -> None:
    """Change the list of an agent as a form says, and tell the agent if it is idle.

    The form names the agent, the plan whose items it means, what to `do`, and with what; for an item also the digest of
    the text that was `read`. Raise `EditRefused` if that
    cannot be done; nothing is changed then.
    """
    name = form.get("agent", "")
    row = board.store.agent(session, name)
    if row is None:
        raise SessionUnknown(session=session)
    agent = board.agent(name, session=session)
    before = board.store.last_seq()
    if form.get("do") == "undo":
        agent.undo(by=by)
    else:
        _apply(agent, form, by=by, person=person)
    deliver(board, session, name, before)


def _apply(agent: Agent, form: Mapping[str, str], *, by: str, person: bool) -> None:
    for attempt in range(_TRIES):
        todos = agent.todos
        if form.get("plan") != todos.plan_id:
            raise EditRefused(problem="The agent began a new list meanwhile; nothing was changed.")
        try:
            if form.get("do") in _MOVES:
                # Not as a person's word: the completed items that are moved along would be confirmed by it.
                agent.rewrite(_move(todos, form), by=by, revision=todos.revision)
            else:
                operations = _plan_operations(todos, form)
                if operations:
                    agent.edit(operations, by=by, revision=todos.revision, person=person)
            return
        except RevisionConflict:
            if attempt == _TRIES - 1:
                raise


def _plan_operations(todos: TodoList, form: Mapping[str, str]) -> list[Operation]:
    """Return the operations that a form means."""
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
    return [_VERBS[verb](Target(item=_find_item(todos, form).id, by="id"))]


def _save(todos: TodoList, form: Mapping[str, str], text: str) -> list[Operation]:
    """Return the changes of the fields of one item that were filled in."""
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
