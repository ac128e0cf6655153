"""Run plan mode and approval plans: the agent proposes, a person decides. A plan is never the todo list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from time import monotonic
from typing import Any, assert_never, get_args
from uuid import uuid4

from msgspec import convert, to_builtins

from punchlist.agent.context import AgentRunner, check_name, save_applied
from punchlist.agent.edits import apply_graded_edit, replace_list
from punchlist.core.approval import Plan, PlanChange, PlanState, approve, begin, draft_delta, drop, propose, reject
from punchlist.core.events import Draft
from punchlist.core.plan import PlanStream, PlanStreamStep
from punchlist.dialects.base import (
    EnterPlan,
    Invalid,
    PlanSettings,
    Reply,
    ResolvePlan,
    SubmitPlan,
    reply_invalid,
    reply_plan_state,
)
from punchlist.errors import InvalidInput, PlanMissing, PlanRefused, PlanWithoutSteps, StoreError
from punchlist.guidance.plan_mode import LONGEST_REASON, Because, PlanMode, Refusal, find_refusal, gate
from punchlist.guidance.tools import kind
from punchlist.store import AgentRow, Transaction
from punchlist.store.records import moment
from punchlist.text import clean, cut

# Plan mode.


def current_plan_mode(agent: AgentRunner) -> PlanMode | None:
    def read(tx: Transaction, row: AgentRow) -> PlanMode | None:
        return load_plan_mode(tx, row, moment(row.recent)) if row.mode == "plan" else None

    return agent.read(read, None)


def begin_plan_mode(agent: AgentRunner, reason: str | None, by: str | None, because: Because | None) -> PlanMode:
    wanted = because or ("model_requested" if by in (None, agent.name) else "operator_requested")
    known = get_args(Because)
    if wanted not in known:
        raise InvalidInput(problem=f"`{wanted}` is no reason for plan mode: use one of {', '.join(known)}.")

    def work(tx: Transaction, row: AgentRow, now: datetime) -> PlanMode:
        if row.mode == "plan":
            return load_plan_mode(tx, row, moment(row.recent))
        return enter_plan_mode(tx, row, wanted, reason, by=by or agent.name, now=now)

    return agent.change(work)


def end_plan_mode(agent: AgentRunner, by: str | None) -> None:
    agent.change(lambda tx, row, now: leave_plan_mode(tx, row, by=by or agent.name, now=now))


def refuse_tool(agent: AgentRunner, tool: str, args: Any, unjudged: set[str]) -> Refusal | None:
    """Refuse a call, and record that. A tool of which nothing is known is recorded once, and added to `unjudged`."""
    own = agent.dialect.has_tool(tool.rpartition("__")[2]) or agent.dialect.has_tool(tool)
    found = "todo" if own else gate(tool, args, agent.settings.host)
    if found is None or (found == "todo" and (not own or agent.dialect.refused_in_plan_mode is None)):
        return None
    mode = current_plan_mode(agent)
    if mode is None:
        return None
    refused = find_refusal(mode, agent.dialect, tool, found)
    if refused is not None:
        _add_event(agent, Draft("mode.refused", {"tool": refused.data["tool_name"], "kind": refused.kind}))
    elif found == "unknown" and tool not in unjudged:
        unjudged.add(tool)
        _add_event(agent, Draft("mode.unjudged", {"tool": cut(tool, 200)}))
    return refused


def unjudged_tools(agent: AgentRunner, tools: Iterable[str]) -> tuple[str, ...]:
    return tuple(
        tool
        for tool in tools
        if not agent.dialect.has_tool(tool) and kind(tool, None, agent.settings.host) == "unknown"
    )


def _add_event(agent: AgentRunner, draft: Draft) -> None:
    def work(tx: Transaction) -> None:
        row = tx.agent(agent.session, agent.name)
        if row is not None:
            tx.add_events(row, [draft], by=agent.name, at=agent.board.now())

    with suppress(StoreError):  # a full disk is no reason to leave the host without an answer
        agent.board.store.transact(work, durable=False)


# The plan and its decision.


def latest_plan(agent: AgentRunner) -> Plan | None:
    return agent.read(lambda tx, row: tx.plans.current(row.number), None)


def all_plans(agent: AgentRunner) -> tuple[Plan, ...]:
    return agent.read(lambda tx, row: tuple(tx.plans.history(row.number)), ())


def propose_plan(
    agent: AgentRunner, text: str, *, by: str, timeout: float | None = None, item: str | None = None
) -> Plan:
    """Put a plan before a person. `item` is that of the stream in which the model wrote it."""
    check_name("author", by)
    if timeout is not None and not 0 < timeout < 10**9:
        raise InvalidInput(problem="`timeout` is a number of seconds above 0 and below a thousand million.")
    lasts = None if timeout is None else timedelta(seconds=timeout)
    plan_id = str(uuid4())

    def decide(tx: Transaction, row: AgentRow, now: datetime) -> PlanChange:
        since = load_plan_mode(tx, row, now).entered_at if row.mode == "plan" else None
        current = tx.plans.current(row.number)
        return propose(current, text, id=plan_id, by=by, now=now, lasts=lasts, item=item, entered_at=since)

    return _decide(agent, decide, by=by)


def approve_plan(agent: AgentRunner, revision: int | None, *, by: str, todos: bool, person: bool) -> Plan:
    def decide(tx: Transaction, row: AgentRow, now: datetime) -> PlanChange:
        return approve(tx.plans.current(row.number), by=by, now=now, revision=revision)

    return _decide(agent, decide, by=by, todos=todos, person=person)


def reject_plan(agent: AgentRunner, reason: str, *, by: str, revision: int | None, person: bool) -> Plan:
    def decide(tx: Transaction, row: AgentRow, now: datetime) -> PlanChange:
        return reject(tx.plans.current(row.number), reason, by=by, now=now, revision=revision)

    return _decide(agent, decide, by=by, person=person)


def _decide(
    agent: AgentRunner,
    decide: Callable[[Transaction, AgentRow, datetime], PlanChange],
    *,
    by: str,
    todos: bool = False,
    person: bool = False,
) -> Plan:
    check_name("author", by)

    def work(tx: Transaction, row: AgentRow, now: datetime) -> Plan:
        decision = decide(tx, row, now)
        save_decision(tx, row, decision, by=by, now=now, todos=todos, person=person)
        return decision.plan

    return agent.change(work, active=by == agent.name)


def wait_for_plan(agent: AgentRunner, id: str | None, timeout: float | None) -> Plan:
    ends = None if timeout is None else monotonic() + timeout
    while True:
        seen = agent.board.store.last_seq()
        plan = latest_plan(agent) if id is None else next((one for one in all_plans(agent) if one.id == id), None)
        if plan is None:
            raise PlanMissing
        left = seconds_left(plan, agent.board.now(), None if ends is None else ends - monotonic())
        if left is not None and left <= 0:
            return plan
        agent.board.store.wait(seen, left)


def render_plan(agent: AgentRunner, plan: Plan) -> Reply:
    row = agent.load_row()
    if row is not None and not plan.is_open:
        agent.board.store.transact(lambda tx: tx.plans.mark_told(row.number, plan.id))
    now = agent.board.now()
    if agent.settings.plan_tools is None:
        return reply_plan_state(plan, now)
    since = plan.entered_at or plan.proposed_at or now
    return agent.settings.plan_tools.wire.reply_exited(plan, since, now, required=plan.expires_at is not None)


class PlanMessages:
    """A plan that streams in with the model's text, in the tags of Codex: one plan item per turn.

    The stream of a turn lives in the handle that was fed its first piece.
    """

    def __init__(self, agent: AgentRunner) -> None:
        self._agent = agent
        self._stream: PlanStream | None = None
        self._is_read = False

    def add_piece(self, text: str, *, turn: str) -> str:
        stream = self._stream_of(turn)
        self._agent.send_heartbeat()
        if not self._is_read:
            stream.fed = True
            return text
        return self._draft(stream, stream.push(text))

    def end(self, text: str, *, turn: str) -> tuple[str, Plan | None]:
        stream = self._stream_of(turn)
        self._agent.send_heartbeat()
        if not self._is_read:
            left, stream.fed = "" if stream.fed else text, False
            return left, None
        steps = stream.message(text)
        whole = next((step.text for step in steps if step.kind == "completed"), None)
        if whole is not None:
            return _visible(steps), propose_plan(self._agent, whole, by=self._agent.name, item=stream.item)
        if any(step.kind == "dropped" for step in steps):
            self._drop(stream)
            return _visible(steps), None
        return self._draft(stream, steps), None

    def _stream_of(self, turn: str) -> PlanStream:
        """Return the stream of a turn. If it began outside plan mode, nothing is read from it."""
        if self._stream is None or self._stream.turn != turn:
            check_name("turn", turn)
            self._stream = PlanStream(turn)
            row = self._agent.load_row()
            self._is_read = row is not None and row.mode == "plan"
        return self._stream

    def _draft(self, stream: PlanStream, steps: list[PlanStreamStep]) -> str:
        """Record the pieces of a plan among these steps; return the text that is to be seen."""
        plan_id = str(uuid4())
        pieces = [step.text for step in steps if step.kind == "delta"]
        starts = any(step.kind == "started" for step in steps)
        agent = self._agent

        def work(tx: Transaction, row: AgentRow, now: datetime) -> None:
            plan = tx.plans.current(row.number)
            if starts:
                decision = begin(plan, id=plan_id, item=stream.item, by=agent.name, now=now)
                save_decision(tx, row, decision, by=agent.name, now=now)
                plan = decision.plan
            if plan is not None and plan.state is PlanState.DRAFTING and plan.item == stream.item:
                tx.add_events(row, [draft_delta(plan, piece) for piece in pieces], by=agent.name, at=now)

        if starts or pieces:
            agent.change(work, durable=starts)
        return _visible(steps)

    def _drop(self, stream: PlanStream) -> None:
        def work(tx: Transaction, row: AgentRow, now: datetime) -> None:
            dropped = drop(tx.plans.history(row.number), stream.item)
            if dropped is not None:
                tx.plans.delete(row.number, dropped.plan.revision)
                for back in dropped.changed:
                    tx.plans.save(row.number, back, at=now)
                tx.add_events(row, dropped.events, by=row.name, at=now)

        self._agent.change(work)


def _visible(steps: list[PlanStreamStep]) -> str:
    return "".join(step.text for step in steps if step.kind == "visible")


def seconds_left(plan: Plan, now: datetime, timeout: float | None) -> float | None:
    """Return the seconds to wait for news of a plan: 0 or less for none, None for as long as it takes."""
    if not plan.is_open or plan.expired(now):
        return 0.0
    until = None if plan.expires_at is None else (plan.expires_at - now).total_seconds()
    return min((seconds for seconds in (until, timeout) if seconds is not None), default=None)


# Changes within a transaction.


def save_decision(
    tx: Transaction,
    row: AgentRow,
    decision: PlanChange,
    *,
    by: str,
    now: datetime,
    todos: bool = False,
    person: bool = False,
) -> None:
    """Write a decision. An approval ends plan mode and, with `todos`, puts the plan's steps on the list."""
    for plan in decision.changed:
        tx.plans.save(row.number, plan, at=now)
    for draft in decision.events if person else ():
        draft.data["person"] = True
    tx.add_events(row, decision.events, by=by, at=now)
    if by == row.name:
        tx.plans.mark_told(row.number, decision.plan.id)
    if decision.plan.state is PlanState.APPROVED:
        if todos:
            if not decision.plan.todos.items:
                raise PlanWithoutSteps
            applied = apply_graded_edit(tx, row, replace_list(decision.plan.todos), now, by=by, person=person)
            save_applied(tx, row, applied, by=by, at=now)
        leave_plan_mode(tx, row, by=by, now=now)  # last: it outdates what was read of the row


