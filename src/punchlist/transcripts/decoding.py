"""Decode records into plain values, and back. Nothing here raises for bad input."""

import json
from datetime import UTC, datetime
from typing import Any, cast

import msgspec

from punchlist.text import repair

LARGEST = 16 * 1024 * 1024
"""Bytes of the longest line that is decoded; no list is that long."""

_BROKEN = (ValueError, OverflowError, RecursionError)
_LONGEST_ID = 200
_NOTICE = "<"
"""First character of what the host says in the user's name: a reminder, a notification, the output of a command."""


def decode(body: bytes | str) -> Any:
    """Return the value of a JSON text, None if it is broken. Lone surrogates pass, since JavaScript writes them."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, *_BROKEN):
        pass
    try:
        return json.loads(body)
    except _BROKEN:
        return None


def encode(value: Any) -> bytes | None:
    """Return a value as JSON in one line, None if it has no such form. Lone surrogates are escaped."""
    try:
        return msgspec.json.encode(value)
    except (TypeError, *_BROKEN):
        pass
    try:
        return json.dumps(value).encode()
    except (TypeError, *_BROKEN):
        return None


def decode_args(given: Any) -> Any:
    """Return the arguments of a call, which some hosts keep as JSON text."""
    found = decode(given) if isinstance(given, str) else given
    return given if found is None else found


def record(body: bytes | str) -> dict[str, Any] | None:
    """Return the object in a line; None if the line is broken or holds something else."""
    return fields(decode(body))


def fields(value: Any) -> dict[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def object_at(value: Any, *keys: str) -> dict[str, Any]:
    """Return the object at these keys, one inside the other, else an empty one."""
    for key in keys:
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return fields(value) or {}


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the entries of a list that are objects."""
    if not isinstance(value, list):
        return []
    return [cast("dict[str, Any]", entry) for entry in cast("list[Any]", value) if isinstance(entry, dict)]


def name(value: Any) -> str | None:
    """Return a printable id or path; None if the value could not name anything."""
    if not isinstance(value, str) or not value.strip():
        return None
    text = repair(value)
    return text if text.isprintable() and len(text) <= _LONGEST_ID else None


def call_key(value: Any) -> str | None:
    """Return the id of a call, which may be any text."""
    return repair(value) if isinstance(value, str) else None


def path(value: Any) -> str | None:
    """Return a folder as a transcript gives it."""
    return repair(value) if isinstance(value, str) and value and "\0" not in value else None


def text_of(value: Any) -> str:
    """Return the text of a message's content: a string, or the text parts of a list."""
    if isinstance(value, str):
        return value
    return "\n".join(part["text"] for part in objects(value) if isinstance(part.get("text"), str))


def is_said_by_host(text: str) -> bool:
    """True for a message in the user's name that the user did not write, or that is empty."""
    return not text.strip() or text.lstrip().startswith(_NOTICE)


def moment(value: Any) -> datetime | None:
    """Return a time given in ISO form, UTC by default, or as seconds or milliseconds since 1970."""
    try:
        if isinstance(value, str) and len(value) <= 40:
            at = datetime.fromisoformat(value)
            return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if abs(value) > 1e11 else value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None
