"""Run flows: tasks of a list of their own, with ids, named steps and rules of their own, in the words of nexo.

`Flows` opens a transaction for each call; `FlowWork` is what can be done within one. Each change is one revision and
one event.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, TypedDict, TypeVar, Unpack, get_args
from uuid import UUID, uuid4

from msgspec import Struct

from punchlist.core import flow as rules
from punchlist.core.commands import Cleaner
from punchlist.core.events import Draft, Event
from punchlist.core.flow import Flow, FlowStatus, FlowStep, Outcome, StepRuntime, StepStatus, owner_key
from punchlist.core.inputs import plain_json
from punchlist.errors import FlowError, FlowRevisionMismatch, FlowUnknown, InvalidInput, StoreBusy
from punchlist.store import AgentRow, Transaction
from punchlist.store.flows import OVERTAKEN, FlowRow
from punchlist.tasks.fields import check_text, parse_word
from punchlist.tasks.handle import SETTLE_WAIT, TaskAgent, TaskBoard, run_in_transaction
from punchlist.tasks.work import MOST_READIED
from punchlist.text import cut

T = TypeVar("T")

EMPTY: Final = MappingProxyType[str, Any]({})
"""The state of a flow that is given none."""

_LONGEST = 100_000
"""Characters of each text of a flow."""

_LONGEST_GOAL = 1_000
"""Characters of a goal that each event repeats."""


class NewFlow(TypedDict, total=False):
    """Fields of a new flow besides its controller and its goal.

    `after`: ids of flows that have to finish before it begins. `id`: a UUID; the same again makes no second flow.
    `owner_session_key` is by default that of the agent that creates it (`agent:NAME:session:ID`), and
    `requester_origin` its session. `current_step` is `init`, `state` an empty object.
    """

    owner_session_key: str | None
    requester_origin: str | None
    current_step: str
    state: Any
    after: Iterable[str]
    id: str | None


class TickReport(Struct, frozen=True):
    """How many flows waited, and how many of them a tick moved. Flows with an unknown wait only count as scanned."""

    scanned: int = 0
    resumed: int = 0
    cancelled: int = 0
    still_waiting: int = 0
    errors: int = 0


class FlowWork:
    """The flows of a board in one open transaction; `Flows` opens one for each call.

    `by` is the author of what happens. `agent` is the agent in whose name it happens, if it is one of this board.
    Without `settles` a timer that is over is left as it stands, for a transaction that only reads.
    """

    def __init__(
        self,
        tx: Transaction,
        *,
        now: datetime,
        by: str = "",
        agent: AgentRow | None = None,
        settles: bool = True,
    ) -> None:
        self.tx = tx
        self.flows = tx.flows
        self.now = now
        self.by = by
        self.agent = agent
        self.cleaner = Cleaner()
        self._settles = settles

    def find(self, id: str) -> FlowRow | None:
        """Return the flow, running if its timer is over. `id` is in its usual spelling."""
        row = self.flows.find(id)
        return None if row is None else self.settle(row)

    def settle(self, row: FlowRow) -> FlowRow:
        if not self._settles or not rules.is_wait_over(row.flow, self.now):
            return row
        return self.write(row, rules.resume(row.flow, self.now), "resumed", by="", state_patch=None)

    def row(self, id: str, revision: int | None = None, *, settled: bool = True) -> FlowRow:
        """Return the flow of an id in any spelling; raise if there is none, or if it is not at this revision."""
        name = parse_id(id)
        row = self.find(name) if settled else self.flows.find(name)
        if row is None:
            raise FlowUnknown(id=name)
        if revision is not None and revision != row.flow.revision:
            raise FlowRevisionMismatch(id=name, expected=revision, actual=row.flow.revision)
        return row

    def write(self, row: FlowRow, after: Flow, kind: str, *, by: str | None = None, **told: Any) -> FlowRow:
        """Write a flow with its event; nothing if it did not change."""
        if after is row.flow:
            return row
        if after.state is not row.flow.state:
            check_state(after.state)
        saved, readied = self.flows.save(row, after)
        if readied:
            told["readied"] = list(readied[:MOST_READIED])
        self.tell(saved, kind, by=by, **told)
        return saved

    def tell(self, row: FlowRow, kind: str, *, by: str | None = None, **told: Any) -> None:
        flow = row.flow
        data = {"flow": flow.id, "goal": cut(flow.goal, _LONGEST_GOAL), "revision": flow.revision, **told}
        self.flows.add_events(row, [Draft(f"flow.{kind}", data)], by=self.by if by is None else by, at=self.now)

    # Creating and moving.

    def create_managed(self, controller_id: str, goal: str, **fields: Unpack[NewFlow]) -> Flow:
        """Create a flow that does not run yet; if one of that `id` exists, return it. For `fields` see `NewFlow`."""
        flow = self._make_flow(controller_id, goal, fields)
        known = self.flows.find(flow.id)
        return self._add(flow, fields.get("after", ())).flow if known is None else _check_same(known.flow, flow)

    def _make_flow(self, controller_id: str, goal: str, fields: NewFlow) -> Flow:
        agent = self.agent
        owner, origin, wanted = fields.get("owner_session_key"), fields.get("requester_origin"), fields.get("id")
        if owner is None:
            owner = "" if agent is None else owner_key(agent.name, agent.session)
        if origin is None:
            origin = "" if agent is None else agent.session
        return Flow(
            id=str(uuid4()) if wanted is None else parse_id(wanted),
            controller_id=self._text("controller_id", controller_id),
            goal=self._text("goal", goal),
            owner_session_key=self._text("owner_session_key", owner, blank=True),
            requester_origin=self._text("requester_origin", origin, blank=True),
            current_step=self._text("current_step", fields.get("current_step", rules.FIRST_STEP)),
            state=check_state(fields.get("state", EMPTY)),
            created_at=self.now,
            updated_at=self.now,
        )

    def _text(self, what: str, value: Any, *, blank: bool = False) -> str:
        return check_text(what, value, self.cleaner, blank=blank, of="flow", longest=_LONGEST).strip()

    def _add(self, flow: Flow, after: Iterable[str]) -> FlowRow:
        agent = self.agent
        if agent is not None and flow.owner_session_key != owner_key(agent.name, agent.session):
            agent = None  # it belongs to another session
        row = self.flows.add(flow, agent=agent, by=self.by)
        before = [self.row(each) for each in dict.fromkeys(map(parse_id, after))]
        for each in before:
            self.flows.link(row, each)
        told: dict[str, Any] = {"controller_id": flow.controller_id, "current_step": flow.current_step}
        if before:
            told["after"] = [each.flow.id for each in before]
            row = self.row(flow.id)
        self.tell(row, "created", **told)
        return row

    def create_mirrored(self, controller_id: str, goal: str, **fields: Unpack[NewFlow]) -> Flow:
        """Create a flow whose work runs elsewhere: it is running at once."""
        flow = self.create_managed(controller_id, goal, **fields)
        return flow if flow.revision else self.start_running(flow.id)

    def start_running(self, id: str, *, revision: int | None = None) -> Flow:
        """Start a flow; raise `FlowHeld` while a flow before it is not finished."""
        row = self.row(id, revision)
        return self.write(row, rules.start(row.flow, self.now), "started").flow

    def set_waiting(self, id: str, wait: Any, *, revision: int | None = None) -> Flow:
        """Set a running flow waiting: `wait` is a `WaitCondition`, or JSON such as `{"kind": "manual"}`.

        A wait of another kind is ended by its controller only.
        """
        row, kept = self.row(id, revision), parse_wait(wait)
        return self.write(row, rules.wait(row.flow, kept, self.now), "waiting", wait=kept).flow

    def resume(self, id: str, patch: tuple[Any] | None = None, *, revision: int | None = None) -> Flow:
        row = self.row(id, revision, settled=False)
        kept = _check_patch("patch", patch)
        after = rules.resume(row.flow, self.now, kept)
        return self.write(row, after, "resumed", state_patch=None if kept is None else kept[0]).flow

    def try_resume_external(self, id: str, topic: str, correlation_id: str, payload: Any = None) -> Flow | None:
        """Resume a flow if it waits for just this event, else None; the payload is in `state["resume_event"]`."""
        row = self.find(parse_id(id))
        if row is None or not rules.is_waiting_for(row.flow, topic, correlation_id):
            return None
        return self.resume(id, None if payload is None else ({"resume_event": payload},))

    def finish(self, id: str, patch: tuple[Any] | None = None, *, revision: int | None = None) -> Flow:
        row, kept = self.row(id, revision), _check_patch("final_state", patch)
        after = rules.finish(row.flow, self.now, kept)
        return self.write(row, after, "finished", final_state=None if kept is None else kept[0]).flow

    def fail(self, id: str, reason: str, *, revision: int | None = None) -> Flow:
        """Fail a flow, which ends it; `state["failure"]` says why and when."""
        row, said = self.row(id, revision), self._text("reason", reason)
        return self.write(row, rules.fail(row.flow, said, self.now), "failed", reason=said).flow

    def request_cancel(self, id: str, *, revision: int | None = None) -> Flow:
        """Ask for a flow to be cancelled, the only way on for it; the next tick does so if it waits."""
        row = self.row(id, revision)
        return self.write(row, rules.request_cancel(row.flow, self.now), "cancel_requested").flow

    def cancel(self, id: str, *, revision: int | None = None) -> Flow:
        """Cancel a flow at once."""
        row = self.row(id, revision, settled=False)
        return self.write(row, rules.cancel(row.flow, self.now), "cancelled").flow

    def update_state(
        self, id: str, patch: Any = EMPTY, *, next_step: str | None = None, revision: int | None = None
    ) -> Flow:
        """Merge a patch into the state, and move to another step; the status stays."""
        row, kept = self.row(id, revision), check_state(patch)
        step = None if next_step is None else self._text("next_step", next_step)
        after = rules.update(row.flow, self.now, kept, step)
        return self.write(row, after, "state_updated", patch=kept, next_step=step).flow

    def come_after(self, id: str, before: str) -> Flow:
        """Make a flow that has not begun wait for another one; raise `FlowCycle`, which names the cycle."""
        row, other = self.row(id), self.row(before)
        rules.check_not_started(row.flow)
        return self._record_link(row, other, "linked") if self.flows.link(row, other) else row.flow

    def come_freely(self, id: str, before: str) -> Flow:
        """Remove such a dependency."""
        row, other = self.row(id), self.row(before)
        rules.check_not_started(row.flow)
        return self._record_link(row, other, "unlinked") if self.flows.unlink(row, other) else row.flow

    def _record_link(self, row: FlowRow, other: FlowRow, kind: str) -> Flow:
        self.tell(row, kind, before=other.flow.id)
        return self.row(row.flow.id).flow

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
        """Record what was seen of one run, in place of the last record of it. A session that was known stays known."""
        row = self.row(id)
        run = self._text("run_id", run_id)
        known = self.flows.step(row, run)
        session = None if known is None else known.child_session_key
        if child_session_key is not None:
            session = self._text("child_session_key", child_session_key)
        step = FlowStep(
            id=str(uuid4()) if known is None else known.id,
            flow_id=row.flow.id,
            run_id=run,
            task=self._text("task", task),
            status=parse_word("status of a step", status, get_args(StepStatus)),
            created_at=self.now if known is None else known.created_at,
            updated_at=self.now,
            runtime=parse_word("runtime", runtime, get_args(StepRuntime)) if known is None else known.runtime,
            child_session_key=session,
            result=plain_json("result", result),
        )
        self.flows.save_step(row, step)
        self.tell(row, "step_observed", run_id=run, status=step.status, runtime=step.runtime)
        return step

    def move_on(self, id: str) -> Outcome:
        """Resume or cancel a waiting flow, if that is to be; return what was done."""
        row = self.flows.find(id)
        if row is None or row.flow.status is not FlowStatus.WAITING:
            return "skip"
        outcome = rules.decide_wait(row.flow, self.now)
        if outcome == "cancel":
            self.cancel(id)
        elif outcome == "resume":
            self.settle(row)
        return outcome

    def prune(self, before: datetime) -> int:
        """Delete some of the flows that ended before a time; return how many."""
        rows = self.flows.ended_before(before)
        for row in rows:
            self.tell(row, "pruned")
            self.flows.delete(row)
        return len(rows)


class Flows:
    """All flows of a board; safe to use from many threads. Made for an agent, new flows belong to its session.

    A flow whose timer is over is running whenever it is read. With `revision` a change is made only if the flow is
    still at that.
    """

    def __init__(self, board: TaskBoard, *, agent: TaskAgent | None = None, by: str = "") -> None:
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
        found = self._find(lambda tx: [tx.flows.find(name)])
        return found[0] if found else None

    def _find(self, what: Callable[[Transaction], Sequence[FlowRow | None]]) -> tuple[Flow, ...]:
        """Read flows; if the timer of one is over, resume it first, unless another process holds the lock for long."""

        def read() -> tuple[Flow, ...]:
            return tuple(row.flow for row in store.read(what) if row is not None)

        def settle(tx: Transaction) -> None:
            for each in due:
                FlowWork(tx, now=now).find(each)

        store, now = self.board.store, self.board.now()
        found = read()
        due = [flow.id for flow in found if rules.is_wait_over(flow, now)]
        if due:
            with suppress(StoreBusy, FlowRevisionMismatch):
                store.transact(settle, wait=SETTLE_WAIT)
            found = read()
        return found

    def list(self, *, limit: int = 1000) -> tuple[Flow, ...]:
        """Return the flows of the board, the newest first."""
        return self._find(lambda tx: tx.flows.page(limit=max(0, limit)))

    def list_by_owner(self, owner_session_key: str | None = None) -> tuple[Flow, ...]:
        """Return the flows of one owner, by default of this handle's agent, the newest first."""
        owner = self.owner if owner_session_key is None else owner_session_key
        return self._find(lambda tx: tx.flows.of_owner(owner))

    def list_by_status(self, status: str) -> tuple[Flow, ...]:
        """Return the flows in one status, those that changed longest ago first."""
        wanted = parse_word("status", status, tuple(FlowStatus))
        return self._find(lambda tx: tx.flows.of_status(wanted))

    def list_events(self, id: str, limit: int = 100) -> tuple[Event, ...]:
        """Return the events of a flow, the latest first; a limit below 0 is 0."""
        return self.board.store.read(lambda tx: tuple(tx.flows.events(self._row(tx, id), limit=max(0, limit))))

    def list_steps(self, id: str) -> tuple[FlowStep, ...]:
        """Return the recorded steps of a flow, the oldest first."""
        return self.board.store.read(lambda tx: tuple(tx.flows.steps(self._row(tx, id))))

    def _row(self, tx: Transaction, id: str) -> FlowRow:
        return FlowWork(tx, now=self.board.now()).row(id, settled=False)

    # Creating and changing.

    create_managed = run_in_transaction(FlowWork.create_managed)
    create_mirrored = run_in_transaction(FlowWork.create_mirrored)
    start_running = run_in_transaction(FlowWork.start_running)
    set_waiting = run_in_transaction(FlowWork.set_waiting)

    def resume(self, id: str, state_patch: Any = None, *, revision: int | None = None) -> Flow:
        """Resume a flow, whatever it waits for; the patch is merged into its state."""
        patch = None if state_patch is None else (state_patch,)
        return self._change(lambda work: work.resume(id, patch, revision=revision))

    try_resume_external = run_in_transaction(FlowWork.try_resume_external)

    def finish(self, id: str, final_state: Any = None, *, revision: int | None = None) -> Flow:
        """Finish a flow; the last patch is merged into its state. Flows that come after it may begin."""
        patch = None if final_state is None else (final_state,)
        return self._change(lambda work: work.finish(id, patch, revision=revision))

    fail = run_in_transaction(FlowWork.fail)
    request_cancel = run_in_transaction(FlowWork.request_cancel)
    cancel = run_in_transaction(FlowWork.cancel)
    update_state = run_in_transaction(FlowWork.update_state)
    come_after = run_in_transaction(FlowWork.come_after)
    come_freely = run_in_transaction(FlowWork.come_freely)
    record_step_observation = run_in_transaction(FlowWork.record_step_observation)

    # By itself.

    def tick(self) -> TickReport:
        """Resume flows whose timer is over, and cancel waiting ones that are to be. Any number of processes may.

        Each flow is checked again in its own transaction, so that other writers wait only for one.
        """
        now = self.board.now()
        waiting = self.board.store.read(lambda tx: tx.flows.of_status(FlowStatus.WAITING))
        counts = Counter(self._move_on(row.flow, now) for row in waiting)
        return TickReport(len(waiting), counts["resume"], counts["cancel"], counts["wait"], counts["error"])

    def _move_on(self, flow: Flow, now: datetime) -> str:
        outcome = rules.decide_wait(flow, now)
        if outcome in {"wait", "skip"}:
            return outcome
        try:
            return self.board.store.transact(lambda tx: FlowWork(tx, now=now).move_on(flow.id))
        except FlowError:
            return "error"

    def prune_terminal_flows(self, days: float) -> int:
        """Delete flows that ended so many days ago and that no open flow comes after; return how many.

        Their events stay.
        """
        before = self.board.now() - timedelta(days=max(0.0, days))
        total = 0
        while count := self._change(lambda work: work.prune(before)):
            total += count
        return total


def _check_patch(what: str, patch: tuple[Any] | None) -> tuple[Any] | None:
    return None if patch is None else (plain_json(what, patch[0]),)


def _check_same(known: Flow, asked: Flow) -> Flow:
    """Return the known flow of an id; raise if another flow was asked for under it."""
    told = [(flow.controller_id, flow.goal, flow.owner_session_key) for flow in (known, asked)]
    if told[0] != told[1]:
        raise InvalidInput(problem=f"The id `{known.id}` belongs to another flow; use a new one.")
    return known


def parse_id(value: Any) -> str:
    """Return a UUID in its usual spelling."""
    try:
        return str(UUID(value))
    except (ValueError, TypeError, AttributeError) as error:
        raise InvalidInput(problem=f"`{str(value)[:80]}` cannot name a flow: its id is a UUID.") from error


def check_state(value: Any) -> Any:
    """Return a state as JSON, up to a million bytes of it."""
    return {} if value is EMPTY else plain_json("state", value)


def parse_wait(value: Any) -> Any:
    """Return a wait as JSON: a condition, or any value that a controller understands."""
    if isinstance(value, rules.WaitCondition):
        return value.json
    kept = plain_json("wait", value)
    found = rules.parse_condition(kept)
    return kept if found is None else found.json
