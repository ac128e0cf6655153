"""Run the detectors on an agent's reports: loops, silence, list upkeep, Hermes' guardrail and rounds.

The rules are pure functions in `punchlist.detect`; here their states are loaded from the agent's memory and saved, and
their findings become events.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from punchlist.agent.context import AgentContext
from punchlist.core.events import Draft
from punchlist.core.overview import WATCHED
from punchlist.detect import list_upkeep, loops, stalls
from punchlist.detect.findings import FINE, Finding, Raised, Verdict, finding_of, with_entry, without_entry
from punchlist.detect.guardrail import GuardedResult, GuardrailOptions, Signature, after, before
from punchlist.detect.list_upkeep import StalenessOptions
from punchlist.detect.loops import LoopCall, LoopOptions, LoopState
from punchlist.detect.rounds import RoundOptions, count_round, has_moved, places
from punchlist.detect.signatures import Outcome, Reading, Sight
from punchlist.detect.stalls import StallOptions, StallState, clear_stall, find_silence, report_silence
from punchlist.settings.environment import stall_timings
from punchlist.settings.options import AgentSettings
from punchlist.store import AgentRow, Store, Transaction
from punchlist.store.runtime import AgentMemory, CallRow, GuardedCall, GuardrailMemory, RememberedAgent, RoundMemory
from punchlist_statusline import find_process

_MOST_GUARDED = 64
"""Running calls that the guardrail remembers, the latest ones."""


def begin_watch(ctx: AgentContext, options: AgentSettings) -> None:
    """Mark an agent as one whose tool calls are reported, and those that started it: its work is theirs."""
    if ctx.memory.watched:
        return
    ctx.memory = _mark_watched(ctx.memory, ctx.row, ctx, options)
    for parent, _ in ctx.tx.ancestors(ctx.row):
        known = ctx.tx.memory.load(parent.number)
        if not known.watched:
            ctx.tx.memory.save(parent.number, _mark_watched(known, parent, ctx, options))


def _mark_watched(memory: AgentMemory, row: AgentRow, ctx: AgentContext, options: AgentSettings) -> AgentMemory:
    state = list_upkeep.sync_items(memory.upkeep.state, row.state.todos, ctx.now)
    return replace(
        memory,
        watched=True,
        awaited=False,
        stall_options=options.stalls or memory.stall_options,
        upkeep=replace(memory.upkeep, state=state),
    )


# Loops.


def judge_start(
    ctx: AgentContext, call_id: str, seen: Sight, known: CallRow | None, options: LoopOptions
) -> tuple[Verdict, LoopCall | None]:
    """Judge a call that begins by those before it in the same run, at most `history_size`; return what is recorded.

    A call that is reported again is judged again only while it is in that window, and recorded once.
    """
    memory = ctx.memory.loops
    if not options.enabled:
        return FINE, None
    window = ctx.tx.tool_calls.loop_window(ctx.row.number, memory.since, options.history_size)
    state = LoopState(window, memory.warned, memory.guard, memory.held)
    if known is not None and known.call.started is not None:
        recorded = (*window, *memory.held)
        if all(call.id != loops.shorten_id(call_id) for call in recorded):
            return FINE, None
    after, verdict = loops.judge_start(state, call_id, seen, options=options)
    _remember_loops(ctx, after)
    return verdict, None if after.calls is window else after.calls[-1]


def reading_of(ctx: AgentContext, row: CallRow) -> Reading:
    """Return how the result of a call is read, by what was recorded when it began."""
    call_id = loops.shorten_id(row.call.id)
    held = next((call for call in reversed(ctx.memory.loops.held) if call.id == call_id), row.loop)
    return "plain" if held is None else held.way


def record_outcome(ctx: AgentContext, row: CallRow, came: Outcome, options: LoopOptions) -> CallRow:
    """Return the row of a call that ended with what the loop detector records of its outcome."""
    memory = ctx.memory.loops
    is_counted = row.loop is not None and row.loop_seq is not None and row.loop_seq > memory.since
    calls = (row.loop,) if is_counted and row.loop is not None else ()
    state = LoopState(calls, memory.warned, memory.guard, memory.held)
    found = loops.record_end(state, row.call.id, came, options=options)
    if found.recorded is None:
        return row
    _remember_loops(ctx, found.state)
    # A call that was held back counts from its end on: the next event is the report of that.
    loop_seq = ctx.tx.last_seq() + 1 if found.is_newest else row.loop_seq
    return replace(row, loop=found.recorded, loop_seq=loop_seq)


def _remember_loops(ctx: AgentContext, state: LoopState) -> None:
    memory = ctx.memory.loops
    if (state.warned, state.guard, state.held) != (memory.warned, memory.guard, memory.held):
        ctx.remember(loops=replace(memory, warned=state.warned, guard=state.guard, held=state.held))


def loop_findings(ctx: AgentContext, verdict: Verdict, tool: str) -> list[Finding]:
    """Return the findings about a verdict. A call that is fine ends what was said before."""
    memory = ctx.memory.loops
    finding = finding_of(verdict, tool) if verdict.is_news else None
    if finding is not None:
        entry = (finding.detector, finding.subject)
        if entry not in memory.raised:
            ctx.remember(loops=replace(memory, raised=(*memory.raised, entry)))
        return [finding]
    if verdict.level != "ok" or not memory.raised:
        return []
    ctx.remember(loops=replace(memory, raised=()))
    return _clear_findings(memory.raised, "Another call was made.")


def begin_run(ctx: AgentContext) -> None:
    """Begin a run, since the person spoke: earlier calls and guards no longer count."""
    ctx.tell(_clear_findings(ctx.memory.loops.raised, "Another turn has begun."))
    ctx.remember(loops=type(ctx.memory.loops)(since=ctx.tx.last_seq()))


def watch_compaction(ctx: AgentContext, options: LoopOptions) -> None:
    """Watch the next calls closely, since the agent's context was compacted."""
    memory = ctx.memory.loops
    after = loops.watch_compaction(LoopState(guard=memory.guard), options=options)
    ctx.remember(loops=replace(memory, guard=after.guard))


