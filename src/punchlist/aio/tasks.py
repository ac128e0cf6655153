"""The async handle on a list of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Unpack, overload

from punchlist import tasks as synchronous_tasks
from punchlist.aio.agent import Agent
from punchlist.core.events import Event
from punchlist.core.task import Task
from punchlist.core.todo import TodoList
from punchlist.store import Transaction
from punchlist.tasks import NewTask, TaskChanges, TaskGraph, Work

if TYPE_CHECKING:
    from punchlist.aio.board import Board


class Tasks:
    """One list of tasks, for async code. Made by `board.tasks` and `agent.tasks`.

    Calls that are awaited together run side by side; await one before the next where their order matters.
    """

    def __init__(self, board: Board, tasks: synchronous_tasks.Tasks) -> None:
        self.board = board
        self.synchronous = tasks
        self.name = tasks.name
        self.by = tasks.by
        self.lease = tasks.lease
        self._run = board.on_a_thread

    def __repr__(self) -> str:
        return repr(self.synchronous)

    def within(self, tx: Transaction, *, now: datetime | None = None) -> Work:
        """The same, in a transaction that is already open, on the thread on which it is."""
        return self.synchronous.within(tx, now=now)

    async def create(self, subject: str, *, call_id: str | None = None, **fields: Unpack[NewTask]) -> Task:
        return await self._run(self.synchronous.create, subject, call_id=call_id, **fields)

    async def update(
        self, id: str, *, revision: int | None = None, fence: int | None = None, **changes: Unpack[TaskChanges]
    ) -> Task:
        return await self._run(self.synchronous.update, id, revision=revision, fence=fence, **changes)

    async def delete(self, id: str, *, revision: int | None = None, fence: int | None = None) -> Task:
        return await self._run(self.synchronous.delete, id, revision=revision, fence=fence)

    async def get(self, id: str) -> Task:
        return await self._run(self.synchronous.get, id)

    async def list(
        self,
        *,
        status: str | None = None,
        owner: str | None = None,
        label: str | None = None,
        parent: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> tuple[Task, ...]:
        return await self._run(
            self.synchronous.list, status=status, owner=owner, label=label, parent=parent, after=after, limit=limit
        )

    async def ready(self, limit: int = 20, *, label: str | None = None) -> tuple[Task, ...]:
        return await self._run(self.synchronous.ready, limit, label=label)

    async def history(self, id: str) -> tuple[Event, ...]:
        return await self._run(self.synchronous.history, id)

    async def graph(self) -> TaskGraph:
        return await self._run(self.synchronous.graph)

    @overload
    async def claim(
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
    async def claim(
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

    @overload
    async def claim(
        self,
        owner: str | None = None,
        *,
        id: str | None = None,
        limit: int | None = None,
        label: str | None = None,
        lease: float | None = None,
        reserve: Sequence[str] = (),
        call_id: str | None = None,
    ) -> Task | tuple[Task, ...] | None: ...

    async def claim(
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
        def claim() -> Task | tuple[Task, ...] | None:
            return self.synchronous.claim(
                owner, id=id, limit=limit, label=label, lease=lease, reserve=reserve, call_id=call_id
            )

        return await self._run(claim)

    async def heartbeat(self, id: str, *, fence: int, lease: float | None = None) -> Task:
        return await self._run(self.synchronous.heartbeat, id, fence=fence, lease=lease)

    async def release(self, id: str, *, fence: int | None = None) -> Task:
        return await self._run(self.synchronous.release, id, fence=fence)

    async def complete(
        self,
        id: str,
        *,
        fence: int | None = None,
        result: Any = None,
        revision: int | None = None,
        call_id: str | None = None,
    ) -> Task:
        return await self._run(
            self.synchronous.complete, id, fence=fence, result=result, revision=revision, call_id=call_id
        )

    async def fail(self, id: str, reason: str = "", *, fence: int | None = None) -> Task:
        return await self._run(self.synchronous.fail, id, reason, fence=fence)

    async def retry(self, id: str) -> Task:
        return await self._run(self.synchronous.retry, id)

    async def cancel(
        self, id: str, reason: str | None = None, *, request: bool = False, fence: int | None = None
    ) -> Task:
        return await self._run(self.synchronous.cancel, id, reason, request=request, fence=fence)

    async def wait(
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
        return await self._run(
            self.synchronous.wait,
            id,
            until=until,
            topic=topic,
            correlation_id=correlation_id,
            state=state,
            fence=fence,
            revision=revision,
        )

    async def signal(
        self, topic: str, correlation_id: str, payload: Any = None, *, keep: bool = False, call_id: str | None = None
    ) -> tuple[Task, ...]:
        return await self._run(self.synchronous.signal, topic, correlation_id, payload, keep=keep, call_id=call_id)

    async def resume(self, id: str, *, state: Any = None, revision: int | None = None) -> Task:
        return await self._run(self.synchronous.resume, id, state=state, revision=revision)

    async def todos(self, id: str, agent: Agent, *, by: str = "") -> TodoList:
        return await self._run(self.synchronous.todos, id, agent.synchronous, by=by)

    async def promote(self, agent: Agent, *, parent: str | None = None) -> tuple[Task, ...]:
        return await self._run(self.synchronous.promote, agent.synchronous, parent=parent)

    async def prune(self, before: datetime) -> int:
        return await self._run(self.synchronous.prune, before)
