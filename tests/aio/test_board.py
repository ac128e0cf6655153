"""The async board: the same answers, in order, and an event loop that never waits."""

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest

import punchlist
from punchlist.aio import Agent, Board
from punchlist.errors import RevisionConflict, SessionUnknown, StoreClosed, StoreUrlInvalid, UnknownName
from punchlist.store import Transaction
from punchlist.store.sqlite import SqliteStore

T = TypeVar("T")


class GatedStore(SqliteStore):
    """A real store whose writes wait at a gate."""

    def __init__(self) -> None:
        super().__init__("")
        self.gate = threading.Event()
        self.arrived = threading.Semaphore(0)

    def transact(self, work: Callable[[Transaction], T], *, durable: bool = True, wait: float | None = None) -> T:
        self.arrived.release()
        assert self.gate.wait(60)
        return super().transact(work, durable=durable, wait=wait)


async def _arrival(store: GatedStore) -> None:
    """Until a write stands at the gate."""
    assert await asyncio.to_thread(store.arrived.acquire, timeout=60)


async def _add(agent: Agent, text: str) -> None:
    reply = await agent.call("todo", {"add": [text]})
    assert not reply.is_error, reply.text


def test_a_board_is_opened_by_await_or_as_a_context(tmp_path: Path) -> None:
    async def work() -> None:
        board = await Board.open(tmp_path / "board.db")
        await _add(board.agent("main", session="s"), "Ship it")
        await board.close()
        await board.close()
        async with Board.open(tmp_path / "board.db") as again:
            todos = await again.agent("main", session="s").todos
            assert [item.content for item in todos.items] == ["Ship it"]
        with pytest.raises(StoreClosed):
            await again.agent("main", session="s").todos
        async with await Board.open("memory:") as entered:
            assert await entered.lists() == []

    asyncio.run(work())


def test_everything_an_agent_does_can_be_awaited() -> None:
    async def work() -> None:
        async with Board.open("memory:") as board:
            agent = board.agent("main", session="s", dialect="claude-code", project="/")
            row = {"content": "A", "status": "pending", "activeForm": "Doing A"}
            reply = await agent.call("TodoWrite", {"todos": [row]}, call_id="one")
            assert await agent.call("TodoWrite", {"todos": [row]}, call_id="one") == reply
            todos = await agent.edit({"op": "start", "item": "1"}, by="ada", revision=1)
            assert (todos.revision, todos) == (2, await agent.todos)
            assert (await agent.undo(by="ada")).items == (await agent.at(1) or todos).items
            assert (await agent.rewrite(punchlist.TodoList(), by="ada")).items == ()
            assert len((await agent.restore_list(todos, by="ada", source="memory")).items) == 1
            await agent.enter_plan_mode()
            assert await agent.mode == "plan"
            await agent.exit_plan_mode(by="ada")
            assert await agent.mode == "execute"
            assert await agent.project == "/"
            child = await agent.spawn("explore", label="Explore", id="1")
            assert (child.name, child.session, child.dialect) == ("explore", "s", "claude-code")
            assert child.board is board
            await board.copy_session("s", "t", by="ada")
            await board.move_session("t", "u", by="ada")
            assert {one.id for one in await board.sessions()} == {"s", "u"}
            assert [one.agent for one in await board.lists(session="u")] == ["main", "explore"]
            assert await board.prune(datetime.now(UTC) + timedelta(days=1)) == 4

    asyncio.run(work())


def test_errors_pass_through() -> None:
    async def work() -> None:
        with pytest.raises(StoreUrlInvalid):
            await Board.open("mysql://x")
        async with Board.open("memory:") as board:
            with pytest.raises(UnknownName):
                board.agent("main", dialect="klingon")
            with pytest.raises(RevisionConflict):
                await board.agent("main").edit({"op": "append", "items": ["A"]}, by="ada", revision=7)
            with pytest.raises(SessionUnknown):
                await board.copy_session("none", "some")
            assert (await board.agent("main").call("nope")).is_error

    asyncio.run(work())


def test_the_calls_of_one_agent_apply_in_the_order_of_their_arrival_over_all_its_handles() -> None:
    async def work() -> None:
        async with Board.open("memory:") as board:
            names = [f"agent {number}" for number in range(5)]
            calls = [(name, step) for step in range(40) for name in names]
            await asyncio.gather(*(_add(board.agent(name, session="s"), str(step)) for name, step in calls))
            for name in names:
                todos = await board.agent(name, session="s").todos
                assert [item.content for item in todos.items] == [str(step) for step in range(40)]

    asyncio.run(work())


def test_the_loop_goes_on_while_the_store_waits() -> None:
    async def work() -> None:
        store = GatedStore()
        async with Board(store) as board:
            writes = [asyncio.create_task(_add(board.agent(f"a{n}", session="s"), "A")) for n in range(20)]
            await _arrival(store)
            for _ in range(1000):
                await asyncio.sleep(0)
            assert not any(write.done() for write in writes)
            store.gate.set()
            await asyncio.gather(*writes)

    asyncio.run(work())


def test_a_call_that_is_cancelled_before_its_turn_is_not_made_and_one_that_began_is_finished() -> None:
    async def work() -> None:
        store = GatedStore()
        async with Board(store) as board:
            agent = board.agent("main", session="s")
            begun, waiting, last = (asyncio.create_task(_add(agent, text)) for text in ("begun", "waiting", "last"))
            await _arrival(store)
            begun.cancel()
            waiting.cancel()
            for task in (begun, waiting):
                with pytest.raises(asyncio.CancelledError):
                    await task
            store.gate.set()
            await last
            assert [item.content for item in (await agent.todos).items] == ["begun", "last"]

    asyncio.run(work())


def test_closing_finishes_what_has_begun_and_refuses_the_rest() -> None:
    async def work() -> None:
        store = GatedStore()
        board = Board(store)
        agent = board.agent("main", session="s")
        first = asyncio.create_task(_add(agent, "first"))
        second = asyncio.create_task(_add(agent, "second"))
        await _arrival(store)
        closing = asyncio.create_task(board.close())
        await asyncio.sleep(0)
        with pytest.raises(StoreClosed):
            await agent.todos
        store.gate.set()
        await closing
        ends = await asyncio.gather(first, second, return_exceptions=True)
        assert all(end is None or isinstance(end, StoreClosed) for end in ends)
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("punchlist_")]

    asyncio.run(work())


def test_an_opening_that_is_cancelled_leaves_no_board_open(tmp_path: Path) -> None:
    async def work() -> None:
        task = asyncio.ensure_future(_opened(tmp_path / "board.db"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with Board.open(tmp_path / "board.db") as board:
            await _add(board.agent(), "A")

    async def _opened(path: Path) -> Board:
        return await Board.open(path)

    asyncio.run(work())