def _clear_findings(raised: Raised, seen: str) -> list[Finding]:
    return [Finding(detector, "ok", seen, subject=subject) for detector, subject in raised]


# Silence.


def new_stall(ctx_row: AgentRow, ctx: AgentContext) -> StallState:
    return stalls.start_watch(ctx.now, ctx_row.label if ctx_row.label and ctx_row.parent else ctx_row.name)


def note_tool_report(ctx: AgentContext, sign: str) -> None:
    """Note a report on a tool: if the last watch is over, start a new one and clear its stall."""
    state = ctx.memory.stall
    if state is None or state.over:
        end_stall(ctx, state)
        state = new_stall(ctx.row, ctx)
    ctx.remember(stall=stalls.note_activity(state, ctx.now, sign))


def note_heartbeat(ctx: AgentContext, sign: str, *, watched: bool) -> None:
    """Note a heartbeat that is not a tool report. It does not restart a watch that is over.

    For an agent without tool reports the watch ends: its silence from now on means nothing.
    """
    state = ctx.memory.stall
    if state is None or (state.over and not state.told_as):
        return
    if state.over or not watched:
        end_stall(ctx, state)
        ctx.remember(stall=stalls.end_watch(state))
    else:
        ctx.remember(stall=stalls.note_activity(state, ctx.now, sign))


def note_output(ctx: AgentContext) -> None:
    """Note visible output: it ends a stall."""
    known = ctx.memory.stall
    state, resumed = stalls.note_output(known or new_stall(ctx.row, ctx), ctx.now)
    ctx.remember(stall=state)
    over = None if known is None else stalls.clear_stall(known, f"{known.label} resumed output.")
    ctx.tell(one for one in (over or resumed,) if one is not None)


def end_stall(ctx: AgentContext, state: StallState | None) -> None:
    """Record that a stall is over, if one was reported."""
    finding = None if state is None else stalls.clear_stall(state)
    if finding is not None:
        ctx.tell([finding])


