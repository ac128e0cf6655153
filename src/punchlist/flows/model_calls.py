"""Answer the model's calls of a flow tool within their transaction. A refused call writes only its refusal."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import assert_never
from uuid import uuid4

from punchlist.config import timer_horizon
from punchlist.core import flow as asked
from punchlist.core.commands import Repeat
from punchlist.core.events import Draft
from punchlist.core.flow import Flow, FlowCommand, FlowResult, OnFlow, check_condition, owner_key
from punchlist.dialects.base import Reply
from punchlist.errors import FlowError, FlowForeign, FlowRevisionMismatch, InvalidInput
from punchlist.flows.work import FlowWork
from punchlist.store import AgentRow, Transaction
from punchlist.store.flows import OVERTAKEN


class FlowModelCall:
    """One call of a flow tool. It is decided again after it was refused, and once more if another process changed the
    flow meanwhile."""

    def __init__(self, command: FlowCommand, *, name: str, session: str, render: Callable[[FlowResult], Reply]) -> None:
        self._command = command
        self._owner = owner_key(name, session)
        self._by = name
        self._render = render
        self._id = str(uuid4())
        self._refused: FlowError | InvalidInput | None = None
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
        except FlowRevisionMismatch as error:
            if self._overtaken or error.data["actual"] != OVERTAKEN:
                self._refused = error
            self._overtaken = True
            raise Repeat from error
        except (FlowError, InvalidInput) as error:
            self._refused = error
            raise Repeat from error  # rolls back what it wrote
        return self._render(result._replace(problems=tuple(work.cleaner.problems()))), not self._command.reads

    def view(self, tx: Transaction, row: AgentRow | None, now: datetime) -> Reply | None:
        """Return the reply to a call that only reads, from the flows as they stand; None to a refused one."""
        work = FlowWork(tx, now=now, by=self._by, agent=row, settles=False)
        try:
            return self._render(self._run(work))
        except (FlowError, InvalidInput):
            return None

    def _run(self, work: FlowWork) -> FlowResult:
        command = self._command
        match command:
            case asked.StartFlow():
                flow = work.create_managed(
                    command.controller_id,
                    command.goal,
                    current_step=command.current_step,
                    state=command.state,
                    id=self._id,
                )
                return FlowResult(command, work.start_running(flow.id))
            case asked.ListFlows():
                rows = [work.settle(row) for row in work.flows.of_owner(self._owner)]
                return FlowResult(command, flows=tuple(row.flow for row in rows))
            case _:
                row = work.find(command.flow)
                if row is None:
                    return FlowResult(command)
                if row.flow.owner_session_key != self._owner:
                    raise FlowForeign(id=row.flow.id, owner=row.flow.owner_session_key)
                if command.refused:
                    raise FlowError(problem=command.refused)
                return FlowResult(command, self._on(work, command, row.flow))

    def _on(self, work: FlowWork, command: OnFlow, flow: Flow) -> Flow:
        match command:
            case asked.ShowFlow():
                return flow
            case asked.AdvanceFlow():
                return work.update_state(flow.id, command.patch, next_step=command.current_step)
            case asked.WaitFlow():
                if command.condition is not None:
                    check_condition(command.condition, work.now, timer_horizon())
                return work.set_waiting(flow.id, command.condition)
            case asked.FinishFlow():
                return work.finish(flow.id, command.final_state)
            case asked.FailFlow():
                return work.fail(flow.id, command.reason)
            case asked.CancelFlow():
                return work.cancel(flow.id)
            case _:
                assert_never(command)
