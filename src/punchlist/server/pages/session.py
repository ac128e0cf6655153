"""The pages of a session: its lists with grades and evidence, their past, timeline and events; its proposed plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from difflib import SequenceMatcher

from msgspec import Struct
from msgspec.structs import replace

from punchlist.agent.leftovers import find_obstacle
from punchlist.board import Board
from punchlist.conversations.bindings import load_receipt
from punchlist.core.approval import Plan
from punchlist.core.events import Event
from punchlist.core.grounding.session import CheckRun, CheckState, SessionState
from punchlist.core.grounding.tool_call import Subject, ToolCall, item_key
from punchlist.core.overview import PersonWait
from punchlist.core.presence import describe_call
from punchlist.core.report import ItemReport
from punchlist.core.task import Task
from punchlist.core.todo import Progress, Status, TodoItem, TodoList
from punchlist.errors import PlanMissing, SessionUnknown
from punchlist.server.pages.rendering import Values, element_id
from punchlist.server.pages.timeline import Timeline, lay_out
from punchlist.store import ListRow, Transaction
from punchlist.terminal.lists import (
    STATES,
    STYLES,
    blocker_words,
    find_news,
    grade_word,
    group_by_phase,
    helper_words,
    mark_item,
    pause_words,
    tree,
)
from punchlist.terminal.reports import (
    count_words,
    explain,
    failing_checks,
    file_words,
    item_words,
    proof_words,
    status_words,
    total_words,
)
from punchlist.terminal.sentences import sentence
from punchlist.terminal.spans import UNICODE, Style
from punchlist.views.findings import span
from punchlist.views.grades import state_name, state_reason
from punchlist.views.list_owners import MAIN, load_session_name
from punchlist.views.now import AgentNow, ReceiptView

MOST_EVENTS = 60
LATEST = 2**62
"""A number beyond that of every event."""

_MOST_CALLS = 2_000
"""Latest calls of each agent that the timeline shows."""

_MOST_AGENTS = 100
_TOOLS = ("tool.finished", "tool.failed")
_SIGNS = {"ok": "", "failed": " failed", "passed": " passed", "running": " runs", "abandoned": " was left open"}


class ItemRow(Struct, frozen=True, kw_only=True):
    """One item of a list with what a report says of it. `word` says its status."""

    element: str
    item: TodoItem
    glyph: str
    style: Style
    text_style: Style
    word: str
    grade: str
    remarks: Sequence[str]
    reason: str = ""
    """What the grade rests on."""
    check: CheckRun | None = None
    """The run of a check that decided the grade."""
    proof: Sequence[str] = ()
    elapsed: str = ""
    work: Sequence[str] = ()
    changes: Sequence[str] = ()
    """Lines and commits that version control saw; only a report asks for them."""
    files: Sequence[str] = ()


class AgentBlock(Struct, frozen=True, kw_only=True):
    """An agent of the session and its list."""

    element: str
    name: str
    label: str = ""
    depth: int = 0
    is_planning: bool = False
    plan_id: str = ""
    progress: Progress = Progress(0, 0, 0)
    phases: Sequence[tuple[str, Sequence[ItemRow]]] = ()
    """Items under the name of their phase, which is empty for those without one."""
    tasks: Sequence[Task] = ()
    omitted: int = 0
    last: int = 0
    shown: int = 0
    """The last revision of the list, and the one that is shown."""
    maker: Event | None = None
    """The event that made the revision that is shown."""

    @property
    def phase_names(self) -> list[str]:
        return [name for name, _ in self.phases if name]


class SessionPage(Struct, frozen=True, kw_only=True):
    """The whole page. `state` is None where nothing was checked or changed."""

    id: str
    name: str = ""
    project: str
    at: datetime
    agent: AgentNow | None = None
    state: SessionState | None = None
    state_name: str = ""
    state_words: str = ""
    state_style: Style = "dim"
    failures: Sequence[CheckState] = ()
    waits: Sequence[PersonWait] = ()
    receipt: ReceiptView | None = None
    agents: Sequence[AgentBlock] = ()
    totals: Sequence[tuple[str, str]] = ()
    timeline: Timeline | None = None
    events: Sequence[Values] = ()
    before: int | None = None
    """The event before which older ones are found; None if all are shown."""
    left: int = 0
    """Open items of a session that ended."""
    is_live: bool = False
    """True if the page shows the present, which follows the board."""


class _SessionLog(Struct, frozen=True):
    project: str
    calls: Mapping[tuple[str, str], Sequence[ToolCall]]
    events: Sequence[Event]
    makers: Mapping[str, Event | None]
    left: int = 0


def load_session(
    board: Board,
    session: str,
    agent: AgentNow | None = None,
    *,
    past: tuple[str, int] | None = None,
    before: int = LATEST,
) -> SessionPage:
    """Return the page of a session; raise `SessionUnknown` if the board has none and no host knows it.

    `past` is an agent and a revision of its list. `before` is the event before which events are shown.
    """
    rows = board.work(session=session, limit=_MOST_AGENTS)
    revisions = {row.agent: row.todos.revision for row in rows}
    if past is not None and not 0 < past[1] < revisions.get(past[0], 0):
        past = None
    now = board.now()
    wanted = {**revisions, **dict([past] if past else [])}
    found = board.store.read(lambda tx: _find(tx, session, wanted, before, now))
    if found is None:
        if agent is None:
            raise SessionUnknown(session=session)
        found = _SessionLog(agent.project, {}, (), {})
    report = board.report(session=session)
    helpers = board.helpers(session)
    entries = {entry.subject: entry for entry in report.items}
    state = next(iter(report.sessions), None)
    answered = next((event for event in found.events if event.kind == "question.answered"), None)
    old = None if past is None else board.agent(past[0], session=session).at(past[1])
    agents = [
        _view_agent(
            row,
            depth,
            found.project,
            entries,
            helpers.get(row.agent, {}),
            found.makers.get(row.agent),
            old if past is not None and past[0] == row.agent else None,
            None if agent is None else agent.stopped_at,
        )
        for depth, row in tree(rows)
    ]
    places = {agent.name: place for place, agent in enumerate(agents)}
    return SessionPage(
        id=session,
        name=agent.name if agent is not None and not rows else load_session_name(board.store, session),
        project=found.project,
        at=now,
        agent=agent,
        state=state,
        state_name="" if state is None else state_name(state.state, state.changes_since),
        state_words="" if state is None or state.state == "idle" else state_reason(state),
        state_style="dim" if state is None else STATES[state.state],
        failures=[] if state is None else failing_checks(state),
        waits=board.waits(session=session),
        receipt=None if answered is None else load_receipt(board, session, answered.seq),
        agents=agents,
        totals=total_words(report.totals) if report.items else (),
        timeline=lay_out(
            sorted(report.items, key=lambda entry: places.get(entry.subject.agent, len(places))), found.calls, now
        ),
        events=[*_view_events(found)],
        before=found.events[-1].seq if len(found.events) == MOST_EVENTS else None,
        left=found.left,
        is_live=past is None and before == LATEST,
    )


def _find(
    tx: Transaction, session: str, revisions: Mapping[str, int], before: int, now: datetime
) -> _SessionLog | None:
    project = tx.session_project(session)
    if project is None:
        return None
    agents = [row for name in sorted(tx.names(session)) if (row := tx.agent(session, name)) is not None]
    numbers = {row.name: row.number for row in agents}
    calls: dict[tuple[str, str], list[ToolCall]] = {}
    for name, number in numbers.items():
        for call in tx.tool_calls.of_agent(number, _MOST_CALLS):
            if not call.is_talk:
                calls.setdefault((name, call.item), []).append(call)
    makers = {name: tx.log.maker_of(numbers[name], revision) for name, revision in revisions.items() if name in numbers}
    events = tx.log.latest(numbers.values(), MOST_EVENTS, before=before)
    left = sum(
        len(row.state.todos.open_items) for row in agents if row.name == MAIN and not find_obstacle(tx, row, now)
    )
    return _SessionLog(project, calls, events, makers, left)


def _view_agent(
    row: ListRow,
    depth: int,
    project: str,
    entries: Mapping[Subject, ItemReport],
    helped: Mapping[str, Sequence[str]],
    maker: Event | None,
    old: TodoList | None,
    stopped_at: datetime | None,
) -> AgentBlock:
    todos = row.todos if old is None else old
    is_past = old is not None

    def view(item: TodoItem) -> ItemRow:
        subject = Subject(row.session, row.agent, item_key(todos.plan_id, item.id))
        if is_past:
            return view_item(subject, item)
        found = view_item(subject, item, entries.get(subject), helped.get(item.id, ()))
        if stopped_at is None or item.status is not Status.IN_PROGRESS:
            return found
        elapsed = pause_words(item.started_at, stopped_at).lstrip(", ")
        return replace(found, glyph=UNICODE.pause, style="dim", text_style="dim", word="stopped", elapsed=elapsed)

    return AgentBlock(
        element=element_id(("list", row.session, row.agent)),
        name=row.agent,
        label=row.label or "",
        depth=depth,
        is_planning=row.mode == "plan",
        plan_id=todos.plan_id,
        progress=todos.progress,
        phases=[(name, [view(item) for item in items]) for name, items in group_by_phase(todos) if items],
        tasks=() if is_past else row.tasks,
        omitted=len(todos.omitted),
        last=row.todos.revision,
        shown=todos.revision,
        maker=maker,
    )


def view_item(
    subject: Subject,
    item: TodoItem,
    entry: ItemReport | None = None,
    helpers: Sequence[str] = (),
    *,
    changes: Sequence[str] = (),
) -> ItemRow:
    """Return an item with what the report says of it."""
    busy = bool(helpers) and item.status is Status.PENDING
    _, text_style = STYLES[Status.IN_PROGRESS if busy else item.status]
    mark = mark_item(item, UNICODE, helped=busy)
    remarks = [helper_words(helpers)] if helpers else []
    if why := blocker_words(item):
        remarks.append(why)
    view = ItemRow(
        element=element_id(("item", subject.agent, subject.item)),
        item=item,
        glyph=mark.text,
        style=mark.style,
        text_style=text_style,
        word=item.status.replace("_", " "),
        grade=grade_word(item),
        remarks=remarks,
        changes=changes,
    )
    if entry is None:
        return view
    found = explain(entry)
    return replace(
        view,
        word=status_words(entry),
        check=entry.check,
        grade=found.name,
        reason=found.reason if found.name else "",
        proof=proof_words(entry)[bool(found.name and found.reason) :],
        elapsed=span(entry.elapsed),
        work=() if entry.tally.is_empty else item_words(entry)[bool(entry.helpers) :],
        files=file_words(entry),
    )


def _view_events(found: _SessionLog) -> Iterator[Values]:
    """Yield the events that tell something: what changed, and each call once, by what it did."""
    calls = {(name, call.id): call for (name, _), made in found.calls.items() for call in made}
    news = {event.seq for event in find_news(found.events)}
    for event in found.events:
        call = calls.get((event.agent or "", str(event.data.get("call_id", ""))))
        if event.kind in _TOOLS and call is not None:
            outcome = call.check_outcome if call.check_outcome in ("passed", "failed") else call.outcome
            words = f"{event.agent}: {describe_call(call.name, call.preview)}{_SIGNS[outcome]}"
            style: Style = "bad" if outcome == "failed" else "dim"
        elif event.seq in news and event.kind != "list.edited":
            words, style = sentence(event, UNICODE), _EVENT_STYLES.get(event.kind, "plain")
        else:
            continue
        yield {"seq": event.seq, "at": event.at, "words": words, "style": style}


_EVENT_STYLES: dict[str, Style] = {
    **dict.fromkeys(("item.completed", "question.answered", "approval.approved"), "good"),
    **dict.fromkeys(
        ("item.blocked", "question.asked", "approval.proposed", "finding.raised", "list.refused"), "warning"
    ),
}


# A proposed plan.


def load_plan(board: Board, session: str, agent: str, revision: int | None = None) -> Values:
    """Return a revision of an agent's plan, by default the latest, and all others; raise `PlanMissing` without one."""
    plans = _list_plans(board, session, agent)
    chosen = next((plan for plan in reversed(plans) if revision in (None, plan.revision)), None)
    if chosen is None:
        raise PlanMissing
    before = _find_before(plans, chosen)
    own = ("plan", agent, str(chosen.revision))
    return {
        "session": session,
        "name": load_session_name(board.store, session, agent),
        "agent": agent,
        "at": board.now(),
        "plan": chosen,
        # None if there is nothing to decide.
        "wait": next((one for one in board.waits(session=session) if (one.kind, one.agent, one.id) == own), None),
        "steps": _describe_steps(chosen, before),
        "lines": list(_compare(chosen if before is None else before, chosen)),
        "has_diff": before is not None,
        "revisions": plans,
    }


