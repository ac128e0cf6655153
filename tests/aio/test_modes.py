"""Plan mode, layers and compaction from async code."""

import asyncio

from punchlist.aio import Board


async def _planned() -> None:
    async with Board.open("memory:") as board:
        agent = board.agent("main", session="s", dialect="claude-code", profile="classic")
        assert agent.offered
        assert agent.prompt == agent.synchronous.prompt != ""
        assert await agent.compaction_block() is None
        entered = await agent.enter_plan_mode("why")
        assert await agent.plan_mode == entered
        refusal = await agent.permits("Write", {})
        assert refusal is not None
        assert refusal.data["entered_reason"] == {"kind": "model_requested", "reason": "why"}
        assert agent.unjudged_tools(["frob", "Read"]) == ("frob",)
        assert not (await agent.spawn("explore", offered=False)).offered


def test_an_async_agent_has_the_same() -> None:
    asyncio.run(_planned())
