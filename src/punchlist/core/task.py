"""What a durable task is: work that outlives a conversation, with its neighbours, its worker and its waits."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from msgspec import Struct, field

from punchlist.core.todo import Progress


class TaskStatus(StrEnum):
    """Stored. *Blocked* and *ready* follow from it and the neighbours."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED = frozenset({TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED})
SETTLED = frozenset({TaskStatus.COMPLETED, TaskStatus.CANCELLED})
"""Nothing is owed any more. A failed task has ended, and is still owed."""

RunsAfter = Literal["completed", "ended"]
"""What a task asks of its blockers: that they were completed, or only that they ended, however."""

WaitKind = Literal["timer", "event", "manual"]

FLOWS = "board:flows"
"""The list in which flows are kept (see `core/flow.py`). It is theirs alone."""

FIRST, LAST, USUAL = 0, 4, 2
"""Priorities: 0 comes first, 4 last."""


NOT_DONE = Progress(0, 1, 0)


class Wait(Struct, frozen=True, kw_only=True):
    """What a waiting task waits for. `then` is the status that it goes on in.

    `meant` says that its owner did not have it yet but is to have it, and keeps it when it goes on.
    """

    kind: WaitKind
    at: datetime | None = None
    topic: str | None = None
    correlation_id: str | None = None
    since: datetime | None = None
    then: Literal["pending", "in_progress"] = "pending"
    meant: bool = False


class Check(Struct, frozen=True):
    """One line of an acceptance checklist."""

    text: str
    done: bool = False


class LateResult(Struct, frozen=True, kw_only=True):
    """What a worker brought after somebody else had taken its task."""

    fence: int
    result: Any = None
    by: str = ""
    at: datetime | None = None


class Worked(Struct, frozen=True, kw_only=True):
    """The todo list that is worked under a task: whose it is, and which plan of it."""

    session: str
    agent: str
    plan_id: str


class Blocking(NamedTuple):
    """A blocker that still holds a task back, and in which status it is."""

    id: str
    status: TaskStatus


class Task(Struct, frozen=True, kw_only=True):
    """One task of one list. `id` is a number as text, given in order within the list and never again.

    `lease_until`: when the claim of the owner ends by itself; None for one that does not. `fence` rises with every
    change of hands: a worker shows the one that it was given. `open_blockers` counts those in `held_by`.
    `started_at`: when whoever has it, or had it last, took it up. `revision` rises with every change to the task
    itself; a lease that is renewed is none. `grade`: what was seen of the work on it, once it is completed (see
    `grounding/grades.py`); None where nobody reported any.
    """

    list: str
    id: str
    subject: str
    description: str = ""
    active_form: str | None = None
    status: TaskStatus = TaskStatus.PENDING
    owner: str | None = None
    parent: str | None = None
    priority: int = USUAL
    labels: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()
    held_by: tuple[Blocking, ...] = ()
    open_blockers: int = 0
    runs_after: RunsAfter = "completed"
    checklist: tuple[Check, ...] = ()
    state: Any = field(default_factory=dict[str, Any])
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    attempts: int = 0
    max_attempts: int | None = None
    backoff: float = 30.0
    not_before: datetime | None = None
    lease: float | None = None
    lease_until: datetime | None = None
    fence: int = 0
    cancel_requested: bool = False
    wait: Wait | None = None
    result: Any = None
    late_results: tuple[LateResult, ...] = ()
    failure: str | None = None
    reserved: tuple[str, ...] = ()
    worked: Worked | None = None
    created_at: datetime | None = None
    created_by: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    grade: str | None = None
    updated_at: datetime | None = None
    revision: int = 0
    progress: Progress = NOT_DONE

    @property
    def label(self) -> str:
        """What a person reads while the task is worked on."""
        return self.active_form or self.subject

    @property
    def is_open(self) -> bool:
        """Whether it is still owed: everything but completed and cancelled."""
        return self.status not in SETTLED

    @property
    def is_blocked(self) -> bool:
        return self.open_blockers > 0 and self.status not in ENDED

    @property
    def is_ready(self) -> bool:
        """Whether a worker may take it now; the store looks for the same."""
        return (
            self.status is TaskStatus.PENDING
            and self.owner is None
            and not self.open_blockers
            and self.not_before is None
            and not self.cancel_requested
        )

    @property
    def stuck_on(self) -> tuple[str, ...]:
        """Blockers that ended without being completed: nothing will release this task but a person, or a retry."""
        return tuple(blocker.id for blocker in self.held_by if blocker.status in ENDED)


def own_progress(status: TaskStatus, checklist: tuple[Check, ...]) -> Progress:
    """How far a task without children is: by its checklist, else by its status."""
    if status is TaskStatus.CANCELLED:
        return Progress(0, 0, 0)
    if status is TaskStatus.COMPLETED or not checklist:
        done = status is TaskStatus.COMPLETED
        return Progress(int(done), 1, 100 * done)
    return share(sum(check.done for check in checklist), len(checklist))


def share(done: int, total: int) -> Progress:
    """The percentage is rounded half up."""
    return Progress(done, total, (200 * done + total) // (2 * total) if total else 0)