def describe_plan(board: Board, wait: PersonWait) -> str:
    """Return the number of steps of a plan that waits, and how many came and went: `6 steps (+2 −1 since r1)`."""
    plans = _list_plans(board, wait.session, wait.agent)
    chosen = next((plan for plan in plans if str(plan.revision) == wait.id), None)
    return "" if chosen is None else _describe_steps(chosen, _find_before(plans, chosen))


def _list_plans(board: Board, session: str, agent: str) -> list[Plan]:
    return [plan for plan in board.agent(agent, session=session).plans if plan.text]


def _find_before(plans: Sequence[Plan], chosen: Plan) -> Plan | None:
    return next((plan for plan in reversed(plans) if plan.revision < chosen.revision), None)


def _describe_steps(plan: Plan, before: Plan | None) -> str:
    steps = {item.content for item in plan.todos.items}
    if not steps:
        return ""
    said = count_words(len(plan.todos.items), "step")
    if before is None:
        return said
    old = {item.content for item in before.todos.items}
    return f"{said} (+{len(steps - old)} −{len(old - steps)} since r{before.revision})"


def _compare(before: Plan, after: Plan) -> Iterator[tuple[str, str]]:
    old, new = before.text.splitlines(), after.text.splitlines()
    for kind, begin, end, start, stop in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from ((" ", line) for line in new[start:stop])
        else:
            yield from (("-", line) for line in old[begin:end])
            yield from (("+", line) for line in new[start:stop])
