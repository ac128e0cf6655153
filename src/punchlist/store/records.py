"""Read and write rows: the named queries of `sql/`, and the encoding of values with a checksum.

A mismatch with the checksum raises `RowDamaged`.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from zlib import crc32

import msgspec

from punchlist.core.task import Task
from punchlist.core.todo import ListState, TodoItem, TodoList

if TYPE_CHECKING:
    from punchlist.store.agents import UnitOfWork

_UNREADABLE_ROW = (TypeError, ValueError, LookupError, ArithmeticError, msgspec.MsgspecError, StopIteration)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HALF = 1 << 31

T = TypeVar("T")

encode = msgspec.json.Encoder().encode
_decode_list = msgspec.json.Decoder(TodoList).decode
_decode_items = msgspec.json.Decoder(tuple[TodoItem, ...]).decode
_decode_data = msgspec.json.Decoder(dict[str, Any]).decode
decode_texts = msgspec.json.Decoder(tuple[str, ...]).decode

NO_LIMIT = 2**62
"""More rows than any statement finds. PostgreSQL takes no `LIMIT -1`."""


def microseconds(at: datetime) -> int:
    since = at - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def moment(at: int) -> datetime:
    return _EPOCH + timedelta(microseconds=at)


Clock = Callable[[], datetime]


def system_clock() -> datetime:
    return datetime.now(UTC)


class SteadyClock:
    """A clock that never goes back: it continues at the pace of `steady` when the clock that it reads is set back.

    Otherwise time would stand still until that clock has caught up, with leases that never end, or an event would seem
    to happen before its cause. Without `steady` it does stand still. A clock that is set forward is believed.
    """

    def __init__(self, wall: Clock = system_clock, steady: Callable[[], float] | None = monotonic) -> None:
        self._wall = wall
        self._steady = steady
        self._latest = datetime.min.replace(tzinfo=UTC)
        self._at = 0.0

    def __call__(self) -> datetime:
        said = self._wall()
        at = 0.0 if self._steady is None else self._steady()
        if said < self._latest:
            said = self._latest + timedelta(seconds=max(0.0, at - self._at))
        self._latest, self._at = said, at
        return said


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


# Lists and sessions as surfaces show them, and answered calls.


class ListRow(NamedTuple):
    """An agent and its list, as a surface shows them. `tasks` are read with its current work alone."""

    number: int
    session: str
    agent: str
    parent: int | None
    label: str | None
    project: str
    mode: str
    updated_at: datetime
    todos: TodoList
    tasks: tuple[Task, ...] = ()


class SessionRow(NamedTuple):
    """A session, with the number of its agents and its last change. `state` is red, unchecked, green or idle."""

    id: str
    project: str
    created_at: datetime
    agents: int
    updated_at: datetime | None
    state: str = "idle"


class StoredCall(msgspec.Struct, frozen=True):
    fingerprint: bytes
    reply: bytes


class LastWrite(msgspec.Struct, frozen=True):
    """A write of a list by its own agent: when it was made there, and by which call if it came from a transcript."""

    at: datetime
    call_id: str | None = None


def session_row(row: Any) -> SessionRow:
    name, project, at, agents, last, state = row
    return SessionRow(name, project, moment(at), agents, None if last is None else moment(last), state)


# Named queries, and the schema of `migrations/`.

_FOLDER = os.path.dirname(__file__)
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


class Queries:
    """Named queries on one connection. All rows of the store are read and written through these three methods.

    Another engine needs another class of this kind and its own dialect of the SQL files; the repositories on top stay.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._sql = queries()
        self.watched = False
        """Set to True where the events of a transaction are read from an agent's log: the agent is not heard of."""

    def _execute(self, name: str, values: Any) -> sqlite3.Cursor:
        try:
            return self.connection.execute(self._sql[name], values)
        except UnicodeDecodeError as error:  # in SQLite's own message about the schema, which quotes it
            raise RowDamaged("the schema is not readable") from error

    def one(self, name: str, values: Any = ()) -> Any:
        """Return the first row that a named query finds, or None."""
        return self._execute(name, values).fetchone()

    def all(self, name: str, values: Any = ()) -> list[Any]:
        """Return all rows that a named query finds."""
        return self._execute(name, values).fetchall()

    def run(self, name: str, values: Any = ()) -> int:
        """Run a named statement; return how many rows it changed."""
        return self._execute(name, values).rowcount


class Rows:
    """Base of the repositories: each reads and writes the rows of one thing, within one transaction."""

    def __init__(self, rows: UnitOfWork) -> None:
        self._rows = rows


@cache
def queries() -> dict[str, str]:
    """Read each query of the SQL files, by its name and without its comments."""
    found: dict[str, str] = {}
    for text in _texts("sql"):
        _, *parts = _NAME.split(text)
        for name, body in zip(parts[::2], parts[1::2], strict=True):
            lines = [line for line in body.splitlines() if line and not line.startswith("--")]
            found[name] = "\n".join(lines).rstrip(";")
    return found


@cache
def migrations() -> tuple[str, ...]:
    """Return the scripts that lead from an empty file to the present schema, in order."""
    return tuple(_texts("migrations"))


def _texts(folder: str) -> list[str]:
    where = os.path.join(_FOLDER, folder)
    texts: list[str] = []
    for name in sorted(os.listdir(where)):
        if name.endswith(".sql"):
            with open(os.path.join(where, name), encoding="utf-8") as file:
                texts.append(file.read())
    return texts


def statements(script: str) -> list[str]:
    """Split a script into its statements. A semicolon ends one only at the end of a line."""
    return [part for part in (piece.strip() for piece in re.split(r";\s*$", script, flags=re.MULTILINE)) if part]
