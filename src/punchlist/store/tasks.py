"""Read and write tasks, their lists and edges. The rules are in core; the searches are named queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from msgspec.structs import replace

from punchlist.core.events import Draft, Event
from punchlist.core.task import (
    FLOWS,
    Blocking,
    ChecklistLine,
    LateResult,
    RunsAfter,
    Task,
    TaskStatus,
    Wait,
    Worked,
    own_progress,
    share,
)
from punchlist.core.task_rules import is_holding
from punchlist.core.todo import Progress
from punchlist.errors import CycleRefused, TaskRevisionConflict
from punchlist.store import records
from punchlist.store.events import append_events, in_order
from punchlist.store.records import (
    AgentRow,
    Rows,
    StoredCall,
    UnitOfWork,
    call_values,
    check_row,
    readable,
    stored_call,
)

SECOND = 1_000_000


class TaskListRow(msgspec.Struct, frozen=True):
    """A list of tasks. `number` is the store's own key; `session` is set if it is the list of a session."""

    number: int
    name: str
    project: str
    session: str | None


class TaskCounts(msgspec.Struct, frozen=True):
    """How many tasks a list has in each status, how many of them are ready, and when one of them last changed."""

    statuses: Mapping[str, int]
    ready: int
    changed_at: datetime


class TaskRow(msgspec.Struct, frozen=True):
    """A task as stored, with its neighbours. `number`, `parent` and `agent` are the store's own keys."""

    number: int
    list: TaskListRow
    rank: int
    parent: int | None
    agent: int | None
    children: int
    task: Task


class Reservation(msgspec.Struct, frozen=True):
    """The patterns of files that a live claim has reserved. `number` and `agent` are the store's own keys."""

    number: int
    list: str
    id: str
    owner: str | None
    agent: int | None
    patterns: tuple[str, ...]


class _Body(msgspec.Struct, omit_defaults=True):
    """The fields that no query asks for. Those that hold their default are left out."""

    subject: str
    description: str = ""
    active_form: str | None = None
    labels: tuple[str, ...] = ()
    checklist: tuple[ChecklistLine, ...] = ()
    state: Any = msgspec.field(default_factory=dict[str, Any])
    metadata: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    max_attempts: int | None = None
    backoff: float = 30.0
    wait: Wait | None = None
    result: Any = None
    late_results: tuple[LateResult, ...] = ()
    failure: str | None = None
    worked: Worked | None = None
    created_by: str = ""
    grade: str | None = None


class _Outline(msgspec.Struct):
    """The fields of a body that a summary of many tasks shows; decoding skips all others."""

    subject: str
    active_form: str | None = None
    wait: Wait | None = None
    grade: str | None = None


_decode = msgspec.json.Decoder(_Body).decode
_decode_outline = msgspec.json.Decoder(_Outline).decode


def _at(moment: datetime | None) -> int | None:
    return None if moment is None else records.microseconds(moment)


def _moment(at: int | None) -> datetime | None:
    return None if at is None else records.moment(at)


def due(task: Task) -> int | None:
    """Return when something happens to the task by itself. One to be cancelled that nobody works on is due at once."""
    match task.status:
        case TaskStatus.IN_PROGRESS:
            return _at(task.lease_until)
        case TaskStatus.WAITING | TaskStatus.PENDING if task.cancel_requested:
            return _at(task.updated_at)
        case TaskStatus.WAITING:
            return None if task.wait is None else _at(task.wait.at)
        case TaskStatus.PENDING:
            return _at(task.not_before)
        case _:
            return None


def encode_lease(task: Task) -> int | None:
    return None if task.lease is None else round(task.lease * SECOND)


def encode_reserved(patterns: tuple[str, ...]) -> str | None:
    return records.encode(patterns).decode() if patterns else None


def head(where: int, id: int) -> str:
    return f"{where} {id}"


def encode_columns(task: Task, where: int, id: int) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """Return the columns of a task in three parts: before `agent` and `parent`, after them, and the last ones."""
    wait = task.wait if task.status is TaskStatus.WAITING else None
    body = records.encode(_Body(**{name: getattr(task, name) for name in _Body.__struct_fields__}))
    topic, correlation_id = (None, None) if wait is None else (wait.topic, wait.correlation_id)
    first = (task.status.value, task.priority, task.owner)
    middle = (
        task.runs_after, due(task), encode_lease(task), task.fence, task.attempts, int(task.cancel_requested), topic,
        correlation_id, encode_reserved(task.reserved),
    )  # fmt: skip
    last = (
        _at(task.started_at), _at(task.finished_at), _at(task.updated_at), task.revision,
        records.checksum(head(where, id), body), body,
    )  # fmt: skip
    return first, middle, last


