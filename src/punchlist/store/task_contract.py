"""What the board asks of a store about tasks, within a transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from punchlist.core.events import Draft, Event
from punchlist.core.task import Task

if TYPE_CHECKING:
    from punchlist.store.contract import AgentRow


class TaskListRow(NamedTuple):
    """A list of tasks. `number` is the store's own key; `session` is whose it is, if it is one of a session."""

    number: int
    name: str
    project: str
    session: str | None


class TaskRow(NamedTuple):
    """A task as stored, with its neighbours. `number`, `parent` and `agent` are the store's own keys."""

    number: int
    list: TaskListRow
    rank: int
    parent: int | None
    agent: int | None
    children: int
    task: Task


class Reservation(NamedTuple):
    """What a live claim has reserved. `number` and `agent` are the store's own keys."""

    number: int
    list: str
    id: str
    owner: str | None
    agent: int | None
    patterns: tuple[str, ...]


class TaskCall(NamedTuple):
    """What was answered under a call id, and the fingerprint of what was asked."""

    fingerprint: bytes
    reply: bytes


class TaskTransaction(Protocol):
    """Lists of tasks, tasks, edges, and what was answered. `ready`, `claim` and `path` are the store's own searches."""

    # Lists.
    def named(self, name: str, now: datetime) -> tuple[TaskListRow, bool] | None:
        """A list, and whether anything in it has come due."""
        ...

    def find_list(self, name: str) -> TaskListRow | None:
        """The list of that name, with no word about what is due."""
        ...

    def add_list(self, name: str, *, project: str, session: str | None, at: datetime) -> TaskListRow: ...
    def lists(self) -> Sequence[tuple[TaskListRow, int]]: ...
    def lists_due(self, now: datetime) -> Sequence[TaskListRow]: ...
    def lists_due_of_agent(self, agent: int, now: datetime, *, session: str, name: str) -> Sequence[TaskListRow]:
        """The same for the lists in which an agent has open tasks, those of its session, and the one of that name."""
        ...

    def move_lists(self, source: str, target: str, *, name: str) -> None: ...

    # Tasks.
    def find(self, where: TaskListRow, id: int, *, alone: bool = False) -> TaskRow | None:
        """The task; `alone` without the names of its neighbours, of which it may have thousands."""
        ...

    def get(self, number: int) -> TaskRow: ...
    def page(
        self,
        where: TaskListRow,
        *,
        after: int = 0,
        limit: int | None = None,
        status: str | None = None,
        owner: str | None = None,
        label: str | None = None,
        parent: int | None = None,
    ) -> Sequence[TaskRow]: ...
    def add(self, where: TaskListRow, task: Task, *, parent: TaskRow | None, agent: int | None) -> TaskRow:
        """Gives it the next id of the list, which is never given again. Edges are not part of it."""
        ...

    def skip_ids(self, where: TaskListRow, id: int) -> bool:
        """The next task gets this id; False if it was given before, and nothing changes."""
        ...

    def next_id(self, where: TaskListRow) -> int: ...
    def save(self, row: TaskRow, task: Task, *, parent: int | None, agent: int | None) -> TaskRow:
        """Writes a changed task, if nobody changed it since it was read; those who wait for it are not told."""
        ...

    def tell_dependents(self, row: TaskRow, task: Task) -> Sequence[str]:
        """Counts a new status for those who wait for the task; the ids of those who need no longer wait."""
        ...

    def save_lease(self, row: TaskRow, task: Task) -> None: ...
    def delete(self, row: TaskRow) -> Sequence[str]:
        """Takes it away with its edges, once nothing lies below it. Who need no longer wait for it."""
        ...

    def move_children(self, row: TaskRow, *, at: datetime) -> Sequence[TaskRow]:
        """Puts all that lies below a task below its parent, each under its next revision; as they were before."""
        ...

    def save_worked(self, row: TaskRow, agent: int) -> None:
        """Notes the agent whose list is worked under a task."""
        ...

    def worked_by(self, row: TaskRow) -> tuple[str, str] | None:
        """The session, as it is called now, and the name of the agent whose list is worked under a task."""
        ...

    def children(self, row: TaskRow) -> Sequence[TaskRow]: ...
    def ended_before(self, where: TaskListRow, before: datetime, *, limit: int) -> Sequence[TaskRow]: ...

    # Searches.
    def ready(self, where: TaskListRow, *, limit: int, label: str | None = None) -> Sequence[TaskRow]: ...
    def claim(
        self,
        where: TaskListRow,
        owner: str,
        *,
        agent: int | None,
        now: datetime,
        lease: timedelta,
        limit: int = 1,
        label: str | None = None,
        reserve: tuple[str, ...] = (),
    ) -> Sequence[TaskRow]:
        """Takes the first ready tasks, those meant for this worker before others, each in one statement."""
        ...

    def due(self, where: TaskListRow, now: datetime, *, limit: int = 100) -> Sequence[TaskRow]: ...
    def leases_beyond(self, where: TaskListRow, most: datetime, *, limit: int = 100) -> Sequence[TaskRow]: ...
    def waiting_for(self, where: TaskListRow, topic: str, correlation_id: str) -> Sequence[TaskRow]: ...
    def of_agent(self, agent: AgentRow) -> Sequence[TaskRow]:
        """Open tasks of an agent, those of its session's list that bear its name, and those of its project's lists that
        were given to its name and are nobody's yet; what was started last comes behind what was started before."""
        ...

    def agent_name(self, agent: int) -> str | None: ...
    def reservations(self, project: str, now: datetime) -> Sequence[Reservation]: ...

    # Edges.
    def add_edge(self, task: TaskRow, blocker: TaskRow) -> bool:
        """False if it was there; raises `CycleRefused` with the path if it would close a circle."""
        ...

    def remove_edge(self, task: TaskRow, blocker: TaskRow) -> bool: ...
    def edges(self, where: TaskListRow) -> Sequence[tuple[str, str]]:
        """All edges of a list: a blocker and who waits for it."""
        ...

    # What happened, and what was answered.
    def add_events(
        self, row: TaskRow, drafts: Iterable[Draft], *, by: str, at: datetime, agent: int | None = None
    ) -> None: ...
    def history(self, where: TaskListRow, id: int) -> Sequence[Event]: ...
    def call(self, where: TaskListRow, call_id: str) -> TaskCall | None: ...
    def save_call(self, where: TaskListRow, call_id: str, call: TaskCall, *, at: datetime) -> None: ...
    def keep_signal(
        self, where: TaskListRow, topic: str, correlation_id: str, payload: Any, *, at: datetime
    ) -> None: ...
    def take_signal(self, where: TaskListRow, topic: str, correlation_id: str) -> tuple[Any] | None:
        """The payload of a kept event, which is then gone; None if there is none."""
        ...

    def reading(self, where: TaskListRow, source: str) -> tuple[int, bytes] | None:
        """How far a transcript was read, and what stands before that place."""
        ...

    def save_reading(self, where: TaskListRow, source: str, place: int, mark: bytes) -> None: ...
    def readings(self, where: TaskListRow, source: str) -> Mapping[str, tuple[int, bytes]]:
        """The same for every source below this one: `source/…`."""
        ...

    def delete_reading(self, where: TaskListRow, source: str) -> None: ...
    def rebuild(self) -> int:
        """Counts anew what is kept as a count; how many were wrong."""
        ...
