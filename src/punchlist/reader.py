"""Read a board: its lists, sessions and events, and the subagents at work. `Board` adds everything else.

Commands that only show these open a reader: it loads a third fewer modules than a board.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from time import monotonic, sleep
from types import TracebackType
from typing import Any, Self, TypeVar

from punchlist.core.events import Event, parse_cursor
from punchlist.core.overview import WATCHED, PersonWait
from punchlist.errors import StoreClosed
from punchlist.settings.environment import Folder, project_of
from punchlist.settings.table import read_setting
from punchlist.store import Durability, ListRow, SessionRow, Store, Transaction, open_store
from punchlist.store.current_work import load_waits, read_current_work
from punchlist.store.records import Clock, SteadyClock, system_clock
from punchlist.store.subagents import ChildRow
from punchlist_statusline import find_process

Helpers = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Names of unfinished subagents, by the name of the parent and the id of the item they were started for."""

T = TypeVar("T")
_PAGE = 1000
_BREATH = 0.005
"""Seconds between two reads of a follower: on a busy board it takes several events at a time."""


class BoardReader:
    """A board that is only read. Safe to use from many threads; close it, or use it as a context."""

    is_remote = False
    """It is on a server: what is more than one of its methods returns is loaded there, by `load`."""

    def __init__(self, store: Store, *, clock: Clock = system_clock) -> None:
        self.store = store
        self.clock: Clock = SteadyClock() if clock is system_clock else SteadyClock(clock, steady=None)

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str] | None = None,
        *,
        durability: Durability | None = None,
        clock: Clock = system_clock,
    ) -> Self:
        """Open the board of that name: `memory:`, a path, `sqlite:///…` or `postgresql://…`; by default
        `$PUNCHLIST_DB`, else the user's.

        `durability` is `full` (a write survives power loss) or `normal` (it survives a crash of the program);
        by default `$PUNCHLIST_DURABILITY`, else `full`.
        """
        return cls(open_store(url, durability=read_setting("durability", durability)), clock=clock)

    def load(self, name: str, kind: type[T], **query: object) -> T:
        """Return a record of a board on a server."""
        raise NotImplementedError

    def send(self, path: str, body: object) -> Any:
        """Send a change to a board on a server; return the reply."""
        raise NotImplementedError

    def name_project(self, folder: Folder) -> str | None:
        """Return the key of a folder's project on this board; None for every project."""
        return None if folder is None else project_of(folder)

    def now(self) -> datetime:
        """Return the time, which never goes back."""
        return self.clock()

    # Events.

    def events(self, after: int | str = 0) -> Iterator[Event]:
        """Yield all events after a cursor, oldest first, up to now."""
        cursor = parse_cursor(after)
        while page := self.store.events_after(cursor, _PAGE):
            yield from page
            if len(page) < _PAGE:
                return
            cursor = page[-1].seq

    def follow(self, after: int | str = 0, *, timeout: float | None = None) -> Iterator[Event]:
        """Yield all events after a cursor, and then each new one as it happens, in whichever process.

        Ends when the board is closed, or after `timeout` seconds without an event. If a crash of PostgreSQL took back
        events that were yielded, it goes on from the last one that is left: numbers come again.
        """
        cursor = parse_cursor(after)
        try:
            while True:
                looked = monotonic()
                event = None
                for event in self.events(cursor):
                    yield event
                    cursor = event.seq
                if event is None:
                    cursor = min(cursor, self.store.last_seq())
                if not self.store.wait(cursor, timeout):
                    return
                sleep(max(0.0, looked + _BREATH - monotonic()))
        except StoreClosed:
            return

    # Lists and sessions.

    def lists(self, *, project: Folder = None, session: str | None = None, limit: int = 20) -> Sequence[ListRow]:
        """Return lists that are not empty, the latest first; with a session, those of all its agents."""
        where = None if project is None else project_of(project)
        return self.store.lists(project=where, session=session, limit=limit)

    def work(self, *, project: Folder = None, session: str | None = None, limit: int = 20) -> Sequence[ListRow]:
        """Return the agents that have items or tasks, the latest first; with a session, those of it.

        The tasks are those of the session's own list, and others that the agent began and that are open.
        """
        where = None if project is None else project_of(project)
        return self.store.read(lambda tx: read_current_work(tx, project=where, session=session, limit=limit))

    def sessions(self, *, project: Folder = None, limit: int = 50) -> Sequence[SessionRow]:
        """Return the sessions of a project, or of all of them, the latest first."""
        where = None if project is None else project_of(project)
        return self.store.read(lambda tx: tx.sessions(project=where, limit=limit))

    def task_lists(self) -> dict[str, int]:
        """Return the names of the lists of tasks, and how many tasks each ever had."""
        return {row.name: count for row, count in self.store.read(lambda tx: tx.tasks.lists())}

    def waits(self, *, project: Folder = None, session: str | None = None) -> Sequence[PersonWait]:
        """Return what waits on a person, what waits longest first: questions, plans, blocked items, tasks and flows."""
        now, where = self.now(), None if project is None else project_of(project)
        return self.store.read(lambda tx: load_waits(tx, now, project=where, session=session))

    def helpers(self, session: str) -> Helpers:
        """Return the subagents at work on the items of a session's agents: `{agent: {item id: (subagent, …)}}`."""
        now = self.now()

        def is_at_work(tx: Transaction, child: ChildRow) -> bool:
            memory = tx.subagents.load_stall(child.number)
            state = memory.stall
            if state is None or state.over or now - state.alive_at > WATCHED:
                return False
            return find_process(memory.process) != "ended"

        def find(tx: Transaction) -> Helpers:
            busy = {child.number: child for child in tx.subagents.of_session(session) if is_at_work(tx, child)}
            parents = dict.fromkeys(child.parent for child in busy.values())
            return {name: found for name in parents if (found := _find_helped_items(tx, session, name, busy))}

        return self.store.read(find)

    # Closing.

    def close(self) -> None:
        """Close the board; followers end. A call after that raises `StoreClosed`."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _find_helped_items(
    tx: Transaction, session: str, name: str, busy: Mapping[int, ChildRow]
) -> dict[str, tuple[str, ...]]:
    """Return the open items of one agent's current list, with the agents at work on them."""
    row = tx.agent(session, name)
    if row is None:
        return {}
    todos, found = row.state.todos, dict[str, tuple[str, ...]]()
    for child in tx.subagents.of_agent(row.number):
        plan, _, number = tx.subagents.started_for(child).rpartition("/")
        item = todos.find(number) if plan == todos.plan_id else None
        if item is not None and item.is_open and child in busy:
            found[item.id] = (*found.get(item.id, ()), busy[child].name)
    return found
