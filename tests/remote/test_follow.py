"""Events over HTTP, live; and the same board for async code."""

import asyncio
import threading
from typing import Any

import pytest

from punchlist import aio
from punchlist.remote.board import RemoteBoard
from tests.remote.conftest import Served


def test_a_follower_sees_what_happens_and_ends_with_the_board(remote: RemoteBoard):
    seen: list[str] = []
    after = remote.store.last_seq()

    def follow() -> None:
        for event in remote.follow(after):
            seen.append(event.kind)
            if event.kind == "list.replaced":
                return

    thread = threading.Thread(target=follow)
    thread.start()
    remote.agent(session="followed").call("todo", {"set": ["One"]})
    thread.join(60)
    assert not thread.is_alive()
    assert "item.added" in seen
    assert list(remote.follow(remote.store.last_seq(), timeout=0)) == []


def test_async_code_has_the_same_board(served: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PUNCHLIST_TOKEN", served.token)

    async def run() -> tuple[Any, ...]:
        async with aio.Board.open(served.url) as board:
            agent = board.agent(session="async")
            replies = await asyncio.gather(
                *(agent.call("todo", {"add": [{"text": f"Item {number}"}]}, call_id=str(number)) for number in range(5))
            )
            child = await agent.spawn("explore")
            task = await board.tasks("async").create("Write it")
            items = (await agent.todos).items
            events = [event.kind async for event in board.events() if event.session == "async"]
            return replies, [item.content for item in items], child, task.subject, events, await agent.mode

    replies, items, child, subject, events, mode = asyncio.run(run())
    assert not any(reply.is_error for reply in replies)
    assert items == [f"Item {number}" for number in range(5)]
    assert isinstance(child, aio.Agent)
    assert child.name == "explore"
    assert (subject, mode) == ("Write it", "execute")
    assert "agent.spawned" in events