def decode_outline(row: Any, where: TaskListRow) -> TaskRow:
    """Return a task with its text, status, owner, times and grade alone: a fifth of the cost of the whole."""
    number, place, status, owner, agent, created_at, started_at, finished_at, total, blob = row
    check_row(total, head(where.number, place), blob)
    body = _decode_outline(blob)
    task = Task(
        list=where.name,
        id=str(place),
        subject=body.subject,
        active_form=body.active_form,
        status=TaskStatus(status),
        owner=owner,
        wait=body.wait,
        grade=body.grade,
        created_at=_moment(created_at),
        started_at=_moment(started_at),
        finished_at=_moment(finished_at),
    )
    return TaskRow(number, where, 0, None, agent, 0, task)


def decode_row(
    row: Any,
    name: str,
    *,
    parent: str | None,
    blockers: tuple[Blocking, ...],
    blocks: tuple[str, ...],
    below: Progress | None,
) -> Task:
    """Return the task of a row with its neighbours; `below` is the progress of its children, if it has any."""
    (
        _, where, place, status, priority, owner, _, _, _, _, open_blockers, runs_after, due_at, lease, fence, attempts,
        cancel_requested, reserved, created_at, started_at, finished_at, updated_at, revision, total, blob,
    ) = row  # fmt: skip
    check_row(total, head(where, place), blob)
    body = _decode(blob)
    now = TaskStatus(status)
    when = _moment(due_at)
    return Task(
        list=name,
        id=str(place),
        status=now,
        owner=owner,
        parent=parent,
        priority=priority,
        blocks=blocks,
        blocked_by=tuple(blocker.id for blocker in blockers),
        held_by=tuple(blocker for blocker in blockers if is_holding(blocker.status, runs_after)),
        open_blockers=open_blockers,
        runs_after=runs_after,
        attempts=attempts,
        not_before=when if now is TaskStatus.PENDING and not cancel_requested else None,
        lease=None if lease is None else lease / SECOND,
        lease_until=when if now is TaskStatus.IN_PROGRESS else None,
        fence=fence,
        cancel_requested=bool(cancel_requested),
        reserved=() if reserved is None else records.decode_texts(reserved),
        created_at=_moment(created_at),
        started_at=_moment(started_at),
        finished_at=_moment(finished_at),
        updated_at=_moment(updated_at),
        revision=revision,
        progress=below or own_progress(now, body.checklist),
        **{name: getattr(body, name) for name in _Body.__struct_fields__},
    )


_GAPS = 4
"""If a page holds fewer than one of so many tasks of its range, edges are read task by task, else for the range."""

_NEVER = datetime.max.replace(tzinfo=UTC)
_BLOCKING = {status.value: status for status in TaskStatus}


