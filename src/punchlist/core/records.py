"""Items as plain JSON values and back: what an event carries, and what a file or another process can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from punchlist.core.todo import Blocker, Evidence, Status, TodoItem

_PLAIN = ("content", "active_form", "phase_id", "phase", "priority", "parent", "created_by", "grade")
_TIMES = ("created_at", "started_at", "finished_at")
_FIELDS = (*_PLAIN, *_TIMES, "status", "notes", "blocker", "aliases", "evidence")
_DEFAULT = TodoItem(id="", content="")


def item_data(item: TodoItem) -> dict[str, Any]:
    """An item as JSON values, without the fields that hold their default."""
    return {"id": item.id, "content": item.content, **changed_fields(_DEFAULT, item)}


def item_from(data: Mapping[str, Any]) -> TodoItem:
    """The inverse of `item_data`. Fields of a later version are ignored."""
    return with_fields(TodoItem(id=data["id"], content=data["content"]), data)


def changed_fields(before: TodoItem, after: TodoItem) -> dict[str, Any]:
    """The fields in which two items differ, with the later value in JSON form."""
    changed: dict[str, Any] = {}
    for name in _FIELDS:
        value = getattr(after, name)
        if value != getattr(before, name):
            changed[name] = _to_plain(value)
    return changed


def with_fields(item: TodoItem, fields: Mapping[str, Any]) -> TodoItem:
    """The item with these fields, given in JSON form."""
    return replace(item, **{name: _FROM_PLAIN[name](value) for name, value in fields.items() if name in _FROM_PLAIN})


def _to_plain(value: Any) -> Any:
    match value:
        case Status():
            return value.value
        case datetime():
            return value.isoformat()
        case Blocker():
            return {"reason": value.reason, "on": value.on}
        case tuple():
            return [_to_plain(entry) for entry in value]  # pyright: ignore[reportUnknownVariableType]
        case Evidence():
            return {"text": value.text, "kind": value.kind}
        case Mapping():
            return dict(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        case _:
            return value


def _same(value: Any) -> Any:
    return value


def _time(value: Any) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def _blocker(value: Any) -> Blocker | None:
    return Blocker(value["reason"], value["on"]) if value else None


def _evidence(value: Any) -> tuple[Evidence, ...]:
    return tuple(Evidence(entry["text"], entry["kind"]) for entry in value)


_FROM_PLAIN = {
    **dict.fromkeys(_PLAIN, _same),
    **dict.fromkeys(_TIMES, _time),
    "status": Status,
    "notes": tuple,
    "blocker": _blocker,
    "aliases": dict,
    "evidence": _evidence,
}
