"""Input repair, shared by the dialects that allow it. Each dialect names the repairs that its original makes.

- `json_string`: a JSON text where an array or object belongs
- `bare_object`: one object where a list belongs
- `active_form`: `active_form` for `activeForm`, or the other way round
- `status_spelling`: `done`, `complete`, `todo`, hyphens, blanks, capitals
- `numeric_id`: a number, or `#3`, where an id belongs
- `task_id`: `id` or `task_id` for `taskId`
- `new_task`: JSON text, an object within `task` or `tasks`, `title`, `content` or `name` for `subject`, no description
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast, get_args

import msgspec

from punchlist.core import commands as do
from punchlist.core.commands import Entry, Group, Operation, Target
from punchlist.core.todo import Evidence, Status, TodoList
from punchlist.errors import InvalidInput
from punchlist.text import cut, for_prompt, repair

ALL = frozenset({"json_string", "bare_object", "active_form", "status_spelling", "numeric_id", "task_id", "new_task"})

_SPELLINGS = {status.value.replace("_", ""): status for status in Status} | {
    "todo": Status.PENDING,
    "open": Status.PENDING,
    "new": Status.PENDING,
    "notstarted": Status.PENDING,
    "doing": Status.IN_PROGRESS,
    "active": Status.IN_PROGRESS,
    "started": Status.IN_PROGRESS,
    "done": Status.COMPLETED,
    "complete": Status.COMPLETED,
    "finished": Status.COMPLETED,
    "canceled": Status.CANCELLED,
    "dropped": Status.CANCELLED,
    "abandoned": Status.CANCELLED,
    "waiting": Status.BLOCKED,
}


def from_json(value: Any) -> Any:
    """The value of a JSON text for an array or object; anything else as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        return msgspec.json.decode(repair(value))
    except (msgspec.DecodeError, RecursionError):
        return value


def as_list(value: Any) -> Any:
    """A list for a JSON text of one, or for a single object; anything else as it is."""
    value = from_json(value)
    return [value] if isinstance(value, dict) else value


def as_status(value: Any) -> Status | None:
    """The status meant by any usual spelling, or None."""
    if not isinstance(value, str):
        return None
    return _SPELLINGS.get("".join(char for char in value.casefold() if char.isalnum()))


def as_id(value: Any) -> str | None:
    """An id given as text, as a number or as `#3`; None if it is nothing of the kind."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return str(int(value)) if abs(value) < 10**15 else None
    if isinstance(value, str):
        return repair(value).strip().removeprefix("#").strip() or None
    return None


def as_object(value: Any) -> dict[str, Any] | None:
    """The arguments of a call as an object; None if they are none."""
    value = from_json(value)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def key_name(key: object) -> str:
    """A key of the input as a message names it, on one line; of one that is no text, its type."""
    return for_prompt(cut(repair(key), 80)) if isinstance(key, str) else type_name(key)


def type_name(value: Any) -> str:
    """The JSON name of a value's type."""
    names: list[tuple[type | tuple[type, ...], str]] = [
        (bool, "boolean"),
        (str, "string"),
        ((int, float), "number"),
        (dict, "object"),
        ((list, tuple), "array"),
    ]
    return "null" if value is None else next((name for kind, name in names if isinstance(value, kind)), "unknown")


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
