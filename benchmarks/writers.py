"""Agents that write their lists: alone, or all at once from a thread each."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import count

from benchmarks import work
from punchlist import Agent, Board


class Writer:
    """Works through one list after the other, each in a session of its own; `plans` of them are begun beforehand."""

    def __init__(self, board: Board, name: str, plans: int) -> None:
        self._board = board
        self._name = name
        self._begun, *self._steps = [{"todos": todos} for todos in work.claude_code(work.forward())]
        self._numbers = count()
        self._ready = [self._begin() for _ in range(plans)]
        self._moves = self._work()

    def _begin(self) -> Agent:
        agent = self._board.agent(session=f"{self._name}-{next(self._numbers)}", dialect="claude-code")
        agent.call("TodoWrite", self._begun)
        return agent

    def _work(self) -> Iterator[None]:
        while True:
            agent = self._ready.pop() if self._ready else self._begin()
            for step in self._steps:
                agent.call("TodoWrite", step)
                yield

    def write(self) -> None:
        """One write of the whole list, one status changed."""
        next(self._moves)


class Team:
    """Some writers of one board, each of which is about to write so many times."""

    def __init__(self, board: Board, size: int, writes: int = 0) -> None:
        plans = 1 + writes // (len(work.forward()) - 1)
        self._writers = [Writer(board, f"team-{size}-{index}", plans) for index in range(size)]

    def __len__(self) -> int:
        return len(self._writers)

    def write_alone(self) -> None:
        """One write by the first of them."""
        self._writers[0].write()

    def write_together(self, each: int) -> None:
        """So many writes by each, all at the same time."""

        def several(writer: Writer) -> None:
            for _ in range(each):
                writer.write()

        threads = [threading.Thread(target=several, args=(writer,)) for writer in self._writers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