def enter_plan_mode(
    tx: Transaction, row: AgentRow, because: Because, reason: str | None, *, by: str, now: datetime
) -> PlanMode:
    said = None if reason is None else cut(clean(reason, lines=False).text, LONGEST_REASON)
    mode = PlanMode(now, because, said, by)
    tx.modes.save(row, "plan", to_builtins(mode), at=now)
    changed = {"mode": "plan", "because": because, "reason": said}
    tx.add_events(row, [Draft("mode.changed", changed)], by=by, at=now)
    return mode


def leave_plan_mode(tx: Transaction, row: AgentRow, *, by: str, now: datetime) -> None:
    if row.mode == "plan":
        tx.modes.save(row, "execute", None, at=now)
        tx.add_events(row, [Draft("mode.changed", {"mode": "execute"})], by=by, at=now)


def load_plan_mode(tx: Transaction, row: AgentRow, entered_at: datetime) -> PlanMode:
    """Return the plan mode of an agent that is in it; `entered_at` stands in where none was recorded."""
    data = tx.modes.load_entry(row.number)
    return PlanMode(entered_at, "model_requested") if data is None else convert(data, PlanMode)


# The model's calls of plan tools, and the operator's.


def answer_plan_call(
    planning: PlanSettings, name: str, args: Any, *, by: str
) -> Callable[[Transaction, AgentRow, datetime], tuple[Reply, bool]]:
    """Return the function that answers one call within its transaction."""
    call = planning.wire.parse(name, args)
    plan_id = str(uuid4())  # made outside the transaction: a second run of it makes the same plan

    def reply(tx: Transaction, row: AgentRow, now: datetime) -> Reply:
        match call:
            case Invalid():
                return reply_invalid(call)
            case EnterPlan():
                return _enter(planning, tx, row, call, now, by)
            case SubmitPlan():
                return _submit(planning, tx, row, call, now, by, plan_id)
            case ResolvePlan():
                return planning.wire.reply_resolved(call.id, done=resolve_plan(tx, call, now=now, by=by))
            case _:
                assert_never(call)

    def answer(tx: Transaction, row: AgentRow, now: datetime) -> tuple[Reply, bool]:
        said = reply(tx, row, now)
        if said.is_error:
            problem = said.problems[0]
            refused = Draft("approval.refused", {"code": problem.code, "problem": problem.text[:500]})
            tx.add_events(row, [refused], by=by, at=now)
        return said, False

    return answer


