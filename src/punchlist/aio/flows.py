"""The async handle on the flows of a board."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Unpack

from punchlist import flows as synchronous_flows
from punchlist.core.events import Event
from punchlist.core.flow import Flow, FlowStep, StepRuntime, StepStatus
from punchlist.flows import FlowWork, NewFlow, TickReport
from punchlist.flows.values import EMPTY
from punchlist.store import Transaction

if TYPE_CHECKING:
    from punchlist.aio.board import Board


class Flows:
    """All flows of a board, for async code. Made by `board.flows` and `agent.flows`.

    Calls that are awaited together run side by side; await one before the next where their order matters.
    """

    def __init__(self, board: Board, flows: synchronous_flows.Flows) -> None:
        self.board = board
        self.synchronous = flows
        self.by = flows.by
        self.owner = flows.owner
        self._run = board.on_a_thread

    def __repr__(self) -> str:
        return repr(self.synchronous)

    def within(self, tx: Transaction, *, now: datetime | None = None) -> FlowWork:
        """The same, in a transaction that is already open, on the thread on which it is."""
        return self.synchronous.within(tx, now=now)

    async def get(self, id: str) -> Flow | None:
        return await self._run(self.synchronous.get, id)

    async def list(self, *, limit: int = 1000) -> tuple[Flow, ...]:
        return await self._run(self.synchronous.list, limit=limit)

    async def list_by_owner(self, owner_session_key: str | None = None) -> tuple[Flow, ...]:
        return await self._run(self.synchronous.list_by_owner, owner_session_key)

    async def list_by_status(self, status: str) -> tuple[Flow, ...]:
        return await self._run(self.synchronous.list_by_status, status)

    async def list_events(self, id: str, limit: int = 100) -> tuple[Event, ...]:
        return await self._run(self.synchronous.list_events, id, limit)

    async def list_steps(self, id: str) -> tuple[FlowStep, ...]:
        return await self._run(self.synchronous.list_steps, id)

    async def create_managed(self, controller_id: str, goal: str, **fields: Unpack[NewFlow]) -> Flow:
        return await self._run(self.synchronous.create_managed, controller_id, goal, **fields)

    async def create_mirrored(self, controller_id: str, goal: str, **fields: Unpack[NewFlow]) -> Flow:
        return await self._run(self.synchronous.create_mirrored, controller_id, goal, **fields)

    async def start_running(self, id: str, *, revision: int | None = None) -> Flow:
        return await self._run(self.synchronous.start_running, id, revision=revision)

    async def set_waiting(self, id: str, wait: Any, *, revision: int | None = None) -> Flow:
        return await self._run(self.synchronous.set_waiting, id, wait, revision=revision)

    async def resume(self, id: str, state_patch: Any = None, *, revision: int | None = None) -> Flow:
        return await self._run(self.synchronous.resume, id, state_patch, revision=revision)

    async def try_resume_external(self, id: str, topic: str, correlation_id: str, payload: Any = None) -> Flow | None:
        return await self._run(self.synchronous.try_resume_external, id, topic, correlation_id, payload)

    async def finish(self, id: str, final_state: Any = None, *, revision: int | None = None) -> Flow:
        return await self._run(self.synchronous.finish, id, final_state, revision=revision)

    async def fail(self, id: str, reason: str, *, revision: int | None = None) -> Flow:
        return await self._run(self.synchronous.fail, id, reason, revision=revision)

    async def request_cancel(self, id: str, *, revision: int | None = None) -> Flow:
        return await self._run(self.synchronous.request_cancel, id, revision=revision)

    async def cancel(self, id: str, *, revision: int | None = None) -> Flow:
        return await self._run(self.synchronous.cancel, id, revision=revision)

    async def update_state(
        self, id: str, patch: Any = EMPTY, *, next_step: str | None = None, revision: int | None = None
    ) -> Flow:
        return await self._run(self.synchronous.update_state, id, patch, next_step=next_step, revision=revision)

    async def come_after(self, id: str, before: str) -> Flow:
        return await self._run(self.synchronous.come_after, id, before)

    async def come_freely(self, id: str, before: str) -> Flow:
        return await self._run(self.synchronous.come_freely, id, before)

    async def record_step_observation(
        self,
        id: str,
        run_id: str,
        task: str,
        status: StepStatus,
        *,
        child_session_key: str | None = None,
        result: Any = None,
        runtime: StepRuntime = "mirrored",
    ) -> FlowStep:
        return await self._run(
            self.synchronous.record_step_observation,
            id,
            run_id,
            task,
            status,
            child_session_key=child_session_key,
            result=result,
            runtime=runtime,
        )

    async def tick(self) -> TickReport:
        return await self._run(self.synchronous.tick)

    async def prune_terminal_flows(self, days: float) -> int:
        return await self._run(self.synchronous.prune_terminal_flows, days)
