"""A handle on one list of tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from punchlist.agent.handle import joined
from punchlist.core.events import Event
from punchlist.core.task import Task, TaskStatus
from punchlist.errors import TaskUnknown
from punchlist.store import Transaction
from punchlist.store.task_contract import TaskListRow, TaskRow
from punchlist.tasks.change import number_of
from punchlist.tasks.claims import Late
from punchlist.tasks.fields import NewTask, TaskChanges, name_of, status_of
from punchlist.tasks.work import Work

if TYPE_CHECKING:
    from punchlist.agent import Agent
    from punchlist.board import Board

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TaskGraph:
    """Tasks, and the edges between them as pairs: a blocker and who waits for it."""

    tasks: tuple[Task, ...]
    edges: tuple[tuple[str, str], ...]


class Tasks:
    """One list of tasks. Makes no list before something is written to it; safe to use from many threads.

    A handle that is made for an agent acts in its name, and the agent's activity keeps its claims alive.
    """

    def __init__(
        self, board: Board, name: str, *, project: str, agent: Agent | None = None, by: str = "", lease: float
    ) -> None:
        self.board = board
        self.name = name_of("name of a list", name)
        self.by = by or ("" if agent is None else agent.name)
        self.lease = lease
        self._project = project
        self._agent = agent

    def __repr__(self) -> str:
        return f"Tasks({self.name!r})"

    def within(self, tx: Transaction, *, now: datetime | None = None) -> Work:
        """The same, in a transaction that is already open. Gates are not asked there."""
        now = now or self.board.now()
        row = None if self._agent is None else joined(self._agent, tx, now)
        return Work(tx, self.name, project=self._project, now=now, by=self.by, agent=row)

    def _change(self, work: Callable[[Work], T]) -> T:
        return self.board.store.transact(lambda tx: work(self.within(tx)))

    def _look(self, what: Callable[[Transaction, TaskListRow], T], nothing: T) -> T:
        """Reads; only if something has come due meanwhile, that is written first."""

        def read(tx: Transaction) -> tuple[bool, T]:
            where = tx.tasks.named(self.name)
            if where is None:
                return False, nothing
            if tx.tasks.due(where, now, limit=1):
                return True, nothing
            return False, what(tx, where)

        now = self.board.now()
        due, found = self.board.store.read(read)
        if due:
            self._change(lambda _: None)
            due, found = self.board.store.read(read)
        return found

    # Making and changing.

    def create(self, subject: str, *, call_id: str | None = None, **fields: Unpack[NewTask]) -> Task:
        """A new task. The same `call_id` again makes no second one. For `fields` see `NewTask`."""
        return self._change(lambda work: work.create(subject, call_id=call_id, **fields))

    def update(
        self, id: str, *, revision: int | None = None, fence: int | None = None, **changes: Unpack[TaskChanges]
    ) -> Task:
        """Changes a task, all or nothing; with `revision` only if it is still at that. See `TaskChanges`."""
        return self._change(lambda work: work.update(id, revision=revision, fence=fence, **changes))

    def delete(self, id: str, *, revision: int | None = None, fence: int | None = None) -> Task:
        """Takes a task off the list, with its edges; its history stays, and its id is never given again."""
        return self._change(lambda work: work.delete(id, revision=revision, fence=fence))

    # Looking.

    def get(self, id: str) -> Task:
        """One task; raises `TaskUnknown`."""
        row = self._look(lambda tx, where: tx.tasks.find(where, number_of(id) or 0), None)
        if row is None:
            raise TaskUnknown(id=str(id)[:80], list=self.name)
        return row.task

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
                limit=limit,
                status=word,
                owner=owner,
                label=label,
                parent=None if above is None else above.number,
            )
            return tuple([row.task for row in rows])

        return self._look(read, ())

    def ready(self, limit: int = 20, *, label: str | None = None) -> tuple[Task, ...]:
        """What a worker may take now, in the order in which it should: by priority, then id."""

        def read(tx: Transaction, where: TaskListRow) -> tuple[Task, ...]:
            return tuple([row.task for row in tx.tasks.ready(where, limit=limit, label=label)])

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
            return TaskGraph(tuple([row.task for row in tx.tasks.page(where)]), tuple(tx.tasks.edges(where)))

        return self._look(read, TaskGraph((), ()))

    # Working.

    @overload
    def claim(
        self,
        owner: str | None = None,
        *,
        id: str | None = None,
        limit: None = None,
        label: str | None = None,
        lease: float | None = None,
        reserve: Sequence[str] = (),
        call_id: str | None = None,
    ) -> Task | None: ...

    @overload
    def claim(
        self,
        owner: str | None = None,
        *,
        id: None = None,
        limit: int,
        label: str | None = None,
        lease: float | None = None,
        reserve: Sequence[str] = (),
        call_id: str | None = None,
    ) -> tuple[Task, ...]: ...

    def claim(
        self,
        owner: str | None = None,
        *,
        id: str | None = None,
        limit: int | None = None,
        label: str | None = None,
        lease: float | None = None,
        reserve: Sequence[str] = (),
        call_id: str | None = None,
    ) -> Task | tuple[Task, ...] | None:
        """Takes the next ready task, or None; with `id` that one; with `limit` up to so many, as a tuple.

        `lease`: seconds without a sign of life after which it is free again. `reserve`: files or patterns that
        nobody else may reserve as long as this claim lasts. The same `call_id` again answers the same.
        """
        who = owner or self.by
        taken = self._change(
            lambda work: work.claim(
                who,
                id=id,
                limit=limit or 1,
                label=label,
                lease=self.lease if lease is None else lease,
                reserve=reserve,
                call_id=call_id,
            )
        )
        return taken if limit is not None else next(iter(taken), None)

    def heartbeat(self, id: str, *, fence: int, lease: float | None = None) -> Task:
        """A sign of life: the lease begins anew. Look whether the task is to be cancelled."""
        return self.board.store.transact(lambda tx: self.within(tx).heartbeat(id, fence=fence, lease=lease))

    def release(self, id: str, *, fence: int | None = None) -> Task:
        """Gives a task back, so that others may take it."""
        return self._change(lambda work: work.release(id, fence=fence))

    def complete(
        self,
        id: str,
        *,
        fence: int | None = None,
        result: Any = None,
        revision: int | None = None,
        call_id: str | None = None,
    ) -> Task:
        """Done. A worker gives its `fence`; if somebody else has the task by now, that raises `FenceStale`, and its
        result is kept in `late_results`."""
        done = self._change(lambda work: work.complete(id, fence=fence, result=result, revision=revision))
        if isinstance(done, Late):
            raise done.error
        return done

    def fail(self, id: str, reason: str = "", *, fence: int | None = None) -> Task:
        """Failed; or pending again after a rest, while there are attempts left."""
        return self._change(lambda work: work.fail(id, reason, fence=fence))

    def retry(self, id: str) -> Task:
        """Opens a task that has ended, as if it had not been tried."""
        return self._change(lambda work: work.retry(id))

    def cancel(self, id: str, reason: str | None = None, *, request: bool = False, fence: int | None = None) -> Task:
        """Gives a task up; with `request` whoever works on it is to do so, and may do nothing else with it."""
        return self._change(lambda work: work.cancel(id, reason, request=request, fence=fence))

    # Waiting.

    def wait(
        self,
        id: str,
        *,
        until: datetime | timedelta | None = None,
        topic: str | None = None,
        correlation_id: str | None = None,
        state: Any = None,
        fence: int | None = None,
        revision: int | None = None,
    ) -> Task:
        """Puts a task aside: `until` a time, for an event of that `topic` and `correlation_id`, or for a person."""
        return self._change(
            lambda work: work.wait(
                id,
                until=until,
                topic=topic,
                correlation_id=correlation_id,
                state=state,
                fence=fence,
                revision=revision,
            )
        )

    def signal(
        self, topic: str, correlation_id: str, payload: Any = None, *, keep: bool = False, call_id: str | None = None
    ) -> tuple[Task, ...]:
        """Delivers an event to all who wait for it, each once; they find it in `state["resume_event"]`.

        With `keep` an event that nobody waits for yet is delivered to the first who does.
        """
        return self._change(lambda work: work.signal(topic, correlation_id, payload, keep=keep, call_id=call_id))

    def resume(self, id: str, *, state: Any = None, revision: int | None = None) -> Task:
        """Lets a task go on, whatever it waits for."""
        return self._change(lambda work: work.resume(id, state=state, revision=revision))


__all__ = ["TaskGraph", "TaskStatus", "Tasks"]
