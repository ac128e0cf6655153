"""Decide per turn what the model is told: the host reports a step and gets the texts to inject.

Each step reads the agent's memory, decides, and writes it, in one small transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, get_args

from msgspec.structs import replace

from punchlist.agent import detectors
from punchlist.agent.context import AgentContext, AgentRunner
from punchlist.agent.grading import describe_failing, describe_failing_tasks, record_call_end
from punchlist.agent.questions import take_news
from punchlist.core.approval import PlanState
from punchlist.core.events import TURN_ENDS, Draft, Event
from punchlist.core.grounding.session import find_touched
from punchlist.core.grounding.tool_call import Moment
from punchlist.core.task import Task, append_tasks, find_unreachable, own_task_list, task_as_item
from punchlist.core.todo import ListState, TodoItem, TodoList
from punchlist.detect import stalls
from punchlist.errors import UnknownName
from punchlist.guidance import decisions
from punchlist.guidance.compaction import Because, block, open_tasks, open_work
from punchlist.guidance.decisions import Situation, TurnDecision, decide_at_stop, decide_before_request, start_prompt
from punchlist.guidance.layers import PROFILES, Layer, layers
from punchlist.guidance.ledger import Memory, Size, Spent, cost_key, fingerprint, merge_sizes, size_of, size_of_tools
from punchlist.guidance.plan_mode import write_notice
from punchlist.guidance.tools import is_own
from punchlist.guidance.words import NOTHING_BEYOND, Beyond, Injection
from punchlist.store import AgentRow, Transaction
from punchlist.text import cut

_NO_TURN: Final = frozenset({"", "agent.joined", "news.sent", "news.accepted", *TURN_ENDS})
"""Events after which nothing has happened in a turn."""

_MOST_TOOLS: Final = 1_000
_LONGEST_NAME: Final = 200
_LONGEST_TITLE: Final = 80
_NOTHING_SPENT: Final = Spent()
_WRITES: Final = ("made", "tool", "edited", "removed")
_MOST_UNTICKED: Final = 30
"""The latest calls, in which files are looked for that were changed since the list was written."""


# Nothing here raises: on a fault a step changes nothing, says nothing, and logs.


def note_user_turn(agent: AgentRunner, text: str) -> None:
    def work(ctx: AgentContext) -> None:
        title = agent.clean_label(text.strip().partition("\n")[0])
        if title and ctx.row.label is None and ctx.row.parent is None:
            ctx.tx.save_title(ctx.row, cut(title, _LONGEST_TITLE))
        _turn_over(agent, ctx, asked=True)
        mark = fingerprint(_current(agent, ctx)[0], unfinished=True) if agent.rules.stop_after_changes else 0
        ctx.remember(guidance=start_prompt(ctx.memory.guidance, mark), turn=ctx.tx.last_seq())
        ctx.save()
        ctx.tx.marked[ctx.row.session] = ctx.now  # the clock of its line runs again

    agent.attempt(work, None)


def end_left_turn(agent: AgentRunner) -> None:
    """End a turn that its host broke off; nothing is asked of the model. A log tells of its own turns."""

    def work(ctx: AgentContext) -> None:
        activity = ctx.tx.overviews.load_activity(ctx.row.number)
        is_at_work = activity.state == "working" and not activity.rests and not activity.copy_of
        if ctx.memory.is_prompted or is_at_work:
            end_turn(agent, ctx)
            ctx.tx.marked[ctx.row.session] = ctx.now

    if agent.load_row() is not None:
        agent.attempt(work, None)


class _Previewed(Exception):
    """Rolls a turn back that was only looked at."""

    def __init__(self, said: list[Injection]) -> None:
        self.said = said


def preview_turn(agent: AgentRunner) -> list[Injection]:
    turn = make_turn(agent, ())

    def work(ctx: AgentContext) -> list[Injection]:
        raise _Previewed(turn(ctx))

    try:
        return agent.run(work)
    except _Previewed as previewed:
        return previewed.said


def make_turn(
    agent: AgentRunner, tools_used: Iterable[str], *, hold_approvals: bool = False
) -> Callable[[AgentContext], list[Injection]]:
    """Return the step that counts a message and forms the texts of the next request in one."""
    count, write = count_message(agent, tools_used), write_texts(agent, hold_approvals=hold_approvals)

    def work(ctx: AgentContext) -> list[Injection]:
        count(ctx)
        return write(ctx)

    return work


def count_message(agent: AgentRunner, tools_used: Iterable[str]) -> Callable[[AgentContext], None]:
    def work(ctx: AgentContext) -> None:
        tools, memory = _names(tools_used), ctx.memory.guidance
        _note_message(ctx)
        if agent.settings.rounds is not None:
            detectors.end_round(ctx, agent.settings.rounds)
        others = max(sum(not is_own(name, agent.offered_names) for name in tools), memory.others)
        counts, dialect, own = ctx.memory.counts, agent.dialect, agent.tool_names
        ctx.remember(
            guidance=decisions.count_message(memory, tools, counts, dialect, own=own, host=agent.settings.host)
        )
        is_own_turn = bool(tools) and not others
        cost = Spent(turns=1, others=others, own_turns=int(is_own_turn), descriptions=size_of_tools(agent.tools))
        spend(agent, ctx, {}, cost)

    return work


def write_texts(agent: AgentRunner, *, hold_approvals: bool = False) -> Callable[[AgentContext], list[Injection]]:
    """Return the step that forms the texts of the next request; the model counts as told."""

    def work(ctx: AgentContext) -> list[Injection]:
        memory = _hear(agent, ctx, ctx.memory.guidance)
        situation = _load_situation(agent, ctx, hold_approvals=hold_approvals)
        outcome = decide_before_request(memory, situation, agent.rules)
        _tell(ctx, outcome)
        _account(agent, ctx, outcome)
        return list(outcome.said)

    return work


def decide_stop(agent: AgentRunner, last_text: str, background: int) -> Injection | None:
    def work(ctx: AgentContext) -> Injection | None:
        text = last_text if isinstance(last_text, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance]
        memory = ctx.memory.guidance
        situation = replace(
            _load_situation(agent, ctx),
            left_out=_find_left_out(agent, ctx.tx, ctx.row, memory),
            awaits_person=_awaits_person(agent, ctx),
        )
        outcome = decide_at_stop(memory, situation, agent.rules, last_text=text, background=background)
        if not outcome.said and not background:
            _turn_over(agent, ctx)
        if outcome.memory is memory and not outcome.said:
            return None
        _tell(ctx, outcome)
        _account(agent, ctx, outcome)
        return outcome.said[0] if outcome.said else None

    return agent.attempt(work, None)


def _awaits_person(agent: AgentRunner, ctx: AgentContext) -> bool:
    """True while a question, a plan or a permission of the agent is open, or an item or task waits on a person."""
    tx, number, todos = ctx.tx, ctx.row.number, ctx.row.state.todos
    plan = tx.plans.current(number)
    if plan is not None and plan.waits(ctx.now):
        return True
    questions = [row.question for row in tx.questions.open(agent=number)]
    asked = {question.item for question in questions if question.plan_id == todos.plan_id}
    blocked = any(item.waits_on_person and item.id not in asked for item in todos.items)
    is_asked = any(question.waits(todos, ctx.now) for question in questions)
    tasks = agent.find_open_tasks(tx, ctx.row) if tx.has_tasks else ()
    is_held = any(task.wait is not None and task.wait.kind == "manual" for task in tasks)
    return is_asked or blocked or is_held or tx.overviews.load_activity(number).awaits_permission


# What a model is told outside its turns.


def todo_layers(agent: AgentRunner) -> tuple[Layer, ...]:
    names = agent.settings.layers
    wanted = PROFILES[agent.profile] if names is None or agent.profile == "off" else names
    return layers(agent.todo_tools, wanted, writers=agent.dialect.writers)


def write_open_work(agent: AgentRunner, because: Because) -> str | None:
    """Return the block about unfinished work, and add its size to the ledger; None when nothing is open."""
    if because not in (known := get_args(Because)):
        raise UnknownName(what="reason", name=because, known=", ".join(known))
    if agent.profile == "off" or not agent.offered:
        return None
    agent.settle_due_tasks()
    tasks, left_out, changed = agent.board.store.read(lambda tx: _find_owed(agent, tx))
    listed = open_work(agent.load_todos(), agent.dialect)
    work = (*listed, *open_tasks(tasks, agent.dialect, task_list=agent.task_list))
    text = block(work, agent.dialect, because, changed, [item.content for item in left_out])
    if text is not None:
        agent.attempt(lambda ctx: spend(agent, ctx, {"compaction": size_of(text)}), None)
    return text


def _find_owed(agent: AgentRunner, tx: Transaction) -> tuple[tuple[Task, ...], tuple[TodoItem, ...], list[str]]:
    """Return an agent's open tasks, the items that it left out, and the files changed since it last reported any work.

    An item or a task was reported when it began, ended or was added.
    """
    row = tx.agent(agent.session, agent.name)
    if row is None:
        return (), (), []
    left_out = _find_left_out(agent, tx, row, tx.memory.load(row.number).guidance)
    tasks = agent.find_open_tasks(tx, row) if tx.has_tasks else ()
    items = (*row.state.todos.items, *map(task_as_item, tasks))
    reported = [at for item in items if (at := item.finished_at or item.started_at or item.created_at)]
    if not reported:
        return tasks, left_out, []
    last = max(reported)
    calls = tx.tool_calls.of_agent(row.number, _MOST_UNTICKED)
    later = [call for call in calls if call.started is not None and call.started.at > last]
    touches = [touch for call in later for touch in find_touched(call, row.folder or row.project)]
    return tasks, left_out, list(dict.fromkeys(touch.path for touch in touches if touch.how in _WRITES))


def _turn_over(agent: AgentRunner, ctx: AgentContext, *, asked: bool = False) -> None:
    """End a turn. With `asked` another begins, and a heartbeat is waited for, whether or not tools are reported."""
    end_turn(agent, ctx, asked=asked)
    if not ctx.memory.watched and ctx.memory.awaited != asked:
        ctx.remember(awaited=asked)


def end_turn(agent: AgentRunner, ctx: AgentContext, draft: Draft | None = None, *, asked: bool = False) -> None:
    """Give up the calls that still run. `draft` is added in any case.

    A turn in which nothing happened is none: an agent that stops, and is then spoken to, has ended one turn.
    """
    tx, number = ctx.tx, ctx.row.number
    has_gone_on = draft is not None or tx.log.last_kind(number) not in _NO_TURN
    stall = ctx.memory.stall
    detectors.end_stall(ctx, stall)
    detectors.end_storm(ctx)
    if asked:
        timings = agent.settings.stalls  # kept with the agent, for checks of silence without its handle
        if timings is not None and timings != ctx.memory.stall_options:
            ctx.remember(stall_options=timings)
        detectors.begin_turn(ctx, agent.settings)
        detectors.begin_run(ctx)
    left_open = tx.tool_calls.open(number)
    if has_gone_on or left_open:
        seq = ctx.add(draft or Draft("turn.ended", {"abandoned": len(left_open)}))
        for row in left_open:
            call = replace(row.call, outcome="abandoned", finished=Moment(ctx.now, seq), check_outcome=None)
            tx.tool_calls.save(number, replace(row, call=call))
            record_call_end(tx, ctx.row, call, seq, ctx.now)
    if asked:
        ctx.remember(stall=stalls.note_prompt(detectors.new_stall(ctx.row, ctx), ctx.now))
    elif stall is not None:
        ctx.remember(stall=stalls.end_watch(stall))


def _note_message(ctx: AgentContext) -> None:
    """Note an assistant message, which is a heartbeat."""
    memory = ctx.memory
    if memory.watched or memory.awaited:
        detectors.note_heartbeat(ctx, "assistant_turn", watched=memory.watched)
    if memory.awaited:
        ctx.remember(awaited=False)


def _load_situation(agent: AgentRunner, ctx: AgentContext, *, hold_approvals: bool = False) -> Situation:
    """Return what there is to tell. Approvals that are held are told later, with the list that they may have made."""
    row, dialect = ctx.row, agent.dialect
    decided = ctx.tx.plans.find_decided(row.number) if hold_approvals else ()
    is_held = any(plan.state is PlanState.APPROVED for plan in decided)
    planning = row.mode == "plan"
    todos, out_of_reach = _current(agent, ctx)
    entered = (ctx.tx.modes.load_entry(row.number) or {}) if planning else {}
    return Situation(
        todos=todos,
        beyond=out_of_reach,
        tally=ctx.memory.counts,
        policy=agent.policy,
        dialect=dialect,
        news=tuple(take_news(ctx.tx, row, hold_approvals=is_held)),
        shown=None if is_held else row.state.shown,
        authors=_find_authors(agent, ctx),
        planning=planning,
        offered=agent.offered,
        entered=str(entered.get("entered_at", "")),  # tells one stay in plan mode from another
        notice=write_notice(dialect) if planning else "",
    )


def _find_authors(agent: AgentRunner, ctx: AgentContext) -> Mapping[str, str]:
    """Return who else changed items since the model was last told of changes, by id of the item."""
    row, told = ctx.row, ctx.memory.guidance.revision
    if row.state.shown is None or row.state.todos.revision == told:
        return {}
    return ctx.tx.log.authors_of_items(row.number, told, but=agent.name)


def _find_left_out(agent: AgentRunner, tx: Transaction, row: AgentRow, memory: Memory) -> tuple[TodoItem, ...]:
    """Return items that the model's own writes left out of its list while they were open, after `memory.judged`."""
    omitted = row.state.todos.omitted
    if not omitted:
        return ()
    left_out = tx.log.left_out_items(row.number, memory.judged, author=agent.name)
    return tuple(item for item in omitted if item.id in left_out)


