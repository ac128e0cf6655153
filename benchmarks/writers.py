"""Agents that write their lists: alone, or all at once from a thread each."""

from __future__ import annotations

import threading

from benchmarks import work
from punchlist import Board


class Team:
    """Some agents of one board, each in a session of its own."""

    def __init__(self, board: Board, size: int) -> None:
        self._agents = [board.agent(session=f"team-{size}-{index}", dialect="claude-code") for index in range(size)]
        self._calls = [work.calls() for _ in self._agents]
        for index in range(size):
            self._write(index)

    def __len__(self) -> int:
        return len(self._agents)

    def _write(self, index: int) -> None:
        self._agents[index].call("TodoWrite", next(self._calls[index]))

    def write_alone(self) -> None:
        """One write by the first agent."""
        self._write(0)

    def write_together(self, each: int) -> None:
        """So many writes by each agent, all agents at the same time."""

        def several(index: int) -> None:
            for _ in range(each):
                self._write(index)

        threads = [threading.Thread(target=several, args=(index,)) for index in range(len(self))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
