"""A conversation on a board in memory: short ways to say what happens in it."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, Unpack

from punchlist import Agent, Board
from punchlist.agent import AgentOptions
from punchlist.guidance.words import Injection
from tests.dialects.calls import REAL

Said = list[Injection]


@contextmanager
def talk(dialect: str = "claude-code", profile: str = "classic", **options: Unpack[AgentOptions]) -> Generator[Agent]:
    with Board.open("memory:") as board:
        yield board.agent("main", session="s1", dialect=dialect, profile=profile, **options)


def turns(agent: Agent, count: int, tools: Sequence[str] = ("Read",)) -> list[Said]:
    """What was said after each of so many turns."""
    return [agent.assistant_turn(tools_used=tools) for _ in range(count)]


def spoken(said: list[Said]) -> list[int]:
    """The turns after which something was said, the first being 1."""
    return [number for number, one in enumerate(said, 1) if one]


def kinds(said: Said) -> list[str]:
    return [injection.kind for injection in said]


def rows(injection: Injection) -> list[str]:
    """The rows below the sentence that says what to do."""
    opening, said, *between, closing = injection.text.split("\n")
    assert (opening, closing) == ("<punchlist>", "</punchlist>")
    assert said.startswith("Punchlist, the todo layer of this session: ")
    return between


def example(agent: Agent) -> Any:
    """Has the agent write a list, with work open, as its dialect does."""
    reply = agent.call(agent.tools[0].name, REAL[agent.dialect][0])
    assert not reply.is_error, reply.text
    return reply


def do(agent: Agent, count: int, name: str = "Edit", *, is_error: bool = False) -> None:
    """So many tool calls, reported one by one."""
    for number in range(count):
        call_id = f"{name}-{number}-{agent.board.store.last_seq()}"
        agent.tool_started(call_id, name, {"file_path": "a.py"})
        agent.tool_finished(call_id, result="ok", is_error=is_error)
