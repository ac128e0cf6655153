"""Apply changes that are no calls of our tools: a person's edits, their undo, imported and foreign lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, cast, get_args

from msgspec.structs import asdict, replace

from punchlist.agent.context import AgentRunner, check_name, save_applied
from punchlist.agent.grading import add_grades, find_claims, grade_change, save_graded
from punchlist.core import commands as do
from punchlist.core.apply import Applied, apply, items_known_to_agent, undo
from punchlist.core.commands import Command, Entry, Group, Limits, Operation, Policy, Target
from punchlist.core.events import Draft, diff, draft_header
from punchlist.core.todo import Evidence, ListState, TodoList
from punchlist.dialects.repair import as_id, as_status, key_name
from punchlist.errors import EditRefused, InvalidInput, NothingToUndo, RevisionConflict, UndoRefused
from punchlist.store import AgentRow, Transaction
from punchlist.text import repair

_CLAIMS = frozenset({"item.completed", "item.added"})
_EDITS = Policy(limits=Limits(items=10_000, characters=100_000, refuse_blank=True))
_BY_A_PERSON = replace(_EDITS, confirms=True)


def apply_edit(
    state: ListState,
    command: Command,
    now: datetime,
    *,
    by: str,
    own: bool,
    person: bool = False,
    policy: Policy = _EDITS,
) -> Applied:
    """Apply a change that no model asked for; raise `EditRefused`."""
    applied = apply(state, command, _BY_A_PERSON if person else policy, now, by=by, own=own)
    if applied.refused:
        raise EditRefused(problem=" ".join(problem.text for problem in applied.problems))
    return applied


def apply_graded_edit(
    tx: Transaction, row: AgentRow, command: Command, now: datetime, *, by: str, person: bool
) -> Applied:
    """Apply a change that no model asked for, and grade what it completes; raise `EditRefused`.

    What a person completes is `confirmed`; what anybody else does is held against the agent's work, as its own writes.
    """
    applied = apply_edit(row.state, command, now, by=by, own=by == row.name, person=person)
    if person:
        return add_grades(applied, [(claim, "confirmed") for claim in find_claims(row.state.todos, applied.events)])
    return _grade_by_work(tx, row, applied, now)


def _grade_by_work(tx: Transaction, row: AgentRow, applied: Applied, now: datetime) -> Applied:
    """Grade what a change completes by the agent's work, if its calls are reported."""
    if not any(kind in _CLAIMS for kind, _ in applied.events) or not tx.memory.load(row.number).watched:
        return applied
    return save_graded(tx, row, applied, grade_change(tx, row, applied, now))


def change_list(agent: AgentRunner, command: Command, *, by: str, revision: int | None, person: bool) -> TodoList:
    """Apply a command in the name of a person or an agent, and grade what it completes; return the new list."""
    check_name("author", by)

    def decide(tx: Transaction, row: AgentRow, now: datetime) -> Applied:
        _check_revision(row, revision)
        return apply_graded_edit(tx, row, command, now, by=by, person=person)

    return _write(agent, decide, by=by)


def undo_change(agent: AgentRunner, *, by: str, revision: int | None) -> TodoList:
    def decide(tx: Transaction, row: AgentRow, _now: datetime) -> Applied:
        _check_revision(row, revision)
        undid = tx.history.last_change(row.number, by)
        before = tx.history.at(row.number, undid - 1) if undid is not None else None
        after = tx.history.at(row.number, undid) if undid is not None else None
        if undid is None or before is None or after is None:
            raise NothingToUndo(by=by)
        current = row.state.todos
        todos = undo(current, before, after)
        if isinstance(todos, str):
            raise UndoRefused(by=by, touched=todos)
        todos = replace(todos, revision=current.revision + 1)
        drafts = [*diff(current, todos), draft_header("list.undone", current, todos, undid=undid)]
        for draft in drafts:
            draft.data.setdefault("revision", todos.revision)
        shown = items_known_to_agent(row.state, todos)
        return Applied(ListState(todos, shown if by != agent.name else None), tuple(drafts))

    return _write(agent, decide, by=by)


def restore_list(
    agent: AgentRunner, todos: TodoList, *, by: str, source: str, revision: int | None, graded: bool
) -> TodoList:
    def decide(tx: Transaction, row: AgentRow, now: datetime) -> Applied:
        _check_revision(row, revision)
        applied = apply_edit(row.state, replace_list(todos), now, by=by, own=True)
        if graded:
            applied = _grade_by_work(tx, row, applied, now)
        *events, last = applied.events
        if last.kind == "list.replaced":
            last = Draft("list.restored", {**last.data, "source": source})
        return applied._replace(events=(*events, last))

    return _write(agent, decide, by=by)


