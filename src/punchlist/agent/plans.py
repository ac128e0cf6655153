"""Run plan mode and approval plans: the agent proposes, a person decides. A plan is never the todo list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from time import monotonic
from typing import Any, assert_never, get_args
from uuid import uuid4

from punchlist.agent.edits import apply_edit, replace_list
from punchlist.agent.handle import Handle, check_name
from punchlist.core.approval import Plan, PlanChange, PlanState, approve, begin, draft_delta, drop, propose, reject
from punchlist.core.events import Draft
from punchlist.core.plan import PlanStream, PlanStreamStep
from punchlist.dialects.base import (
    Entered,
    EnterPlan,
    Exit,
    Invalid,
    PlanSettings,
    Reply,
    ResolvePlan,
    SubmitPlan,
    outcome,
    reply_invalid,
)
from punchlist.errors import InvalidInput, PlanMissing, PlanRefused, PlanWithoutSteps, StoreError
from punchlist.guidance.plan_mode import LONGEST_REASON, Because, PlanMode, Refusal, decode_plan_mode, gate, refusal
from punchlist.guidance.tools import kind
from punchlist.store import AgentRow, Transaction
from punchlist.store.records import moment
from punchlist.text import clean, cut


class Plans(Handle):
    """The agent's plan mode, its plan, and the decision about it."""

    _unjudged: frozenset[str] = frozenset()
    # A turn's stream lives in the handle that was fed its first piece.
    _stream: PlanStream | None = None
    _streams: bool = False

    # Plan mode.

    @property
    def plan_mode(self) -> PlanMode | None:
        """When and why plan mode was entered; None while the agent works."""

        def read(tx: Transaction) -> PlanMode | None:
            row = tx.agent(self.session, self.name)
            return None if row is None or row.mode != "plan" else load_plan_mode(tx, row, moment(row.recent))

        return self._board.store.read(read)

    def enter_plan_mode(
        self, reason: str | None = None, *, by: str | None = None, because: Because | None = None
    ) -> PlanMode:
        """Switch plan mode on and return it; where it is on already, nothing changes.

        `because` says who wanted it: by default the model, if `by` is this agent or nobody, else a person. For
        `auto_destructive` the reason is the check that tripped.
        """
        wanted = because or ("model_requested" if by in (None, self.name) else "operator_requested")
        known = get_args(Because)
        if wanted not in known:
            raise InvalidInput(problem=f"`{wanted}` is no reason for plan mode: use one of {', '.join(known)}.")

        def work(tx: Transaction) -> PlanMode:
            now = self._board.now()
            row = self._join(tx, now)
            if row.mode == "plan":
                return load_plan_mode(tx, row, moment(row.recent))
            return enter_plan_mode(tx, row, wanted, reason, by=by or self.name, now=now)

        return self._board.store.transact(work)

    def exit_plan_mode(self, *, by: str | None = None) -> None:
        def work(tx: Transaction) -> None:
            now = self._board.now()
            leave_plan_mode(tx, self._join(tx, now), by=by or self.name, now=now)

        self._board.store.transact(work)

    def permits(self, tool: str, args: Any = None) -> Refusal | None:
        """Return None if the agent may call this tool now, else the answer to a call that plan mode refuses.

        Tools that read pass, and shell commands that are known to only read. A tool of which nothing is known passes,
        with an event that says so; see `unjudged_tools` and the options `reading_tools` and `changing_tools`.
        """
        tool = str(tool)
        own = self._dialect.has_tool(tool.rpartition("__")[2]) or self._dialect.has_tool(tool)
        found = "todo" if own else gate(tool, args, self._own_tools)
        if found is None or (found == "todo" and (not own or self._dialect.refused_in_plan_mode is None)):
            return None
        mode = self.plan_mode
        if mode is None:
            return None
        refused = refusal(mode, self._dialect, tool, found)
        if refused is not None:
            self._add_event(Draft("mode.refused", {"tool": refused.data["tool_name"], "kind": refused.kind}))
        elif found == "unknown" and tool not in self._unjudged:
            self._unjudged |= {tool}
            self._add_event(Draft("mode.unjudged", {"tool": cut(tool, 200)}))
        return refused

    def unjudged_tools(self, tools: Iterable[str]) -> tuple[str, ...]:
        """Return those of the host's tools of which plan mode knows nothing, and which it would let pass."""
        return tuple(
            tool
            for tool in tools
            if not self._dialect.has_tool(tool) and kind(tool, None, self._own_tools) == "unknown"
        )

    def _add_event(self, draft: Draft) -> None:
        def work(tx: Transaction) -> None:
            row = tx.agent(self.session, self.name)
            if row is not None:
                tx.add_events(row, [draft], by=self.name, at=self._board.now())

        with suppress(StoreError):  # a full disk is no reason to leave the host without an answer
            self._board.store.transact(work, durable=False)

    # The plan and its decision.

    @property
    def plan(self) -> Plan | None:
        """The latest revision of the plan, decided or not; None if there was none."""
        row = self._row()
        return None if row is None else self._board.store.read(lambda tx: tx.plans.current(row.number))

    @property
    def plans(self) -> tuple[Plan, ...]:
        """All revisions, the oldest first."""
        row = self._row()
        return () if row is None else tuple(self._board.store.read(lambda tx: tx.plans.history(row.number)))

    def propose_plan(self, text: str, *, by: str | None = None, timeout: float | None = None) -> Plan:
        """Put a plan before a person. An earlier one that is still open is superseded; the same text stays as it is.

        After `timeout` seconds it can no longer be approved. Raises `PlanRefused` for an empty or too long text.
        """
        author = by or self.name
        check_name("author", author)
        if timeout is not None and not 0 < timeout < 10**9:
            raise InvalidInput(problem="`timeout` is a number of seconds above 0 and below a thousand million.")
        lasts = None if timeout is None else timedelta(seconds=timeout)
        plan_id = str(uuid4())

        def decide(tx: Transaction, row: AgentRow, now: datetime) -> PlanChange:
            since = load_plan_mode(tx, row, now).entered_at if row.mode == "plan" else None
            current = tx.plans.current(row.number)
            return propose(current, text, id=plan_id, by=author, now=now, lasts=lasts, entered_at=since)

        return self._decide(decide, by=author)

    def approve_plan(self, revision: int | None = None, *, by: str = "user", todos: bool = False) -> Plan:
        """Agree to the plan and end plan mode. With `todos` its steps become the todo list, in the same transaction.

        `revision` is the one that was looked at: if the plan is at another by now, nothing is approved. Raises
        `PlanMissing`, `PlanRevisionConflict`, `PlanDecided`, `PlanExpired` or `PlanWithoutSteps`.
        """

        def decide(tx: Transaction, row: AgentRow, now: datetime) -> PlanChange:
            return approve(tx.plans.current(row.number), by=by, now=now, revision=revision)

        plan = self._decide(decide, by=by, todos=todos)
        if todos:
            self._notify_changed()
        return plan

    def reject_plan(self, reason: str, *, by: str = "user", revision: int | None = None) -> Plan:
        """Refuse the plan and say why; plan mode stays on. `revision` as for `approve_plan`."""

        def decide(tx: Transaction, row: AgentRow, now: datetime) -> PlanChange:
            return reject(tx.plans.current(row.number), reason, by=by, now=now, revision=revision)

        return self._decide(decide, by=by)

    def _decide(
        self, decide: Callable[[Transaction, AgentRow, datetime], PlanChange], *, by: str, todos: bool = False
    ) -> Plan:
        check_name("author", by)

        def work(tx: Transaction) -> Plan:
            now = self._board.now()
            row = self._join(tx, now)
            decision = decide(tx, row, now)
            save_decision(tx, row, decision, by=by, now=now, todos=todos)
            return decision.plan

        return self._board.store.transact(work)

    def wait_for_plan(self, id: str | None = None, *, timeout: float | None = None) -> Plan:
        """Return the plan once it is decided, superseded or expired; or as it stands after `timeout` seconds.

        Without an `id` the latest. It blocks this thread, and holds no lock: others decide meanwhile, in whichever
        process. Raises `PlanMissing`.
        """
        ends = None if timeout is None else monotonic() + timeout
        while True:
            seen = self._board.store.last_seq()
            plan = self._plan_of(id)
            left = seconds_left(plan, self._board.now(), None if ends is None else ends - monotonic())
            if left is not None and left <= 0:
                return plan
            self._board.store.wait(seen, left)

    def _plan_of(self, id: str | None) -> Plan:
        found = self.plan if id is None else next((plan for plan in self.plans if plan.id == id), None)
        if found is None:
            raise PlanMissing
        return found

    def plan_reply(self, plan: Plan) -> Reply:
        """Return how a plan stands as the answer to the call that submitted it, in the words of the dialect."""
        now = self._board.now()
        if self._planning is None:
            return outcome(plan, now)
        since = plan.entered_at or plan.proposed_at or now
        return self._planning.wire.exited(Exit(plan, since, now, plan.expires_at is not None))

    # A plan that streams in with the model's text, in the tags of Codex: one plan item per turn.

    def plan_delta(self, text: str, *, turn: str) -> str:
        """Take a piece of an assistant's message; return what a person is to see of it. Outside plan mode: all."""
        stream = self._stream_of(turn)
        self._send_heartbeat()
        if not self._streams:
            stream.fed = True
            return text
        return self._take(stream, stream.push(text))

    def plan_message(self, text: str, *, turn: str) -> tuple[str, Plan | None]:
        """Take the end of a message, which was `text` as a whole; return its rest to be seen, and its proposed plan.

        The text of the message is what counts, whatever the pieces were; without pieces, all of it is left to be seen.
        A turn has one plan: later ones are passed over. A draft of which the message has nothing is dropped, and what
        waited before it waits again. Raises `PlanRefused` for an empty or too long plan.
        """
        stream = self._stream_of(turn)
        self._send_heartbeat()
        if not self._streams:
            left, stream.fed = "" if stream.fed else text, False
            return left, None
        steps = stream.message(text)
        whole = next((step.text for step in steps if step.kind == "completed"), None)
        if whole is not None:
            return _visible(steps), self._propose(stream, whole)
        if any(step.kind == "dropped" for step in steps):
            self._drop(stream)
            return _visible(steps), None
        return self._take(stream, steps), None

    def _stream_of(self, turn: str) -> PlanStream:
        """Return the stream of a turn. If it began outside plan mode, nothing is read from it."""
        if self._stream is None or self._stream.turn != turn:
            check_name("turn", turn)
            self._stream = PlanStream(turn)
            self._streams = self.mode == "plan"
        return self._stream

    def _take(self, stream: PlanStream, steps: list[PlanStreamStep]) -> str:
        if any(step.kind in ("started", "delta") for step in steps):
            self._draft(stream, steps)
        return _visible(steps)

    def _draft(self, stream: PlanStream, steps: list[PlanStreamStep]) -> None:
        plan_id = str(uuid4())
        pieces = [step.text for step in steps if step.kind == "delta"]
        starts = any(step.kind == "started" for step in steps)

        def work(tx: Transaction) -> None:
            now = self._board.now()
            row = self._join(tx, now)
            plan = tx.plans.current(row.number)
            if starts:
                decision = begin(plan, id=plan_id, item=stream.item, by=self.name, now=now)
                save_decision(tx, row, decision, by=self.name, now=now)
                plan = decision.plan
            if plan is not None and plan.state is PlanState.DRAFTING and plan.item == stream.item:
                tx.add_events(row, [draft_delta(plan, piece) for piece in pieces], by=self.name, at=now)

        self._board.store.transact(work, durable=starts)

    def _drop(self, stream: PlanStream) -> None:
        def work(tx: Transaction) -> None:
            now = self._board.now()
            row = self._join(tx, now)
            dropped = drop(tx.plans.history(row.number), stream.item)
            if dropped is not None:
                tx.plans.delete(row.number, dropped.draft.revision)
                if dropped.back is not None:
                    tx.plans.save(row.number, dropped.back, at=now)
                tx.add_events(row, dropped.events, by=self.name, at=now)

        self._board.store.transact(work)

    def _propose(self, stream: PlanStream, text: str) -> Plan:
        plan_id = str(uuid4())

        def decide(tx: Transaction, row: AgentRow, now: datetime) -> PlanChange:
            since = load_plan_mode(tx, row, now).entered_at if row.mode == "plan" else None
            current = tx.plans.current(row.number)
            return propose(current, text, id=plan_id, by=self.name, now=now, item=stream.item, entered_at=since)

        return self._decide(decide, by=self.name)


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
    tx: Transaction, row: AgentRow, decision: PlanChange, *, by: str, now: datetime, todos: bool = False
) -> None:
    """Write a decision. An approval ends plan mode and, with `todos`, puts the plan's steps on the list."""
    for plan in decision.changed:
        tx.plans.save(row.number, plan, at=now)
    tx.add_events(row, decision.events, by=by, at=now)
    if decision.plan.state is PlanState.APPROVED:
        if todos:
            _list_steps(tx, row, decision, by, now)
        leave_plan_mode(tx, row, by=by, now=now)  # last: it outdates what was read of the row


