"""How many statements a step runs: BEGIN, COMMIT and each PRAGMA count, and a board with much on it needs no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from punchlist import Agent, Board
from punchlist.tasks import Tasks

SHOP = "/projects/shop"
MANY = 1000


def make_todos(done: int) -> dict[str, Any]:
    statuses = ["completed"] * done + ["in_progress"] + ["pending"] * (19 - done)
    items = [(f"Item {number} of the list", status) for number, status in enumerate(statuses)]
    return {"todos": [{"content": text, "activeForm": text, "status": status} for text, status in items]}


def _report(agent: Agent, id: str, tool: str, args: dict[str, Any], result: str) -> None:
    agent.tool_started(id, tool, args)
    agent.tool_finished(id, result=result)


class Desk:
    """An agent that has completed items with calls in its window, and a list of tasks."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.agent = board.agent("main", session="s1", dialect="claude-code", project=SHOP)
        self.agent.call("TodoWrite", make_todos(0), call_id="begin")
        child = self.agent.spawn("explore", label="Explore")
        _report(child, "grep", "Grep", {"pattern": "form"}, "form.py")
        _report(self.agent, "edit", "Edit", {"file_path": f"{SHOP}/a.py", "old_string": "a", "new_string": "b"}, "ok")
        self.agent.call("TodoWrite", make_todos(2), call_id="two")
        _report(self.agent, "test", "Bash", {"command": "pytest -q"}, "3 passed in 0.1s")
        self.tasks: Tasks = board.tasks("default", project=SHOP, by="ada")
        for subject in ("Paint", "Sand"):
            self.tasks.create(subject)

    def count(self, step: Callable[[], object]) -> list[str]:
        """Return the statements that a step runs."""
        statements: list[str] = []
        self.board.store.transact(lambda tx: tx.connection.set_trace_callback(statements.append))
        statements.clear()
        step()
        self.board.store.transact(lambda tx: tx.connection.set_trace_callback(None))
        return statements[: statements.index("COMMIT") + 1]


def _fill(board: Board) -> None:
    """Add a thousand sessions of other agents, in few transactions."""

    def add(_: object) -> None:
        for number in range(MANY):
            agent = board.agent("main", session=f"other-{number}", project=f"/projects/p{number % 7}")
            agent.call("todo", {"set": ["Look", "Tell"]})

    board.store.joined(add)


@pytest.fixture(scope="module", params=["alone", "among a thousand"])
def desk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    path: Path = tmp_path_factory.mktemp("board") / "board.db"
    with Board.open(path) as board:
        if request.param != "alone":
            _fill(board)
        yield Desk(board)


def test_each_step_loads_once_and_saves_once(desk: Desk) -> None:
    agent, tasks = desk.agent, desk.tasks
    check = {"command": "pytest -q"}
    write = desk.count(lambda: agent.call("TodoWrite", make_todos(3), call_id="three"))
    _report(agent, "more", "Edit", {"file_path": f"{SHOP}/b.py", "old_string": "a", "new_string": "b"}, "ok")
    agent.call("TodoWrite", make_todos(5), call_id="five")  # the next check grades both again
    found = {
        "TodoWrite": write,
        "tool_started": desk.count(lambda: agent.tool_started("again", "Bash", check)),
        "tool_finished": desk.count(lambda: agent.tool_finished("again", "1 failed in 0.1s", is_error=True)),
        "claim": desk.count(lambda: tasks.claim("worker")),
        "complete": desk.count(lambda: tasks.complete("1", fence=1)),
    }
    counts = {name: len(statements) for name, statements in found.items()}
    most = {"TodoWrite": 14, "tool_started": 9, "tool_finished": 16, "claim": 6, "complete": 8}
    assert all(counts[name] <= most[name] for name in most), found
    assert [item.grade for item in agent.todos.items[3:5]] == ["failing", "failing"]
