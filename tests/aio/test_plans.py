"""Plans and questions in async code: who waits for a decision holds no thread."""

import asyncio

import pytest

from punchlist.aio import Board
from punchlist.aio.board import THREADS
from punchlist.errors import PlanMissing
from punchlist.testing import FakeClock
from tests.store.contracts.checks import PATIENCE


async def _story() -> None:
    async with Board.open("memory:", clock=FakeClock()) as board:
        agent = board.agent("main", session="s")
        await agent.propose_plan("1. Paint")
        waiting = asyncio.create_task(agent.wait_for_plan(timeout=PATIENCE))
        await asyncio.sleep(0)
        assert [row.plan.text for row in await board.plans()] == ["1. Paint"]
        await agent.approve_plan(1, by="ada", todos=True)
        plan = await waiting
        assert plan == await agent.plan
        assert plan.state.value == "approved"
        assert not (await agent.plan_reply(plan)).is_error
        await agent.ask("1", "Red?")
        assert [wait.text for wait in await board.waits()] == ["Red?"]
        await agent.answer("1", "Blue", by="ada")
        assert "Blue" in (await agent.take_answers() or "")


def test_a_plan_is_proposed_awaited_and_approved():
    asyncio.run(_story())


async def _many() -> None:
    async with Board.open("memory:", clock=FakeClock()) as board:
        agents = [board.agent(f"a{number}", session="s") for number in range(3 * THREADS)]
        for agent in agents:
            await agent.propose_plan("Paint")
        waiting = [asyncio.create_task(agent.wait_for_plan(timeout=PATIENCE)) for agent in agents]
        await asyncio.sleep(0)
        for agent in agents:
            await agent.reject_plan("Blue")
        assert {plan.state.value for plan in await asyncio.gather(*waiting)} == {"rejected"}


def test_more_agents_wait_than_there_are_threads():
    asyncio.run(_many())


async def _busy() -> None:
    async with Board.open("memory:") as board:
        agent, other = board.agent("main", session="s"), board.agent("other", session="s")
        await agent.propose_plan("Paint")
        waiting = asyncio.create_task(agent.wait_for_plan(timeout=0.05))
        while not waiting.done():
            await other.call("todo", {"set": ["Busy"]})
        assert (await waiting).state.value == "proposed"


def test_what_others_do_does_not_make_the_wait_longer():
    asyncio.run(_busy())


async def _edges() -> None:
    clock = FakeClock()
    async with Board.open("memory:", clock=clock) as board:
        agent = board.agent("main", session="s", dialect="nexo", plan_tools={"require_approval": True})
        with pytest.raises(PlanMissing):
            await agent.wait_for_plan(timeout=0)
        await agent.call("EnterPlanMode", {})
        reply = await agent.call("ExitPlanMode", {"final_plan": "x"})
        assert (await agent.wait_for_plan(reply.awaits, timeout=0)).state.value == "proposed"
        clock.advance(86_400)
        plan = await agent.wait_for_plan(reply.awaits)
        assert (await agent.plan_reply(plan)).text.startswith("ApprovalTimeout")
        assert await board.resolve_plan("hello", by="ada") is False
        assert await agent.plan_delta("text", turn="t") == "text"
        assert await agent.plan_message("text", turn="t") == ("", None)
        assert len(await agent.plans) == 1


def test_time_that_is_over_and_nothing_to_wait_for():
    asyncio.run(_edges())