class TaskRows(Rows):
    def __init__(self, rows: UnitOfWork) -> None:
        super().__init__(rows)
        self._edges = Edges(rows)

    # Lists.

    def find_list_and_due(self, name: str, now: datetime) -> tuple[TaskListRow, bool] | None:
        """Return a list, and True if anything in it has come due."""
        row = self._rows.one_with_header("find_task_list", {"name": name, "now": records.microseconds(now)})
        return None if row is None else (TaskListRow(*row[:4]), bool(row[4]))

    def find_list(self, name: str) -> TaskListRow | None:
        row = self._rows.one_with_header("find_task_list", {"name": name, "now": 0})
        return None if row is None else TaskListRow(*row[:4])

    def add_list(self, name: str, *, project: str, session: str | None, at: datetime) -> TaskListRow:
        values = {"name": name, "project": project, "session": session, "at": records.microseconds(at)}
        self._rows.run("add_task_list", values)
        self._rows.header.has_tasks = True
        made = self.find_list(name)
        assert made is not None
        return made

    def lists(self) -> Sequence[tuple[TaskListRow, int]]:
        """Return the lists of tasks, each with how many it ever had; that of flows is none."""
        rows = self._rows.all("task_lists", {"without": FLOWS})
        return [(TaskListRow(*row[:4]), row[4]) for row in rows]

    def count(self, where: TaskListRow) -> TaskCounts | None:
        """Return how many tasks a list has; None if it has none."""
        rows = self._rows.all("count_tasks", {"list": where.number})
        if not rows:
            return None
        return TaskCounts(
            {status: count for status, count, _, _ in rows},
            sum(ready for status, _, ready, _ in rows if status == TaskStatus.PENDING),
            records.moment(max(changed for *_, changed in rows)),
        )

    def project_of_list(self, number: int) -> str:
        return self._rows.one("task_list_by_number", (number,))[2]

    def lists_due(self, now: datetime) -> Sequence[TaskListRow]:
        return [TaskListRow(*row) for row in self._rows.all("task_lists_due", {"now": records.microseconds(now)})]

    def lists_due_of_agent(self, agent: int, now: datetime, *, session: str, name: str) -> Sequence[TaskListRow]:
        values = {"agent": agent, "now": records.microseconds(now), "session": session, "name": name}
        return [TaskListRow(*row) for row in self._rows.all("task_lists_due_of_agent", values)]

    # Tasks.

    def find(self, where: TaskListRow, id: int, *, alone: bool = False) -> TaskRow | None:
        """Return a task; `alone` without the names of its neighbours, of which it may have thousands."""
        if not alone:
            self._rows.expect("neighbours_of_task", {"list": where.number, "id": id})
        row = self._rows.one("task_by_id", (where.number, id))
        if row is None:
            return None
        return self._make_row(where, row, (), ()) if alone else self._load(where, row)

    def get(self, number: int) -> TaskRow:
        row = self._rows.one("task_by_number", (number,))
        where = TaskListRow(*self._rows.one("task_list_by_number", (row[1],)))
        return self._load(where, row)

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
    ) -> Sequence[TaskRow]:
        values = {"list": where.number, "after": after, "limit": records.NO_LIMIT if limit is None else limit}
        asked = {"status": status, "owner": owner, "label": label, "parent": parent}
        rows = self._rows.all("tasks_of_list", {**values, **asked})
        first, last = (rows[0][2], rows[-1][2]) if rows else (0, 0)
        if last - first >= _GAPS * len(rows):
            return [self._load(where, row) for row in rows]
        span = {"list": where.number, "first": first, "last": last}
        blockers: dict[int, list[Blocking]] = {}
        blocks: dict[int, list[str]] = {}
        for task, blocker, word in self._rows.all("blockers_between", span):
            blockers.setdefault(task, []).append(Blocking(str(blocker), _BLOCKING[word]))
            blocks.setdefault(blocker, []).append(str(task))
        if limit is not None or after or any(each is not None for each in asked.values()):
            blocks.clear()  # what waits for them may lie outside of the range
            for blocker, task in self._rows.all("dependents_between", span):
                blocks.setdefault(blocker, []).append(str(task))
        return [
            self._make_row(where, row, tuple(blockers.get(row[2], ())), tuple(blocks.get(row[2], ()))) for row in rows
        ]

    def outlines(self, where: TaskListRow) -> Sequence[TaskRow]:
        """Return the tasks of a list with their text, status, owner, times and grade alone, by id."""
        rows = self._rows.all("task_outlines", {"list": where.number})
        return [readable(lambda row: decode_outline(row, where), row) for row in rows]

    def latest_settled(self, where: TaskListRow, *, limit: int) -> Sequence[TaskRow]:
        """Return the tasks of a list that are completed or cancelled, the latest first."""
        return self._all(where, "latest_settled_tasks", {"list": where.number, "limit": limit})

    def latest_completed(self, *, limit: int) -> Sequence[TaskRow]:
        """Return the outlines of the tasks that were completed last, of all lists."""
        rows = self._rows.all("latest_completed_tasks", {"limit": limit, "without": FLOWS})
        return [readable(lambda row: decode_outline(row[4:], TaskListRow(*row[:4])), row) for row in rows]

    def worker(self, where: TaskListRow, id: int) -> tuple[str, str] | None:
        """Return the session and the name of the agent that works on a task; None if none of this board does."""
        return self._rows.one("agent_of_task", {"list": where.number, "id": id})

    def _load(self, where: TaskListRow, row: Any) -> TaskRow:
        found = sorted(self._rows.all("neighbours_of_task", {"list": row[1], "id": row[2]}))
        if not found:
            return self._make_row(where, row, (), ())
        blockers = tuple([Blocking(str(task), _BLOCKING[word]) for waits, task, word in found if not waits])
        return self._make_row(where, row, blockers, tuple([str(task) for waits, task, _ in found if waits]))

    def _make_row(
        self, where: TaskListRow, row: Any, blockers: tuple[Blocking, ...], blocks: tuple[str, ...]
    ) -> TaskRow:
        number, _, _, _, _, _, agent, parent, children, rank, *_ = row
        below = None if not children else share(*self._rows.one("progress_below", {"task": number}))
        above = None if parent is None else str(self._rows.one("ids_of_tasks", (parent,))[0])

        def convert(row: Any) -> Task:
            return decode_row(row, where.name, parent=above, blockers=blockers, blocks=blocks, below=below)

        found = TaskRow(number, where, rank, parent, agent, children, readable(convert, row))
        self._rows.task_revisions[number] = found.task.revision
        return found

    def add(self, where: TaskListRow, task: Task, *, parent: TaskRow | None, agent: int | None) -> TaskRow:
        """Add a task, without edges, under the next id of the list, which is never given again."""
        (place,) = self._rows.one("next_task_id", {"list": where.number})
        first, middle, last = encode_columns(task, where.number, place)
        above = None if parent is None else parent.number
        created = records.microseconds(task.created_at) if task.created_at is not None else 0
        values = (where.number, place, *first, agent, above, place, *middle, created, *last)
        (number,) = self._rows.one("add_task", values)
        self._label(number, (), task.labels)
        if above is not None:
            self._rows.run("count_children", {"task": above})
        return TaskRow(number, where, place, above, agent, 0, replace(task, list=where.name, id=str(place)))

    def skip_ids(self, where: TaskListRow, id: int) -> bool:
        """Give the next task this id; False if it was given before, and nothing changes."""
        return self._rows.one("skip_task_ids", {"list": where.number, "id": id}) is not None

    def next_id(self, where: TaskListRow) -> int:
        return self._rows.value("next_id_of_list", {"list": where.number})

    def save(self, row: TaskRow, task: Task, *, parent: int | None, agent: int | None) -> TaskRow:
        """Write a changed task; raise `TaskRevisionConflict` if it was changed since it was read."""
        first, middle, last = encode_columns(task, row.list.number, int(task.id))
        before = row.task
        values = (*first, agent, parent, *middle, *last, row.number, before.revision)
        known = self._rows.task_revisions.get(row.number)
        if known == before.revision:  # it was read under the lock: nobody has changed it since
            self._rows.run("save_task", values)
        elif known is not None or not self._rows.count("save_task", values):
            raise TaskRevisionConflict(id=task.id, expected=before.revision, actual="another")
        self._rows.task_revisions[row.number] = task.revision
        self._label(row.number, before.labels, task.labels)
        if parent != row.parent:
            for each in (parent, row.parent):
                if each is not None:
                    self._rows.run("count_children", {"task": each})
        if task.runs_after != before.runs_after:
            self._rows.run("set_open_blockers", {"task": row.number})
        return TaskRow(row.number, row.list, row.rank, parent, agent, row.children, task)

    def tell_dependents(self, row: TaskRow, task: Task) -> Sequence[str]:
        """Count a task's new status for its dependents; return the ids of those that have no open blocker left."""
        return self._edges.shift(row.number, row.task.status, task.status) if row.task.blocks else []

    def _label(self, number: int, before: tuple[str, ...], after: tuple[str, ...]) -> None:
        if before != after:
            if before:
                self._rows.run("delete_labels", {"task": number})
            for label in after:
                self._rows.run("add_label", {"task": number, "label": label})

    def save_lease(self, row: TaskRow, task: Task) -> None:
        values = {"lease": encode_lease(task), "until": _at(task.lease_until), "task": row.number}
        self._rows.run("save_lease", values)

    def delete(self, row: TaskRow) -> Sequence[str]:
        """Delete a task that has no children, with its edges; return the ids of tasks that no longer wait for it."""
        free = self._edges.shift(row.number, row.task.status, None) if row.task.blocks else []
        self._rows.run("delete_edges", {"task": row.number})
        self._rows.run("delete_labels", {"task": row.number})
        if row.task.worked is not None:
            self._rows.run("delete_task_todos", {"task": row.number})
        self._rows.run("delete_task", {"task": row.number})
        if row.parent is not None:
            self._rows.run("count_children", {"task": row.parent})
        return free

    def move_children(self, row: TaskRow, *, at: datetime) -> Sequence[TaskRow]:
        """Move a task's children to its parent, each under its next revision; return them as they were before."""
        if not row.children:
            return []
        children = self.children(row)
        self._rows.task_revisions.clear()
        self._rows.run("move_children", {"parent": row.parent, "task": row.number, "at": records.microseconds(at)})
        return children

    def save_worked(self, row: TaskRow, agent: int) -> None:
        """Note the agent whose list is worked under a task."""
        self._rows.run("save_task_todos", {"task": row.number, "agent": agent})

    def worked_by(self, row: TaskRow) -> tuple[str, str] | None:
        """Return the present session and the name of the agent whose list is worked under a task."""
        return self._rows.one("agent_of_task_todos", {"task": row.number})

    def children(self, row: TaskRow) -> Sequence[TaskRow]:
        return self._all(row.list, "children_of_task", {"task": row.number})

    def ended_before(self, where: TaskListRow, before: datetime, *, limit: int) -> Sequence[TaskRow]:
        """Return tasks that ended before a time, have no children, and block no open task."""
        values = {"list": where.number, "before": records.microseconds(before), "limit": limit}
        return self._all(where, "ended_tasks_before", values)

    def _all(self, where: TaskListRow, name: str, values: Any) -> list[TaskRow]:
        numbers = self._rows.all(name, values)
        for number in numbers:
            self._rows.expect("task_by_number", number)
        rows = [self._rows.one("task_by_number", number) for number in numbers]
        for row in rows:
            self._rows.expect("neighbours_of_task", {"list": row[1], "id": row[2]})
        return [self._load(where, row) for row in rows]

    # Searches.

    def ready(self, where: TaskListRow, *, limit: int, label: str | None = None) -> Sequence[TaskRow]:
        values = {"list": where.number, "limit": limit, "label": label}
        return self._all(where, "ready_tasks", values)

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
        """Claim the first ready tasks, those assigned to this worker before others, each in one statement."""
        values: dict[str, Any] = {
            "list": where.number,
            "owner": owner,
            "agent": agent,
            "now": records.microseconds(now),
            "until": records.microseconds(now + lease),
            "lease": round(lease.total_seconds() * SECOND),
            "limit": limit,
            "label": label,
            "reserved": encode_reserved(reserve),
        }
        taken: list[Any] = self._rows.all("claim_tasks", values)  # nothing, if anything is assigned to this worker
        if not taken:
            taken = self._rows.all("claim_tasks_of_owner", values)
            values["limit"] = limit - len(taken)
            taken += self._rows.all("claim_tasks", values) if 0 < len(taken) < limit else ()
        found: list[TaskRow] = []
        for *row, has_edges in sorted(taken, key=lambda row: (row[4], row[2])):
            found.append(self._load(where, row) if has_edges else self._make_row(where, row, (), ()))
        return found

    def due(self, where: TaskListRow, now: datetime, *, limit: int = 100) -> Sequence[TaskRow]:
        return self._all(where, "due_tasks", {"list": where.number, "now": records.microseconds(now), "limit": limit})

    def leases_beyond(self, where: TaskListRow, most: datetime, *, limit: int = 100) -> Sequence[TaskRow]:
        values = {"list": where.number, "most": records.microseconds(most), "limit": limit}
        return self._all(where, "leases_too_long", values)

    def waiting_for(self, where: TaskListRow, topic: str, correlation_id: str) -> Sequence[TaskRow]:
        values = {"list": where.number, "topic": topic, "correlation_id": correlation_id}
        return sorted(self._all(where, "tasks_waiting_for", values), key=lambda row: int(row.task.id))

    def of_agent(self, agent: AgentRow) -> Sequence[TaskRow]:
        """Return the open tasks of an agent, those of its session's list that bear its name, and those of its project's
        lists that were assigned to its name and nobody works on yet; in the order in which they were started."""
        values = {"agent": agent.number, "session": agent.session, "project": agent.project, "owner": agent.name}
        rows = [self.get(number) for (number,) in self._rows.all("tasks_of_agent", values)]
        return sorted(rows, key=lambda row: (row.task.started_at or _NEVER, row.number))

    def agent_name(self, agent: int) -> str | None:
        return self._rows.value("name_of_agent", {"agent": agent})

    def reservations(self, project: str, now: datetime) -> Sequence[Reservation]:
        values = {"project": project, "now": records.microseconds(now)}
        return [
            Reservation(number, name, str(task), owner, agent, records.decode_texts(patterns))
            for number, name, task, owner, agent, patterns in self._rows.all("reservations_of_project", values)
        ]

    def add_edge(self, task: TaskRow, blocker: TaskRow) -> bool:
        """Add an edge; False if it was there. Raise `CycleRefused` with the path if it would close a cycle."""
        holding = is_holding(blocker.task.status, task.task.runs_after)
        return self._edges.add(task.number, blocker.number, holding=holding)

    def remove_edge(self, task: TaskRow, blocker: TaskRow) -> bool:
        holding = is_holding(blocker.task.status, task.task.runs_after)
        return self._edges.remove(task.number, blocker.number, holding=holding)

    def edges(self, where: TaskListRow) -> Sequence[tuple[str, str]]:
        """Return all edges of a list: a blocker and the task that waits for it."""
        rows = self._rows.all("edges_of_list", {"list": where.number})
        return [(str(blocker), str(task)) for task, blocker, _ in rows]

    def rebuild(self) -> int:
        """Count again all that is stored as a count; return how many were wrong."""
        count = 0
        for where, *_ in self._rows.all("task_lists", {"without": ""}):
            for search, mend in (("wrong_open_blockers", "set_open_blockers"), ("wrong_children", "count_children")):
                for (number,) in self._rows.all(search, {"list": where}):
                    self._rows.run(mend, {"task": number})
                    count += 1
        return count

    # Events, answered calls, kept signals, and how far transcripts were read.

    def add_events(
        self, row: TaskRow, drafts: Iterable[Draft], *, by: str, at: datetime, agent: int | None = None
    ) -> None:
        append_events(self._rows, drafts, by=by, at=at, agent=agent, task=(row.list.number, int(row.task.id)))
        if agent is not None:
            self._rows.touch(agent, at)
        if row.agent is not None:
            self._rows.marked[self._rows.record(row.agent).row.session] = at
        if row.list.session is not None:
            self._rows.marked[row.list.session] = at

    def history(self, where: TaskListRow, id: int, *, limit: int = records.NO_LIMIT) -> Sequence[Event]:
        """Return the last events of a task, the oldest first."""
        values = {"list": where.number, "task": id, "limit": limit}
        return in_order(0, self._rows.all("events_of_task", values)[::-1])

    def call(self, where: TaskListRow, call_id: str) -> StoredCall | None:
        return stored_call(where.number, call_id, self._rows.one("find_task_call", (where.number, call_id)))

    def save_call(self, where: TaskListRow, call_id: str, call: StoredCall, *, at: datetime) -> None:
        self._rows.run("add_task_call", call_values(where.number, call_id, call, at))

    def keep_signal(self, where: TaskListRow, topic: str, correlation_id: str, payload: Any, *, at: datetime) -> None:
        body = records.encode(payload)
        values = {"list": where.number, "topic": topic, "correlation_id": correlation_id}
        total = records.checksum(f"{where.number} {topic} {correlation_id}", body)
        self._rows.run("add_signal", {**values, "at": records.microseconds(at), "sum": total, "payload": body})

    def take_signal(self, where: TaskListRow, topic: str, correlation_id: str) -> tuple[Any] | None:
        """Remove the oldest kept event of that name and return its payload; None if there is none."""
        values = {"list": where.number, "topic": topic, "correlation_id": correlation_id}
        row = self._rows.one("find_signal", values)
        if row is None:
            return None
        number, total, payload = row
        check_row(total, f"{where.number} {topic} {correlation_id}", payload)
        self._rows.run("delete_signal", {"number": number})
        return (msgspec.json.decode(payload),)

    def reading(self, where: TaskListRow, source: str) -> tuple[int, bytes] | None:
        """Return how far a transcript was read, and the text before that place."""
        row = self._rows.one("find_reading", {"list": where.number, "source": source})
        if row is None:
            return None
        place, total, mark = row
        check_row(total, f"{where.number} {source} {place}", mark)
        return place, mark

    def save_reading(self, where: TaskListRow, source: str, place: int, mark: bytes) -> None:
        total = records.checksum(f"{where.number} {source} {place}", mark)
        values = {"list": where.number, "source": source, "place": place, "sum": total, "mark": mark}
        self._rows.run("save_reading", values)


