"""Record a tool-call report: append its event, match it to its call, run the detectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final, cast

from msgspec.structs import replace

from punchlist.agent import detectors
from punchlist.agent.context import AgentContext, AgentRunner, Expect
from punchlist.agent.described_calls import (
    EndedCall,
    EndKind,
    StartedCall,
    as_text,
    describe_end,
    describe_start,
    may_be_secret,
    short,
)
from punchlist.agent.grading import find_calls, record_call_end, tally_of_family
from punchlist.agent.turns import end_turn
from punchlist.core.checks.outcome import Outcome, read_running_output
from punchlist.core.events import Draft
from punchlist.core.grounding.observe import call_from
from punchlist.core.grounding.tally import Tally
from punchlist.core.grounding.tool_call import ToolCall, given_id, is_task, item_key, joined, reused_id, task_key
from punchlist.core.overview import Stint
from punchlist.core.task import Task, TaskStatus
from punchlist.core.todo import TodoItem
from punchlist.detect.findings import FINE, Verdict
from punchlist.detect.guardrail import Signature
from punchlist.store import AgentRow, Transaction
from punchlist.store.runtime import CallRow
from punchlist.text.tool_values import passage, preview

SAME_CALL: Final = timedelta(seconds=5)
"""A call that has ended and begins again within this time was reported twice; later it is another call."""

_MOST_REUSED: Final = 64
"""Ids that a host uses again which are remembered, the latest ones."""

_MOST_BACK: Final = 500
"""Calls back to which a command in the background is looked for."""

TRANSCRIPT: Final = "transcript"
"""The road of calls that were read from an agent's log, where ids are unique: `via` in the events of the call."""


# Reports may come late, twice and in any order. None raises: on a fault it is dropped, and logged.


def take_start(agent: AgentRunner, call_id: str | None, name: str, args: Any, via: str = "") -> Verdict:
    def describe_again(ctx: AgentContext) -> StartedCall:
        # Checks that a person set for items; those of a model count only where they are known anyway.
        checks = [item.check for item in ctx.row.state.todos.items if seen.facts["kind"] == "shell"]
        own = tuple(check for check in checks if check is not None and check.by == "person")
        return describe_start(agent, name, args, via=via, own=own) if own else seen

    try:
        seen = describe_start(agent, name, args, via=via)
    except Exception:
        return agent.log_failure(FINE)
    return _take_start(agent, call_id, describe_again)


def record_start(agent: AgentRunner, call_id: str | None, described: StartedCall) -> Verdict:
    return _take_start(agent, call_id, lambda _: described)


def _take_start(agent: AgentRunner, call_id: str | None, describe: Callable[[AgentContext], StartedCall]) -> Verdict:
    def record(ctx: AgentContext) -> Verdict:
        return _record_start(ctx, agent, describe(ctx), short(call_id or ""))

    loops = agent.settings.loops
    return agent.take_report(record, FINE, _expect(agent, call_id, loops.history_size if loops.enabled else 0))


def take_update(agent: AgentRunner, call_id: str | None, text: str, name: str) -> None:
    said, watch = as_text(text), agent.settings.watch
    shown = preview(said, watch.previews, own=watch.secrets)
    agent.attempt(lambda ctx: _record_update(ctx, short(call_id or ""), short(name), said, shown), None)


def take_end(
    agent: AgentRunner,
    call_id: str | None,
    result: Any,
    name: str,
    kind: EndKind,
    *,
    is_error: bool | None,
    exit_code: int | None,
) -> None:
    def describe(ctx: AgentContext, row: CallRow, running: CallRow | None) -> EndedCall:
        return describe_end(
            agent,
            name,
            result,
            kind,
            is_error=is_error,
            exit_code=exit_code,
            started=row.call,
            reading=detectors.reading_of(ctx, row),
            running=None if running is None else running.call,
        )

    _take_end(agent, call_id, name, describe)


def record_end(agent: AgentRunner, call_id: str | None, described: EndedCall) -> None:
    _take_end(agent, call_id, described.name, lambda _ctx, _row, _running: described)


