"""Lists and events to bytes and back. A list is JSON, each item encoded once for as long as it does not change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zlib import crc32

import msgspec

from punchlist.core.records import item_data
from punchlist.core.todo import ListState, TodoItem, TodoList

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

encode = msgspec.json.Encoder().encode
_decode_list = msgspec.json.Decoder(TodoList).decode
_decode_items = msgspec.json.Decoder(tuple[TodoItem, ...]).decode
_decode_data = msgspec.json.Decoder(dict[str, Any]).decode

Memo = dict[str, tuple[TodoItem, bytes]]
"""The last encoding of each item of one list, by id."""


def microseconds(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND


def moment(at: int) -> datetime:
    return _EPOCH + timedelta(microseconds=at)


def checksum(head: str, body: bytes, more: bytes | None = None) -> int:
    """A number that tells a damaged row from one that was written so; SQLite has none for its pages."""
    total = crc32(body, crc32(head.encode()))
    return total if more is None else crc32(more, total)


def encode_list(todos: TodoList, memo: Memo) -> bytes:
    """The list as JSON; items that the memo knows are not encoded again."""
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
            memo[item.id] = known = (item, encode(item_data(item)))
        parts.append(known[1])
    if len(memo) > 2 * len(parts) + 16:
        memo.clear()
    return b'{"items":[' + b",".join(parts) + b"]," + encode(rest)[1:]


def decode_list(body: bytes | None) -> TodoList:
    return TodoList() if body is None else _decode_list(body)


def encode_shown(state: ListState) -> bytes | None:
    return None if state.shown is None else encode([item_data(item) for item in state.shown])


def decode_shown(body: bytes | None) -> tuple[TodoItem, ...] | None:
    return None if body is None else _decode_items(body)


def decode_data(body: bytes) -> dict[str, Any]:
    return _decode_data(body)