def _current(agent: AgentRunner, ctx: AgentContext) -> tuple[TodoList, Beyond]:
    """Return the agent's work, its list and its tasks; and those of them that its tool does not reach."""
    todos = ctx.row.state.todos
    if not ctx.tx.has_tasks:
        return todos, NOTHING_BEYOND
    tasks, own = agent.find_open_tasks(ctx.tx, ctx.row), own_task_list(agent.dialect.layer, agent.task_list)
    return append_tasks(todos, tasks, own=own), Beyond(*find_unreachable(tasks, own))


def _tell(ctx: AgentContext, outcome: TurnDecision) -> None:
    """Record what is said; and if that was the whole list, that the model knows it now."""
    if outcome.said:
        said = [Draft("guidance.said", {"kind": one.kind, "characters": len(one.text)}) for one in outcome.said]
        ctx.add(*said)
    if outcome.shows_list:
        ctx.tx.save_list(ctx.row, ListState(ctx.row.state.todos), unseen=0, at=ctx.now)


def _account(agent: AgentRunner, ctx: AgentContext, outcome: TurnDecision) -> None:
    ctx.remember(guidance=outcome.memory)
    injections: dict[str, Size] = {}
    for one in outcome.said:
        injections = merge_sizes(injections, {one.kind: size_of(one.text)})
    caused = sum(one.kind == "stop" for one in outcome.said)
    if injections or outcome.withheld:
        spend(agent, ctx, injections, Spent(caused=caused, withheld=outcome.withheld))


