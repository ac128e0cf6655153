"""Items as plain JSON values and back: what an event carries, and what a file or another process can hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from punchlist.core.todo import WORDS, Blocker, Evidence, Status, TodoItem

_PLAIN = ("content", "active_form", "phase_id", "phase", "priority", "parent", "created_by", "grade")
_TIMES = ("created_at", "started_at", "finished_at")
_DEFAULT = TodoItem(id="", content="")


def item_data(item: TodoItem) -> dict[str, Any]:
    """An item as JSON values, without the fields that hold their default."""
    return {"id": item.id, "content": item.content, **changed_fields(_DEFAULT, item)}


def item_from(data: Mapping[str, Any]) -> TodoItem:
    """The inverse of `item_data`. Fields of a later version are ignored."""
    return with_fields(TodoItem(id=data["id"], content=data["content"]), data)


_FIELDS = (*_PLAIN, *_TIMES, "status", "notes", "blocker", "aliases", "evidence")
_values = attrgetter(*_FIELDS)


def changed_fields(before: TodoItem, after: TodoItem) -> dict[str, Any]:
    """The fields in which two items differ, with the later value in JSON form."""
    return {
        name: _TO_PLAIN[name](new) if name in _TO_PLAIN and new is not None else new
        for name, old, new in zip(_FIELDS, _values(before), _values(after), strict=True)
        if new is not old and new != old
    }


def with_fields(item: TodoItem, fields: Mapping[str, Any]) -> TodoItem:
    """The item with these fields, given in JSON form."""
    return replace(item, **{name: _FROM_PLAIN[name](value) for name, value in fields.items() if name in _FROM_PLAIN})


def _from_evidence(value: tuple[Evidence, ...]) -> list[dict[str, str | None]]:
    return [{"text": proof.text, "kind": proof.kind} for proof in value]


def _from_blocker(value: Blocker) -> dict[str, str | None]:
    return {"reason": value.reason, "on": value.on}


def _same(value: Any) -> Any:
    return value


def _time(value: Any) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def _blocker(value: Any) -> Blocker | None:
    return Blocker(value["reason"], value["on"]) if value else None


def _evidence(value: Any) -> tuple[Evidence, ...]:
    return tuple(Evidence(entry["text"], entry["kind"]) for entry in value)


_TO_PLAIN: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_TIMES, datetime.isoformat),
    "status": WORDS.__getitem__,
    "notes": list,
    "blocker": _from_blocker,
    "aliases": dict,
    "evidence": _from_evidence,
}
_FROM_PLAIN: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_PLAIN, _same),
    **dict.fromkeys(_TIMES, _time),
    "status": Status,
    "notes": tuple,
    "blocker": _blocker,
    "aliases": dict,
    "evidence": _evidence,
}
