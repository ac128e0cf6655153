"""Claim tasks: check ownership and fences, and reserve files.

Two file patterns overlap if in doubt: a reservation is better too wide.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from punchlist.core import task_rules as rules
from punchlist.core.task import Task, TaskStatus, fold_task
from punchlist.errors import InvalidInput, ReservationRefused
from punchlist.store import AgentRow, Transaction
from punchlist.store.tasks import Reservation, TaskRow
from punchlist.tasks.fields import check_name
from punchlist.text.patterns import compile_later

_WILD = compile_later(r"[*?\[!]")
_CHOICE = compile_later(r"[^/]*(?:\{|[?*+@!]\()")
_ANYTHING = "**"
_MOST_PARTS = 64
"""A deeper pattern overlaps with everything: comparing two patterns takes time in the product of their parts."""


def overlaps(one: str, other: str) -> bool:
    """True if two patterns could mean the same file. A pattern includes everything below it; case does not matter."""
    first, second = _split_folders(one), _split_folders(other)
    if len(first) > _MOST_PARTS or len(second) > _MOST_PARTS:
        return True
    return _may_meet((*first, _ANYTHING), (*second, _ANYTHING))


def normalise(pattern: str) -> str:
    """Return the pattern without needless parts; the empty text stands for everything."""
    parts, choice = _split_parts(pattern)
    return "/".join((*parts, choice) if choice else parts)


def _split_folders(pattern: str) -> tuple[str, ...]:
    """Return the parts of a pattern; a choice may be any path from there on, or from the root where it leads up."""
    parts, choice = _split_parts(pattern)
    if ".." in choice:
        return ()
    return tuple(part.casefold() for part in parts)


def _split_parts(pattern: str) -> tuple[list[str], str]:
    """Return the parts before the first choice, `{a/b,c}` or `@(a/b|c)`, and the rest of the pattern from there on.

    `..` after a part of unknown depth may lead anywhere.
    """
    pattern = pattern.replace("\\", "/")
    choice = _CHOICE.search(pattern)
    end = len(pattern) if choice is None else choice.start()
    parts: list[str] = []
    for part in pattern[:end].split("/"):
        if part == ".." and parts[-1:] == [_ANYTHING]:
            parts = [_ANYTHING]
        elif part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part and part != ".":
            parts.append(part)
    return parts, pattern[end:]


@lru_cache(maxsize=8192)
def _may_meet(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    if not first or not second:
        return all(part == "**" for part in first + second)
    if first[0] == "**":
        return _may_meet(first[1:], second) or _may_meet(first, second[1:])
    if second[0] == "**":
        return _may_meet(first, second[1:]) or _may_meet(first[1:], second)
    return _may_be_equal(first[0], second[0]) and _may_meet(first[1:], second[1:])


def _may_be_equal(one: str, other: str) -> bool:
    """True if two names could be equal: the text before the first and after the last wildcard must agree."""
    wild, tame = _WILD.search(one) is not None, _WILD.search(other) is not None
    if not wild and not tame:
        return one == other
    head, other_head = _WILD.split(one, maxsplit=1)[0], _WILD.split(other, maxsplit=1)[0]
    if not (head.startswith(other_head) or other_head.startswith(head)):
        return False
    tail, other_tail = _find_tail(one), _find_tail(other)
    if not (tail.endswith(other_tail) or other_tail.endswith(tail)):
        return False
    if not wild or not tame:
        fixed = one if not wild else other
        pattern_head, pattern_tail = (other_head, other_tail) if not wild else (head, tail)
        return fixed.startswith(pattern_head) and fixed.endswith(pattern_tail)
    return True


def _find_tail(pattern: str) -> str:
    """Return the fixed end of a pattern; empty if it has a class or a bracket, which may end otherwise."""
    if any(char in pattern for char in "[!("):
        return ""
    return re.split(r"[*?]", pattern)[-1]


LEASE = 900.0
"""Seconds that a claim lasts without a heartbeat, unless it says otherwise."""

LONGEST_LEASE = 86_400.0
_MOST_PATTERNS = 100


class ClaimRecord(NamedTuple):
    """A task as it was claimed, and when. Tasks that were claimed together have that moment in common."""

    task: Task
    at: datetime


class Ownership:
    """Tells who has a task, seen from one writer: an agent of this board, or a worker known by the fence it shows.

    A name is neither: many workers share one. It only assigns a task that has not been started.
    """

    def __init__(self, tx: Transaction, *, by: str, agent: AgentRow | None) -> None:
        self._tx = tx
        self._tasks = tx.tasks
        self._by = by
        self._agent = agent
        self.claimed = set[int]()
        """The numbers of the tasks that were claimed together in this transaction."""

    def has(self, row: TaskRow, fence: int | None) -> bool:
        """True if the writer has the task, or may start it. `fence` is the task's own, if one was shown."""
        task, agent = row.task, self._agent
        if fence is not None:
            return True
        if agent is not None:
            return row.agent == agent.number if row.agent is not None else task.owner in {None, agent.name}
        if task.status is TaskStatus.IN_PROGRESS:
            return self._by == task.owner is not None and not self.is_at_work(row)
        return not self._by or (row.agent is None and task.owner in {None, self._by})

    def is_at_work(self, row: TaskRow) -> bool:
        """True if a task in progress has a worker: an agent, a lease holder, or a person who began it by name.

        It may also have no owner, or be assigned to a worker that has not started it yet.
        """
        if row.agent is not None or row.task.lease_until is not None:
            return True
        if row.task.owner is None:
            return False
        events = self._tasks.history(row.list, int(row.task.id))
        kinds = [event.kind for event in events if "fence" in event.data.get("set", ())]
        return kinds[-1:] != ["task.changed"]

    def holder(self, row: TaskRow) -> str | None:
        """Return the name of the worker that has the task: its owner, else the agent that began it."""
        return row.task.owner or (None if row.agent is None else self._tasks.agent_name(row.agent))

    def check(self, row: TaskRow, fence: int | None) -> None:
        """Raise for a worker that shows an old fence, and for an agent that shows none and has lost the task."""
        rules.check_fence(row.task, self.fence_of(row, fence))

    def fence_of(self, row: TaskRow, fence: int | None) -> int | None:
        """Return the fence under which a write stands: the one shown; else the one under which an agent had the task
        that another has taken since; else None."""
        agent = self._agent
        if fence is not None or agent is None or row.task.status is not TaskStatus.IN_PROGRESS:
            return fence
        return None if row.agent == agent.number else self._lost_fence(row, agent)

    def _lost_fence(self, row: TaskRow, agent: AgentRow) -> int | None:
        """Return the fence under which an agent had this task last; None if it never did, or gave it away itself."""
        had = None
        for kind, task in self._fences_given(row, agent):
            its = kind == "task.claimed" or task.owner in {None, agent.name}
            had = task.fence if its and task.status is TaskStatus.IN_PROGRESS else None
        return None if had == row.task.fence else had

    def is_under_another_name(self, row: TaskRow) -> bool:
        """True if the owner may be the agent's name for itself: no agent of the session has that name, and if the
        task was begun, this agent began it."""
        agent, task = self._agent, row.task
        if agent is None or row.agent is not None or task.owner is None or task.lease_until is not None:
            return False
        if self._tx.agent(agent.session, task.owner) is not None:
            return False
        begun = task.status is TaskStatus.IN_PROGRESS
        return not begun or any(each.fence == task.fence for _, each in self._fences_given(row, agent))

    def _fences_given(self, row: TaskRow, agent: AgentRow) -> Iterator[tuple[str, Task]]:
        """Yield the events by which an agent gave the task a new fence: their kind, and the task after each."""
        task: Task | None = None
        for event in self._tasks.history(row.list, int(row.task.id)):
            fence, task = None if task is None else task.fence, fold_task(task, event.kind, event.data, event.at)
            by_it = (event.session, event.agent) == (agent.session, agent.name)
            if task is not None and by_it and task.fence != fence:
                yield event.kind, task

    def check_reservable(
        self, patterns: tuple[str, ...], project: str, now: datetime, claim: ClaimRecord | None = None
    ) -> None:
        """Raise if another claim has reserved what might be the same file, in any list of the project.

        `claim` is the one that is renewed, if it is not a new one: its other tasks are its own.
        """
        for taken in self._tasks.reservations(project, now) if patterns else ():
            for pattern in patterns:
                theirs = [each for each in taken.patterns if overlaps(pattern, each)]
                if theirs and not self._is_own(taken, claim):
                    said = f"`{theirs[0]}` by `{taken.owner}` for task `{taken.id}` of `{taken.list}`"
                    raise ReservationRefused(pattern=pattern, conflicts=said, task=taken.id, owner=taken.owner)

    def _is_own(self, taken: Reservation, claim: ClaimRecord | None) -> bool:
        if taken.number in self.claimed:
            return True
        if self._agent is not None and taken.agent is not None:
            return taken.agent == self._agent.number
        if claim is None or (taken.list, taken.owner) != (claim.task.list, claim.task.owner):
            return False
        other = self.find_claim(self._tasks.get(taken.number))
        return other is not None and other.at == claim.at

    def find_claim(self, row: TaskRow) -> ClaimRecord | None:
        """Return the claim under the present fence of a task, as far as it is still on record."""
        task: Task | None = None
        claim: ClaimRecord | None = None
        for event in self._tasks.history(row.list, int(row.task.id)):
            task = fold_task(task, event.kind, event.data, event.at)
            if event.kind == "task.claimed" and task is not None and task.fence == row.task.fence:
                claim = ClaimRecord(task, event.at if claim is None else claim.at)
        return claim


def check_patterns(reserve: Sequence[str], project: str) -> tuple[str, ...]:
    """Return the files and patterns to reserve, relative to the root of the project."""
    if isinstance(reserve, str) or len(reserve) > _MOST_PATTERNS:
        raise InvalidInput(problem=f"`reserve` is a list of at most {_MOST_PATTERNS} files or patterns.")
    root = project.rstrip("/") + "/"
    return tuple(dict.fromkeys(normalise(check_name("file or pattern", each).removeprefix(root)) for each in reserve))


def check_lease(seconds: Any) -> float:
    if not isinstance(seconds, int | float) or not 0 < seconds <= LONGEST_LEASE:
        raise InvalidInput(problem=f"A lease lasts more than 0 and at most {LONGEST_LEASE:g} seconds.")
    return seconds