def answer_proposal(call: SubmitPlan, *, by: str) -> Callable[[Transaction, AgentRow, datetime], tuple[Reply, bool]]:
    """Return the function that answers the proposal of our own tool, in plan mode or out of it."""
    plan_id = str(uuid4())  # made outside the transaction, as above

    def answer(tx: Transaction, row: AgentRow, now: datetime) -> tuple[Reply, bool]:
        since = load_plan_mode(tx, row, now).entered_at if row.mode == "plan" else None
        try:
            decision = propose(tx.plans.current(row.number), call.text, id=plan_id, by=by, now=now, entered_at=since)
        except PlanRefused as error:
            refused = Draft("approval.refused", {"code": error.code, "problem": str(error)[:500]})
            tx.add_events(row, [refused], by=by, at=now)
            return reply_invalid(Invalid(f"Nothing changed: {error}", code=error.code)), False
        save_decision(tx, row, decision, by=by, now=now)
        return reply_plan_state(decision.plan, now), False

    return answer


def _enter(planning: PlanSettings, tx: Transaction, row: AgentRow, call: EnterPlan, now: datetime, by: str) -> Reply:
    interactive = row.parent is None if planning.interactive is None else planning.interactive
    if not interactive:
        return reply_invalid(Invalid(planning.wire.unavailable, code="plan_mode_unavailable"))
    already = row.mode == "plan"
    if already:
        mode = load_plan_mode(tx, row, now)
    else:
        mode = enter_plan_mode(tx, row, "model_requested", call.reason, by=by, now=now)
    return planning.wire.reply_entered(mode.entered_at, call.reason, already=already)


