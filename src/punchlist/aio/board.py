"""The async board and its handles: the synchronous ones, on threads. Their types are in the generated `board.pyi`."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial, wraps
from inspect import getattr_static
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar, Unpack

from punchlist.agent import Agent as SyncAgent
from punchlist.agent import AgentOptions
from punchlist.agent.plans import seconds_left
from punchlist.board import Board as SyncBoard
from punchlist.board import Clock, parse_cursor, system_clock
from punchlist.core.approval import Plan
from punchlist.core.events import Event
from punchlist.errors import StoreClosed
from punchlist.loop import Conversation as SyncConversation
from punchlist.loop import Outcome
from punchlist.store import Durability, Store
from punchlist.tasks import Tasks as SyncTasks
from punchlist.tasks.flows import Flows as SyncFlows

T = TypeVar("T")
C = TypeVar("C", bound=type)
P = ParamSpec("P")
THREADS = 8
"""As many as write at once; calls of further agents queue for them."""

_TWINS: dict[type[Any], type[Any]] = {}
"""The async class of each synchronous one."""


def _make_async(kind: type, *, plain: Collection[str] = ()) -> Callable[[C], C]:
    """Decorate an async class: give it each public method and property of `kind` that it does not define itself.

    An instance has `synchronous`, the object it stands for, and `_run`, which awaits blocking work. Methods and
    properties are awaited, except those named in `plain`, which do no I/O.
    """

    def add_members(twin: C) -> C:
        _TWINS[kind] = twin
        for name in dir(kind):
            if name.startswith("_") or hasattr(twin, name):
                continue
            member = getattr_static(kind, name)
            if isinstance(member, property):
                setattr(twin, name, _make_property(name, member, plain=name in plain))
            elif callable(member):
                setattr(twin, name, _make_method(name, member, plain=name in plain))
        return twin

    return add_members


def _make_method(name: str, method: Callable[..., Any], *, plain: bool) -> Callable[..., Any]:
    """Return the method of a twin that calls the synchronous one; handles are converted in both directions."""

    def prepare(self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[], Any]:
        known = {key: _unwrap(value) for key, value in kwargs.items()}
        return partial(getattr(self.synchronous, name), *map(_unwrap, args), **known)

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _wrap(self, prepare(self, args, kwargs)())

    @wraps(method)
    async def call_on_a_thread(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _wrap(self, await self._run(prepare(self, args, kwargs)))

    return call if plain else call_on_a_thread


def _make_property(name: str, member: property, *, plain: bool) -> property:
    def read(self: Any) -> Any:
        return getattr(self.synchronous, name)

    def read_on_a_thread(self: Any) -> Awaitable[Any]:
        return self._run(getattr, self.synchronous, name)

    return property(read if plain else read_on_a_thread, doc=member.__doc__)


def _unwrap(value: Any) -> Any:
    return value.synchronous if type(value) in _TWINS.values() else value


def _wrap(owner: object, result: object) -> Any:
    """Return the async handle of a synchronous one, on the owner's board; anything else as it is."""
    twin = next((_TWINS[kind] for kind in type(result).__mro__ if kind in _TWINS), None)  # also of a handle over HTTP
    if twin is None:
        return result
    return twin(getattr(owner, "board", owner), result)  # a board is its own owner


# Threads: one lane per agent, and one watch for all followers.


def _settle(future: Future[T], work: Callable[[], T]) -> None:
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)


def start_thread(work: Callable[[], T]) -> Future[T]:
    future: Future[T] = Future()
    threading.Thread(target=_settle, args=(future, work), name="punchlist").start()
    return future


