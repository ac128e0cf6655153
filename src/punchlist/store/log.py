"""The log: events in the order of their numbers. Those of one transaction are put off, and written together."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from punchlist.core.events import Draft, Event
from punchlist.store import codec
from punchlist.store.contract import AgentRow
from punchlist.store.parts import Parts
from punchlist.store.queries import queries, several
from punchlist.store.values import event_head, in_order

ReportRow = tuple[Any, ...]
"""A row of the log as `add_report` takes it: the number first, the hint last.

Its bytes are those of a `bytearray`: before anything else it is given, `sqlite3` looks for somebody to adapt it.
"""

_AT_ONCE = 25
_UNNUMBERED = frozenset({"list.confirmed", "list.refused"})


class LogRows(Parts):
    """Adds events, and reads them again."""

    connection: sqlite3.Connection
    _last_seq: int | None
    _late_events: list[tuple[Any, ...]]
    _late_reports: list[ReportRow]

    def flush(self) -> None:
        raise NotImplementedError

    def add_events(self, agent: AgentRow, drafts: Iterable[Draft], *, by: str, at: datetime) -> int:
        now, number, seq = codec.microseconds(at), agent.number, self._last_seq
        if seq is None:
            seq = self.last_seq()
        late = self._late_events  # only now: to look a number up may write what was put off
        for kind, data in drafts:
            seq += 1
            revision = None if kind in _UNNUMBERED else data.get("revision")
            body = codec.encode(data)
            total = codec.checksum(event_head(seq, now, kind, by, number, revision, 1), body)
            late.append((seq, now, kind, by, number, revision, total, body))
        self._added(seq)
        return seq

    def add_report(
        self, agent: AgentRow, kind: str, data: Mapping[str, Any], *, by: str, at: datetime, hint: bytes
    ) -> int:
        seq = (self.last_seq() if self._last_seq is None else self._last_seq) + 1
        now, number, body = codec.microseconds(at), agent.number, bytearray(codec.encode(data))
        total = codec.checksum(event_head(seq, now, kind, by, number, None, 1), body)
        self._late_reports.append((seq, now, kind, by, number, total, body, bytearray(codec.seal(hint))))
        self._added(seq)
        return seq

    def _added(self, seq: int) -> None:
        if not self._keeps:
            self.flush()
        else:
            self._last_seq = seq

    def add_task_event(self, draft: Draft, *, by: str, at: datetime, agent: int | None, place: tuple[int, int]) -> None:
        """An event about a task: `place` is its list and its id there."""
        seq = (self.last_seq() if self._last_seq is None else self._last_seq) + 1
        now, body = codec.microseconds(at), codec.encode(draft.data)
        total = codec.checksum(event_head(seq, now, draft.kind, by, agent, None, 1), body)
        self.run("add_task_event", (seq, now, draft.kind, by, agent, total, body, *place))
        if self._keeps:
            self._last_seq = seq

    def _write_reports(self) -> None:
        """Some at a time, which takes a third off."""
        reports, query, start = self._late_reports, queries()["add_report"], 0
        while start + _AT_ONCE <= len(reports):
            several_rows = chain.from_iterable(reports[start : start + _AT_ONCE])
            self.connection.execute(several(query, _AT_ONCE), tuple(several_rows))
            start += _AT_ONCE
        if start < len(reports):
            self.connection.executemany(query, reports[start:])
        reports.clear()

    def events_in_order(self, rows: list[Any]) -> Sequence[Event]:
        return in_order(0, rows)

    def events_after(self, after: int, limit: int = 1000) -> Sequence[Event]:
        return in_order(after, self.all("events_after", {"after": after, "limit": limit}))

    def last_events(self, limit: int) -> Sequence[Event]:
        return in_order(0, self.all("last_events", {"limit": limit})[::-1])

    def last_seq(self) -> int:
        return self.one("last_seq", ())[0]
