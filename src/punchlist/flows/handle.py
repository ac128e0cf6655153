"""Read and change the flows of a board, each call in its own transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, Unpack
from uuid import uuid4

from msgspec import Struct

from punchlist.core.events import Event
from punchlist.core.flow import Flow, FlowStatus, FlowStep, decide_wait, is_wait_over, owner_key
from punchlist.errors import FlowError, FlowRevisionMismatch, FlowUnknown
from punchlist.flows.work import FlowWork, NewFlow, parse_id, parse_status
from punchlist.store import AgentRow, Store, Transaction
from punchlist.store.flows import OVERTAKEN, FlowRow

T = TypeVar("T")
P = ParamSpec("P")
_AT_ONCE = 50
"""Flows that one transaction resumes or deletes: others can write between two of them."""


class FlowBoard(Protocol):
    store: Store

    def now(self) -> datetime: ...


class FlowAgent(Protocol):
    name: str
    session: str

    def _join(self, tx: Transaction, now: datetime) -> AgentRow: ...


class TickReport(Struct, frozen=True):
    """How many flows waited, and how many of them a tick moved. Flows with an unknown wait only count as scanned."""

    scanned: int = 0
    resumed: int = 0
    cancelled: int = 0
    still_waiting: int = 0
    errors: int = 0


def _run_in_transaction(verb: Callable[Concatenate[FlowWork, P], T]) -> Callable[Concatenate[Flows, P], T]:
    """Return a method of `Flows` that runs a verb of `FlowWork` in a transaction of its own."""

    @wraps(verb)
    def method(flows: Flows, *args: P.args, **kwargs: P.kwargs) -> T:
        return flows._change(lambda work: verb(work, *args, **kwargs))  # pyright: ignore[reportPrivateUsage]

    return method


class Flows:
    """All flows of a board; safe to use from many threads. Made for an agent, new flows belong to its session.

    A flow whose timer is over is running whenever it is read. With `revision` a change is made only if the flow is
    still at that.
    """

    def __init__(self, board: FlowBoard, *, agent: FlowAgent | None = None, by: str = "") -> None:
        self.board = board
        self.by = by or ("" if agent is None else agent.name)
        self.owner = "" if agent is None else owner_key(agent.name, agent.session)
        self._agent = agent

    def __repr__(self) -> str:
        return f"Flows({self.owner!r})"

    def within(self, tx: Transaction, *, now: datetime | None = None) -> FlowWork:
        """Return the verbs of flows for a transaction that is already open."""
        now = now or self.board.now()
        row = None if self._agent is None else self._agent._join(tx, now)  # pyright: ignore[reportPrivateUsage]
        return FlowWork(tx, now=now, by=self.by, agent=row)

    def _change(self, work: Callable[[FlowWork], T]) -> T:
        """Run a change; retry if another process changed the flow meanwhile, but not for a wrong revision."""
        try:
            return self._once(work)
        except FlowRevisionMismatch as error:
            if error.data["actual"] != OVERTAKEN:
                raise
            return self._once(work)

    def _once(self, work: Callable[[FlowWork], T]) -> T:
        return self.board.store.transact(lambda tx: work(self.within(tx)))

    # Reading.

    def get(self, id: str) -> Flow | None:
        """Return one flow, or None."""
        name = parse_id(id)
        return next(iter(self._find(lambda tx: [row] if (row := tx.flows.find(name)) is not None else [])), None)

    def _find(self, what: Callable[[Transaction], Sequence[FlowRow]]) -> tuple[Flow, ...]:
        """Read flows; only if the timer of one is over, resume it first."""
        now = self.board.now()
        found = [row.flow for row in self.board.store.read(what)]
        due = [flow.id for flow in found if is_wait_over(flow, now)]
        for start in range(0, len(due), _AT_ONCE):
            some = due[start : start + _AT_ONCE]
            self._change(lambda work, some=some: [work.find(each) for each in some])
        if due:
            found = [row.flow for row in self.board.store.read(what)]
        return tuple(found)

    def list(self, *, limit: int = 1000) -> tuple[Flow, ...]:
        """Return the flows of the board, the newest first."""
        return self._find(lambda tx: tx.flows.page(limit=max(0, limit)))

    def list_by_owner(self, owner_session_key: str | None = None) -> tuple[Flow, ...]:
        """Return the flows of one owner, by default of this handle's agent, the newest first."""
        owner = self.owner if owner_session_key is None else owner_session_key
        return self._find(lambda tx: tx.flows.of_owner(owner))

    def list_by_status(self, status: str) -> tuple[Flow, ...]:
        """Return the flows in one status, those that changed longest ago first."""
        wanted = parse_status(status)
        found = self._find(lambda tx: tx.flows.of_status(wanted))
        return tuple(flow for flow in found if flow.status is wanted)

    def list_events(self, id: str, limit: int = 100) -> tuple[Event, ...]:
        """Return the events of a flow, the latest first; a limit below 0 is 0."""
        return tuple(self._read(id, lambda tx, row: tx.flows.events(row, limit=max(0, limit))))

    def list_steps(self, id: str) -> tuple[FlowStep, ...]:
        """Return the recorded steps of a flow, the oldest first."""
        return tuple(self._read(id, lambda tx, row: tx.flows.steps(row)))

    def _read(self, id: str, what: Callable[[Transaction, FlowRow], Sequence[T]]) -> Sequence[T]:
        name = parse_id(id)

        def read(tx: Transaction) -> Sequence[T] | None:
            row = tx.flows.find(name)
            return None if row is None else what(tx, row)

        found = self.board.store.read(read)
        if found is None:
            raise FlowUnknown(id=name)
        return found

    # Creating and changing.

    def create_managed(self, controller_id: str, goal: str, **fields: Unpack[NewFlow]) -> Flow:
        """Create a flow that does not run yet. For `fields` see `NewFlow`."""
        new = _assign_id(fields)
        return self._change(lambda work: work.create_managed(controller_id, goal, **new))

    def create_mirrored(self, controller_id: str, goal: str, **fields: Unpack[NewFlow]) -> Flow:
        """Create a flow whose work runs elsewhere: it is running at once."""
        new = _assign_id(fields)
        return self._change(lambda work: work.create_mirrored(controller_id, goal, **new))

    start_running = _run_in_transaction(FlowWork.start_running)
    set_waiting = _run_in_transaction(FlowWork.set_waiting)

    def resume(self, id: str, state_patch: Any = None, *, revision: int | None = None) -> Flow:
        """Resume a flow, whatever it waits for; the patch is merged into its state."""
        patch = None if state_patch is None else (state_patch,)
        return self._change(lambda work: work.resume(id, patch, revision=revision))

    try_resume_external = _run_in_transaction(FlowWork.try_resume_external)

    def finish(self, id: str, final_state: Any = None, *, revision: int | None = None) -> Flow:
        """Finish a flow; the last patch is merged into its state. Flows that come after it may begin."""
        patch = None if final_state is None else (final_state,)
        return self._change(lambda work: work.finish(id, patch, revision=revision))

    fail = _run_in_transaction(FlowWork.fail)
    request_cancel = _run_in_transaction(FlowWork.request_cancel)
    cancel = _run_in_transaction(FlowWork.cancel)
    update_state = _run_in_transaction(FlowWork.update_state)
    come_after = _run_in_transaction(FlowWork.come_after)
    come_freely = _run_in_transaction(FlowWork.come_freely)
    record_step_observation = _run_in_transaction(FlowWork.record_step_observation)

    # By itself.

    def tick(self) -> TickReport:
        """Resume flows whose timer is over, and cancel waiting ones that are to be. Any number of processes may.

        Each flow is checked again in its own transaction, so that other writers wait only for one.
        """
        now, store = self.board.now(), self.board.store
        waiting = [row.flow for row in store.read(lambda tx: tx.flows.of_status(FlowStatus.WAITING))]
        outcomes = [(flow.id, decide_wait(flow, now)) for flow in waiting]
        moved = {"resume": 0, "cancel": 0, "error": 0, "wait": sum(found == "wait" for _, found in outcomes)}
        for due in [flow for flow, found in outcomes if found in ("resume", "cancel")]:
            try:
                done = store.transact(lambda tx, due=due: _move_on(FlowWork(tx, now=now), due))
            except FlowError:
                done = "error"
            if done is not None:
                moved[done] += 1
        return TickReport(len(waiting), moved["resume"], moved["cancel"], moved["wait"], moved["error"])

    def prune_terminal_flows(self, days: float) -> int:
        """Delete flows that ended so many days ago and that no open flow comes after; return how many.

        Their events stay.
        """
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


def _move_on(work: FlowWork, id: str) -> Literal["resume", "cancel"] | None:
    """Resume or cancel a waiting flow, if it still is to be; return what was done."""
    row = work.flows.find(id)
    if row is None or row.flow.status is not FlowStatus.WAITING:
        return None
    match decide_wait(row.flow, work.now):
        case "cancel":
            work.cancel(id)
            return "cancel"
        case "resume":
            work.settle(row)
            return "resume"
        case _:
            return None


def _assign_id(fields: NewFlow) -> NewFlow:
    """Return the fields with an id, so that a second run of the transaction makes the same flow."""
    new = fields.copy()
    new["id"] = fields.get("id") or str(uuid4())
    new["after"] = tuple(fields.get("after", ()))
    return new