class Lane:
    """Run work one piece after the other, in order, on the threads of a pool."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        # Guards `_waiting` and `_runs` together: work added as the lane ends would otherwise never run.
        self._lock = threading.Lock()
        self._waiting: deque[Callable[[], None]] = deque()
        self._runs = False

    def submit(self, work: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        with self._lock:
            if not self._runs:
                self._pool.submit(self._run)
            self._runs = True
            self._waiting.append(lambda: _settle(future, work))
        return future

    def _run(self) -> None:
        """Run one piece of work. The rest queues behind other lanes, or runs here once the pool has closed."""
        while True:
            with self._lock:
                settle = self._waiting.popleft()
            settle()
            with self._lock:
                if not self._waiting:
                    self._runs = False
                    return
            with suppress(RuntimeError):
                self._pool.submit(self._run)
                return


class EventWatch:
    """One thread that waits for new events for all followers of a board. Ends with the board or its last follower."""

    def __init__(self, store: Store) -> None:
        self.fault: Exception | None = None
        self._store = store
        # Guards `_followers` and `_runs` together: a follower that joins as the thread ends starts a new one.
        self._lock = threading.Lock()
        self._runs = False
        self._followers: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}

    def join(self, wake: asyncio.Event) -> None:
        """Set the event whenever there may be something new, and when the watch ends."""
        with self._lock:
            self._followers[wake] = asyncio.get_running_loop()
            if not self._runs:
                self._runs, self.fault = True, None
                threading.Thread(target=self._run, name="punchlist-follow", daemon=True).start()

    def leave(self, wake: asyncio.Event) -> None:
        with self._lock:
            self._followers.pop(wake, None)

    def _run(self) -> None:
        fault: Exception | None = None
        try:
            cursor = self._store.last_seq()
            # Wake followers before waiting: an event between a follower's read and our cursor would be missed.
            while self._wake_followers() and self._store.wait(cursor, None):
                cursor = self._store.last_seq()
        except Exception as error:
            fault = error
        self._wake_followers(ended=True, fault=fault)

    def _wake_followers(self, *, ended: bool = False, fault: Exception | None = None) -> bool:
        """Wake all followers; True if there are any."""
        with self._lock:
            for wake, loop in list(self._followers.items()):
                try:
                    loop.call_soon_threadsafe(wake.set)
                except RuntimeError:  # that loop is closed
                    del self._followers[wake]
            if ended:
                self._runs, self.fault = False, fault
            return bool(self._followers)


# Boards and handles.


class _AsyncHandle:
    """Common part of the handles: the public attributes of the synchronous one, and the board's threads."""

    def __init__(self, board: Board, synchronous: SyncAgent | SyncTasks | SyncFlows) -> None:
        vars(self).update((name, value) for name, value in vars(synchronous).items() if not name.startswith("_"))
        self.board = board
        self.synchronous = synchronous
        self._run = board.on_a_thread

    def __repr__(self) -> str:
        return repr(self.synchronous)


