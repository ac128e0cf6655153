"""Answer the model's calls: the dialect parses, core decides, the store commits, and then the dialect replies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, NamedTuple, cast

import msgspec

from punchlist.agent import detectors
from punchlist.agent.context import LONGEST_ID, AgentContext, AgentRunner
from punchlist.agent.grading import doubt, doubt_checks, grade_change, refusal, save_graded
from punchlist.agent.leftovers import answer_continue
from punchlist.agent.plans import answer_plan_call, answer_proposal
from punchlist.agent.questions import save_questions
from punchlist.core.apply import Applied, apply
from punchlist.core.commands import Command, Edit, Elsewhere, Problem, Query, Repeat, Replace
from punchlist.core.events import Draft
from punchlist.core.flow import FlowCommand
from punchlist.core.task import TaskCommand
from punchlist.core.todo import ListState, TodoList
from punchlist.detect import list_upkeep
from punchlist.dialects.base import ContinueWork, Invalid, Reply, Result, SubmitPlan, reply_invalid, reply_unknown_tool
from punchlist.errors import StoreBusy, StoreUncertain
from punchlist.guidance.ledger import Size, cost_key, count_call, size_of_json
from punchlist.store import AgentRow, Transaction
from punchlist.store.base import run_surely
from punchlist.store.records import StoredCall
from punchlist.tasks.model_calls import FlowModelCall, TaskModelCall
from punchlist.text import cut, repair_key
from punchlist.text.hashing import blake2b

Decide = Callable[[Transaction, AgentRow, datetime], tuple[Reply, bool]]
"""Returns the reply, and True if something changed."""

Answer = Callable[[AgentContext], Reply]
"""A `Decide` for this agent, with its memory."""

View = Callable[[Transaction, AgentRow | None, datetime], Reply | None]
"""Returns the reply to a call that only reads, without a write; None if it has to be recorded."""

_VIEW_WAIT: Final = 0.25
"""Seconds that a view waits for the lock, to be counted: a process that was stopped with the lock must not stop it."""

_encode = msgspec.json.Encoder(order="deterministic").encode
_decode_reply = msgspec.json.Decoder(Reply).decode


def answer_call(agent: AgentRunner, name: str, args: Any, call_id: str | None) -> Reply:
    """Answer a tool call in one transaction."""
    found = _find_answer(agent, name, args, size_of_json(args))
    if found is None:
        agent.send_heartbeat()
        return reply_unknown_tool(agent.tools, str(name))
    call_id = None if call_id is None else repair_key(str(call_id))
    if call_id is not None and len(call_id) > LONGEST_ID:
        text = f"The id of this call has {len(call_id)} characters; at most {LONGEST_ID} fit. Nothing was changed."
        return reply_invalid(Invalid(text, code="call_id_too_long"))
    fingerprint = b"" if call_id is None else fingerprint_of(f"{agent.dialect.name}/{name}", args)
    durable = call_id is not None or found.view is None  # a read leaves nothing but a count

    def work(ctx: AgentContext) -> Reply:
        tx, row, now = ctx.tx, ctx.row, ctx.now
        observe_call(ctx)
        if call_id is not None and (stored := tx.call(row, call_id)) is not None:
            if stored.reply or not agent.dialect.has_tool(name):
                return _replay(stored, fingerprint, call_id)
            reply = _reply_to_restored(agent, tx, row, stored, (name, args, call_id), now)
            tx.save_call(row, call_id, encode_call(fingerprint, reply), at=now)
            return reply
        reply = found.decide(ctx)
        if call_id is not None:
            tx.save_call(row, call_id, encode_call(fingerprint, reply), at=now)
        return reply

    def view(tx: Transaction) -> Reply | None:
        row = tx.agent(agent.session, agent.name)
        stored = None if call_id is None or row is None else tx.call(row, call_id)
        if stored is not None:
            return _replay(stored, fingerprint, call_id or "") if stored.reply else None
        return None if found.view is None else found.view(tx, row, agent.now())

    wait = None if found.view is None else _VIEW_WAIT
    while True:
        try:
            run = partial(agent.run, work, durable=durable, wait=wait, call_id=call_id)
            return run_surely(run, is_known=call_id is not None)
        except Repeat as repeat:
            repeat.meanwhile()
        except (StoreBusy, StoreUncertain):
            if wait is None:
                raise
            reply = agent.board.store.read(view)  # it need not be counted
            if reply is not None:
                return reply
            wait = None


def observe_call(ctx: AgentContext) -> None:
    """Note a call: the first heartbeat of an agent without tool reports."""
    if ctx.memory.awaited:
        ctx.remember(awaited=False)
        detectors.note_heartbeat(ctx, "todo", watched=False)


class _Answering(NamedTuple):
    """The functions that answer a call."""

    decide: Answer
    view: View | None = None
    """For a call that only reads."""


def _find_answer(agent: AgentRunner, name: str, args: Any, arguments: Size) -> _Answering | None:
    """Return how a call is answered; None for a tool that this handle does not offer."""
    if agent.offered and agent.dialect.has_tool(name):
        parsed = agent.dialect.parse(name, args)
        if isinstance(parsed, SubmitPlan):
            return _Answering(_count_call(agent, answer_proposal(parsed, by=agent.name), arguments))
        if isinstance(parsed, ContinueWork):
            return _Answering(_count_call(agent, answer_continue(agent, parsed), arguments))
        if not isinstance(parsed, Elsewhere):
            view = partial(_view, agent, parsed) if isinstance(parsed, Query) else None
            return _Answering(partial(_answer, agent, parsed, arguments), view)
        if agent.dialect.layer == "flows":
            flow_call = FlowModelCall(
                cast("FlowCommand", parsed), name=agent.name, session=agent.session, render=agent.dialect.render
            )
            decide = _count_call(agent, flow_call.decide, arguments)
            return _Answering(decide, flow_call.view if parsed.reads else None)
        task_call = TaskModelCall(
            cast("TaskCommand", parsed),
            agent.task_list,
            by=agent.name,
            grades=agent.settings.grades,
            gates=agent.board.gates,
            render=agent.dialect.render,
        )
        decide = _count_call(agent, task_call.decide, arguments)
        return _Answering(decide, task_call.view if parsed.reads else None)
    if agent.settings.plan_tools is not None and agent.settings.plan_tools.has_tool(name):
        answer = answer_plan_call(agent.settings.plan_tools, name, args, by=agent.name)
        return _Answering(_count_call(agent, answer, arguments))
    return None


def _count_call(agent: AgentRunner, decide: Decide, arguments: Size) -> Answer:
    """Return an answer with the call added to the ledger; for what does not write the list itself."""

    def work(ctx: AgentContext) -> Reply:
        ctx.save()
        reply, changed = decide(ctx.tx, ctx.row, ctx.now)
        ctx.load()  # a task that was completed has changed it
        _count(agent, ctx, arguments, reply, wrote=changed)
        return reply

    return work


def _count(
    agent: AgentRunner,
    ctx: AgentContext,
    arguments: Size,
    reply: Reply,
    events: Sequence[Draft] = (),
    *,
    wrote: bool = False,
) -> None:
    """Add a call to the ledger; one that wrote the list has events, another says so."""
    completed = sum(kind == "item.completed" for kind, _ in events)
    counts = count_call(
        ctx.memory.counts,
        cost_key(agent.dialect.name, agent.profile) if agent.board.offers_tools else None,
        arguments,
        reply,
        wrote=wrote or bool(events),
        completed=completed,
        applied=_describe_applied(events) if reply.is_error else "",
        foreign=agent.dialect.name != "punchlist",
    )
    ctx.remember(counts=counts)


def _describe_applied(events: Sequence[Draft]) -> str:
    """Return what a call changed, item by item."""
    changes = [(kind, data.get("item", data)) for kind, data in events if kind.startswith("item.")]
    return "; ".join(f"{kind.removeprefix('item.')} {cut(str(item['content']), 80)}" for kind, item in changes)


def _answer(agent: AgentRunner, parsed: Command | Query | Invalid, arguments: Size, ctx: AgentContext) -> Reply:
    row, mode_refusal = ctx.row, agent.dialect.refused_in_plan_mode
    if row.mode == "plan" and mode_refusal is not None:
        parsed = Invalid(mode_refusal, code="plan_mode")
    if isinstance(parsed, Invalid):
        return _refuse(agent, ctx, reply_invalid(parsed), parsed.code, parsed.text, arguments)
    if isinstance(parsed, Query):
        return _save_and_reply(agent, ctx, parsed, Applied(row.state), arguments)
    applied = apply(row.state, parsed, agent.policy, ctx.now, by=agent.name)
    ctx.tx.expect_change(row)
    if agent.settings.grades != "show" or ctx.memory.watched:  # what was seen judges completions
        given = grade_change(ctx.tx, row, applied, ctx.now)
        if agent.settings.grades == "require" and (problem := refusal(given)) is not None:
            refused = reply_invalid(Invalid(problem.text, code=problem.code))
            return _refuse(agent, ctx, refused, problem.code, problem.text, arguments)
        applied = save_graded(ctx.tx, row, applied, given)
        if agent.settings.grades == "tell" and (problem := doubt(given)) is not None:
            applied = applied._replace(problems=(*applied.problems, problem))
    if (problem := doubt_checks(row, applied)) is not None:
        applied = applied._replace(problems=(*applied.problems, problem))
    return _save_and_reply(agent, ctx, parsed, applied, arguments)


def _view(agent: AgentRunner, query: Query, _tx: Transaction, row: AgentRow | None, now: datetime) -> Reply | None:
    """Return the reply to a view. None if the list was changed by others: that the model has seen it is recorded.

    Without that record its next full write would be merged with a list that it no longer goes by.
    """
    if row is not None and row.mode == "plan" and agent.dialect.refused_in_plan_mode is not None:
        return None
    state, unseen = (ListState(TodoList()), 0) if row is None else (row.state, row.unseen)
    reply = _render(agent, state, unseen, query, Applied(state), now)
    return None if reply.shows_list and state.shown is not None else reply


def _save_and_reply(
    agent: AgentRunner, ctx: AgentContext, parsed: Command | Query, applied: Applied, arguments: Size
) -> Reply:
    row, events = ctx.row, applied.events
    state, reply = applied.state, _render(agent, row.state, row.unseen, parsed, applied, ctx.now)
    unseen = row.unseen + 1
    if reply.shows_list:
        unseen = 0
        state = state if reply.is_error else ListState(state.todos)
    if not events and applied.refused:
        problem = applied.problems[0]
        return _refuse(agent, ctx, reply, problem.code, problem.text, arguments)
    _count(agent, ctx, arguments, reply, events)
    ctx.tx.save_list(row, state, unseen=unseen, at=ctx.now)
    ctx.tx.add_events(row, events, by=agent.name, at=ctx.now)
    if isinstance(parsed, Edit):
        save_questions(ctx.tx, row, parsed, before=row.state.todos, after=state.todos, by=agent.name, now=ctx.now)
    _observe_upkeep(agent, ctx, events)
    return reply


def _observe_upkeep(agent: AgentRunner, ctx: AgentContext, drafts: Sequence[Draft]) -> None:
    """Look at how the agent keeps its list. The context's row still holds the list before this call."""
    upkeep, now, options = ctx.memory.upkeep, ctx.now, agent.settings.staleness
    if drafts:
        events = [ctx.event(draft, agent.name) for draft in drafts]
        upkeep, found = list_upkeep.observe_write(upkeep, ctx.row.state.todos, events, now, options)
    else:
        upkeep, found = list_upkeep.observe_call(upkeep, now, options)
    ctx.remember(upkeep=upkeep)
    ctx.tell(found)


