"""The feed for async code: complete, live, and ended at once."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import punchlist
from punchlist import Event
from punchlist.aio import Agent, Board
from punchlist.errors import StoreFailed
from punchlist.store.sqlite import SqliteStore


async def _add(agent: Agent, text: str) -> None:
    await agent.call("todo", {"add": [text]})


async def _take(feed: AsyncIterator[Event], count: int) -> list[int]:
    taken: list[int] = []
    async for event in feed:
        taken.append(event.seq)
        if len(taken) == count:
            break
    return taken


class Follower:
    """A task that follows the board for as long as that goes."""

    def __init__(self, board: Board) -> None:
        self.seen: asyncio.Queue[int] = asyncio.Queue()
        self.task = asyncio.create_task(self._follow(board))

    async def _follow(self, board: Board) -> None:
        async for event in board.follow():
            self.seen.put_nowait(event.seq)

    async def take(self, count: int) -> list[int]:
        return [await self.seen.get() for _ in range(count)]


def test_history_is_the_same_as_on_the_synchronous_board(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with punchlist.Board.open(path, durability="normal") as board:
        agent = board.agent("main", session="s")
        for number in range(400):
            agent.call("todo", {"add": [str(number)]})
        expected = list(board.events())

    async def work() -> None:
        async with Board.open(path) as board:
            assert [event async for event in board.events()] == expected
            assert [event async for event in board.events(after=expected[-3].seq)] == expected[-2:]
            assert await _take(board.follow(), len(expected)) == [event.seq for event in expected]

    asyncio.run(work())


def test_followers_see_every_event_once_while_others_write(tmp_path: Path) -> None:
    async def work() -> None:
        async with Board.open(tmp_path / "board.db", durability="normal") as board:
            followers = [Follower(board) for _ in range(5)]
            agents = [board.agent(f"a{number}", session="s") for number in range(4)]
            await asyncio.gather(*(_add(agent, str(step)) for step in range(25) for agent in agents))
            expected = [event.seq async for event in board.events()]
            for follower in (*followers, Follower(board)):
                assert await follower.take(len(expected)) == expected
            await board.close()
            for follower in followers:
                await follower.task
                assert follower.seen.empty()

    asyncio.run(work())


def test_a_follower_wakes_for_a_write_through_another_connection(tmp_path: Path) -> None:
    async def work() -> None:
        path = tmp_path / "board.db"
        with punchlist.Board.open(path) as other:
            async with Board.open(path) as board:
                feed = board.follow()
                following = asyncio.create_task(_take(feed, 1))
                await asyncio.sleep(0)
                await asyncio.to_thread(other.agent("main", session="s").enter_plan_mode)
                assert await following == [1]
                await feed.aclose()

    asyncio.run(work())


def test_closing_the_board_ends_its_followers_and_leaves_no_thread() -> None:
    async def work() -> None:
        board = await Board.open("memory:")
        follower = Follower(board)
        await _add(board.agent("main", session="s"), "A")
        await follower.take(1)
        (watch,) = (thread for thread in threading.enumerate() if thread.name == "punchlist-follow")
        await board.close()
        await follower.task
        await asyncio.to_thread(watch.join)
        assert [event async for event in board.follow()] == []

    asyncio.run(work())


def test_a_follower_can_be_cancelled_while_it_waits_and_the_board_goes_on() -> None:
    async def work() -> None:
        async with Board.open("memory:") as board:
            follower = Follower(board)
            agent = board.agent("main", session="s")
            await _add(agent, "A")
            await follower.take(1)
            follower.task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await follower.task
            await _add(agent, "B")
            expected = [event.seq async for event in board.events()]
            assert await _take(board.follow(), len(expected)) == expected

    asyncio.run(work())


def test_a_follower_ends_after_its_time_without_an_event() -> None:
    async def work() -> None:
        async with Board.open("memory:") as board:
            await _add(board.agent("main", session="s"), "A")
            expected = [event.seq async for event in board.events()]
            assert [event.seq async for event in board.follow(timeout=0.01)] == expected

    asyncio.run(work())


def test_one_thread_watches_for_all_followers() -> None:
    async def work() -> None:
        async with Board.open("memory:") as board:
            followers = [Follower(board) for _ in range(30)]
            await _add(board.agent("main", session="s"), "A")
            for follower in followers:
                await follower.take(1)
            assert sum(thread.name == "punchlist-follow" for thread in threading.enumerate()) == 1
            await board.close()
            await asyncio.gather(*(follower.task for follower in followers))

    asyncio.run(work())


class BrokenWait(SqliteStore):
    """A real store that cannot listen for writes."""

    def wait(self, after: int, timeout: float | None) -> bool:
        raise StoreFailed(path=self.path, problem=f"no bell after {after} ({timeout})")


def test_a_fault_of_the_store_reaches_the_follower() -> None:
    async def work() -> None:
        async with Board(BrokenWait("")) as board:
            with pytest.raises(StoreFailed):
                await Follower(board).task

    asyncio.run(work())