@_make_async(SyncAgent, plain={"dialect", "flows", "layers", "offered", "prompt", "tasks", "tools", "unjudged_tools"})
class Agent(_AsyncHandle):
    """One agent of one session, for async code. Made by `board.agent` and `agent.spawn`."""

    board: Board
    synchronous: SyncAgent
    name: str
    session: str
    profile: str
    task_list: str

    def __init__(self, board: Board, agent: SyncAgent) -> None:
        super().__init__(board, agent)
        self._lane = board.lanes.setdefault((agent.session, agent.name), Lane(board.pool))
        self._run = self._run_in_turn

    async def _run_in_turn(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Await blocking work in the order of this agent's calls."""
        self.board.check_open()
        return await asyncio.wrap_future(self._lane.submit(partial(work, *args, **kwargs)))

    async def wait_for_plan(
        self,
        id: str | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the synchronous name; then the plan is given as it stands
    ) -> Plan:
        """Return the plan once it is decided, superseded or too late; or as it stands after `timeout` seconds.

        No thread waits meanwhile, and calls of this agent go on.
        """
        # The cursor is read before the plan: a decision that falls between the two is seen as an event.
        seen = await self._run(self.board.store.last_seq)
        plan = await self._run(self.synchronous.wait_for_plan, id, timeout=0)
        loop = asyncio.get_running_loop()
        ends = None if timeout is None else loop.time() + timeout
        while True:
            left = seconds_left(plan, self.board.synchronous.now(), None if ends is None else ends - loop.time())
            if left is not None and left <= 0:
                return plan
            with suppress(TimeoutError):
                async with asyncio.timeout(left), aclosing(self.board.follow(seen)) as feed:
                    async for event in feed:
                        seen = event.seq
                        if event.kind.startswith("approval."):
                            break
            plan = await self._run(self.synchronous.wait_for_plan, id, timeout=0)


@_make_async(SyncTasks, plain={"within"})
class Tasks(_AsyncHandle):
    """One list of tasks, for async code. Made by `board.tasks` and `agent.tasks`.

    Calls that are awaited together run side by side; await one before the next where their order matters.
    """

    board: Board
    synchronous: SyncTasks
    name: str
    by: str
    lease: float


@_make_async(SyncFlows, plain={"within"})
class Flows(_AsyncHandle):
    """All flows of a board, for async code. Made by `board.flows` and `agent.flows`.

    Calls that are awaited together run side by side; await one before the next where their order matters.
    """

    board: Board
    synchronous: SyncFlows
    by: str
    owner: str


@_make_async(SyncConversation, plain={"is_own", "tools"})
class Conversation:
    """One conversation of a model, as one agent of a session on a board, for async code."""

    synchronous: SyncConversation
    agent: Agent
    own: frozenset[str]

    def __init__(self, board: Board, session: str | None = None, *, agent: Agent | None = None, **options: Any) -> None:
        self.synchronous = SyncConversation(board.synchronous, session, agent=_unwrap(agent), **options)
        self.agent = Agent(board, self.synchronous.agent)
        self.own = self.synchronous.own

    async def _run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await self.agent.board.on_a_thread(work, *args, **kwargs)
        except StoreClosed:  # no fault of the board reaches the loop: the step answers without it
            return work(*args, **kwargs)

    async def spawn(self, name: str, *, label: str | None = None, id: str | None = None) -> Conversation:
        """Return the conversation of a child agent; the same `id` finds it again."""
        child = await self._run(self.synchronous.spawn, name, label=label, id=id)
        return Conversation(self.agent.board, agent=Agent(self.agent.board, child.agent))

    async def answer(
        self, call_id: str | None, name: str, args: Any, run: Callable[[], Awaitable[str | tuple[int, str]]]
    ) -> str:
        """Answer a call of any tool; `run` runs one that is not ours and returns its text, or exit code and text."""
        if self.synchronous.is_own(name):
            return (await self._run(self.synchronous.call, name, args, call_id)).text
        async with self.tool(call_id, name, args) as outcome:
            outcome.take(await run())
        return outcome.result

    @asynccontextmanager
    async def tool(self, call_id: str | None, name: str, args: Any = None) -> AsyncGenerator[Outcome, None]:
        """Report a call of another tool, and how it went. One of ours is not reported."""
        outcome = Outcome()
        await self._run(self.synchronous.tool_started, call_id, name, args)
        try:
            yield outcome
        except BaseException as error:
            outcome.error = error
            raise
        finally:
            await self._run(self.synchronous.tool_ended, call_id, name, outcome)


@_make_async(SyncBoard, plain={"flows", "gate", "gates", "now", "tasks"})
class Board:
    """One board on one store, for async code. Close it, or use it as an async context."""

    synchronous: SyncBoard

    def __init__(self, store: Store, *, clock: Clock = system_clock) -> None:
        self._begin(SyncBoard(store, clock=clock))

    @classmethod
    def around(cls, board: SyncBoard) -> Board:
        """Return the async board of a synchronous one. Closing either closes both."""
        made = cls.__new__(cls)
        made._begin(board)
        return made

    def _begin(self, board: SyncBoard) -> None:
        self.synchronous = board
        self.pool = ThreadPoolExecutor(THREADS, thread_name_prefix="punchlist")
        self.lanes: weakref.WeakValueDictionary[tuple[str, str], Lane] = weakref.WeakValueDictionary()
        """The lane of each agent, shared by all its handles and kept as long as there are any."""
        self._watch = EventWatch(board.store)
        self._closing: Future[None] | None = None

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str] | None = None,
        *,
        durability: Durability | None = None,
        clock: Clock = system_clock,
    ) -> Opening:
        """Open a board as `punchlist.Board.open` does: await the result, or enter it with `async with`."""
        return Opening(lambda: cls.around(SyncBoard.open(url, durability=durability, clock=clock)))

    @property
    def store(self) -> Store:
        """The store itself, which is synchronous."""
        return self.synchronous.store

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
        """Make a handle on one agent's list, as `punchlist.Board.agent` does, without touching the store yet."""
        made = self.synchronous.agent(
            name, session=session, dialect=dialect, profile=profile, project=project, **options
        )
        return Agent(self, made)

    async def events(self, after: int | str = 0) -> AsyncGenerator[Event, None]:
        """Yield all events after a cursor, oldest first, up to now."""
        cursor = parse_cursor(after)
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
        """Yield all events after a cursor, and then each new one as it happens, from any process.

        Ends when the board is closed, or after `timeout` seconds without an event.
        """
        cursor = parse_cursor(after)
        wake = asyncio.Event()
        try:
            while True:
                # Cleared before the events are read: one that arrives after the read sets it again.
                wake.clear()
                self._watch.join(wake)
                event = None
                async with aclosing(self.events(cursor)) as events:
                    async for event in events:
                        yield event
                        cursor = event.seq
                if event is None:
                    cursor = min(cursor, await self._run(self.store.last_seq))
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

    async def on_a_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Await blocking work on a thread of the board."""
        self.check_open()
        return await asyncio.wrap_future(self.pool.submit(work, *args, **kwargs))

    _run = on_a_thread

    def check_open(self) -> None:
        if self._closing is not None:
            raise StoreClosed(path=self.store.path)

    async def close(self) -> None:
        """End followers and refuse calls that have not begun; return once those that have are finished."""
        if self._closing is None:
            # Not on the pool: closing waits for the pool's own threads.
            self._closing = start_thread(self._close)
        await asyncio.shield(asyncio.wrap_future(self._closing))

    def _close(self) -> None:
        self.synchronous.close()
        self.pool.shutdown()

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
        return self._open().__await__()

    async def _open(self) -> Board:
        future = start_thread(self._make)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            future.add_done_callback(_close_unwanted)
            raise

    async def __aenter__(self) -> Board:
        self._board = await self
        return self._board

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._board is not None:
            await self._board.close()


def _close_unwanted(future: Future[Board]) -> None:
    if not future.cancelled() and future.exception() is None:
        future.result().store.close()