def _render(
    agent: AgentRunner, before: ListState, unseen: int, parsed: Command | Query, applied: Applied, now: datetime
) -> Reply:
    """Render the reply in the words of the dialect."""
    state, durable = applied.state, agent.board.store.durable
    is_behind = state.shown is not None
    return agent.dialect.render(
        Result(parsed, before.todos, state.todos, applied.problems, unseen, is_behind, durable, now, agent.policy)
    )


def _reply_to_restored(
    agent: AgentRunner, tx: Transaction, row: AgentRow, stored: StoredCall, call: tuple[str, Any, str], now: datetime
) -> Reply:
    """Reply to a call that was restored from a transcript: it is history, and changes nothing."""
    name, args, call_id = call
    parsed = agent.dialect.parse(name, args)
    if isinstance(parsed, Elsewhere):
        parsed = Invalid(f"The call `{call_id}` is known from a transcript; nothing was changed.", code="call_known")
    if isinstance(parsed, Invalid):
        return reply_invalid(parsed)
    if stored == PASSED and isinstance(parsed, Replace):
        tx.add_events(
            row, [describe_late_write(parsed, source=f"call of {name}", call_id=call_id)], by=agent.name, at=now
        )
    known = Applied(row.state)
    applied = known if isinstance(parsed, Query) else apply(row.state, parsed, agent.policy, now, by=agent.name)
    return _render(agent, row.state, row.unseen, parsed, applied, now)


