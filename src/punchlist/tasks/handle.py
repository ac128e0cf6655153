"""A handle on one list of tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from punchlist.core.events import Draft
from punchlist.core.task import Task, TaskStatus
from punchlist.core.todo import TodoList
from punchlist.errors import GateRefused, TaskError, TaskRevisionConflict
from punchlist.store import Transaction
from punchlist.tasks.claims import Late
from punchlist.tasks.fields import NewTask, TaskChanges, changed, plain, proposed
from punchlist.tasks.looking import Looking
from punchlist.tasks.meeting import fields_of, promoted, remember, steps_of, subject_of, unpromoted
from punchlist.tasks.work import Work

if TYPE_CHECKING:
    from punchlist.agent import Agent

T = TypeVar("T")
_ASKED = 5
"""How often gates are asked anew about a task that changes while they answer."""


class Tasks(Looking):
    """One list of tasks. Makes no list before something is written to it; safe to use from many threads.

    A handle that is made for an agent acts in its name, and the agent's activity keeps its claims alive.
    """

    # Making and changing.

    def create(self, subject: str, *, call_id: str | None = None, **fields: Unpack[NewTask]) -> Task:
        """A new task. The same `call_id` again makes no second one. For `fields` see `NewTask`."""
        if call_id is None or not self._is_known(call_id):
            self._ask_about_new(subject, fields)
        return self._change(lambda work: work.create(subject, call_id=call_id, **fields))

    def _is_known(self, call_id: str) -> bool:
        """Whether there is an answer under a call id: gates are not asked about it once more."""

        def read(tx: Transaction) -> bool:
            where = tx.tasks.find_list(self.name)
            return where is not None and tx.tasks.call(where, call_id) is not None

        return any(gate.on == "create" for gate in self.board.gates) and self.board.store.read(read)

    def _ask_about_new(self, subject: str, fields: NewTask) -> None:
        if any(gate.on == "create" for gate in self.board.gates):
            from punchlist.tasks.gates import ask

            ask(self.board.gates, "create", proposed(self.name, subject, fields, by=self.by))

    def _ended(self, id: str, fence: int | None, given: TaskChanges, write: Callable[[Work], T]) -> T:
        """Writes a completion; where it comes too late, what it brings is kept, and the worker is told so."""
        try:
            return self._gated(id, fence, given, write)
        except TaskError:
            if fence is None and self._agent is None:
                raise
            result = plain("result", given.get("result"))
            late = self._change(lambda work: work.late_for(id, fence, result))
            if late is None:
                raise
            raise late.error from None

    def _gated(self, id: str, fence: int | None, given: TaskChanges, write: Callable[[Work], T]) -> T:
        """Writes once the gates have agreed, and asks them again if the task changed meanwhile.

        They see the task as it is to be, with all that is `given`, and are not asked about what cannot count any more.
        """
        if not any(gate.on == "complete" for gate in self.board.gates):
            return self._change(write)
        task = self.get(id)
        for _ in range(_ASKED):
            counts = fence is None or (fence == task.fence and not task.cancel_requested)
            if counts and task.status is not TaskStatus.COMPLETED:
                self._ask_about_end(changed(task, given))
            written, task = self._change(lambda work, task=task: self._unmoved(work, task, write))
            if written is not None:
                return written[0]
        raise TaskRevisionConflict(id=id, expected="what it was", actual=task.revision)

    def _unmoved(self, work: Work, asked: Task, write: Callable[[Work], T]) -> tuple[tuple[T] | None, Task]:
        now = work.row(asked.id).task
        return ((write(work),) if now.revision == asked.revision else None), now

    def _ask_about_end(self, task: Task) -> None:
        from punchlist.tasks.gates import ask

        try:
            ask(self.board.gates, "complete", task)
        except GateRefused as refused:
            told = {"list": task.list, "id": task.id, "subject": task.subject}
            draft = Draft("task.refused", {**told, "on": "complete", "reason": str(refused)})
            self._change(lambda work: work.tell(work.row(task.id), draft))
            raise

    def update(
        self, id: str, *, revision: int | None = None, fence: int | None = None, **changes: Unpack[TaskChanges]
    ) -> Task:
        """Changes a task, all or nothing; with `revision` only if it is still at that. See `TaskChanges`."""

        def write(work: Work) -> Task:
            return work.update(id, revision=revision, fence=fence, **changes)

        done = changes.get("status") == "completed"
        return self._ended(id, fence, changes, write) if done else self._change(write)

    def delete(self, id: str, *, revision: int | None = None, fence: int | None = None) -> Task:
        """Takes a task off the list, with its edges; its history stays, and its id is never given again."""
        return self._change(lambda work: work.delete(id, revision=revision, fence=fence))

    # Working.

    @overload
    def claim(
        self,
        owner: str | None = None,
        *,
        id: str | None = None,
        limit: None = None,
        label: str | None = None,
        lease: float | None = None,
        reserve: Sequence[str] = (),
        call_id: str | None = None,
    ) -> Task | None: ...

    @overload
    def claim(
        self,
        owner: str | None = None,
        *,
        id: None = None,
        limit: int,
        label: str | None = None,
        lease: float | None = None,
        reserve: Sequence[str] = (),
        call_id: str | None = None,
    ) -> tuple[Task, ...]: ...

    @overload
    def claim(
        self,
        owner: str | None = None,
        *,
        id: str | None = None,
        limit: int | None = None,
        label: str | None = None,
        lease: float | None = None,
        reserve: Sequence[str] = (),
        call_id: str | None = None,
    ) -> Task | tuple[Task, ...] | None: ...

    def claim(
        self,
        owner: str | None = None,
        *,
        id: str | None = None,
        limit: int | None = None,
        label: str | None = None,
        lease: float | None = None,
        reserve: Sequence[str] = (),
        call_id: str | None = None,
    ) -> Task | tuple[Task, ...] | None:
        """Takes the next ready task, or None; with `id` that one; with `limit` up to so many, as a tuple.

        `lease`: seconds without a sign of life after which it is free again. `reserve`: files or patterns that
        nobody else may reserve as long as this claim lasts. The same `call_id` again answers the same.
        """
        who = owner or self.by
        taken = self._change(
            lambda work: work.claim(
                who,
                id=id,
                limit=1 if limit is None else limit,
                label=label,
                lease=self.lease if lease is None else lease,
                reserve=reserve,
                call_id=call_id,
            )
        )
        return taken if limit is not None else next(iter(taken), None)

    def heartbeat(self, id: str, *, fence: int, lease: float | None = None) -> Task:
        """A sign of life: the lease begins anew. Look whether the task is to be cancelled."""
        return self.board.store.transact(lambda tx: self.within(tx).heartbeat(id, fence=fence, lease=lease))

    def release(self, id: str, *, fence: int | None = None) -> Task:
        """Gives a task back, so that others may take it."""
        return self._change(lambda work: work.release(id, fence=fence))

    def complete(
        self,
        id: str,
        *,
        fence: int | None = None,
        result: Any = None,
        revision: int | None = None,
        call_id: str | None = None,
    ) -> Task:
        """Done. A worker gives its `fence`; if somebody else has the task by now, that raises `FenceStale`, and its
        result is kept in `late_results`."""

        def write(work: Work) -> Task | Late:
            return work.complete(id, fence=fence, result=result, revision=revision, call_id=call_id)

        done = self._ended(id, fence, {} if result is None else {"result": result}, write)
        if isinstance(done, Late):
            raise done.error
        return done

    def fail(self, id: str, reason: str = "", *, fence: int | None = None) -> Task:
        """Failed; or pending again after a rest, while there are attempts left."""
        return self._change(lambda work: work.fail(id, reason, fence=fence))

    def retry(self, id: str) -> Task:
        """Opens a task that has ended, as if it had not been tried."""
        return self._change(lambda work: work.retry(id))

    def cancel(self, id: str, reason: str | None = None, *, request: bool = False, fence: int | None = None) -> Task:
        """Gives a task up; with `request` whoever works on it is to do so, and may do nothing else with it."""
        return self._change(lambda work: work.cancel(id, reason, request=request, fence=fence))

    # Waiting.

    def wait(
        self,
        id: str,
        *,
        until: datetime | timedelta | None = None,
        topic: str | None = None,
        correlation_id: str | None = None,
        state: Any = None,
        fence: int | None = None,
        revision: int | None = None,
    ) -> Task:
        """Puts a task aside: `until` a time, for an event of that `topic` and `correlation_id`, or for a person."""
        return self._change(
            lambda work: work.wait(
                id,
                until=until,
                topic=topic,
                correlation_id=correlation_id,
                state=state,
                fence=fence,
                revision=revision,
            )
        )

    def signal(
        self, topic: str, correlation_id: str, payload: Any = None, *, keep: bool = False, call_id: str | None = None
    ) -> tuple[Task, ...]:
        """Delivers an event to all who wait for it, each once; they find it in `state["resume_event"]`.

        With `keep` an event that nobody waits for yet is delivered to the first who does.
        """
        return self._change(lambda work: work.signal(topic, correlation_id, payload, keep=keep, call_id=call_id))

    def resume(self, id: str, *, state: Any = None, revision: int | None = None) -> Task:
        """Lets a task go on, whatever it waits for."""
        return self._change(lambda work: work.resume(id, state=state, revision=revision))

    # Todos.

    def todos(self, id: str, agent: Agent, *, by: str = "") -> TodoList:
        """Gives an agent a list of the steps of a task: its children, else its checklist, else the task itself.

        The task then shows how far that list is. What was open on the agent's list before is set aside.
        """
        task = self.get(id)
        todos = agent.restore_list(
            steps_of(task, self.list(parent=id)),
            by=by or self.by or agent.name,
            source=f"task {task.id} of {task.list}",
        )
        self._change(lambda work: remember(work, id, agent, todos.plan_id))
        return todos

    def promote(self, agent: Agent, *, parent: str | None = None) -> tuple[Task, ...]:
        """Makes tasks of the open items of an agent's list, each blocked by the one before. Again: the same tasks."""
        todos = agent.todos
        if any(gate.on == "create" for gate in self.board.gates):
            for item in self.board.store.read(lambda tx: unpromoted(tx, self.name, agent, todos)):
                self._ask_about_new(subject_of(item), fields_of(agent, todos, item, parent))
        return self._change(lambda work: promoted(work, agent, todos, parent))

    # The end.

    def prune(self, before: datetime) -> int:
        """Deletes tasks that ended before a time and that no open task waits for; how many. Their history stays."""

        def some(work: Work) -> int:
            rows = work.ended_before(before)
            for row in rows:
                work.delete(row.task.id)
            return len(rows)

        total = 0
        while count := self._change(some):
            total += count
        return total
