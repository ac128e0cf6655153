"""What a store answers of itself, each in one read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from punchlist.core.events import Event
from punchlist.core.todo import TodoList
from punchlist.store.contract import AgentRow, ListRow, SessionRow
from punchlist.store.transaction import Rows

T = TypeVar("T")


class Reads:
    """Stands on `read`."""

    def read(self, what: Callable[[Rows], T]) -> T:
        raise NotImplementedError

    def agent(self, session: str, name: str) -> AgentRow | None:
        return self.read(lambda rows: rows.agent(session, name))

    def list_at(self, number: int, revision: int) -> TodoList | None:
        return self.read(lambda rows: rows.list_at(number, revision))

    def lists(self, *, project: str | None = None, session: str | None = None, limit: int = 20) -> Sequence[ListRow]:
        return self.read(lambda rows: rows.lists(project=project, session=session, limit=limit))

    def sessions(self, *, project: str | None = None, limit: int = 50) -> Sequence[SessionRow]:
        return self.read(lambda rows: rows.sessions(project=project, limit=limit))

    def events_after(self, after: int, limit: int = 1000) -> Sequence[Event]:
        return self.read(lambda rows: rows.events_after(after, limit))

    def last_events(self, limit: int) -> Sequence[Event]:
        return self.read(lambda rows: rows.last_events(limit))

    def last_seq(self) -> int:
        return self.read(lambda rows: rows.last_seq())
