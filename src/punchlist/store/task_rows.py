"""Encode and decode the rows of tasks. Fields that queries read have their own columns; the rest is JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from punchlist.core.task import Blocking, ChecklistLine, LateResult, Task, TaskStatus, Wait, Worked, own_progress
from punchlist.core.task_rules import is_holding
from punchlist.core.todo import Progress
from punchlist.store import records
from punchlist.store.records import check_row

SECOND = 1_000_000


class TaskListRow(Struct, frozen=True):
    """A list of tasks. `number` is the store's own key; `session` is set if it is the list of a session."""

    number: int
    name: str
    project: str
    session: str | None


class TaskCounts(Struct, frozen=True):
    """How many tasks a list has in each status, how many of them are ready, and when one of them last changed."""

    statuses: Mapping[str, int]
    ready: int
    changed_at: datetime


class TaskRow(Struct, frozen=True):
    """A task as stored, with its neighbours. `number`, `parent` and `agent` are the store's own keys."""

    number: int
    list: TaskListRow
    rank: int
    parent: int | None
    agent: int | None
    children: int
    task: Task


class Reservation(Struct, frozen=True):
    """The patterns of files that a live claim has reserved. `number` and `agent` are the store's own keys."""

    number: int
    list: str
    id: str
    owner: str | None
    agent: int | None
    patterns: tuple[str, ...]


class Body(msgspec.Struct, omit_defaults=True):
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


_decode = msgspec.json.Decoder(Body).decode
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
    body = records.encode(Body(**{name: getattr(task, name) for name in Body.__struct_fields__}))
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
        **{name: getattr(body, name) for name in Body.__struct_fields__},
    )