def _submit(
    planning: PlanSettings, tx: Transaction, row: AgentRow, call: SubmitPlan, now: datetime, by: str, plan_id: str
) -> Reply:
    if row.mode != "plan":
        return reply_invalid(Invalid(planning.wire.outside, code="outside_plan_mode"))
    since = load_plan_mode(tx, row, now).entered_at
    required = planning.require_approval
    try:
        decision = propose(
            tx.plans.current(row.number),
            call.text,
            id=plan_id,
            by=by,
            now=now,
            lasts=planning.timeout if required else None,
            blank=planning.wire.takes_blank,
            entered_at=since,
        )
    except PlanRefused as error:
        return reply_invalid(Invalid(str(error), code=error.code))
    save_decision(tx, row, decision, by=by, now=now)
    if not required:
        decision = approve(decision.plan, by=by, now=now)
        save_decision(tx, row, decision, by=by, now=now)
    return planning.wire.reply_exited(decision.plan, since, now, required=required)


def resolve_plan(tx: Transaction, call: ResolvePlan, *, now: datetime, by: str, person: bool = False) -> bool:
    """Decide about the plan of that id, of whichever agent; False if none such waits."""
    found = tx.plans.find(call.id)
    row = None if found is None else tx.agent(found.session, found.agent)
    if found is None or row is None or not found.plan.waits(now):
        return False
    if call.rejected is None:
        decision = approve(found.plan, by=by, now=now)
    else:
        decision = reject(found.plan, call.rejected, by=by, now=now)
    save_decision(tx, row, decision, by=by, now=now, person=person)
    return True
