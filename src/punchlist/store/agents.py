"""Encode and decode the rows of agents, their lists and sessions.

A row holds a list as it was at some revision, and the changes after that. So a write stores only its changes, and a
reader still needs only one row.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec

from punchlist.core.events import Draft, fold
from punchlist.core.todo import ListState, TodoList
from punchlist.store import records
from punchlist.store.records import RowDamaged, check_row

Durability = Literal["full", "normal"]

SNAPSHOT_EVERY = 50
"""A past revision is at most this many changes away from a stored list."""

_LONGEST = 2000
"""Bytes of changes after a whole list; with more, it is stored whole again. They fit into a page with their row."""

_encode_changes = msgspec.json.Encoder().encode_lines
_decode_changes = msgspec.json.Decoder(tuple[str, dict[str, Any]]).decode_lines


class AgentRow(NamedTuple):
    """An agent as stored, with its list. `number` is the store's own key."""

    number: int
    session: str
    name: str
    parent: int | None
    label: str | None
    project: str
    mode: str
    recent: int
    unseen: int
    state: ListState


class ListRow(NamedTuple):
    """An agent and its list, as a surface shows them."""

    number: int
    session: str
    agent: str
    parent: int | None
    label: str | None
    project: str
    mode: str
    updated_at: datetime
    todos: TodoList


class SessionRow(NamedTuple):
    id: str
    project: str
    created_at: datetime
    agents: int
    updated_at: datetime | None


class StoredCall(NamedTuple):
    fingerprint: bytes
    reply: bytes


class LastWrite(NamedTuple):
    """A write of a list by its own agent: when it was made there, and by which call if it came from a transcript."""

    at: datetime
    call_id: str | None = None


class Columns(NamedTuple):
    """The columns of a row that hold its list."""

    number: int
    name: str
    revision: int
    base: int
    """The revision of `whole`."""
    sum: int | None
    since: bytes | None
    """The changes after `whole`."""
    shown: bytes | None
    whole_sum: int | None
    whole: bytes | None


def read_list(columns: Columns) -> TodoList:
    """Return the list in these columns."""
    number, name, revision, base, total, since, shown, whole_sum, whole = columns
    check_row(total, row_head(number, name, revision, base), since or b"", shown)
    todos = TodoList()
    if whole is not None:
        check_row(whole_sum, whole_head(number, base), whole)
        todos = records.decode_list(whole)
    if todos.revision != base:
        raise RowDamaged("a list is not the one that its changes belong to")
    for kind, data in _decode_changes(since) if since else ():
        todos = fold(todos, kind, data)
    if todos.revision != revision:
        raise RowDamaged("a list is not at the revision that its row says")
    return todos


def append_changes(since: bytes | None, events: Iterable[Draft], revision: int) -> bytes | None:
    """Return the changes with these events after them; None if the list has to be stored whole."""
    new = _encode_changes(events)
    after = new if since is None else since + new
    if not new or len(after) > _LONGEST or revision % SNAPSHOT_EVERY == 0:
        return None
    return after


def row_head(number: int, name: str, revision: int, base: int) -> str:
    return f"{number} {revision} {base} {name}"


def whole_head(number: int, revision: int) -> str:
    return f"{number} {revision}"


def agent_row(row: Any) -> AgentRow:
    number, session, name, parent, label, project, mode, recent, unseen, *stored = row
    columns = Columns(number, name, *stored)
    state = ListState(read_list(columns), records.decode_shown(columns.shown))
    return AgentRow(number, session, name, parent, label, project, mode, recent, unseen, state)


def list_row(row: Any) -> ListRow:
    number, session, name, parent, label, project, mode, updated, *stored = row
    todos = read_list(Columns(number, name, *stored))
    return ListRow(number, session, name, parent, label, project, mode, records.moment(updated), todos)


def session_row(row: Any) -> SessionRow:
    name, project, at, agents, last = row
    return SessionRow(name, project, records.moment(at), agents, None if last is None else records.moment(last))