def _take_end(
    agent: AgentRunner,
    call_id: str | None,
    name: str,
    describe: Callable[[AgentContext, CallRow, CallRow | None], EndedCall],
) -> None:
    def work(ctx: AgentContext) -> None:
        row = _find_ending(ctx, short(call_id or ""), short(name))
        if row is not None:
            detectors.begin_watch(ctx, agent.settings)
            running = _find_background(ctx, row.call)
            _record_end(ctx, agent, row, describe(ctx, row, running), running)

    agent.take_report(work, None, _expect(agent, call_id))


def _expect(agent: AgentRunner, call_id: str | None, history_size: int = 0) -> Expect:
    given = given_id(short(call_id or ""))
    return lambda tx: tx.tool_calls.expect(agent.session, agent.name, given, history_size)


def take_output(agent: AgentRunner, text: str) -> None:
    said = as_text(text)
    data = {"characters": len(said), **_preview_fields(agent, said)}

    def work(ctx: AgentContext) -> None:
        detectors.begin_watch(ctx, agent.settings)
        ctx.add(Draft("agent.output", _without_empty(data)))
        detectors.note_output(ctx)

    if said:
        agent.attempt(work, None)


def take_finish(agent: AgentRunner, text: str, outcome: str) -> None:
    data = {"outcome": outcome, **_preview_fields(agent, as_text(text))}

    def work(ctx: AgentContext) -> None:
        detectors.begin_watch(ctx, agent.settings)
        end_turn(agent, ctx, Draft("agent.finished", _without_empty(data)))

    agent.attempt(work, None)


def take_compaction(agent: AgentRunner) -> None:
    options = agent.settings.loops
    if options.enabled and options.compaction_window:
        agent.attempt(lambda ctx: detectors.watch_compaction(ctx, options), None)


def work_by_item(agent: AgentRunner) -> Mapping[str, Tally]:
    def read(tx: Transaction, row: AgentRow) -> Mapping[str, Tally]:
        plan, items = row.state.todos.plan_id, row.state.todos.items
        found = {item.id: _find_calls_behind(tx, row.number, item_key(plan, item.id), item) for item in items}
        for task in tx.tasks.of_agent(row) if tx.has_tasks else ():
            key = task_key(task.list.name, task.task.id)
            found[key] = _find_calls_behind(tx, row.number, key, task.task)
        behind = {call.id for calls in found.values() for _, call in calls}
        calls = tx.tool_calls.of_agent(row.number)
        found[""] = [(row.number, call) for call in calls if call.id not in behind and call.started is not None]
        return {name: tally_of_family(row.number, calls) for name, calls in found.items() if calls}

    return agent.read(read, {})


def _find_calls_behind(tx: Transaction, agent: int, key: str, item: TodoItem | Task) -> list[tuple[int, ToolCall]]:
    row, kept = (
        tx.completions.find(agent, key),
        None if is_task(key) else tx.overviews.find_item(agent, *key.split("/")),
    )
    known = () if item.started_at is None else (Stint(item.started_at, item.finished_at),)
    done = row.completion if row is not None and item.finished_at is not None else None
    return find_calls(tx, agent, done, known if kept is None else kept.stints)


def _preview_fields(agent: AgentRunner, text: str) -> dict[str, Any]:
    """Return the stored fields of a visible text: one line of it, and all of it if that is more."""
    watch = agent.settings.watch
    if not watch.previews:
        return {}
    line, whole = preview(text, watch.previews, own=watch.secrets), passage(text, own=watch.secrets)
    return {"preview": line} | ({"text": whole} if whole != line else {})


# A call begins.


