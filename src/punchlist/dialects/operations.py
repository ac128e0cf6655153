"""What a person's edit may say: operations as plain mappings, checked and turned into commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast, get_args

from punchlist.core import commands as do
from punchlist.core.commands import Entry, Group, Operation, Target
from punchlist.core.todo import Evidence, TodoList
from punchlist.dialects.repair import as_id, as_status, key_name
from punchlist.errors import InvalidInput
from punchlist.text import repair

VERBS = (
    *("init", "append", "start", "done", "fail", "drop", "reopen"),
    *("remove", "note", "block", "unblock", "reword", "restore"),
)
_ALSO = {"rm": "remove", "add": "append", "set": "reword", "complete": "done", "cancel": "drop"}
_KINDS = get_args(Operation)
_ITEM_NAMES = ("item", "id", "task")
_KEYS = ("op", *_ITEM_NAMES, "phase", "items", "list", "text", "reason", "on", "evidence", "active_form")


def operations(given: Any) -> tuple[Operation, ...]:
    """The operations meant by a mapping such as `{"op": "done", "item": "3"}`, a list of them, or core's own values."""
    if isinstance(given, (Mapping, *_KINDS)):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise InvalidInput(problem='Operations are a list of mappings such as {"op": "done", "item": "3"}.')
    return tuple(
        cast("Operation", entry) if isinstance(entry, _KINDS) else _operation(entry)
        for entry in cast("Iterable[Any]", given)
    )


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
    """What the operation is about: everything only where neither an item nor a phase is named."""
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
    return Entry(content=content, status=status, active_form=form, phase=_text(given, "phase"))


def rewrite(todos: TodoList) -> do.Replace:
    """A whole list, as a person edited or imported it, as a command."""
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
