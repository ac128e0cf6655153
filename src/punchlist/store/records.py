"""Encode values as the bytes of a row and decode them: JSON with a checksum. A mismatch raises `RowDamaged`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar
from zlib import crc32

import msgspec

from punchlist.core.todo import ListState, TodoItem, TodoList

_UNREADABLE_ROW = (TypeError, ValueError, LookupError, ArithmeticError, msgspec.MsgspecError, StopIteration)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HALF = 1 << 31

T = TypeVar("T")

encode = msgspec.json.Encoder().encode
_decode_list = msgspec.json.Decoder(TodoList).decode
_decode_items = msgspec.json.Decoder(tuple[TodoItem, ...]).decode
_decode_data = msgspec.json.Decoder(dict[str, Any]).decode
decode_texts = msgspec.json.Decoder(tuple[str, ...]).decode


def microseconds(at: datetime) -> int:
    since = at - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def moment(at: int) -> datetime:
    return _EPOCH + timedelta(microseconds=at)


def checksum(head: str, body: bytes | bytearray, more: bytes | None = None) -> int:
    """Return a number that tells a damaged row from one that was written so; SQLite has none for its pages.

    It takes four bytes in a row, not six, because it is negative as often as not.
    """
    total = crc32(body, crc32(head.encode()))
    return (total if more is None else crc32(more, total)) - _HALF


class RowDamaged(sqlite3.DatabaseError):
    """A row that SQLite could read does not hold what was written to it."""


def readable(convert: Callable[[Any], T], row: Any) -> T:
    """Convert a row. Whatever error that raises, the row is not what was written."""
    try:
        return convert(row)
    except _UNREADABLE_ROW as error:
        raise RowDamaged(f"a row is not readable: {type(error).__name__}") from error


def check_row(total: int | None, head: str, body: bytes, more: bytes | None = None) -> None:
    """Raise `RowDamaged` unless a row agrees with its checksum, if it has one."""
    if total is not None and checksum(head, body, more) != total:
        raise RowDamaged("a row is not what was written")


def encode_list(todos: TodoList) -> bytes:
    body: dict[str, Any] = {"items": todos.items}
    body |= {"revision": todos.revision, "plan_id": todos.plan_id, "next_id": todos.next_id}
    if todos.explanation is not None:
        body["explanation"] = todos.explanation
    if todos.phases:
        body["phases"] = todos.phases
    if todos.omitted:
        body["omitted"] = todos.omitted
    return encode(body)


def decode_list(body: bytes) -> TodoList:
    return _decode_list(body)


def encode_shown(state: ListState) -> bytes | None:
    return None if state.shown is None else encode(state.shown)


def decode_shown(body: bytes | None) -> tuple[TodoItem, ...] | None:
    return None if body is None else _decode_items(body)


def decode_data(body: bytes) -> dict[str, Any]:
    return _decode_data(body)


class Record(Generic[T]):
    """Writes and reads records of one type. `head` is the row's key, so that no row passes for another."""

    def __init__(self, kind: type[T]) -> None:
        self._decode = msgspec.json.Decoder(kind).decode

    def encode(self, head: str, value: T) -> tuple[int, bytes]:
        """Return the checksum and the body of a row."""
        body = encode(value)
        return checksum(head, body), body

    def decode(self, head: str, total: int, body: bytes) -> T:
        if checksum(head, body) != total:
            raise RowDamaged("a row is not what was written")
        return readable(self._decode, body)


class SealedRecord(Generic[T]):
    """Writes and reads records of one type as MessagePack with a checksum of four bytes after it.

    `problem` is the error about a record that was changed.
    """

    def __init__(self, kind: type[T], problem: str) -> None:
        self._decode = msgspec.msgpack.Decoder(kind).decode
        self._problem = problem

    def encode(self, value: T) -> bytes:
        body = msgspec.msgpack.encode(value)
        return body + crc32(body).to_bytes(4)

    def decode(self, sealed: Any) -> T:
        try:
            if crc32(sealed[:-4]).to_bytes(4) == sealed[-4:]:
                return self._decode(sealed[:-4])
        except (TypeError, ValueError, msgspec.MsgspecError) as error:
            raise RowDamaged(self._problem) from error
        raise RowDamaged(self._problem)
