"""What the tests of tasks share: a list on a board in memory, with a clock to set."""

from __future__ import annotations

from collections.abc import Iterable

from punchlist import Board, Task, Tasks
from punchlist.testing import FakeClock


class Desk:
    """A board, its clock and one list."""

    def __init__(self, name: str = "default") -> None:
        self.clock = FakeClock()
        self.board = Board.open("memory:", clock=self.clock)
        self.tasks: Tasks = self.board.tasks(name, project="/projects/desk", by="ada")

    def many(self, *subjects: str) -> list[Task]:
        return [self.tasks.create(subject) for subject in subjects]

    def taken(self, owner: str = "worker") -> Task:
        task = self.tasks.claim(owner)
        assert task is not None
        return task

    def kinds(self, id: str) -> list[str]:
        return [event.kind.removeprefix("task.") for event in self.tasks.history(id)]


def ids(tasks: Iterable[Task]) -> list[str]:
    return [task.id for task in tasks]
