"""Files and patterns that a claim keeps from everybody else for as long as it lasts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from punchlist.core.globs import normalise, overlaps
from punchlist.core.task import Task, fold_task
from punchlist.errors import InvalidInput, ReservationRefused
from punchlist.store.task_rows import Reservation, TaskRow
from punchlist.tasks.fields import name_of
from punchlist.tasks.hands import Hands

_MOST_PATTERNS = 100


class Claim(NamedTuple):
    """A task as it was claimed, and when. Tasks that were claimed together have that moment in common."""

    task: Task
    at: datetime


class Reservations(Hands):
    """A reservation belongs to a claim, and to the agent that made it. A name proves nothing: many have the same."""

    def patterns(self, reserve: Sequence[str]) -> tuple[str, ...]:
        if isinstance(reserve, str) or len(reserve) > _MOST_PATTERNS:
            raise InvalidInput(problem=f"`reserve` is a list of at most {_MOST_PATTERNS} files or patterns.")
        return tuple(
            dict.fromkeys(normalise(_below(name_of("file or pattern", each), self._project)) for each in reserve)
        )

    def check_free(self, patterns: tuple[str, ...], claim: Claim | None = None) -> None:
        """Raises if another claim has reserved what might be the same file, in any list of the project.

        `claim` is the one that is made anew, if it is not a new one: its other tasks are no others.
        """
        if not patterns:
            return
        for taken in self.tasks.reservations(self.where.project, self.now):
            for pattern in patterns:
                theirs = [each for each in taken.patterns if overlaps(pattern, each)]
                if theirs and not self._is_own(taken, claim):
                    said = f"`{theirs[0]}` by `{taken.owner}` for task `{taken.id}` of `{taken.list}`"
                    raise ReservationRefused(pattern=pattern, conflicts=said, task=taken.id, owner=taken.owner)

    def _is_own(self, taken: Reservation, claim: Claim | None) -> bool:
        if taken.number in self.claimed:
            return True
        if self.agent is not None and taken.agent is not None:
            return taken.agent == self.agent.number
        if claim is None or (taken.list, taken.owner) != (self.name, claim.task.owner):
            return False
        other = self.claim_of(self.tasks.get(taken.number))
        return other is not None and other.at == claim.at

    def claim_of(self, row: TaskRow) -> Claim | None:
        """The claim under the present fence of a task, as far as that is still on record."""
        task: Task | None = None
        claim: Claim | None = None
        for event in self.tasks.history(self.where, int(row.task.id)):
            task = fold_task(task, event.kind, event.data, event.at)
            if event.kind == "task.claimed" and task is not None and task.fence == row.task.fence:
                claim = Claim(task, event.at if claim is None else claim.at)
        return claim


def _below(pattern: str, project: str) -> str:
    """A path of the project as seen from its root."""
    root = project.rstrip("/") + "/"
    return pattern.removeprefix(root)
