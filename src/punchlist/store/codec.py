"""Lists and events to bytes and back. A list is JSON, each item encoded once for as long as it does not change."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any
from zlib import crc32

import msgspec

from punchlist.core.records import item_data
from punchlist.core.todo import ListState, TodoItem, TodoList

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_HALF = 1 << 31
_LARGE = 3500
_STEP = 512

encode = msgspec.json.Encoder().encode
_decode_list = msgspec.json.Decoder(TodoList).decode
_decode_items = msgspec.json.Decoder(tuple[TodoItem, ...]).decode
_decode_data = msgspec.json.Decoder(dict[str, Any]).decode
decode_texts = msgspec.json.Decoder(tuple[str, ...]).decode

_values = attrgetter(*TodoItem.__slots__)


def _stored(field: Field[Any]) -> tuple[str, Any] | tuple[str, Any, Any]:
    if field.default is not MISSING:
        return field.name, Any, field.default
    if field.default_factory is not MISSING:
        return field.name, Any, msgspec.field(default_factory=field.default_factory)
    return field.name, Any


_Item = msgspec.defstruct("_Item", [_stored(field) for field in fields(TodoItem)], omit_defaults=True)
"""An item as it is stored: what holds its default is left out. Quicker to make and to encode than a mapping."""

Memo = dict[str, tuple[TodoItem, bytes]]
"""The last encoding of each item of one list, by id."""


def microseconds(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND


def moment(at: int) -> datetime:
    return _EPOCH + timedelta(microseconds=at)


def checksum(head: str, body: bytes, more: bytes | None = None) -> int:
    """A number that tells a damaged row from one that was written so; SQLite has none for its pages.

    It takes four bytes in a row, not six, because it is negative as often as not.
    """
    total = crc32(body, crc32(head.encode()))
    return (total if more is None else crc32(more, total)) - _HALF


def encode_list(todos: TodoList, memo: Memo) -> bytes:
    """The list as JSON; items that the memo knows are not encoded again.

    What is too large for one page of the file ends in blanks, so that it keeps its size when a status changes: then
    SQLite writes it in place, with two or three pages fewer to each commit.
    """
    rest: dict[str, Any] = {"revision": todos.revision, "plan_id": todos.plan_id, "next_id": todos.next_id}
    if todos.explanation is not None:
        rest["explanation"] = todos.explanation
    if todos.phases:
        rest["phases"] = todos.phases
    if todos.omitted:
        rest["omitted"] = [item_data(item) for item in todos.omitted]
    parts: list[bytes] = []
    for item in todos.items:
        known = memo.get(item.id)
        if known is None or known[0] is not item:
            memo[item.id] = known = (item, encode(_Item(*_values(item))))
        parts.append(known[1])
    if len(memo) > 2 * len(parts) + 16:
        memo.clear()
    body = b'{"items":[' + b",".join(parts) + b"]," + encode(rest)[1:]
    return body if len(body) < _LARGE else body.ljust(-(-len(body) // _STEP) * _STEP)


def decode_list(body: bytes | None) -> TodoList:
    return TodoList() if body is None else _decode_list(body)


def encode_shown(state: ListState) -> bytes | None:
    return None if state.shown is None else encode([item_data(item) for item in state.shown])


def decode_shown(body: bytes | None) -> tuple[TodoItem, ...] | None:
    return None if body is None else _decode_items(body)


def decode_data(body: bytes) -> dict[str, Any]:
    return _decode_data(body)
