"""Reading a list of tasks. What has come due meanwhile is written first, so nothing needs a poller."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from punchlist.core.events import Event
from punchlist.core.task import Task
from punchlist.errors import TaskUnknown
from punchlist.store import Transaction
from punchlist.store.task_rows import TaskListRow, TaskRow
from punchlist.tasks.change import number_of
from punchlist.tasks.fields import list_name, status_of
from punchlist.tasks.work import Work
from punchlist.tasks.worked import with_list
from punchlist.text import repair

if TYPE_CHECKING:
    from punchlist.agent.handle import Handle
    from punchlist.board import Board

T = TypeVar("T")


class TaskGraph(Struct, frozen=True):
    """Tasks, and the edges between them as pairs: a blocker and who waits for it."""

    tasks: tuple[Task, ...]
    edges: tuple[tuple[str, str], ...]


class Looking:
    """What a handle knows of its list, and how it reads it."""

    def __init__(
        self, board: Board, name: str, *, project: str, agent: Handle | None = None, by: str = "", lease: float
    ) -> None:
        self.board = board
        self.name = list_name(name)
        self.by = by or ("" if agent is None else agent.name)
        self.lease = lease
        self._project = project
        self._agent = agent

    def __repr__(self) -> str:
        return f"Tasks({self.name!r})"

    def within(self, tx: Transaction, *, now: datetime | None = None) -> Work:
        """The same, in a transaction that is already open. Gates are not asked there."""
        now = now or self.board.now()
        if self._agent is None:
            return Work(tx, self.name, project=self._project, now=now, by=self.by)
        from punchlist.agent.handle import grades_of, joined  # who is no agent starts without it

        row, grades = joined(self._agent, tx, now), grades_of(self._agent)
        return Work(tx, self.name, project=self._project, now=now, by=self.by, agent=row, grades=grades)

    def _change(self, work: Callable[[Work], T]) -> T:
        store = self.board.store
        return self.board.change_tasks(self.name, lambda: store.transact(lambda tx: work(self.within(tx))))

    def _look(self, what: Callable[[Transaction, TaskListRow], T], nothing: T) -> T:
        """Reads; only if something has come due meanwhile, that is written first."""

        def read(tx: Transaction) -> tuple[bool, T]:
            known = tx.tasks.named(self.name, now)
            if known is None:
                return False, nothing
            where, due = known
            return (True, nothing) if due else (False, what(tx, where))

        self.board.tasks_wanted(self.name)
        now = self.board.now()
        due, found = self.board.store.read(read)
        if due:
            self.board.change_tasks(self.name, lambda: self._settle(now))
            due, found = self.board.store.read(read)
        return found

    def _settle(self, now: datetime) -> int:
        """Does what has come due; how much that was."""
        return self.board.store.transact(lambda tx: Work(tx, self.name, project=self._project, now=now).settled)

    def get(self, id: str) -> Task:
        """One task; raises `TaskUnknown`."""

        def read(tx: Transaction, where: TaskListRow) -> Task | None:
            row = tx.tasks.find(where, number_of(id) or 0)
            return None if row is None else with_list(tx, row)

        task = self._look(read, None)
        if task is None:
            raise TaskUnknown(id=str(id)[:80], list=self.name)
        return task

    def list(
        self,
        *,
        status: str | None = None,
        owner: str | None = None,
        label: str | None = None,
        parent: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> tuple[Task, ...]:
        """The tasks of the list by id, behind `after` and no more than `limit`."""
        word = None if status is None else status_of(status).value

        def read(tx: Transaction, where: TaskListRow) -> tuple[Task, ...]:
            above: TaskRow | None = None
            if parent is not None:
                above = tx.tasks.find(where, number_of(parent) or 0)
                if above is None:
                    raise TaskUnknown(id=parent[:80], list=self.name)
            rows = tx.tasks.page(
                where,
                after=0 if after is None else number_of(after) or 0,
                limit=None if limit is None else _sensible(limit),
                status=word,
                owner=None if owner is None else repair(owner),
                label=None if label is None else repair(label),
                parent=None if above is None else above.number,
            )
            return tuple([with_list(tx, row) for row in rows])

        return self._look(read, ())

    def ready(self, limit: int = 20, *, label: str | None = None) -> tuple[Task, ...]:
        """What a worker may take now, in the order in which it should: by priority, then id."""

        def read(tx: Transaction, where: TaskListRow) -> tuple[Task, ...]:
            rows = tx.tasks.ready(where, limit=_sensible(limit), label=label and repair(label))
            return tuple([with_list(tx, row) for row in rows])

        return self._look(read, ())

    def history(self, id: str) -> tuple[Event, ...]:
        """Everything that happened to a task, also to one that was deleted."""

        def read(tx: Transaction, where: TaskListRow) -> tuple[Event, ...]:
            return tuple(tx.tasks.history(where, number_of(id) or 0))

        found = self._look(read, ())
        if not found:
            raise TaskUnknown(id=str(id)[:80], list=self.name)
        return found

    def graph(self) -> TaskGraph:
        """The whole list with its edges."""

        def read(tx: Transaction, where: TaskListRow) -> TaskGraph:
            return TaskGraph(tuple([with_list(tx, row) for row in tx.tasks.page(where)]), tuple(tx.tasks.edges(where)))

        return self._look(read, TaskGraph((), ()))


def _sensible(limit: int) -> int:
    """A number that every engine takes: below 0 is none, and no list is longer than the most."""
    return min(max(0, limit), 10**9)