def _list_steps(tx: Transaction, row: AgentRow, decision: PlanChange, by: str, now: datetime) -> None:
    todos = decision.plan.todos
    if not todos.items:
        raise PlanWithoutSteps
    applied = apply_edit(row.state, replace_list(todos), now, by=by, own=by == row.name)
    tx.save_list(row, applied.state, unseen=row.unseen, at=now)
    tx.add_events(row, applied.events, by=by, at=now)


def enter_plan_mode(
    tx: Transaction, row: AgentRow, because: Because, reason: str | None, *, by: str, now: datetime
) -> PlanMode:
    said = None if reason is None else cut(clean(reason, lines=False).text, LONGEST_REASON)
    mode = PlanMode(now, because, said, by)
    tx.modes.save(row, "plan", mode.record(), at=now)
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
    return PlanMode(entered_at, "model_requested") if data is None else decode_plan_mode(data)


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
                return planning.wire.resolved(call.id, done=resolve_plan(tx, call, now=now, by=by))
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


def _enter(planning: PlanSettings, tx: Transaction, row: AgentRow, call: EnterPlan, now: datetime, by: str) -> Reply:
    interactive = row.parent is None if planning.interactive is None else planning.interactive
    if not interactive:
        return planning.wire.unavailable()
    already = row.mode == "plan"
    if already:
        mode = load_plan_mode(tx, row, now)
    else:
        mode = enter_plan_mode(tx, row, "model_requested", call.reason, by=by, now=now)
    return planning.wire.entered(Entered(mode.entered_at, already, call.reason))


def _submit(
    planning: PlanSettings, tx: Transaction, row: AgentRow, call: SubmitPlan, now: datetime, by: str, plan_id: str
) -> Reply:
    if row.mode != "plan":
        return planning.wire.outside()
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
    return planning.wire.exited(Exit(decision.plan, since, now, required))


def resolve_plan(tx: Transaction, call: ResolvePlan, *, now: datetime, by: str) -> bool:
    """Decide about the plan of that id, of whichever agent; False if none such waits."""
    found = tx.plans.find(call.id)
    row = None if found is None else tx.agent(found.session, found.agent)
    if found is None or row is None or not found.plan.waits(now):
        return False
    if call.rejected is None:
        decision = approve(found.plan, by=by, now=now)
    else:
        decision = reject(found.plan, call.rejected, by=by, now=now)
    save_decision(tx, row, decision, by=by, now=now)
    return True
