"""The async board. What it does is the synchronous board's; here is only on which thread it does it."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from punchlist import board as synchronous
from punchlist.aio.threads import Lane, Watch, on_a_thread_of_its_own
from punchlist.board import Clock, cursor_of, system_clock
from punchlist.config import durability as configured_durability
from punchlist.core.events import Event
from punchlist.errors import StoreClosed
from punchlist.observers import Observer, TasksKeeper, TasksObserver
from punchlist.store import Durability, ListRow, SessionRow, Store, open_store

if TYPE_CHECKING:
    from typing import Unpack

    from punchlist.agent import AgentOptions
    from punchlist.agent.handle import Handle
    from punchlist.agent.helping import Helpers
    from punchlist.agent.stalling import Stall
    from punchlist.aio.agent import Agent
    from punchlist.aio.flows import Flows
    from punchlist.aio.tasks import Tasks
    from punchlist.core.brief import Brief
    from punchlist.core.report import Report
    from punchlist.guidance.ledger import AgentCost
    from punchlist.store.waiting import PlanRow, QuestionRow
    from punchlist.tasks.gates import Check, Gate

T = TypeVar("T")
P = ParamSpec("P")
THREADS = 8


class Board:
    """One board on one store, for async code. Close it, or use it as an async context."""

    def __init__(self, store: Store, *, clock: Clock = system_clock) -> None:
        self.synchronous = synchronous.Board(store, clock=clock)
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="punchlist")
        self._lanes: weakref.WeakValueDictionary[tuple[str, str], Lane] = weakref.WeakValueDictionary()
        self._watch = Watch(store)
        self._closing: Future[None] | None = None

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str] | None = None,
        *,
        durability: Durability | None = None,
        clock: Clock = system_clock,
    ) -> Opening:
        """The board of that name, as for `punchlist.Board.open`: await it, or enter it with `async with`."""
        return Opening(lambda: cls(open_store(url, durability=configured_durability(durability)), clock=clock))

    @property
    def store(self) -> Store:
        """The store itself, which is synchronous."""
        return self.synchronous.store

    def now(self) -> datetime:
        return self.synchronous.now()

    def agent(
        self,
        name: str = "main",
        *,
        session: str | None = None,
        dialect: str = "punchlist",
        profile: str = "quiet",
        project: str | os.PathLike[str] | None = None,
        **options: Unpack[AgentOptions],
    ) -> Agent:
        """A handle on one agent's list, as `punchlist.Board.agent` makes it; nothing of the store is touched yet."""
        from punchlist.aio.agent import Agent  # agent.py needs the board

        made = self.synchronous.handle(
            name, session=session, dialect=dialect, profile=profile, project=project, **options
        )
        return Agent(self, made, self.lane(made.session, made.name), self.synchronous.announce)

    def tasks(
        self,
        list: str | None = None,
        *,
        project: str | os.PathLike[str] | None = None,
        agent: Agent | Handle | None = None,
        by: str = "",
        lease: float | None = None,
    ) -> Tasks:
        """A list of durable tasks, as `punchlist.Board.tasks` gives it; nothing of the store is touched yet."""
        from punchlist.aio.agent import Agent
        from punchlist.aio.tasks import Tasks

        whose = agent.synchronous if isinstance(agent, Agent) else agent
        return Tasks(self, self.synchronous.tasks(list, project=project, agent=whose, by=by, lease=lease))

    def flows(self, *, agent: Agent | Handle | None = None, by: str = "") -> Flows:
        """The flows of this board, as `punchlist.Board.flows` gives them; nothing of the store is touched yet."""
        from punchlist.aio.agent import Agent
        from punchlist.aio.flows import Flows

        whose = agent.synchronous if isinstance(agent, Agent) else agent
        return Flows(self, self.synchronous.flows(agent=whose, by=by))

    @property
    def gates(self) -> tuple[Gate, ...]:
        return self.synchronous.gates

    def gate(self, on: str, check: Check, *, list: str | None = None, seconds: float = 10.0) -> None:
        """As for `punchlist.Board.gate`: a callable is called on a thread of its own."""
        self.synchronous.gate(on, check, list=list, seconds=seconds)

    async def tick(self) -> int:
        return await self._run(self.synchronous.tick)

    # What happened.

    async def events(self, after: int | str = 0) -> AsyncGenerator[Event, None]:
        """All events behind a cursor, oldest first, up to now."""
        cursor = cursor_of(after)
        while page := await self._run(self.store.events_after, cursor):
            for event in page:
                yield event
            cursor = page[-1].seq

    async def follow(
        self,
        after: int | str = 0,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the synchronous name; it ends the feed, not the call
    ) -> AsyncGenerator[Event, None]:
        """All events behind a cursor, and then each new one as it happens, by whichever process.

        Ends when the board is closed, or after `timeout` seconds without an event.
        """
        cursor = cursor_of(after)
        wake = asyncio.Event()
        try:
            while True:
                wake.clear()
                self._watch.join(wake)
                while page := await self._run(self.store.events_after, cursor):
                    for event in page:
                        yield event
                    cursor = page[-1].seq
                try:
                    async with asyncio.timeout(timeout):
                        await wake.wait()
                except TimeoutError:
                    return
                if self._watch.fault is not None:
                    raise self._watch.fault
        except StoreClosed:
            return
        finally:
            self._watch.leave(wake)

    # What there is.

    async def lists(
        self,
        *,
        project: str | os.PathLike[str] | None = None,
        session: str | None = None,
        limit: int = 20,
    ) -> Sequence[ListRow]:
        return await self._run(self.synchronous.lists, project=project, session=session, limit=limit)

    async def sessions(self, *, project: str | os.PathLike[str] | None = None, limit: int = 50) -> Sequence[SessionRow]:
        return await self._run(self.synchronous.sessions, project=project, limit=limit)

    async def costs(
        self, *, project: str | os.PathLike[str] | None = None, session: str | None = None
    ) -> Sequence[AgentCost]:
        return await self._run(self.synchronous.costs, project=project, session=session)

    # What waits on a person.

    async def plans(self, *, project: str | os.PathLike[str] | None = None, waiting: bool = True) -> Sequence[PlanRow]:
        return await self._run(self.synchronous.plans, project=project, waiting=waiting)

    async def questions(self, *, project: str | os.PathLike[str] | None = None) -> Sequence[QuestionRow]:
        return await self._run(self.synchronous.questions, project=project)

    async def stalls(self, *, project: str | os.PathLike[str] | None = None) -> Sequence[Stall]:
        return await self._run(self.synchronous.stalls, project=project)

    async def helpers(self, session: str) -> Helpers:
        return await self._run(self.synchronous.helpers, session)

    async def report(self, *, session: str | None = None, project: str | os.PathLike[str] | None = None) -> Report:
        return await self._run(self.synchronous.report, session=session, project=project)

    async def brief(
        self,
        after: int | str = 0,
        *,
        session: str | None = None,
        project: str | os.PathLike[str] | None = None,
    ) -> Brief:
        return await self._run(self.synchronous.brief, after, session=session, project=project)

    async def resolve_plan(self, message: str, *, by: str) -> bool:
        return await self._run(self.synchronous.resolve_plan, message, by=by)

    # Sessions as a whole.

    async def copy_session(self, source: str, target: str, *, by: str = "") -> None:
        await self._run(self.synchronous.copy_session, source, target, by=by)

    async def move_session(self, source: str, target: str, *, by: str = "") -> None:
        await self._run(self.synchronous.move_session, source, target, by=by)

    async def adopt(self, source: str, target: str, *, by: str = "") -> int:
        return await self._run(self.synchronous.adopt, source, target, by=by)

    async def prune(self, before: datetime, *, progress: Callable[[int], None] | None = None) -> int:
        return await self._run(self.synchronous.prune, before, progress=progress)

    # Others who want to know.

    def observe(
        self,
        *,
        on_agent: Observer | None = None,
        on_change: Observer | None = None,
        on_tasks: TasksObserver | None = None,
        before_tasks: TasksObserver | None = None,
        keeper: TasksKeeper | None = None,
    ) -> None:
        """As for `punchlist.Board.observe`: called on a thread of the board, with the synchronous handle."""
        self.synchronous.observe(
            on_agent=on_agent, on_change=on_change, on_tasks=on_tasks, before_tasks=before_tasks, keeper=keeper
        )

    async def change_tasks(self, list: str, work: Callable[[], T]) -> T:
        return await self._run(self.synchronous.change_tasks, list, work)

    async def tasks_changed(self, list: str) -> None:
        await self._run(self.synchronous.tasks_changed, list)

    async def tasks_wanted(self, list: str) -> None:
        await self._run(self.synchronous.tasks_wanted, list)

    async def changed(self, agent: Agent) -> None:
        await self._run(self.synchronous.changed, agent.synchronous)

    async def _run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.on_a_thread(work, *args, **kwargs)

    async def on_a_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Awaits blocking work on a thread of the board."""
        self.check_open()
        return await asyncio.wrap_future(self._pool.submit(work, *args, **kwargs))

    def check_open(self) -> None:
        if self._closing is not None:
            raise StoreClosed(path=self.store.path)

    def lane(self, session: str, name: str) -> Lane:
        """The lane of one agent, shared by all its handles and kept as long as there are any."""
        lane = self._lanes.get((session, name))
        if lane is None:
            lane = self._lanes[session, name] = Lane(self._pool)
        return lane

    async def close(self) -> None:
        """Ends followers and refuses calls that have not begun; returns once those that have are finished."""
        if self._closing is None:
            self._closing = on_a_thread_of_its_own(self._close)
        await asyncio.shield(asyncio.wrap_future(self._closing))

    def _close(self) -> None:
        self.synchronous.close()
        self._pool.shutdown()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class Opening:
    """A board that is being opened: `await` it, or enter it with `async with`, which closes the board again."""

    def __init__(self, make: Callable[[], Board]) -> None:
        self._make = make
        self._board: Board | None = None

    def __await__(self) -> Generator[Any, None, Board]:
        return self._opened().__await__()

    async def _opened(self) -> Board:
        future = on_a_thread_of_its_own(self._make)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            future.add_done_callback(_close_again)
            raise

    async def __aenter__(self) -> Board:
        self._board = await self
        return self._board

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._board is not None:
            await self._board.close()


def _close_again(future: Future[Board]) -> None:
    """Nobody waits for this board any more."""
    if not future.cancelled() and future.exception() is None:
        future.result().store.close()
