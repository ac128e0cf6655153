"""Calls on a board that come again, and what is found of them."""

from typing import Unpack

from punchlist import Agent, Board
from punchlist.agent import AgentOptions

LOOP = {"warning_threshold": 3, "critical_threshold": 5, "global_threshold": 8}


def agent_on(board: Board, **options: Unpack[AgentOptions]) -> Agent:
    return board.agent("main", session="s1", **options)


def call(agent: Agent, number: int, path: str = "notes.txt") -> str:
    verdict = agent.tool_started(f"c{number}", "read", {"path": path})
    if verdict.level != "critical":
        agent.tool_finished(f"c{number}", result="the same text")
    return verdict.level


def findings(board: Board) -> list[tuple[str, str, str]]:
    return [
        (event.kind, event.data["detector"], event.data["subject"])
        for event in board.events()
        if event.kind.startswith("finding.")
    ]


def run(agent: Agent, number: int, name: str = "read", path: str = "notes.txt") -> None:
    """A host that does not act on verdicts."""
    agent.tool_started(f"c{number}", name, {"path": path})
    agent.tool_finished(f"c{number}", result="the same text")


def said(agent: Agent) -> str:
    return "".join(one.text for one in agent.assistant_turn(["read"]) if one.kind == "finding")
