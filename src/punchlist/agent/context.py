"""One agent within one transaction: its row, its memory, the time, and whose name stands on its events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from punchlist.core.events import Draft, Event
from punchlist.detect.findings import Finding
from punchlist.store import AgentRow, Store, Transaction

_DEEPEST = 32
"""Generations of agents that are looked at: a loop among parents, by whatever damage, must not hang a report."""


class AgentContext:
    """Carries the memory from step to step; `save` writes it, once, before the transaction is committed."""

    __slots__ = ("_stored", "by", "memory", "now", "row", "tx")

    def __init__(self, tx: Transaction, row: AgentRow, now: datetime, by: str) -> None:
        self.tx = tx
        self.row = row
        self.now = now
        self.by = by
        self.load()

    def load(self) -> None:
        """Read the memory again, after others may have written it within this transaction."""
        self.memory = self._stored = self.tx.memory.load(self.row.number)

    def save(self) -> None:
        if self.memory is not self._stored:
            self.tx.memory.save(self.row.number, self.memory)
            self._stored = self.memory

    def remember(self, **changes: Any) -> None:
        self.memory = replace(self.memory, **changes)

    def add(self, *drafts: Draft) -> int:
        """Append events to the log; return the number of the last one."""
        return self.tx.add_events(self.row, drafts, by=self.by, at=self.now)

    def tell(self, findings: Iterable[Finding]) -> None:
        """Append the events of findings."""
        drafts = [Draft(one.kind, one.data()) for one in findings]
        if drafts:
            self.add(*drafts)

    def event(self, draft: Draft, by: str) -> Event:
        """Return a draft as an event, for detectors that look at events."""
        row = self.row
        return Event(0, self.now, draft.kind, by, row.project, row.session, row.name, draft.data)


def ancestors(tx: Transaction, row: AgentRow) -> Iterator[tuple[AgentRow, AgentRow]]:
    """Yield the agents that started this one, the nearest first, each with the child through which it did."""
    child = row
    for _ in range(_DEEPEST):
        name = None if child.parent is None else tx.memory.parent_of(child.number)
        parent = None if name is None else tx.agent(child.session, name)
        if parent is None:
            return
        yield parent, child
        child = parent


class LostReports:
    """Reports that could not be recorded, until one can be: the only thing of an agent that a process keeps."""

    def __init__(self) -> None:
        self._times: dict[tuple[str, str], list[datetime]] = {}

    def add(self, session: str, agent: str, at: datetime) -> None:
        self._times.setdefault((session, agent), []).append(at)

    def of(self, session: str, agent: str) -> Sequence[datetime]:
        """Return when reports of an agent were lost that the log does not tell of yet."""
        return self._times.get((session, agent), ())

    def forget(self, session: str, agent: str, count: int) -> None:
        del self._times.get((session, agent), [])[:count]


_lost: WeakKeyDictionary[Store, LostReports] = WeakKeyDictionary()


def lost_reports(store: Store) -> LostReports:
    """Return the reports that this process could not record in a store."""
    return _lost.setdefault(store, LostReports())
