"""The board for async code: the same names, awaited wherever they reach the store. The event loop never waits.

    async with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        await agent.call("todo", {"add": ["Ship it"]})
        print((await agent.todos).progress)

- What needs no store is plain: `board.agent(…)`, `board.now()`, `agent.name`, `agent.tools`. Everything else is
  awaited, properties too: `await agent.todos`, `await agent.mode`.
- Calls run on a few threads. Those of one agent apply in the order of their arrival, also when they are awaited
  together (`asyncio.gather`).
- Cancelling a call that waits for its turn withdraws it. One that has begun is finished nevertheless, and its changes
  stay: give calls a `call_id` and repeat them.
- `board.synchronous` is the synchronous board, for bridges that need one: `ClaudeTasks().export(board.synchronous, …)`.
- `progress` is called on those threads.
"""

from punchlist.aio.board import Agent, Board, Conversation, Flows, Opening, Tasks

__all__ = ["Agent", "Board", "Conversation", "Flows", "Opening", "Tasks"]