def write_list(agent: AgentRunner, items: Any, *, ids: str, seen: int | None) -> TodoList:
    """Apply a full write of the agent whose items have foreign ids; grade what it completes as its other writes."""
    check_name("writer", ids)
    policy = replace(_EDITS, dialect=ids)
    command = do.Replace(tuple(map(_foreign_entry, cast("Iterable[Any]", items))))

    def decide(tx: Transaction, row: AgentRow, now: datetime) -> Applied:
        state = row.state
        if seen is not None:
            read = None if seen == state.todos.revision else tx.history.at(row.number, seen)
            state = replace(state, shown=None if read is None else read.items)
        applied = apply_edit(state, command, now, by=agent.name, own=True, policy=policy)
        return _grade_by_work(tx, row, applied, now)

    return _write(agent, decide, by=agent.name)


def _foreign_entry(value: Any) -> Entry:
    if not isinstance(value, Mapping) or as_id(cast("Mapping[str, Any]", value).get("id")) is None:
        raise InvalidInput(problem="An item is a mapping with `id` and `content`.")
    given = cast("Mapping[str, Any]", value)
    notes = given.get("notes")
    return _entry(given)._replace(
        alias=as_id(given["id"]),
        keeps="status" not in given,
        notes=None if notes is None else (_text(given, "notes") or "",),
        priority=_text(given, "priority"),
    )


def _write(agent: AgentRunner, decide: Callable[[Transaction, AgentRow, datetime], Applied], *, by: str) -> TodoList:
    def work(tx: Transaction, row: AgentRow, now: datetime) -> TodoList:
        applied = decide(tx, row, now)
        save_applied(tx, row, applied, by=by, at=now)
        return applied.state.todos

    return agent.change(work, active=by == agent.name)


def _check_revision(row: AgentRow, revision: int | None) -> None:
    actual = row.state.todos.revision
    if revision is not None and actual != revision:
        raise RevisionConflict(expected=revision, actual=actual)


# Operations as plain mappings, checked and turned into commands.

VERBS = (
    *("init", "append", "start", "done", "fail", "drop", "reopen"),
    *("remove", "note", "block", "unblock", "reword", "restore"),
)
_ALSO = {"rm": "remove", "add": "append", "set": "reword", "complete": "done", "cancel": "drop"}
_KINDS = get_args(Operation)
_ITEM_NAMES = ("item", "id", "task")
_KEYS = ("op", *_ITEM_NAMES, "phase", "items", "list", "text", "reason", "on", "evidence", "active_form")


def read_operations(given: Any) -> tuple[Operation, ...]:
    """Read a mapping such as `{"op": "done", "item": "3"}`, a list of them, or core's own values."""
    if isinstance(given, (Mapping, *_KINDS)):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise InvalidInput(problem='Operations are a list of mappings such as {"op": "done", "item": "3"}.')
    return tuple(
        cast("Operation", entry) if isinstance(entry, _KINDS) else _operation(entry)
        for entry in cast("Iterable[Any]", given)
    )


def describe_operation(operation: Operation) -> dict[str, Any]:
    """Return an operation as the mapping that `read_operations` reads; refuse one that no mapping can say."""
    known = asdict(operation)
    target, entries, proof = known.pop("target", Target()), known.pop("entries", ()), known.pop("evidence", ())
    if "groups" in known or any(entry.check is not None for entry in entries):
        raise InvalidInput(problem="Over HTTP an item has no check of its own; add it without one.")
    given = {"text" if key == "content" else key: value for key, value in known.items() if isinstance(value, str)}
    given |= {"item": target.item, "phase": target.phase or given.get("phase")}
    given |= {"items": [entry.content for entry in entries] or None, "evidence": "; ".join(one.text for one in proof)}
    return {"op": type(operation).__name__.lower(), **{key: value for key, value in given.items() if value}}