def _refuse(agent: AgentRunner, ctx: AgentContext, reply: Reply, code: str, problem: str, arguments: Size) -> Reply:
    refused = Draft("list.refused", {"code": code, "problem": problem[:500]})
    _count(agent, ctx, arguments, reply)
    ctx.add(refused)
    _observe_upkeep(agent, ctx, [refused])
    return reply


RECORDED = StoredCall(b"", b"")
"""Stands for a call of a transcript that is in the log, whose reply is not known."""

PASSED = StoredCall(b"passed", b"")
"""Stands for a call that came before a restored list: known as history, and not in the log yet."""


def describe_late_write(command: Replace, *, source: str, call_id: str | None) -> Draft:
    """Return the event of a list write that a transcript brought too late."""
    items = [{"content": entry.content, "status": entry.status.value} for entry in command.entries]
    return Draft("transcript.write", {"source": source, "call_id": call_id, "items": items})


def encode_call(fingerprint: bytes, reply: Reply) -> StoredCall:
    """Return a reply as it is stored, for the same call coming again."""
    return StoredCall(fingerprint, _encode(reply))


def fingerprint_of(name: str, args: Any) -> bytes:
    """Hash the tool, its dialect and the arguments: two calls are the same if their hashes are."""
    try:
        body = _encode([name, args])
    except (TypeError, ValueError, RecursionError):
        body = _describe(name, args)
    return blake2b(body, digest_size=16).digest()


def _describe(name: str, args: Any) -> bytes:
    try:
        return repr((name, args)).encode("utf-8", "backslashreplace")
    except (ValueError, RecursionError):
        return b"beyond description"  # too deep, or a number too long: refused whatever it says


def _replay(stored: StoredCall, fingerprint: bytes, call_id: str) -> Reply:
    if stored.fingerprint == fingerprint:
        return _decode_reply(stored.reply)
    text = f"The call id `{call_id}` was used before with other arguments; nothing was changed. Use a new id."
    return Reply(text, is_error=True, problems=(Problem("call_id_reused", text, fatal=True),))