def observe_work(ctx: AgentContext, item: str, options: StalenessOptions) -> list[Finding]:
    """Observe a tool call for the item of that id, or for none; return the findings."""
    upkeep, found = list_upkeep.observe_work(ctx.memory.upkeep, item, ctx.now, options)
    if upkeep is not ctx.memory.upkeep:
        ctx.remember(upkeep=upkeep)
    return found


def end_storm(ctx: AgentContext) -> None:
    """End a storm of calls of the todo tool with the turn."""
    upkeep, found = list_upkeep.end_storm(ctx.memory.upkeep)
    if upkeep is not ctx.memory.upkeep:
        ctx.remember(upkeep=upkeep)
    ctx.tell(found)


# Hermes' guardrail, whose counts belong to one turn.


def guard_start(
    ctx: AgentContext,
    call_id: str,
    mark: Signature,
    *,
    spawns: int,
    reads: bool,
    verdict: Verdict,
    options: GuardrailOptions,
) -> Verdict:
    """Return the verdict on a call with that of the guardrail, whichever is worse."""
    memory = ctx.memory.guardrail or GuardrailMemory()
    if call_id in memory.running:
        return verdict
    state, decision = before(memory.state, mark, spawns=spawns, reads=reads, options=options)
    finding = memory.halted or decision.finding()
    is_refused = "critical" in (verdict.level, finding and finding.level)
    begun = GuardedCall(mark.tool_name, mark.args_hash, reads, is_refused)
    running = with_entry(memory.running, call_id, begun, _MOST_GUARDED)
    raised, is_news = _update_raised(ctx, memory.raised, finding)
    ctx.remember(guardrail=GuardrailMemory(state, running, memory.halted, raised))
    if finding is None or verdict.level == "critical":
        return verdict
    return Verdict(finding.level, finding.detector, finding.count, finding.seen, is_news=is_news)


def guard_end(ctx: AgentContext, call_id: str, result: GuardedResult, options: GuardrailOptions) -> None:
    """Judge the end of a call. A result not reported as a failure is read by Hermes' rules.

    A call that was to be refused, and whose end has no result, did not run.
    """
    memory = ctx.memory.guardrail
    begun = None if memory is None else memory.running.get(call_id)
    if memory is None or begun is None:
        return
    running = without_entry(memory.running, call_id)
    if begun.is_refused and result.is_missing:
        ctx.remember(guardrail=replace(memory, running=running))
        return
    mark = Signature(begun.tool, begun.args_hash)
    state, decision = after(memory.state, mark, result=result, reads=begun.reads, options=options)
    finding = decision.finding()
    raised, _ = _update_raised(ctx, memory.raised, finding)
    halted = finding if decision.action == "halt" else memory.halted
    ctx.remember(guardrail=GuardrailMemory(state, running, halted, raised))


def _update_raised(ctx: AgentContext, raised: Raised, finding: Finding | None) -> tuple[Raised, bool]:
    """Tell a finding once for each code and tool in a turn; return what was told, and True if this is news."""
    if finding is None or (finding.detector, finding.subject) in raised:
        return raised, False
    ctx.tell([finding])
    return (*raised, (finding.detector, finding.subject)), True


# Rounds without progress, as Magentic-One counts them: a round is an assistant message with its tools.


def note_progress(ctx: AgentContext) -> None:
    """Remember that a tool ended well in the round that is under way."""
    memory = ctx.memory.rounds or RoundMemory()
    if not memory.has_worked:
        ctx.remember(rounds=replace(memory, has_worked=True))


def end_round(ctx: AgentContext, options: RoundOptions) -> None:
    """Count a round: it brought something when an item moved on, or a tool ended well, and there is no loop."""
    memory, stand = ctx.memory.rounds or RoundMemory(), places(ctx.row.state.todos)
    progress, looping = memory.has_worked or has_moved(memory.places, stand), bool(ctx.memory.loops.raised)
    state, finding = count_round(memory.state, progress=progress, looping=looping, options=options)
    raised, told = memory.raised, list[Finding]()
    if finding is not None and (finding.detector, "") not in raised:
        told.append(finding)
        raised = (*raised, (finding.detector, ""))
    if progress and not looping and ("stalled_rounds", "") in raised:
        told.append(Finding("stalled_rounds", "ok", "A round has brought something."))
        raised = tuple(entry for entry in raised if entry[0] != "stalled_rounds")
    ctx.tell(told)
    ctx.remember(rounds=RoundMemory(state, places=stand, raised=raised))


