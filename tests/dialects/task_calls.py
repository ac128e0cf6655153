"""An agent with Claude Code's task tools on a board in memory, and short ways to call them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from punchlist import Agent, Board, Reply, Task
from tests.dialects.boards import memory_board


class Desk:
    """One agent; calls that have to succeed, and the state behind them."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.board: Board = agent.board
        self.tasks = self.board.tasks(agent.task_list)

    def create(self, *subjects: str, **fields: Any) -> list[str]:
        """New tasks; their ids."""
        made: list[str] = []
        for subject in subjects:
            reply = self.call("TaskCreate", subject=subject, description="", **fields)
            made.append(reply.data["task"]["id"])
        return made

    def call(self, tool: str, **args: Any) -> Reply:
        reply = self.agent.call(tool, args)
        assert not reply.is_error, reply.text
        return reply

    def update(self, task: str, **args: Any) -> Reply:
        return self.call("TaskUpdate", taskId=task, **args)

    def refused(self, task: str, **args: Any) -> Reply:
        """An update that has to be refused, with the list as it was."""
        before = self.tasks.graph()
        reply = self.agent.call("TaskUpdate", {"taskId": task, **args})
        assert reply.is_error
        assert reply.data == {"success": False, "taskId": task, "updatedFields": [], "error": reply.text}
        assert self.tasks.graph() == before
        return reply

    def get(self, task: str) -> Task:
        return self.tasks.get(task)

    def lines(self) -> list[str]:
        return self.call("TaskList").text.splitlines()


@contextmanager
def desk(**options: Any) -> Generator[Desk]:
    with memory_board() as board:
        yield Desk(board.agent("main", session="s", dialect="claude-tasks", **options))