def spend(agent: AgentRunner, ctx: AgentContext, injections: dict[str, Size], more: Spent = _NOTHING_SPENT) -> None:
    """Add texts that a model was told to the ledger, each by its kind."""
    key, spent = cost_key(agent.dialect.name, agent.profile), ctx.memory.spent
    total = spent.get(key, _NOTHING_SPENT) + replace(more, injections=injections)
    ctx.remember(spent={**spent, key: total})


# Findings that the model is to hear of: each once, for as long as it holds.


def _hear(agent: AgentRunner, ctx: AgentContext, memory: Memory) -> Memory:
    """Return the memory with what was found since the last turn and still holds."""
    if agent.rules.tell_findings:
        found, upto = ctx.tx.log.findings(ctx.row.number, memory.found)
        memory = replace(hear_findings(memory, found), found=upto)
    return _hear_failing(ctx, memory) if agent.settings.grades != "show" else memory


def _hear_failing(ctx: AgentContext, memory: Memory) -> Memory:
    """Return the memory with completions that turned failing since the last turn and still are."""
    tx, row, said = ctx.tx, ctx.row, list[str]()
    revision = row.state.todos.revision
    if revision != memory.regraded:
        changed = tx.log.regraded_items(row.number, memory.regraded)
        if changed:
            said += describe_failing(tx, row, {event.data["id"] for event in changed})
        memory = replace(memory, regraded=revision)
    if tx.has_tasks:
        changed, upto = tx.log.regraded_tasks(row.number, memory.tasks_regraded)
        if changed:
            said += describe_failing_tasks(tx, row, changed, ctx.now)
        memory = replace(memory, tasks_regraded=upto)
    if not said:
        return memory
    more = [f"{len(said) - _MOST_HEARD} more are failing too."] if len(said) > _MOST_HEARD else []
    return replace(memory, finding="\n".join([memory.finding, *said[:_MOST_HEARD], *more]).strip("\n"))