def _record_start(ctx: AgentContext, agent: AgentRunner, seen: StartedCall, call_id: str) -> Verdict:
    """Record that a call begins, and judge it. The same call again is judged again and recorded once."""
    options = agent.settings
    detectors.begin_watch(ctx, options)
    call_id, known = _find_beginning(ctx, call_id, seen.facts)
    is_news = known is None or known.call.started is None
    verdict, recorded = detectors.judge_start(ctx, call_id, seen.sight, known, options.loops)
    found = detectors.loop_findings(ctx, verdict, seen.name)
    if is_news:
        focus, item = ctx.row.state.todos.focus, key_in_focus(ctx)
        facts = {"call_id": call_id, **seen.facts} | ({"item": item} if item else {})
        detectors.note_tool_report(ctx, seen.name)
        found += detectors.observe_work(ctx, "" if focus is None else focus.id, options.staleness)
        seq = ctx.add(Draft("tool.started", facts))
        call = call_from("tool.started", facts, ctx.now, seq)
        if known is not None:
            call = joined(known.call, call)
        loop_seq = None if recorded is None else seq
        ctx.tx.tool_calls.save(ctx.row.number, CallRow(call, seq, seen.drifts, recorded, loop_seq))
        _count_start(ctx, seen)
        ctx.tell(found)
        if not call.is_open:  # its end was reported first
            record_call_end(ctx.tx, ctx.row, call, seq, ctx.now)
    else:
        ctx.tell(found)
        if known is not None and seen.facts.get("masked") and not known.call.masked:  # its arguments came in pieces
            ctx.tx.tool_calls.save(ctx.row.number, replace(known, call=replace(known.call, masked=True)))
    if options.guardrail is not None:
        reads = seen.facts["kind"] == "read"
        verdict = detectors.guard_start(
            ctx,
            call_id,
            Signature(seen.sight.tool, seen.arguments),
            spawns=seen.spawns,
            reads=reads,
            verdict=verdict,
            options=options.guardrail,
        )
    if verdict.for_model:
        ctx.remember(guidance=replace(ctx.memory.guidance, finding=verdict.for_model))
    return verdict


def key_in_focus(ctx: AgentContext) -> str:
    """Return the key of the item in focus, or else of the task that the agent works on; empty if there is none."""
    todos = ctx.row.state.todos
    if todos.focus is not None:
        return item_key(todos.plan_id, todos.focus.id)
    for one in reversed(ctx.tx.tasks.of_agent(ctx.row)) if ctx.tx.has_tasks else ():
        if one.task.status is TaskStatus.IN_PROGRESS:
            return task_key(one.list.name, one.task.id)
    return ""


def _count_start(ctx: AgentContext, seen: StartedCall) -> None:
    """Count a call for guidance; from the first one on changes are counted one by one."""
    known = ctx.memory.guidance
    changes = known.changes if known.reported else 0
    ctx.remember(guidance=replace(known, reported=True, changes=changes, others=known.others + (not seen.is_ours)))


def _find_beginning(ctx: AgentContext, call_id: str, facts: Mapping[str, Any]) -> tuple[str, CallRow | None]:
    """Return the id of a call that begins, and its row if it was reported before.

    Some hosts number their calls from one in each turn, or in each message. Another tool under an id is another call;
    once a call has ended, or was given up, so are other arguments, and the same call a while later.
    """
    if not call_id:
        made = ctx.memory.ids + 1
        ctx.remember(ids=made)
        return f"#{made}", None
    given = given_id(call_id)
    calls, number = ctx.tx.tool_calls, ctx.row.number
    first = calls.find(number, given)
    name, hashed = facts.get("name", ""), facts.get("hash", "")
    if first is None or first.call.started is None:
        return given, first
    if first.call.via == TRANSCRIPT:  # some hosts call a tool otherwise in their logs
        return given, first
    if first.call.is_open and first.call.name == name:  # a host may tell its arguments again while they stream in
        return given, first
    known = [
        row
        for row in calls.find_reused(number, given)
        if row.call.name == name and (row.call.via or row.call.hash == hashed)
    ]
    row = known[-1] if known else None
    ended = None if row is None or row.call.is_open else row.call.finished
    if row is not None and (row.call.via or ended is None or ctx.now - ended.at <= SAME_CALL):
        found = row.call.id
    else:
        again = f".{len(known)}" if known else ""
        found, row = f"{reused_id(given, name, hashed)}{again}", None
    _end_goes_to(ctx, given, found)
    return found, row


def _end_goes_to(ctx: AgentContext, given: str, found: str) -> None:
    """Remember which call began last under an id that is in use again: its end is meant from now on."""
    reused = ctx.memory.reused
    if reused.get(given, given) == found:
        return
    others = {key: known for key, known in reused.items() if key != given}
    if found != given:
        others = dict([*others.items(), (given, found)][-_MOST_REUSED:])
    ctx.remember(reused=others)


# A call says something, or ends.


def _find_ending(ctx: AgentContext, call_id: str, name: str) -> CallRow | None:
    """Return the row of the call that a report is about; a new one where its beginning was not reported yet."""
    calls, number = ctx.tx.tool_calls, ctx.row.number
    if not call_id:
        return calls.find_oldest_open(number, name)
    given = given_id(call_id)
    meant = ctx.memory.reused.get(given, given)
    return calls.find(number, meant) or CallRow(ToolCall(id=meant, name=name), 0)


