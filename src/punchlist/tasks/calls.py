"""The model's calls of a task tool, answered within its transaction. What is refused writes nothing but the refusal."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import assert_never

from msgspec.structs import replace

from punchlist.agent.calls import Decide, Repeat
from punchlist.agent.handle import Handle, grades_of, speaks
from punchlist.core.events import Draft
from punchlist.core.task import CreateTask, GetTask, ListTasks, Task, TaskCommand, TaskResult, TaskStatus, UpdateTask
from punchlist.dialects.base import Reply
from punchlist.errors import GateRefused, InvalidInput, PunchlistError, TaskError, TaskRevisionConflict, TaskUnknown
from punchlist.store import AgentRow, Transaction
from punchlist.store.task_rows import TaskRow
from punchlist.tasks.claims import Late
from punchlist.tasks.fields import changed, plain, proposed
from punchlist.tasks.gates import On, ask, stands
from punchlist.tasks.work import Work

_ASKED = 5
"""How often gates are asked about a task that changes while they answer."""


def answering(agent: Handle, command: TaskCommand) -> Decide:
    """What answers one call of this agent."""
    if command.reads:
        agent.board.tasks_wanted(agent.task_list)
    return _Call(agent, command).decide


def around(agent: Handle, transact: Callable[[], Reply]) -> Reply:
    """Does the transaction of a call that may change the agent's list of tasks."""
    return agent.board.change_tasks(agent.task_list, transact)


class _Call:
    """One call. It is asked again after its gates have answered, and after it was refused."""

    def __init__(self, agent: Handle, command: TaskCommand) -> None:
        self._agent = agent
        self._command = command
        self._render: Callable[[TaskResult], Reply] = speaks(agent).render
        self._answers: dict[tuple[str, int], GateRefused | None] = {}
        self._refused: TaskError | InvalidInput | TaskRevisionConflict | None = None

    def decide(self, tx: Transaction, row: AgentRow, now: datetime) -> tuple[Reply, bool]:
        agent, name = self._agent, self._agent.task_list
        work = Work(tx, name, project=row.project, now=now, by=agent.name, agent=row, grades=grades_of(agent))
        if self._refused is not None:
            return self._refusal(work, row, self._refused), False
        try:
            result = self._done(work)
        except (TaskError, InvalidInput, TaskRevisionConflict) as error:
            self._refused = error
            raise Repeat from error  # whatever it wrote is taken back
        if isinstance(result, Late):
            return self._refusal(work, row, result.error), True
        reply = self._render(result)
        if work.doubts:
            reply = replace(reply, problems=(*reply.problems, *work.doubts))
        return reply, result.before != result.after

    def _refusal(self, work: Work, row: AgentRow, error: PunchlistError) -> Reply:
        reply = self._render(TaskResult(self._command, error=error))
        for problem in reply.problems[:1]:
            refused = Draft("list.refused", {"code": problem.code, "problem": problem.text[:500]})
            work.tx.add_events(row, [refused], by=work.by, at=work.now)
        if isinstance(error, GateRefused) and isinstance(self._command, UpdateTask):
            found = work.find(self._command.id)
            if found is not None:
                told = {"list": work.name, "id": found.task.id, "subject": found.task.subject}
                work.tell(found, Draft("task.refused", {**told, "on": "complete", "reason": str(error)}))
        return reply

    def _done(self, work: Work) -> TaskResult | Late:
        command = self._command
        match command:
            case CreateTask():
                return self._create(work, command)
            case UpdateTask():
                return self._update(work, command)
            case GetTask():
                task = _found(work, command.id)
                return TaskResult(command, task, task)
            case ListTasks():
                where = work.tasks.find_list(work.name)
                rows = () if where is None else work.tasks.page(where)
                return TaskResult(command, tasks=tuple(row.task for row in rows))
            case _:
                assert_never(command)

    def _create(self, work: Work, command: CreateTask) -> TaskResult:
        if stands(self._agent.board.gates, "create", work.name):
            self._pass("create", proposed(work.name, command.subject, command.fields, by=work.by))
        return TaskResult(command, after=work.create(command.subject, **command.fields))

    def _update(self, work: Work, command: UpdateTask) -> TaskResult | Late:
        row = _row(work, command.id)
        before = None if row is None else row.task
        if row is None or before is None or before.status is TaskStatus.CANCELLED:
            raise TaskUnknown(id=command.id[:80], list=work.name)
        if command.delete:
            work.delete(before.id)
            return TaskResult(command, before)
        fields = dict(command.fields)
        if before.status in command.unless and before.status is not TaskStatus.IN_PROGRESS:
            fields.pop("status", None)
        if fields.get("status") == TaskStatus.COMPLETED:
            late = work.too_late(row, None, plain("result", fields))
            if late is not None:
                return late
            if stands(self._agent.board.gates, "complete", work.name):
                self._pass("complete", changed(before, fields))
        fence = None
        if fields.get("status") == TaskStatus.IN_PROGRESS and work.is_under_another_name(row):
            fence = before.fence  # a model may call itself what it likes
        return TaskResult(command, before, work.update(before.id, fence=fence, **fields))

    def _pass(self, on: On, task: Task) -> None:
        """Lets the call go on if the gates have agreed; they are asked outside the transaction."""
        key = (task.id, task.revision)
        if key in self._answers:
            refusal = self._answers[key]
            if refusal is not None:
                raise refusal
            return
        if len(self._answers) >= _ASKED:
            raise TaskRevisionConflict(id=task.id, expected="what it was", actual=task.revision)
        raise Repeat(lambda: self._ask(key, on, task))

    def _ask(self, key: tuple[str, int], on: On, task: Task) -> None:
        try:
            ask(self._agent.board.gates, on, task)
            self._answers[key] = None
        except GateRefused as refused:
            self._answers[key] = refused


def _row(work: Work, id: str) -> TaskRow | None:
    """The task that is called so, to the letter."""
    row = work.find(id)
    return None if row is None or row.task.id != id else row


def _found(work: Work, id: str) -> Task | None:
    row = _row(work, id)
    return None if row is None else row.task
