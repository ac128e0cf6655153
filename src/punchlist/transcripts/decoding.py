"""From bytes to plain values, whatever they hold. Nothing here raises for bad input."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, cast

import msgspec

from punchlist.text import repair

LARGEST = 16 * 1024 * 1024
"""Bytes of the longest line that is decoded; no list is that long."""

_BROKEN = (ValueError, RecursionError)
_LONGEST_ID = 200


def decode(body: bytes | str) -> Any:
    """The value of a JSON text; None if it is none. Lone surrogates pass, as in JavaScript, which writes them."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, *_BROKEN):
        pass
    try:
        return json.loads(body)
    except _BROKEN:
        return None


def record(body: bytes | str) -> dict[str, Any] | None:
    """The object in a line; None if the line is broken or holds something else."""
    return fields(decode(body))


def fields(value: Any) -> dict[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def object_at(value: Any, *keys: str) -> dict[str, Any]:
    """The object that is reached by these keys, one inside the other; an empty one if there is none."""
    for key in keys:
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return fields(value) or {}


def objects(value: Any) -> list[dict[str, Any]]:
    """Those entries of a list that are objects."""
    if not isinstance(value, list):
        return []
    return [cast("dict[str, Any]", entry) for entry in cast("list[Any]", value) if isinstance(entry, dict)]


def name(value: Any) -> str | None:
    """An id or a path as a transcript gives it; None if it could not name anything."""
    if not isinstance(value, str) or not value.strip():
        return None
    text = repair(value)
    return text if text.isprintable() and len(text) <= _LONGEST_ID else None


def path(value: Any) -> str | None:
    """A folder as a transcript gives it."""
    return repair(value) if isinstance(value, str) and value and "\0" not in value else None


def text_of(value: Any) -> str:
    """The text of a message's content: a string, or the text parts of a list."""
    if isinstance(value, str):
        return value
    return "\n".join(part["text"] for part in objects(value) if isinstance(part.get("text"), str))


def moment(value: Any) -> datetime | None:
    """A time in ISO form, or as seconds or milliseconds since 1970; without a zone it is taken for UTC."""
    try:
        if isinstance(value, str) and len(value) <= 40:
            at = datetime.fromisoformat(value)
            return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if abs(value) > 1e11 else value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None
