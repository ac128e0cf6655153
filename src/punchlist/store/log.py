"""The log: events in the order of their numbers. Those of one transaction are put off, and written together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from punchlist.core.events import Draft, Event
from punchlist.store import codec
from punchlist.store.contract import AgentRow
from punchlist.store.parts import Parts
from punchlist.store.values import event_head, in_order

EventRow = tuple[Any, ...]
"""A row of the log as `add_event` takes it: the number first, the hint last."""

_UNNUMBERED = frozenset({"list.confirmed", "list.refused"})


class LogRows(Parts):
    """Adds events, and reads them again."""

    _last_seq: int | None
    _late_events: list[EventRow]

    def flush(self) -> None:
        raise NotImplementedError

    def add_events(
        self, agent: AgentRow, drafts: Iterable[Draft], *, by: str, at: datetime, hint: bytes | None = None
    ) -> int:
        now, number, seq = codec.microseconds(at), agent.number, self._last_seq
        if seq is None:
            seq = self.last_seq()
        if hint is not None:
            hint = codec.sealed(hint)
        late = self._late_events  # only now: to look a number up may write what was put off
        for kind, data in drafts:
            seq += 1
            revision = None if kind in _UNNUMBERED else data.get("revision")
            body = codec.encode(data)
            total = codec.checksum(event_head(seq, now, kind, by, number, revision, 1), body)
            late.append((seq, now, kind, by, number, revision, total, body, hint))
            hint = None
        if not self._keeps:
            self.flush()
        else:
            self._last_seq = seq
        return seq

    def add_task_event(self, draft: Draft, *, by: str, at: datetime, agent: int | None, place: tuple[int, int]) -> None:
        """An event about a task: `place` is its list and its id there."""
        seq = (self.last_seq() if self._last_seq is None else self._last_seq) + 1
        now, body = codec.microseconds(at), codec.encode(draft.data)
        total = codec.checksum(event_head(seq, now, draft.kind, by, agent, None, 1), body)
        self.run("add_task_event", (seq, now, draft.kind, by, agent, total, body, *place))
        if self._keeps:
            self._last_seq = seq

    def drawn(self) -> list[EventRow] | None:
        """The events that were put off, which they are no longer then; None if one of them has no hint."""
        events = self._late_events
        if not all([event[-1] for event in events]):  # noqa: C419 - quicker than a generator
            return None
        self._late_events = []
        return events

    def put_back(self, events: list[EventRow]) -> None:
        """Events that were just drawn, and cannot wait after all."""
        self._late_events = events

    def put_in(self, events: Sequence[EventRow]) -> None:
        """Events that were drawn before: numbered anew if the numbers they had are no longer theirs."""
        if self._last_seq is None:
            last = self.last_seq()
            events = [_numbered(event, seq) for seq, event in enumerate(events, last + 1)]
            self._last_seq = last + len(events)
        self._late_events = [*events, *self._late_events]

    def events_in_order(self, rows: list[Any]) -> Sequence[Event]:
        return in_order(0, rows)

    def events_after(self, after: int, limit: int = 1000) -> Sequence[Event]:
        return in_order(after, self.all("events_after", {"after": after, "limit": limit}))

    def last_events(self, limit: int) -> Sequence[Event]:
        return in_order(0, self.all("last_events", {"limit": limit})[::-1])

    def last_seq(self) -> int:
        return self.one("last_seq", ())[0]


def _numbered(event: EventRow, seq: int) -> EventRow:
    _, now, kind, by, number, revision, _, body, hint = event
    return (
        seq,
        now,
        kind,
        by,
        number,
        revision,
        codec.checksum(event_head(seq, now, kind, by, number, revision, 1), body),
        body,
        hint,
    )
