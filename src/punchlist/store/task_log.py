"""What happened to tasks, what was answered about them, and events that nobody waited for yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from punchlist.core.events import Draft, Event
from punchlist.store import codec
from punchlist.store.events import append_events, in_order
from punchlist.store.faults import check_row
from punchlist.store.queries import Queries
from punchlist.store.rows import StoredCall
from punchlist.store.task_rows import TaskListRow, TaskRow


class TaskLog:
    """The rows beside the tasks themselves."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries

    def add_events(
        self, row: TaskRow, drafts: Iterable[Draft], *, by: str, at: datetime, agent: int | None = None
    ) -> None:
        append_events(self._queries, drafts, by=by, at=at, agent=agent, task=(row.list.number, int(row.task.id)))

    def history(self, where: TaskListRow, id: int) -> Sequence[Event]:
        return in_order(0, self._queries.all("events_of_task", {"list": where.number, "task": id}))

    def call(self, where: TaskListRow, call_id: str) -> StoredCall | None:
        row = self._queries.one("find_task_call", (where.number, call_id))
        if row is None:
            return None
        total, fingerprint, reply = row
        check_row(total, f"{where.number} {call_id}", reply, fingerprint)
        return StoredCall(fingerprint, reply)

    def save_call(self, where: TaskListRow, call_id: str, call: StoredCall, *, at: datetime) -> None:
        total = codec.checksum(f"{where.number} {call_id}", call.reply, call.fingerprint)
        values = (where.number, call_id, codec.microseconds(at), total, call.fingerprint, call.reply)
        self._queries.run("add_task_call", values)

    def keep_signal(self, where: TaskListRow, topic: str, correlation_id: str, payload: Any, *, at: datetime) -> None:
        body = codec.encode(payload)
        values = {"list": where.number, "topic": topic, "correlation_id": correlation_id}
        total = codec.checksum(f"{where.number} {topic} {correlation_id}", body)
        self._queries.run("add_signal", {**values, "at": codec.microseconds(at), "sum": total, "payload": body})

    def take_signal(self, where: TaskListRow, topic: str, correlation_id: str) -> tuple[Any] | None:
        values = {"list": where.number, "topic": topic, "correlation_id": correlation_id}
        row = self._queries.one("find_signal", values)
        if row is None:
            return None
        number, total, payload = row
        check_row(total, f"{where.number} {topic} {correlation_id}", payload)
        self._queries.run("delete_signal", {"number": number})
        return (msgspec.json.decode(payload),)

    def reading(self, where: TaskListRow, source: str) -> tuple[int, bytes] | None:
        row = self._queries.one("find_reading", {"list": where.number, "source": source})
        if row is None:
            return None
        place, total, mark = row
        check_row(total, f"{where.number} {source} {place}", mark)
        return place, mark

    def save_reading(self, where: TaskListRow, source: str, place: int, mark: bytes) -> None:
        total = codec.checksum(f"{where.number} {source} {place}", mark)
        values = {"list": where.number, "source": source, "place": place, "sum": total, "mark": mark}
        self._queries.run("save_reading", values)

    def readings(self, where: TaskListRow, source: str) -> dict[str, tuple[int, bytes]]:
        values = {"list": where.number, "first": f"{source}/", "last": f"{source}0"}  # "0" comes next after "/"
        found: dict[str, tuple[int, bytes]] = {}
        for name, place, total, mark in self._queries.all("readings_between", values):
            check_row(total, f"{where.number} {name} {place}", mark)
            found[name] = (place, mark)
        return found

    def delete_reading(self, where: TaskListRow, source: str) -> None:
        self._queries.run("delete_reading", {"list": where.number, "source": source})
