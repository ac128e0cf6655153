"""A session in which everything happens that an ACP client can be told of, shared by the tests of the bridge."""

from collections.abc import Sequence
from typing import Any

from punchlist import Agent, Board
from punchlist.core.events import Event
from tests.core.build import NOW
from tests.dialects.boards import todo


def worked(board: Board, session: str = "s1") -> Agent:
    """An agent with a list in every state, tool calls of each outcome, a child, and a plan that waits."""
    agent = board.agent("main", session=session)
    todo(agent, set=["Read", "Write", "Ask", "Drop", "Check"])
    agent.tool_started("c1", "Read", {"file_path": "/src/parser.py"})
    agent.tool_finished("c1", "text of the file")
    todo(agent, done="1", start="2")
    todo(agent, block={"3": "which port?"}, drop="4")
    agent.tool_started("c2", "Bash", {"command": "make"})
    agent.tool_finished("c2", "boom", is_error=True)
    child = agent.spawn("explore", label="Explore")
    todo(child, set=["Look around"])
    child.tool_started("c1", "Grep", {"pattern": "x"})
    agent.enter_plan_mode()
    agent.propose_plan("# Plan\n\n1. First")
    return agent


def events_of(board: Board) -> list[Event]:
    return list(board.events())


def tool(kind: str, seq: int = 1, *, agent: str = "main", session: str = "s1", **data: Any) -> Event:
    return Event(seq, NOW, kind, agent, "/p", session, agent, data)


def kinds(updates: Sequence[dict[str, Any]]) -> list[str]:
    return [update["sessionUpdate"] for update in updates]
