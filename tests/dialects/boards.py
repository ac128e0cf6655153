"""A board in memory with a clock that stands still, and short ways to call agents on it."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from punchlist import Agent, Board, Reply, TodoList

NOW = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)

MARKS = {"pending": " ", "in_progress": ">", "blocked": "!", "completed": "x", "failed": "f", "cancelled": "-"}


@contextmanager
def memory_board() -> Generator[Board]:
    with Board.open("memory:", clock=lambda: NOW) as board:
        yield board


def lines(todos: TodoList) -> list[str]:
    """The list, a line an item: id, mark, text."""
    return [f"{item.id} {MARKS[item.status.value]} {item.content}" for item in todos.items]


def todo(agent: Agent, **args: Any) -> Reply:
    """A call of our own tool that has to succeed."""
    reply = agent.call("todo", args)
    assert not reply.is_error, reply.text
    return reply


def written(*lines: str) -> dict[str, Any]:
    """Arguments of `TodoWrite`: `"> Paint"` is in progress, `"x Paint"` completed, `"Paint"` pending."""
    words = {"> ": "in_progress", "x ": "completed", "  ": "pending"}
    todos: list[dict[str, str]] = []
    for line in lines:
        status = words.get(line[:2])
        content = line if status is None else line[2:]
        todos.append({"content": content, "status": status or "pending", "activeForm": f"Doing {content}"})
    return {"todos": todos}


def write(agent: Agent, *lines: str) -> Reply:
    """A call of `TodoWrite` that has to succeed."""
    reply = agent.call("TodoWrite", written(*lines))
    assert not reply.is_error, reply.text
    return reply


def last_kind(board: Board) -> str:
    return list(board.events())[-1].kind
