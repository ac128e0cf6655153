"""Add and remove edges between tasks, count open blockers, and keep the ranks that make cycles cheap to find.

Every task has a higher rank than its blockers. An edge that runs forward in rank closes no cycle, so adding it looks
at nothing else. One that runs backward is looked into from both ends in turn, until one end is exhausted: then there
is no cycle, and that end, the smaller one, is moved. Where both ends are large, the database walks one of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from punchlist.core.task import RunsAfter, TaskStatus
from punchlist.core.task_rules import is_holding
from punchlist.errors import CycleRefused
from punchlist.store.agents import UnitOfWork

_STEPS = 64
"""The search visits so many tasks one by one before the database does the rest in one statement."""

_MOST_NAMED = 12
_POLICIES: tuple[RunsAfter, ...] = ("completed", "ended")


class Edges:
    """The edges between tasks, by the store's own numbers."""

    def __init__(self, queries: UnitOfWork) -> None:
        self._queries = queries

    def add(self, task: int, blocker: int, *, holding: bool) -> bool:
        """Add an edge; False if it was there. `holding`: the blocker is not done yet."""
        if self._queries.one("find_edge", (task, blocker)) is not None:
            return False
        self._admit(task, blocker)
        self._queries.run("add_edge", (task, blocker))
        if holding:
            self._queries.run("shift_open_blockers", (1, task))
        return True

    def remove(self, task: int, blocker: int, *, holding: bool) -> bool:
        if self._queries.one("find_edge", (task, blocker)) is None:
            return False
        self._queries.run("delete_edge", (task, blocker))
        if holding:
            self._queries.run("shift_open_blockers", (-1, task))
        return True

    def shift(self, blocker: int, before: TaskStatus, after: TaskStatus | None) -> list[str]:
        """Count a blocker's new status (None: deleted) for its dependents; return those with no open blocker left."""
        free: list[int] = []
        for policy in _POLICIES:
            by = (after is not None and is_holding(after, policy)) - is_holding(before, policy)
            if by:
                values = {"by": by, "blocker": blocker, "runs_after": policy}
                rows = self._queries.all("shift_dependents", values)
                free += [task for task, left, status in rows if not left and by < 0 and status == "pending"]
        return [str(task) for task in sorted(free)]

    # Ranks and cycles.

    def _rank(self, task: int) -> int:
        return self._queries.one("rank_of_task", (task,))[0]

    def _admit(self, task: int, blocker: int) -> None:
        """Rank the blocker below the task; raise `CycleRefused` if that cannot be."""
        if task == blocker:
            raise self._refusal([task])
        low, high = self._rank(task), self._rank(blocker)
        if high < low:
            return
        forward = Side(self._queries, "dependents_upto", task, high)
        backward = Side(self._queries, "blockers_from", blocker, low)
        for _ in range(_STEPS):
            for side, other in ((forward, backward), (backward, forward)):
                meeting = side.step(other)
                if meeting is not None:
                    raise self._refusal([*backward.way(meeting)][::-1] + [*forward.way(meeting)][1:])
                if side.exhausted:
                    self._move(side is forward, task if side is forward else blocker, high + 1, low - 1)
                    return
        self._search(task, blocker)
        self._move(True, task, high + 1, low - 1)

    def _search(self, task: int, blocker: int) -> None:
        """Raise if the blocker waits for the task, however many tasks lie between."""
        via: dict[int, int] = dict(self._queries.all("way_forward", {"task": task}))
        if blocker in via:
            way = [blocker]
            while way[-1] != task:
                way.append(via[way[-1]])
            raise self._refusal(way)

    def _move(self, up: bool, start: int, above: int, below: int) -> None:
        """Give a task a rank on the far side of an edge, and move the tasks that are in the way."""
        query, step = ("dependents_upto", 1) if up else ("blockers_from", -1)
        todo = {start: above if up else below}
        while todo:
            number, rank = min(todo.items(), key=lambda each: each[1] * step)
            del todo[number]
            self._queries.run("save_rank", (rank, number))
            for neighbour, _ in self._queries.all(query, (number, rank)):
                wanted = rank + step
                known = todo.get(neighbour, wanted)
                todo[neighbour] = max(known, wanted) if up else min(known, wanted)

    def _refusal(self, way: list[int]) -> CycleRefused:
        """`way` leads from the blocker back to the task, each waiting for the next."""
        names = [str(self._queries.one("ids_of_tasks", (number,))[0]) for number in _ends(way)]
        task, blocker = names[-1], names[0]
        named = [task, *names]
        if len(way) > len(names):
            half = 1 + len(names) // 2
            named[half:half] = [f"… {len(way) - len(names)} more …"]
        return CycleRefused(task=task, blocker=blocker, path=" → ".join(named), length=len(way))


def _ends(way: list[int]) -> list[int]:
    """Return the way, or its two ends if it is long."""
    half = _MOST_NAMED // 2
    return way if len(way) <= _MOST_NAMED else [*way[:half], *way[-half:]]


class Side:
    """A search from one end of an edge, task by task, in one direction, up to the rank of the other end."""

    def __init__(self, queries: UnitOfWork, query: str, start: int, bound: int) -> None:
        self._queries = queries
        self._query = query
        self._bound = bound
        self._open = [start]
        self.via: dict[int, int | None] = {start: None}

    @property
    def exhausted(self) -> bool:
        return not self._open

    def step(self, other: Side) -> int | None:
        """Visit one more task; return the task at which the two searches meet, if they do."""
        number = self._open.pop()
        for neighbour, _ in self._queries.all(self._query, (number, self._bound)):
            if neighbour not in self.via:
                self.via[neighbour] = number
                self._open.append(neighbour)
                if neighbour in other.via:
                    return neighbour
        return None

    def way(self, meeting: int) -> Iterator[int]:
        """Return the tasks from where the searches met back to the start of this side."""
        at: int | None = meeting
        while at is not None:
            yield at
            at = self.via[at]
