"""A handle on the flows of a board."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar, Unpack
from uuid import uuid4

from punchlist.agent.handle import Handle, joined
from punchlist.core.events import Event
from punchlist.core.flow import Flow, FlowStep, StepRuntime, StepStatus, is_wait_over, owner_key
from punchlist.errors import FlowRevisionMismatch, FlowUnknown
from punchlist.flows.ticking import TickReport, tick
from punchlist.flows.values import EMPTY, NewFlow, id_of, status_of
from punchlist.flows.work import FlowWork
from punchlist.store import Transaction
from punchlist.store.flows import OVERTAKEN, FlowRow

if TYPE_CHECKING:
    from punchlist.board import Board

T = TypeVar("T")
_AT_ONCE = 50


class Flows:
    """All flows of a board; safe to use from many threads. Made for an agent, new flows belong to its session.

    Whoever looks at a flow whose time has come finds it running. With `revision` a change is made only if the flow is
    still at that.
    """

    def __init__(self, board: Board, *, agent: Handle | None = None, by: str = "") -> None:
        self.board = board
        self.by = by or ("" if agent is None else agent.name)
        self.owner = "" if agent is None else owner_key(agent.name, agent.session)
        self._agent = agent

    def __repr__(self) -> str:
        return f"Flows({self.owner!r})"

    def within(self, tx: Transaction, *, now: datetime | None = None) -> FlowWork:
        """The same, in a transaction that is already open."""
        now = now or self.board.now()
        row = None if self._agent is None else joined(self._agent, tx, now)
        return FlowWork(tx, now=now, by=self.by, agent=row)

    def _change(self, work: Callable[[FlowWork], T]) -> T:
        """A change that somebody else's came before is tried once more; one for another revision is not."""
        try:
            return self._once(work)
        except FlowRevisionMismatch as error:
            if error.data["actual"] != OVERTAKEN:
                raise
            return self._once(work)

    def _once(self, work: Callable[[FlowWork], T]) -> T:
        return self.board.store.transact(lambda tx: work(self.within(tx)))

    # Looking.

    def get(self, id: str) -> Flow | None:
        """One flow, or None."""
        name = id_of(id)
        return next(iter(self._look(lambda tx: [row] if (row := tx.flows.find(name)) is not None else [])), None)

    def _look(self, what: Callable[[Transaction], Sequence[FlowRow]]) -> tuple[Flow, ...]:
        """Reads; only if the time of one of them has come, that is written first."""
        now = self.board.now()
        found = [row.flow for row in self.board.store.read(what)]
        due = [flow.id for flow in found if is_wait_over(flow, now)]
        for start in range(0, len(due), _AT_ONCE):
            self._settle(due[start : start + _AT_ONCE])
        if due:
            found = [row.flow for row in self.board.store.read(what)]
        return tuple(found)

    def _settle(self, due: Sequence[str]) -> None:
        def work(work: FlowWork) -> None:
            for each in due:
                work.find(each)

        self._change(work)

    def list(self, *, limit: int = 1000) -> tuple[Flow, ...]:
        """The flows of the board, the newest first."""
        return self._look(lambda tx: tx.flows.page(limit=max(0, limit)))

    def list_by_owner(self, owner_session_key: str | None = None) -> tuple[Flow, ...]:
        """The flows of one owner, by default of this handle's agent, the newest first."""
        owner = self.owner if owner_session_key is None else owner_session_key
        return self._look(lambda tx: tx.flows.of_owner(owner))

    def list_by_status(self, status: str) -> tuple[Flow, ...]:
        """The flows in one status, those that changed longest ago first."""
        wanted = status_of(status)
        found = self._look(lambda tx: tx.flows.of_status(wanted))
        return tuple(flow for flow in found if flow.status is wanted)

    def list_events(self, id: str, limit: int = 100) -> tuple[Event, ...]:
        """What happened to a flow, the latest first; a limit below 0 is 0."""
        return tuple(self._read(id, lambda tx, row: tx.flows.events(row, limit=max(0, limit))))

    def list_steps(self, id: str) -> tuple[FlowStep, ...]:
        """The steps that were seen of a flow, the oldest first."""
        return tuple(self._read(id, lambda tx, row: tx.flows.steps(row)))

    def _read(self, id: str, what: Callable[[Transaction, FlowRow], Sequence[T]]) -> Sequence[T]:
        name = id_of(id)

        def read(tx: Transaction) -> Sequence[T] | None:
            row = tx.flows.find(name)
            return None if row is None else what(tx, row)

        found = self.board.store.read(read)
        if found is None:
            raise FlowUnknown(id=name)
        return found

    # Making and changing.

    def create_managed(self, controller_id: str, goal: str, **fields: Unpack[NewFlow]) -> Flow:
        """A flow that does not run yet. For `fields` see `NewFlow`."""
        new = _named(fields)
        return self._change(lambda work: work.create_managed(controller_id, goal, **new))

    def create_mirrored(self, controller_id: str, goal: str, **fields: Unpack[NewFlow]) -> Flow:
        """A flow whose work is under way elsewhere: created, and running at once."""
        new = _named(fields)
        return self._change(lambda work: work.create_mirrored(controller_id, goal, **new))

    def start_running(self, id: str, *, revision: int | None = None) -> Flow:
        """Begins; raises `FlowHeld` while a flow before it is not finished."""
        return self._change(lambda work: work.start_running(id, revision=revision))

    def set_waiting(self, id: str, wait: Any, *, revision: int | None = None) -> Flow:
        """Puts a running flow aside: `wait` is a `WaitCondition`, or JSON such as `{"kind": "manual"}`."""
        return self._change(lambda work: work.set_waiting(id, wait, revision=revision))

    def resume(self, id: str, state_patch: Any = None, *, revision: int | None = None) -> Flow:
        """Lets a flow go on, whatever it waits for; the patch is merged into its state."""
        patch = None if state_patch is None else (state_patch,)
        return self._change(lambda work: work.resume(id, patch, revision=revision))

    def try_resume_external(self, id: str, topic: str, correlation_id: str, payload: Any = None) -> Flow | None:
        """Lets a flow go on if it waits for just this event, else None; the payload is in `state["resume_event"]`."""
        return self._change(lambda work: work.try_resume_external(id, topic, correlation_id, payload))

    def finish(self, id: str, final_state: Any = None, *, revision: int | None = None) -> Flow:
        """Done; the last patch is merged into its state. Those that come after it may begin."""
        patch = None if final_state is None else (final_state,)
        return self._change(lambda work: work.finish(id, patch, revision=revision))

    def fail(self, id: str, reason: str, *, revision: int | None = None) -> Flow:
        """Failed, which is an end; `state["failure"]` says why and when."""
        return self._change(lambda work: work.fail(id, reason, revision=revision))

    def request_cancel(self, id: str, *, revision: int | None = None) -> Flow:
        """From now on the flow can only be cancelled; the next tick does so if it waits."""
        return self._change(lambda work: work.request_cancel(id, revision=revision))

    def cancel(self, id: str, *, revision: int | None = None) -> Flow:
        return self._change(lambda work: work.cancel(id, revision=revision))

    def update_state(
        self, id: str, patch: Any = EMPTY, *, next_step: str | None = None, revision: int | None = None
    ) -> Flow:
        """Merges a patch into the state, and moves on to another step; the status stays."""
        return self._change(lambda work: work.update_state(id, patch, next_step=next_step, revision=revision))

    def come_after(self, id: str, before: str) -> Flow:
        """Makes a flow that has not begun wait for another one; raises `FlowCycle`, which names the circle."""
        return self._change(lambda work: work.come_after(id, before))

    def come_freely(self, id: str, before: str) -> Flow:
        """Takes such a dependency away."""
        return self._change(lambda work: work.come_freely(id, before))

    def record_step_observation(
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
        """What was seen of one run of a flow's work, in place of what was seen of that run before."""
        return self._change(
            lambda work: work.record_step_observation(
                id, run_id, task, status, child_session_key=child_session_key, result=result, runtime=runtime
            )
        )

    # By itself.

    def tick(self) -> TickReport:
        """Lets flows go on whose timer is over, and cancels those that wait and are to be cancelled."""
        return tick(self.board, self.board.now())

    def prune_terminal_flows(self, days: float) -> int:
        """Deletes flows that ended so many days ago and that no open flow comes after; how many. Their events stay."""
        before = self.board.now() - timedelta(days=max(0.0, days))

        def some(work: FlowWork) -> int:
            rows = work.flows.ended_before(before, limit=_AT_ONCE)
            for row in rows:
                work.tell(row, "pruned")
                work.flows.delete(row)
            return len(rows)

        total = 0
        while count := self._change(some):
            total += count
        return total


def _named(fields: NewFlow) -> NewFlow:
    """With an id, so that a second run of the work makes the same flow."""
    new = fields.copy()
    new["id"] = fields.get("id") or str(uuid4())
    new["after"] = tuple(fields.get("after", ()))
    return new
