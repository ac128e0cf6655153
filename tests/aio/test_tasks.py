"""Tasks for async code: the same, awaited."""

import asyncio
from datetime import timedelta

import pytest

from punchlist import CurrentWork, TaskStatus
from punchlist.aio import Board
from punchlist.errors import GateRefused, TaskUnknown
from punchlist.testing import FakeClock


def test_workers_on_one_loop_have_each_task_once() -> None:
    async def main() -> None:
        async with Board.open("memory:") as board:
            tasks = board.tasks("default")
            await asyncio.gather(*(tasks.create(f"task {number}") for number in range(40)))
            had: list[str] = []

            async def work(name: str) -> None:
                while (task := await tasks.claim(name)) is not None:
                    await tasks.complete(task.id, fence=task.fence)
                    had.append(task.id)

            await asyncio.gather(*(work(f"w{number}") for number in range(5)))
            assert sorted(map(int, had)) == list(range(1, 41))
            assert {task.status for task in await tasks.list()} == {TaskStatus.COMPLETED}

    asyncio.run(main())


def test_everything_that_a_list_can_do_can_be_awaited() -> None:
    async def main() -> None:
        clock = FakeClock()
        async with Board.open("memory:", clock=clock) as board:
            agent = board.agent("main", session="s1")
            tasks = agent.tasks("default")
            await tasks.create("one", checklist=["a", "b"])
            await tasks.create("two", blocked_by=["1"])
            assert [task.id for task in await tasks.ready(5)] == ["1"]
            assert [task.id for task in await tasks.claim(limit=3)] == ["1"]
            work = await agent.work
            assert isinstance(work, CurrentWork)
            assert [task.id for task in work.tasks] == ["1"]
            fence = work.tasks[0].fence
            assert (await tasks.heartbeat("1", fence=fence)).lease == 900
            assert len((await tasks.todos("1", agent)).items) == 2
            assert [task.subject for task in await tasks.promote(agent)] == ["a", "b"]
            await tasks.wait("1", until=timedelta(seconds=5), fence=fence)
            clock.advance(5)
            assert await board.tick() == 1
            await tasks.wait("1", topic="t", correlation_id="c")
            assert [task.id for task in await tasks.signal("t", "c", 1)] == ["1"]
            await tasks.wait("1")
            assert (await tasks.resume("1")).status is TaskStatus.PENDING
            await tasks.update("1", checked=["a", "b"], status="in_progress")
            assert (await tasks.release("1")).status is TaskStatus.PENDING
            assert (await tasks.fail("1", "no")).status is TaskStatus.FAILED
            assert (await tasks.retry("1")).status is TaskStatus.PENDING
            assert (await tasks.cancel("1")).status is TaskStatus.CANCELLED
            assert (await tasks.graph()).edges[0] == ("1", "2")
            assert (await tasks.history("1"))[0].kind == "task.created"
            assert (await tasks.get("2")).stuck_on == ("1",)
            assert await tasks.prune(clock()) == 0
            await tasks.delete("1")
            with pytest.raises(TaskUnknown):
                await tasks.get("1")

    asyncio.run(main())


def test_gates_stand_before_async_code_too() -> None:
    async def main() -> None:
        async with Board.open("memory:") as board:
            board.gate("create", lambda task: "no" if task.subject == "bad" else None)
            tasks = board.tasks("default", agent=board.agent("main", session="s1"))
            assert len(board.gates) == 1
            assert (await tasks.create("good")).created_by == "main"
            with pytest.raises(GateRefused):
                await tasks.create("bad")

    asyncio.run(main())
