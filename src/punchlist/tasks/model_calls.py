"""Answer the model's calls of task and flow tools within their transaction. A refused call writes only its refusal."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import assert_never

from msgspec.structs import replace

from punchlist import errors
from punchlist.core import flow as flows
from punchlist.core import task as asked
from punchlist.core import task_rules as rules
from punchlist.core.commands import Repeat
from punchlist.core.events import Draft
from punchlist.core.flow import Flow, FlowCommand, FlowResult, OnFlow, check_condition, owner_key
from punchlist.core.inputs import plain_json
from punchlist.core.task import REASON, Task, TaskCommand, TaskResult, TaskStatus, UpdateTask, name_task
from punchlist.dialects.base import Reply
from punchlist.settings.environment import timer_horizon
from punchlist.settings.table import read_setting
from punchlist.store import AgentRow, Transaction
from punchlist.store.tasks import TaskRow
from punchlist.tasks.fields import describe_completion, describe_new_task
from punchlist.tasks.flows import FlowWork
from punchlist.tasks.gates import MOST_ASKED, Gate, On, ask_gates, has_gate
from punchlist.tasks.work import Work


class TaskModelCall:
    """One call of a task tool. It is decided again after its gates have answered, and after it was refused."""

    def __init__(
        self,
        command: TaskCommand,
        list: str,
        *,
        by: str,
        grades: str,
        gates: Sequence[Gate],
        render: Callable[[TaskResult], Reply],
    ) -> None:
        self._command = command
        self._list = list
        self._by = by
        self._grades = grades
        self._gates = gates
        self._render = render
        self._answers: dict[tuple[str, int], errors.GateRefused | None] = {}
        self._refused: errors.TaskError | errors.InvalidInput | errors.TaskRevisionConflict | None = None

    def decide(self, tx: Transaction, row: AgentRow, now: datetime) -> tuple[Reply, bool]:
        """Return the reply, and True if a task changed. Raises `Repeat` to be decided again in a new transaction."""
        work = Work(tx, self._list, project=row.project, now=now, by=self._by, agent=row, grades=self._grades)
        if self._refused is not None:
            return self._refusal(work, row, self._refused), False
        try:
            result = self._run(work)
        except (errors.TaskError, errors.InvalidInput, errors.TaskRevisionConflict) as error:
            self._refused = error
            raise Repeat from error  # rolls back what it wrote
        if isinstance(result, errors.TaskError):
            return self._refusal(work, row, result), True
        reply = self._render(result)
        if work.doubts:
            reply = replace(reply, problems=(*reply.problems, *work.doubts))
        return reply, result.before != result.after

    def view(self, tx: Transaction, row: AgentRow | None, now: datetime) -> Reply:
        """Return the reply to a call that only reads, from the list as it stands: what has come due is not written."""
        work = Work(tx, self._list, project="", now=now, by=self._by, agent=row, settles=False)
        result = self._run(work)
        assert isinstance(result, TaskResult)  # nothing that only reads comes too late
        return self._render(result)

    def _refusal(self, work: Work, row: AgentRow, error: errors.PunchlistError) -> Reply:
        reply = self._render(TaskResult(self._command, error=error))
        for problem in reply.problems[:1]:
            refused = Draft("list.refused", {"code": problem.code, "problem": problem.text[:500]})
            work.tx.add_events(row, [refused], by=work.by, at=work.now)
        if isinstance(error, errors.GateRefused) and isinstance(self._command, UpdateTask):
            found = work.find(self._command.id)
            if found is not None:
                told = {**name_task(found.task), "on": "complete", "reason": str(error)}
                work.tell(found, Draft("task.refused", told))
        return reply

    def _run(self, work: Work) -> TaskResult | errors.TaskError:
        command = self._command
        match command:
            case asked.CreateTask():
                if has_gate(self._gates, "create", work.name):
                    new = describe_new_task(work.name, command.subject, command.fields, by=work.by)
                    self._pass_gates("create", new)
                return TaskResult(command, after=work.create(command.subject, **command.fields))
            case UpdateTask():
                return self._update(work, command)
            case asked.GetTask():
                row = _find(work, command.id)
                task = None if row is None else row.task
                return TaskResult(command, task, task)
            case asked.ListTasks():
                where = work.tasks.find_list(work.name)
                rows = () if where is None else work.tasks.page(where)
                return TaskResult(command, tasks=tuple(row.task for row in rows))
            case asked.ClaimTask():
                return self._claim(work, command)
            case asked.BlockTask():
                row = _get(work, command.id)
                _check_own(work, row)
                state = {REASON: command.reason} if command.reason else None
                return TaskResult(command, row.task, work.wait(row.task.id, state=state))
            case _:
                assert_never(command)

    def _claim(self, work: Work, command: asked.ClaimTask) -> TaskResult:
        row = None if command.id is None else _get(work, command.id)
        before = None if row is None else row.task
        own = None if work.agent is None else work.agent.number
        if row is not None and row.task.status is TaskStatus.IN_PROGRESS and row.agent == own:
            return TaskResult(command, before, before)
        claimed = work.claim(self._by, id=command.id, lease=read_setting("lease"))
        return TaskResult(command, before, next(iter(claimed), None))

    def _update(self, work: Work, command: UpdateTask) -> TaskResult | errors.TaskError:
        row = _get(work, command.id)
        before = row.task
        if before.status is TaskStatus.CANCELLED:
            raise errors.TaskUnknown(id=command.id[:80], list=work.name)
        if command.only_own:
            _check_own(work, row)
        if command.delete:
            work.delete(before.id)
            return TaskResult(command, before)
        fields = dict(command.fields)
        if before.status in command.unless and before.status is not TaskStatus.IN_PROGRESS:
            fields.pop("status", None)
        if fields.get("status") == TaskStatus.COMPLETED:
            late = work.check_late(row, None, plain_json("result", fields))
            if late is not None:
                return late
            if has_gate(self._gates, "complete", work.name):
                self._pass_gates("complete", describe_completion(before, fields))
        fence = None
        if fields.get("status") == TaskStatus.IN_PROGRESS and work.ownership.is_under_another_name(row):
            fence = before.fence  # a model may give itself any name
        return TaskResult(command, before, work.update(before.id, fence=fence, **fields))

    def _pass_gates(self, on: On, task: Task) -> None:
        """Return if the gates have agreed; they are asked outside the transaction."""
        key = (task.id, task.revision)
        if key in self._answers:
            refusal = self._answers[key]
            if refusal is not None:
                raise refusal
            return
        if len(self._answers) >= MOST_ASKED:
            raise errors.TaskRevisionConflict(id=task.id, expected="what it was", actual=task.revision)
        raise Repeat(lambda: self._ask(key, on, task))

    def _ask(self, key: tuple[str, int], on: On, task: Task) -> None:
        try:
            ask_gates(self._gates, on, task)
            self._answers[key] = None
        except errors.GateRefused as refused:
            self._answers[key] = refused


def _check_own(work: Work, row: TaskRow) -> None:
    """Raise if another worker has the task in progress."""
    if row.task.status is TaskStatus.IN_PROGRESS and not work.ownership.has(row, None):
        raise rules.taken_error(row.task, work.ownership.holder(row))


def _find(work: Work, id: str) -> TaskRow | None:
    """Return the task of exactly this id: `01` is not task 1."""
    row = work.find(id)
    return None if row is None or row.task.id != id else row


def _get(work: Work, id: str) -> TaskRow:
    row = _find(work, id)
    if row is None:
        raise errors.TaskUnknown(id=id[:80], list=work.name)
    return row


class FlowModelCall:
    """One call of a flow tool. It is decided again after it was refused, and once more if another process changed the
    flow meanwhile."""

    def __init__(self, command: FlowCommand, *, name: str, session: str, render: Callable[[FlowResult], Reply]) -> None:
        self._command = command
        self._owner = owner_key(name, session)
        self._by = name
        self._render = render
        self._refused: errors.FlowError | errors.InvalidInput | None = None
        self._overtaken = False

    def decide(self, tx: Transaction, row: AgentRow, now: datetime) -> tuple[Reply, bool]:
        """Return the reply, and True if a flow changed. Raises `Repeat` to be decided again in a new transaction."""
        if self._refused is not None:
            reply = self._render(FlowResult(self._command, error=self._refused))
            refused = Draft("flow.refused", {"code": reply.problems[0].code, "problem": reply.text[:500]})
            tx.add_events(row, [refused], by=self._by, at=now)
            return reply, False
        work = FlowWork(tx, now=now, by=self._by, agent=row)
        try:
            result = self._run(work)
        except (errors.FlowError, errors.InvalidInput) as error:
            if self._overtaken or not isinstance(error, errors.FlowRevisionMismatch):
                self._refused = error
            self._overtaken = True
            raise Repeat from error  # rolls back what it wrote
        return self._render(result._replace(problems=tuple(work.cleaner.problems()))), not self._command.reads

    def view(self, tx: Transaction, row: AgentRow | None, now: datetime) -> Reply | None:
        """Return the reply to a call that only reads, from the flows as they stand; None to a refused one."""
        work = FlowWork(tx, now=now, by=self._by, agent=row, settles=False)
        try:
            return self._render(self._run(work))
        except (errors.FlowError, errors.InvalidInput):
            return None

    def _run(self, work: FlowWork) -> FlowResult:
        command = self._command
        match command:
            case flows.StartFlow():
                flow = work.create_managed(
                    command.controller_id, command.goal, current_step=command.current_step, state=command.state
                )
                return FlowResult(command, work.start_running(flow.id))
            case flows.ListFlows():
                rows = [work.settle(row) for row in work.flows.of_owner(self._owner)]
                return FlowResult(command, flows=tuple(row.flow for row in rows))
            case _:
                row = work.find(command.flow)
                if row is None:
                    return FlowResult(command)
                if row.flow.owner_session_key != self._owner:
                    raise errors.FlowForeign(id=row.flow.id, owner=row.flow.owner_session_key)
                if command.refused:
                    raise errors.FlowError(problem=command.refused)
                return FlowResult(command, _run_on_flow(work, command, row.flow))


def _run_on_flow(work: FlowWork, command: OnFlow, flow: Flow) -> Flow:
    match command:
        case flows.ShowFlow():
            return flow
        case flows.AdvanceFlow():
            return work.update_state(flow.id, command.patch, next_step=command.current_step)
        case flows.WaitFlow():
            check_condition(command.condition, work.now, timer_horizon())
            return work.set_waiting(flow.id, command.condition)
        case flows.FinishFlow():
            return work.finish(flow.id, command.final_state)
        case flows.FailFlow():
            return work.fail(flow.id, command.reason)
        case flows.CancelFlow():
            return work.cancel(flow.id)
        case _:
            assert_never(command)