def _record_end(ctx: AgentContext, agent: AgentRunner, row: CallRow, ended: EndedCall, running: CallRow | None) -> None:
    """Record that a call has ended. Of two ends the worse is believed; one that is no news is left out."""
    options, known = agent.settings, row.call
    is_running = bool(row.seq) and known.outcome in ("running", "abandoned") and known.started is not None
    has_failed = bool(ended.facts["is_error"])
    is_first = known.finished is None or known.outcome == "abandoned"
    if is_first or (has_failed and known.outcome != "failed"):
        data = {"call_id": known.id, "name": known.name, **ended.facts}
        if is_running and known.started is not None:
            data["seconds"] = round(max(0.0, (ctx.now - known.started.at).total_seconds()), 3)
        if is_first and row.seq and ended.outcome is not None and options.loops.enabled:
            row = detectors.record_outcome(ctx, row, ended.outcome, options.loops)
        detectors.note_tool_report(ctx, known.name)
        if running is not None and ended.background:
            data |= {**ended.background, "check_of": running.call.id}
        seq = ctx.add(Draft(ended.kind, data))
        report = call_from(ended.kind, data, ctx.now, seq)
        call = joined(known, report) if row.seq else report
        ctx.tx.tool_calls.save(ctx.row.number, replace(row, call=call, seq=row.seq or seq))
        if options.rounds is not None and not has_failed:
            detectors.note_progress(ctx)
        if is_running:
            _count_end(ctx, row, has_failed=has_failed)
        if running is not None and "check_of" in data:
            _tell_background(ctx, running, cast("Outcome", data["check_outcome"]), data.get("tail", ""))
        else:
            record_call_end(ctx.tx, ctx.row, call, seq, ctx.now)
    if options.guardrail is not None and ended.guarded is not None:
        detectors.guard_end(ctx, known.id, ended.guarded, options.guardrail)


def _find_background(ctx: AgentContext, reader: ToolCall) -> CallRow | None:
    """Return the check, or the command that may print a secret, in the background whose output a call reads."""
    if not reader.background or reader.check is not None:
        return None
    calls = ctx.tx.tool_calls
    for call in reversed(calls.of_agent(ctx.row.number, _MOST_BACK)):
        if call.background == reader.background and (call.check is not None or may_be_secret(call)):
            return calls.find(ctx.row.number, call.id)
    return None


def _tell_background(ctx: AgentContext, row: CallRow, told: Outcome, tail: str) -> None:
    """Record how a check in the background goes, as another call read it."""
    seq = ctx.add(Draft("tool.updated", {"call_id": row.call.id, "name": row.call.name, "told": told}))
    call = replace(row.call, check_outcome=told, tail=tail)  # what is read last counts: the check goes on
    ctx.tx.tool_calls.save(ctx.row.number, replace(row, call=call))
    record_call_end(ctx.tx, ctx.row, replace(call, changes=False), seq, ctx.now)  # its change was counted when it ended


def _count_end(ctx: AgentContext, row: CallRow, *, has_failed: bool) -> None:
    """Count what a call changed since the last write of the list; what changed before that is on the list."""
    known, writes = ctx.memory.guidance, ctx.memory.counts.writes
    changes = known.changes if writes == known.writes else 0
    ctx.remember(guidance=replace(known, writes=writes, changes=changes + (row.drifts and not has_failed)))


def _record_update(ctx: AgentContext, call_id: str, name: str, said: str, shown: str) -> None:
    row = _find_ending(ctx, call_id, name)
    if row is None or not row.seq or not row.call.is_open:
        return
    call = row.call
    running = _find_background(ctx, call)
    if call.masked or (running is not None and may_be_secret(running.call)):
        shown = ""
    ctx.add(Draft("tool.updated", _without_empty({"call_id": call.id, "name": call.name, "preview": shown})))
    told = None if call.check is None else read_running_output(call.check, said)
    if told is not None:
        call = joined(call, ToolCall(id=call.id, told=told))
        ctx.tx.tool_calls.save(ctx.row.number, replace(row, call=call))
    detectors.note_heartbeat(ctx, call.name, watched=True)


def _without_empty(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if value}
