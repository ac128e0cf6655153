"""The common ground of everything that is done to tasks: one list, one transaction, one moment, one author."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from punchlist.core.events import Draft
from punchlist.core.task import Task, TaskStatus, draft_change, own_progress
from punchlist.core.task_rules import apply_due
from punchlist.errors import CallReused, InvalidInput, TaskUnknown
from punchlist.store import AgentRow, Transaction
from punchlist.store.rows import StoredCall
from punchlist.store.task_rows import TaskListRow, TaskRow
from punchlist.tasks.fields import list_name, name_of

if TYPE_CHECKING:
    from punchlist.core.commands import Problem

_encode = msgspec.json.Encoder(order="deterministic", enc_hook=repr).encode
_decode = msgspec.json.Decoder(tuple[Task, ...]).decode
_MOST_READIED = 100
_SAME: Any = object()
_DONE = TaskStatus.COMPLETED


class Change:
    """What may be done within one transaction. Whoever has one open, a dialect say, uses this as it is.

    `by` is the author of what happens, the worker itself where it is empty. `agent` is the agent in whose name it
    happens, if it is one of this board; `grades` is what becomes of its completions that nothing seen bears out, and
    `doubts` says which those were.
    """

    def __init__(
        self,
        tx: Transaction,
        name: str,
        *,
        project: str,
        now: datetime,
        by: str = "",
        agent: AgentRow | None = None,
        grades: str = "show",
    ) -> None:
        self.tx = tx
        self.tasks = tx.tasks
        self.name = list_name(name)
        self.now = now
        self.by = by
        self.agent = agent
        self.grades = grades
        self.doubts: list[Problem] = []
        self.claimed = set[int]()
        """The numbers of the tasks that were claimed here, together."""
        self._project = project
        found = self.tasks.named(name, now)
        self._where, due = found or (None, False)
        self.settled = self._settle(self._where) if due and self._where is not None else 0

    @property
    def where(self) -> TaskListRow:
        """The list, made if it is not there yet."""
        if self._where is None:
            session = self.name.removeprefix("session:") if self.name.startswith("session:") else None
            project = self._project
            if session is not None:
                project = self.tx.session_project(session) or project
            self._where = self.tasks.add_list(self.name, project=project, session=session, at=self.now)
        return self._where

    def _settle(self, where: TaskListRow) -> int:
        """Does what has come due: leases, timers and rests that are over. How much that was."""
        count = 0
        while rows := self.tasks.due(where, self.now):
            for row in rows:
                kind, after = apply_due(row.task, self.now)
                self.write(row, after, kind, by="")
            count += len(rows)
        return count

    def find(self, id: str | int, *, alone: bool = False) -> TaskRow | None:
        number = number_of(id)
        return None if self._where is None or number is None else self.tasks.find(self._where, number, alone=alone)

    def row(self, id: str | int, *, alone: bool = False) -> TaskRow:
        """The task of that id, `alone` without its neighbours; raises `TaskUnknown`."""
        found = self.find(id, alone=alone)
        if found is None:
            raise TaskUnknown(id=str(id)[:80], list=self.name)
        return found

    def write(
        self,
        row: TaskRow,
        after: Task,
        kind: str,
        *,
        parent: int | None = _SAME,
        by: str | None = None,
        fence: int | None = None,
        whose: int | None = None,
    ) -> TaskRow:
        """Writes a task as it is now, under its next revision, with the event that says so; or nothing if it is as
        it was. Those who waited for it are counted in the same transaction. The event names the `fence` that a worker
        showed; `whose` is the agent that it is about, where none does this."""
        before = row.task
        if (after.status is _DONE) is not (before.status is _DONE):
            after = self._graded(row, after, fence)
        parent = row.parent if parent is _SAME else parent
        after = replace(
            after,
            revision=before.revision + 1,
            updated_at=self.now,
            progress=after.progress if row.children else own_progress(after.status, after.checklist),
        )
        draft = draft_change(kind, before, after, **({} if fence is None else {"fence": fence}))
        if draft is None:
            return row
        if after.status is not before.status and (readied := self.tasks.tell_dependents(row, after)):
            draft.data["readied"] = list(readied[:_MOST_READIED])
        saved = self.tasks.save(row, after, parent=parent, agent=self._agent_of(row, after))
        self.tell(saved, draft, by=by, whose=whose)
        return saved

    def is_person(self, fence: int | None) -> bool:
        """Whether a person speaks: who has a name, shows no fence and is no agent."""
        return self.agent is None and fence is None and bool(self.by)

    def _graded(self, row: TaskRow, after: Task, fence: int | None) -> Task:
        """The task with the grade of its completion."""
        if after.status is not _DONE:
            return replace(after, grade=None)
        if self.is_person(fence):
            return replace(after, grade="confirmed")
        worker = row.agent if self.agent is None else self.agent.number
        if worker is None or (self.grades == "show" and not is_watched(self.tx, worker)):
            return after  # nobody reported what it did
        from punchlist.tasks.grading import graded

        return graded(self, row, after, worker)

    def tell(self, row: TaskRow, *drafts: Draft, by: str | None = None, whose: int | None = None) -> None:
        author = (self.by or row.task.owner or "") if by is None else by
        number = whose if self.agent is None or (by == "" and self.by) else self.agent.number
        self.tasks.add_events(row, drafts, by=author, at=self.now, agent=number)

    def _agent_of(self, row: TaskRow, after: Task) -> int | None:
        """Which agent of this board works on the task now: who started it, or whom it was given to."""
        before, agent = row.task, self.agent
        if after.status is TaskStatus.PENDING and after.owner is None:
            return None
        if agent is not None:
            began = after.status is TaskStatus.IN_PROGRESS and (
                before.status is not TaskStatus.IN_PROGRESS or after.fence != before.fence
            )
            if (began and after.owner in {None, agent.name}) or (after.owner == agent.name != before.owner):
                return agent.number
        return row.agent if after.owner == before.owner else None

    def once(
        self, call_id: str | None, asked: Any, run: Callable[[], tuple[Task, ...]], *, empty: bool = False
    ) -> tuple[Task, ...]:
        """What is done once under a call id: asked again, it answers what it answered, to the letter.

        A call that did nothing is not remembered, unless it did something where it is `empty`.
        """
        if call_id is None:
            return run()
        name_of("call id", call_id)
        fingerprint = _fingerprint(asked)
        known = self.tasks.call(self.where, call_id)
        if known is not None:
            if known.fingerprint != fingerprint:
                raise CallReused(call_id=call_id)
            return _decode(known.reply)
        tasks = run()
        if tasks or empty:
            self.tasks.save_call(self.where, call_id, StoredCall(fingerprint, _encode(tasks)), at=self.now)
        return tasks


def is_watched(tx: Transaction, agent: int) -> bool:
    """Whether any tool call of an agent was reported."""
    return tx.work.get(agent) is not None


def _fingerprint(asked: Any) -> bytes:
    from hashlib import blake2b

    try:
        body = _encode(asked)
    except (TypeError, ValueError, RecursionError):
        body = repr(asked).encode("utf-8", "backslashreplace")
    return blake2b(body, digest_size=16).digest()


def number_of(id: str | int) -> int | None:
    """The number that an id is; None if it is none."""
    said = str(id)
    return int(said) if said.isascii() and said.isdecimal() and len(said) < 19 else None


def check_lease(seconds: Any, most: float) -> float:
    if not isinstance(seconds, int | float) or not 0 < seconds <= most:
        raise InvalidInput(problem=f"A lease lasts more than 0 and at most {most:g} seconds.")
    return seconds
