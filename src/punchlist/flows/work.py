"""Change flows within one transaction: each change is one revision and one event."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, TypedDict, TypeVar, Unpack, get_args
from uuid import UUID, uuid4

from punchlist.core import flow as rules
from punchlist.core.commands import Cleaner
from punchlist.core.events import Draft
from punchlist.core.flow import Flow, FlowStatus, FlowStep, StepRuntime, StepStatus
from punchlist.core.json_values import plain_json
from punchlist.errors import FlowRevisionMismatch, FlowUnknown, InvalidInput
from punchlist.store import AgentRow, Transaction
from punchlist.store.flows import FlowRow
from punchlist.text import cut

LONGEST: Final = 100_000
EMPTY: Final = MappingProxyType[str, Any]({})
"""The state of a flow that is given none."""

_LONGEST_GOAL = 1_000
"""Characters of a goal that each event repeats."""

_MOST_READIED = 100
"""Ids of readied flows that one event names."""

T = TypeVar("T", bound=str)


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
            told["readied"] = list(readied[:_MOST_READIED])
        self.tell(saved, kind, by=by, **told)
        return saved

    def tell(self, row: FlowRow, kind: str, *, by: str | None = None, **told: Any) -> None:
        flow = row.flow
        data = {"flow": flow.id, "goal": cut(flow.goal, _LONGEST_GOAL), "revision": flow.revision, **told}
        self.flows.add_events(row, [Draft(f"flow.{kind}", data)], by=self.by if by is None else by, at=self.now)

    # Creating and moving.

    def create_managed(self, controller_id: str, goal: str, **fields: Unpack[NewFlow]) -> Flow:
        """Create a flow that does not run yet. If a flow of that `id` exists, return it."""
        flow = self._make_flow(controller_id, goal, fields)
        known = self.flows.find(flow.id)
        return self._add(flow, fields.get("after", ())).flow if known is None else _check_same(known.flow, flow)

    def _make_flow(self, controller_id: str, goal: str, fields: NewFlow) -> Flow:
        agent, clean = self.agent, self.cleaner
        owner, origin, wanted = fields.get("owner_session_key"), fields.get("requester_origin"), fields.get("id")
        if owner is None:
            owner = "" if agent is None else rules.owner_key(agent.name, agent.session)
        if origin is None:
            origin = "" if agent is None else agent.session
        return Flow(
            id=str(uuid4()) if wanted is None else parse_id(wanted),
            controller_id=check_text("controller_id", controller_id, clean),
            goal=check_text("goal", goal, clean),
            owner_session_key=check_text("owner_session_key", owner, clean, blank=True),
            requester_origin=check_text("requester_origin", origin, clean, blank=True),
            current_step=check_text("current_step", fields.get("current_step", rules.FIRST_STEP), clean),
            state=check_state(fields.get("state", EMPTY)),
            created_at=self.now,
            updated_at=self.now,
        )

    def _add(self, flow: Flow, after: Iterable[str]) -> FlowRow:
        agent = self.agent
        if agent is not None and flow.owner_session_key != rules.owner_key(agent.name, agent.session):
            agent = None  # it belongs to another session
        row = self.flows.add(
            flow,
            agent=None if agent is None else agent.number,
            name=None if agent is None else agent.name,
            session=None if agent is None else agent.session,
            by=self.by,
        )
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
        row, said = self.row(id, revision), check_text("reason", reason, self.cleaner)
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
        step = None if next_step is None else check_text("next_step", next_step, self.cleaner)
        after = rules.update(row.flow, self.now, kept, step)
        return self.write(row, after, "state_updated", patch=kept, next_step=step).flow

    # Order.

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

    # Steps.

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
        run = check_text("run_id", run_id, self.cleaner)
        known = self.flows.step(row, run)
        session = None if known is None else known.child_session_key
        if child_session_key is not None:
            session = check_text("child_session_key", child_session_key, self.cleaner)
        step = FlowStep(
            id=str(uuid4()) if known is None else known.id,
            flow_id=row.flow.id,
            run_id=run,
            task=check_text("task", task, self.cleaner),
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


def _check_patch(what: str, patch: tuple[Any] | None) -> tuple[Any] | None:
    return None if patch is None else (plain_json(what, patch[0]),)


def _check_same(known: Flow, asked: Flow) -> Flow:
    """Return the known flow of an id; raise if another flow was asked for under it."""
    told = [(flow.controller_id, flow.goal, flow.owner_session_key) for flow in (known, asked)]
    if told[0] != told[1]:
        raise InvalidInput(problem=f"The id `{known.id}` belongs to another flow; use a new one.")
    return known


def check_text(what: str, value: Any, cleaner: Cleaner, *, blank: bool = False) -> str:
    if not isinstance(value, str):
        raise InvalidInput(problem=f"The `{what}` of a flow is a text.")
    if len(value) > LONGEST:
        raise InvalidInput(problem=f"The `{what}` has {len(value)} characters; at most {LONGEST} fit. Shorten it.")
    cleaned = cleaner.text(value).strip()
    if not cleaned and not blank:
        raise InvalidInput(problem=f"A flow needs a `{what}` that is not empty.")
    return cleaned


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


def parse_status(word: Any) -> FlowStatus:
    return parse_word("status", word, tuple(FlowStatus))


def parse_word(what: str, value: Any, known: tuple[T, ...]) -> T:
    for each in known:
        if value == each:
            return each
    raise InvalidInput(problem=f"There is no {what} `{str(value)[:80]}`; known are: {', '.join(known)}.")