def _operation(given: Any) -> Operation:
    if not isinstance(given, Mapping):
        raise InvalidInput(problem='An operation is a mapping such as {"op": "done", "item": "3"}.')
    entry = cast("Mapping[str, Any]", given)
    name = str(entry.get("op"))
    verb = _ALSO.get(name, name)
    unknown = next((key for key in entry if key not in _KEYS), None)
    if unknown is not None:
        raise InvalidInput(problem=f"`{key_name(unknown)}` is unknown in an operation; use {', '.join(_KEYS)}.")
    target = Target() if verb in ("init", "append") else _target(entry)
    match verb:
        case "init":
            return do.Init(_groups(entry))
        case "append":
            return do.Append(_entries(entry.get("items", entry.get("item"))), phase=_text(entry, "phase"))
        case "start":
            return do.Start(target)
        case "done":
            proof = _text(entry, "evidence")
            return do.Done(target, () if proof is None else (Evidence(proof),))
        case "fail":
            return do.Fail(target, _text(entry, "reason") or "")
        case "drop":
            return do.Drop(target)
        case "reopen":
            return do.Reopen(target)
        case "remove":
            return do.Remove(target, phases=True)
        case "note":
            return do.Note(target, _text(entry, "text") or "")
        case "block":
            return do.Block(target, _text(entry, "reason") or _text(entry, "text") or "", _text(entry, "on"))
        case "unblock":
            return do.Unblock(target)
        case "reword":
            return do.Reword(target, _text(entry, "text") or "", _text(entry, "active_form"))
        case "restore":
            return do.Restore(target)
        case _:
            raise InvalidInput(problem=f"`{name}` is no operation; use one of {', '.join(VERBS)}.")


def _target(entry: Mapping[str, Any]) -> Target:
    """Return the target of an operation: everything only where neither an item nor a phase is named."""
    named = [key for key in _ITEM_NAMES if key in entry and not (key == "item" and "items" in entry)]
    name: str | None = None
    if named:
        value = entry[named[0]]
        name = repair(value) if isinstance(value, str) else as_id(value)
        if not name:
            raise InvalidInput(problem=f"`{named[0]}` is the id or the text of an item.")
    phase = _text(entry, "phase")
    if "phase" in entry and not phase:
        raise InvalidInput(problem="`phase` is the name of a phase.")
    return Target(item=name, phase=phase)


def _text(entry: Mapping[str, Any], key: str) -> str | None:
    value = entry.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidInput(problem=f"`{key}` is a text.")
    return repair(value)


def _groups(entry: Mapping[str, Any]) -> tuple[Group, ...]:
    groups = entry.get("list")
    if groups is None:
        return (Group(_text(entry, "phase"), _entries(entry.get("items"))),)
    if not isinstance(groups, list) or not all(isinstance(group, Mapping) for group in cast("list[Any]", groups)):
        raise InvalidInput(problem='`list` is a list of {"phase": …, "items": […]}.')
    return tuple(
        Group(_text(group, "phase"), _entries(group.get("items"))) for group in cast("list[Mapping[str, Any]]", groups)
    )


def _entries(given: Any) -> tuple[Entry, ...]:
    if isinstance(given, str | Mapping):
        return (_entry(given),)
    if not isinstance(given, Iterable):
        raise InvalidInput(problem="`items` is a list of texts.")
    return tuple(_entry(value) for value in cast("Iterable[Any]", given))


def _entry(value: Any) -> Entry:
    if isinstance(value, str):
        return Entry(content=repair(value))
    if not isinstance(value, Mapping):
        raise InvalidInput(problem="An item is a text, or a mapping with `content`.")
    given = cast("Mapping[str, Any]", value)
    content = _text(given, "content") or _text(given, "text")
    status = as_status(given.get("status", "pending"))
    if not content or status is None:
        raise InvalidInput(problem="An item has a `content` and, if it says one, a known `status`.")
    form = _text(given, "active_form") or _text(given, "activeForm")
    check = _text(given, "check")
    return Entry(content=content, status=status, active_form=form, phase=_text(given, "phase"), check=check)


def replace_list(todos: TodoList) -> do.Replace:
    """Return the command that writes a whole list, as a person edited or imported it."""
    places = {phase.id: place for place, phase in enumerate(todos.phases)}
    return do.Replace(
        tuple(
            Entry(
                content=item.content,
                status=item.status,
                active_form=item.active_form,
                phase_place=places.get(item.phase_id) if item.phase_id is not None else None,
                notes=item.notes,
                priority=item.priority,
                blocker=item.blocker,
            )
            for item in todos.items
        ),
        phases=tuple(phase.name for phase in todos.phases),
    )