def begin_turn(ctx: AgentContext, options: AgentSettings) -> None:
    """Begin counting again in the guardrail and in rounds, since the person spoke."""
    guardrail, rounds = ctx.memory.guardrail, ctx.memory.rounds
    if options.guardrail is not None and guardrail is not None:
        ctx.tell(_clear_findings(guardrail.raised, "Another turn has begun."))
        ctx.remember(guardrail=None)
    if options.rounds is not None and rounds is not None:
        ctx.tell(_clear_findings(rounds.raised, "Another turn has begun."))
        ctx.remember(rounds=RoundMemory(places=rounds.places))


# Silent agents of a whole board.


class Stall(NamedTuple):
    """An agent without output for too long."""

    project: str
    session: str
    agent: str
    finding: Finding
    since: datetime


def find_stalls(store: Store, now: datetime, *, project: str | None) -> Sequence[Stall]:
    """Return the agents that are silent now, the longest first; reported stalls included.

    One whose process ended is not silent; one whose process cannot be looked up is forgotten after some hours.
    """
    options, agents = stall_timings(), store.read(lambda tx: tx.memory.all(project=project))
    found: list[Stall] = []
    for agent in agents:
        state = agent.memory.stall
        finding = None if state is None else find_silence(state, now, agent.memory.stall_options or options)
        if state is not None and finding is not None and _may_be_silent(agent, state, now):
            found.append(Stall(agent.project, agent.session, agent.agent, finding, state.alive_at))
    return sorted(found, key=lambda stall: stall.since)


def load_stall_states(
    store: Store, session: str, agents: Collection[str]
) -> Mapping[str, tuple[StallState | None, StallOptions]]:
    """Return the stall state of each of these agents, None if its silence means nothing, and its timings."""
    otherwise = stall_timings()

    def read(tx: Transaction, name: str) -> tuple[StallState | None, StallOptions]:
        row = tx.agent(session, name)
        if row is None:
            return None, otherwise
        memory = tx.memory.load(row.number)
        state = memory.stall
        return None if state is None or state.over else state, memory.stall_options or otherwise

    return store.read(lambda tx: {name: read(tx, name) for name in agents})


def tell_stalls(store: Store, now: datetime) -> int:
    """Record an event for each new stall; return their number."""
    options, agents = stall_timings(), store.read(lambda tx: tx.memory.all())
    new = [agent for agent in agents if _check(agent, now, options)[1] is not None]
    return (
        store.transact(lambda tx: sum(_record_stall(tx, one, now, options) for one in new), durable=False) if new else 0
    )


def _may_be_silent(agent: RememberedAgent, state: StallState, now: datetime) -> bool:
    look = find_process(agent.memory.process)
    return look == "runs" or (look != "ended" and now - state.alive_at < WATCHED)


def _check(agent: RememberedAgent, now: datetime, options: StallOptions) -> tuple[StallState | None, Finding | None]:
    state = agent.memory.stall
    if state is None or state.over or state.told or not _may_be_silent(agent, state, now):
        return state, None
    return report_silence(state, now, agent.memory.stall_options or options)


def _record_stall(tx: Transaction, known: RememberedAgent, now: datetime, options: StallOptions) -> bool:
    """Check again under the lock, and record the stall. It replaces one that was reported before."""
    row = tx.agent(known.session, known.agent)
    if row is None:
        return False
    memory = tx.memory.load(row.number)
    state, finding = _check(known._replace(memory=memory), now, options)
    if memory.stall is None or finding is None:
        return False
    tx.memory.save(row.number, replace(memory, stall=state))
    said = [one for one in (clear_stall(memory.stall), finding) if one is not None]
    tx.add_events(row, [Draft(one.kind, one.data()) for one in said], by=row.name, at=now)
    return True