_SAME: Final = {
    **dict.fromkeys(("generic_repeat", "known_poll_no_progress", "ping_pong", "unknown_tool_repeat"), "loop"),
    **dict.fromkeys(("global_circuit_breaker", "compaction_loop_persisted", "error_streak"), "loop"),
    **dict.fromkeys(("nothing_submitted", "no_runtime_event", "no_output", "silent_after_output"), "silence"),
}
"""Detectors that see the same thing, from its beginning to its worst."""

_MOST_HEARD: Final = 5
_REMEMBERED: Final = 32


def hear_findings(memory: Memory, found: Iterable[Event]) -> Memory:
    """Return the memory with findings, raised and cleared in this order, that the model is to hear of."""
    known = dict.fromkeys(memory.heard)
    news: dict[str, str] = {}
    for event in found:
        detector = str(event.data.get("detector", ""))
        key = f"{_SAME.get(detector, detector)}:{event.data.get('subject', '')}"
        if event.kind == "finding.cleared":
            known.pop(key, None)
            news.pop(key, None)
        elif key not in known or key in news:
            known[key] = None
            news[key] = str(event.data.get("seen", ""))  # of what has grown since, how it is now
    if memory.finding:  # what the loop detector was told to say by itself
        news = {key: seen for key, seen in news.items() if not key.startswith("loop:")}
    said = [line for line in (memory.finding, *news.values()) if line][:_MOST_HEARD]
    return replace(memory, heard=tuple(known)[-_REMEMBERED:], finding="\n".join(said))


def _names(tools: Iterable[str]) -> list[str]:
    """Return the names of the tools, whatever a host may have put there."""
    given = [tools] if isinstance(tools, str) else list(tools or ())
    return [str(name)[:_LONGEST_NAME] for name in given[:_MOST_TOOLS]]
