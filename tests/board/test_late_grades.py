"""Grades of what was done before: whatever becomes known of a call, and however, the list says what the report says."""

from collections.abc import Callable
from typing import Any

import pytest

from punchlist import Agent, Board


def _list(first: str) -> dict[str, Any]:
    rows = (("Paint", first), ("Sand", "pending"))
    return {"todos": [{"content": text, "activeForm": text, "status": status} for text, status in rows]}


def _told_late(agent: Agent) -> None:
    agent.tool_finished("late", "1 failed, 2 passed in 0.1s", exit_code=1)
    agent.tool_started("late", "Bash", {"command": "pytest -q"})


def _given_up(agent: Agent) -> None:
    agent.tool_started("change", "Bash", {"command": "sed -i s/a/b/ f"})
    agent.finished()


def _forgotten(agent: Agent) -> None:
    for number in range(70):
        agent.tool_started(f"change-{number}", "Bash", {"command": f"sed -i s/{number}/b/ f"})


@pytest.mark.parametrize(
    ("happens", "grade"), [(_told_late, "failing"), (_given_up, "verified"), (_forgotten, "verified")]
)
def test_a_call_that_ends_in_no_ordinary_way_bears_on_what_was_done_only_as_a_check(
    happens: Callable[[Agent], None], grade: str
) -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s", dialect="claude-code")
        agent.call("TodoWrite", _list("in_progress"))
        agent.tool_started("edit", "Edit", {"file_path": "a.py"})  # 8.5: it is charged for what it changed
        agent.tool_finished("edit", "ok")
        agent.tool_started("check", "Bash", {"command": "pytest -q"})
        agent.tool_finished("check", "3 passed in 0.1s", exit_code=0)
        agent.call("TodoWrite", _list("completed"))
        assert agent.todos.items[0].grade == "verified"
        happens(agent)
        for name in ("one", "two"):
            agent.tool_started(name, "Read", {"file_path": "f"})
            agent.tool_finished(name, "text")
        assert agent.todos.items[0].grade == grade == board.report(session="s").items[0].grade