_STEPS = 64
"""The search visits so many tasks one by one before the database does the rest in one statement."""

_MOST_NAMED = 12
_POLICIES: tuple[RunsAfter, ...] = ("completed", "ended")


class Edges(Rows):
    """The edges between tasks, by the store's own numbers, with counts of open blockers and ranks.

    Every task has a higher rank than its blockers. An edge that runs forward in rank closes no cycle, so adding it
    looks at nothing else. One that runs backward is looked into from both ends in turn, until one end is exhausted:
    then there is no cycle, and that end, the smaller one, is moved. Where both ends are large, the database walks one
    of them.
    """

    def add(self, task: int, blocker: int, *, holding: bool) -> bool:
        """Add an edge; False if it was there. `holding`: the blocker is not done yet."""
        if self._rows.one("find_edge", (task, blocker)) is not None:
            return False
        self._admit(task, blocker)
        self._rows.run("add_edge", (task, blocker))
        if holding:
            self._rows.run("shift_open_blockers", (1, task))
        return True

    def remove(self, task: int, blocker: int, *, holding: bool) -> bool:
        if self._rows.one("find_edge", (task, blocker)) is None:
            return False
        self._rows.run("delete_edge", (task, blocker))
        if holding:
            self._rows.run("shift_open_blockers", (-1, task))
        return True

    def shift(self, blocker: int, before: TaskStatus, after: TaskStatus | None) -> list[str]:
        """Count a blocker's new status (None: deleted) for its dependents; return those with no open blocker left."""
        free: list[int] = []
        for policy in _POLICIES:
            by = (after is not None and is_holding(after, policy)) - is_holding(before, policy)
            if by:
                values = {"by": by, "blocker": blocker, "runs_after": policy}
                rows = self._rows.all("shift_dependents", values)
                free += [task for task, left, status in rows if not left and by < 0 and status == "pending"]
        return [str(task) for task in sorted(free)]

    # Ranks and cycles.

    def _rank(self, task: int) -> int:
        return self._rows.one("rank_of_task", (task,))[0]

    def _admit(self, task: int, blocker: int) -> None:
        """Rank the blocker below the task; raise `CycleRefused` if that cannot be."""
        if task == blocker:
            raise self._refusal([task])
        low, high = self._rank(task), self._rank(blocker)
        if high < low:
            return
        forward = Side(self._rows, "dependents_upto", task, high)
        backward = Side(self._rows, "blockers_from", blocker, low)
        for _ in range(_STEPS):
            for side, other in ((forward, backward), (backward, forward)):
                meeting = side.step(other)
                if meeting is not None:
                    raise self._refusal([*backward.way(meeting)][::-1] + [*forward.way(meeting)][1:])
                if side.exhausted:
                    self._move(side is forward, task if side is forward else blocker, high + 1, low - 1)
                    return
        via: dict[int, int] = dict(self._rows.all("way_forward", {"task": task}))
        if blocker in via:
            way = [blocker]
            while way[-1] != task:
                way.append(via[way[-1]])
            raise self._refusal(way)
        self._move(True, task, high + 1, low - 1)

    def _move(self, up: bool, start: int, above: int, below: int) -> None:
        """Give a task a rank on the far side of an edge, and move the tasks that are in the way."""
        query, step = ("dependents_upto", 1) if up else ("blockers_from", -1)
        todo = {start: above if up else below}
        while todo:
            number, rank = min(todo.items(), key=lambda each: each[1] * step)
            del todo[number]
            self._rows.run("save_rank", (rank, number))
            for neighbour, _ in self._rows.all(query, (number, rank)):
                wanted = rank + step
                known = todo.get(neighbour, wanted)
                todo[neighbour] = max(known, wanted) if up else min(known, wanted)

    def _refusal(self, way: list[int]) -> CycleRefused:
        """`way` leads from the blocker back to the task, each waiting for the next."""
        names = [str(self._rows.one("ids_of_tasks", (number,))[0]) for number in _ends(way)]
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

    def __init__(self, rows: UnitOfWork, query: str, start: int, bound: int) -> None:
        self._rows = rows
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
        for neighbour, _ in self._rows.all(self._query, (number, self._bound)):
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
