"""From rows to values. Whatever goes wrong here, the row is not what was written."""

from __future__ import annotations

from typing import Any

from punchlist.core.events import Event, fold
from punchlist.core.todo import TodoList
from punchlist.store import codec, lists
from punchlist.store.contract import ListRow, SessionRow
from punchlist.store.faults import RowDamaged, check_row, readable
from punchlist.store.lists import Columns, whole_head


def event_head(seq: int, at: int, kind: str, by: str, number: int | None, revision: int | None, version: int) -> str:
    return f"{seq} {at} {number} {revision} {version} {kind} {by}"


def list_row(row: Any) -> ListRow:
    number, session, name, parent, label, project, mode, updated, *stored = row
    todos = lists.read(Columns(number, name, *stored)).todos
    return ListRow(number, session, name, parent, label, project, mode, codec.moment(updated), todos)


def session_row(row: Any) -> SessionRow:
    name, project, at, agents, last = row
    return SessionRow(name, project, codec.moment(at), agents, None if last is None else codec.moment(last))


def _event(row: Any) -> Event:
    seq, at, kind, by, number, revision, version, total, data, project, session, agent = row
    check_row(total, event_head(seq, at, kind, by, number, revision, version), data)
    return Event(seq, codec.moment(at), kind, by, project, session, agent, codec.decode_data(data), version)


def in_order(after: int, rows: list[Any]) -> list[Event]:
    """The events. Numbers that do not rise, as where a damaged page leads back, would go round for ever."""
    events = [readable(_event, row) for row in rows]
    for event in events:
        if event.seq <= after:
            raise RowDamaged("the events are out of order")
        after = event.seq
    return events


def folded(todos: TodoList, row: Any) -> TodoList:
    seq, at, kind, by, number, revision, version, total, data = row
    check_row(total, event_head(seq, at, kind, by, number, revision, version), data)
    return fold(todos, kind, codec.decode_data(data))


def snapshot(number: int, row: Any) -> tuple[int, TodoList]:
    revision, total, body = row
    check_row(total, whole_head(number, revision), body)
    return revision, codec.decode_list(body)
