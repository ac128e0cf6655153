"""The page of a session: its lists with grades and evidence, their past, its timeline and events."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from punchlist.agent.leftovers import find_obstacle
from punchlist.board import Board
from punchlist.conversations.bindings import load_receipt
from punchlist.core.events import Event
from punchlist.core.grounding.session import CheckRun, CheckState, SessionState
from punchlist.core.grounding.tool_call import Subject, ToolCall, item_key
from punchlist.core.overview import NO_ACTIVITY, Activity, PersonWait
from punchlist.core.presence import describe_call
from punchlist.core.report import ItemReport
from punchlist.core.task import Task
from punchlist.core.todo import Progress, Status, TodoItem, TodoList
from punchlist.errors import SessionUnknown
from punchlist.server.pages.rendering import GRADE_ICONS, STATUS_ICONS, Values, element_id
from punchlist.server.pages.sessions import (
    Standing,
    count_claimed,
    find_standing,
    find_title,
    is_ended,
)
from punchlist.server.pages.timeline import Timeline, lay_out
from punchlist.store import ListRow, Transaction
from punchlist.terminal import lists, reports
from punchlist.terminal.sentences import sentence
from punchlist.terminal.spans import UNICODE
from punchlist.views.brief_groups import RowOwner, split_name
from punchlist.views.findings import span
from punchlist.views.list_owners import MAIN, load_session_name
from punchlist.views.now import AgentNow, ReceiptView

MOST_ITEMS = 15
"""Items of a list that are shown at once: those that fail, and those around the first open one."""

MOST_EVENTS = 60
LATEST = 2**62
"""A number beyond that of every event."""

_MOST_CALLS = 2_000
"""Latest calls of each agent that the timeline shows."""

_MOST_AGENTS = 100
_TOOLS = ("tool.finished", "tool.failed")
_SIGNS = {"ok": "", "failed": " failed", "passed": " passed", "running": " runs", "abandoned": " was left open"}


class ItemRow(Struct, frozen=True, kw_only=True):
    """One item of a list with what a report says of it. `mark` is its grade, else its status, which `word` says."""

    element: str
    item: TodoItem
    mark: str
    word: str
    grade: str
    remarks: Sequence[str]
    reason: str = ""
    """The check or the remark behind the grade."""
    check: CheckRun | None = None
    """The run of a check that decided the grade."""
    proof: Sequence[str] = ()
    elapsed: str = ""
    work: Sequence[str] = ()
    files: Sequence[str] = ()


class AgentBlock(Struct, frozen=True, kw_only=True):
    """An agent of the session and its list."""

    element: str
    name: str
    label: str = ""
    parent: str = ""
    """The agent that started it."""
    started_for: str = ""
    """The element of the item that it was started for."""
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
    def grade_words(self) -> list[str]:
        """How many of its items have each grade: `1 verified`, `2 failing`."""
        counts = Counter(view.item.grade for _, items in self.phases for view in items if view.item.grade)
        return [f"{counts[grade]} {grade}" for grade in lists.GRADES if counts[grade]]

    @property
    def opened(self) -> str:
        """The element of the item that is opened: the first that fails, else the first that somebody wrote notes on."""
        views = [view for _, items in self.phases for view in items]
        failing = [view.element for view in views if view.item.grade == "failing"]
        return next(iter([*failing, *(view.element for view in views if view.item.notes)]), "")

    def runs(self, items: Sequence[ItemRow]) -> list[tuple[bool, list[ItemRow]]]:
        """Return the items of a phase in runs: those that are shown, and those that a long list folds (True)."""
        views = [view for _, items in self.phases for view in items]
        focus = next((place for place, view in enumerate(views) if view.item.is_open), len(views))

        def rank(place: int) -> tuple[bool, int]:
            return views[place].item.grade != "failing", abs(place - focus)

        folded = {views[place].element for place in sorted(range(len(views)), key=rank)[MOST_ITEMS:]}
        return [(is_folded, [*run]) for is_folded, run in groupby(items, lambda view: view.element in folded)]

    @property
    def phase_names(self) -> list[str]:
        return [name for name, _ in self.phases if name]


class SessionPage(Struct, frozen=True, kw_only=True):
    """The whole page. An ended session is read, and changed no more."""

    id: str
    project: str
    at: datetime
    title: str = ""
    name: RowOwner = RowOwner("", "", "")
    agent: AgentNow | None = None
    state: SessionState | None = None
    standing: Standing = Standing("idle", "")
    is_ended: bool = False
    stopped_at: datetime | None = None
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
    title: str
    owner: str
    """The name of the first agent."""
    host: str
    activity: Activity
    parents: Mapping[str, tuple[str, str]]
    """Of each subagent, the name of the agent that started it, and the key of the item that it was started for."""
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
    waits, now = board.waits(session=session), board.now()
    titles = [*([] if agent is None else [agent.title]), *(one.title for one in waits if one.kind == "plan")]
    shown = {**revisions, **dict([past] if past else [])}
    found = board.store.read(lambda tx: _find(tx, session, shown, before, titles, now))
    if found is None:
        if agent is None:
            raise SessionUnknown(session=session)
        found = _SessionLog(agent.project, agent.title, agent.agent, agent.host, NO_ACTIVITY, {}, {}, (), {})
    report = board.report(session=session)
    helpers = board.helpers(session)
    entries = {entry.subject: entry for entry in report.items}
    state = next(iter(report.sessions), None)
    answered = next((event for event in found.events if event.kind == "question.answered"), None)
    old = None if past is None else board.agent(past[0], session=session).at(past[1])
    # An agent that nobody sees any more has stopped when it was last heard of.
    is_over = is_ended(agent, waits)
    stopped_at = agent.stopped_at if agent is not None else found.activity.at if is_over else None
    agents = [
        _view_agent(
            row,
            found,
            entries,
            helpers.get(row.agent, {}),
            old if past is not None and past[0] == row.agent else None,
            stopped_at,
        )
        for _, row in lists.tree(rows)
    ]
    places = {agent.name: place for place, agent in enumerate(agents)}
    return SessionPage(
        id=session,
        project=found.project,
        at=now,
        title=found.title,
        name=split_name(load_session_name(board.store, session, found.owner) if agent is None else agent.name),
        agent=agent,
        state=state,
        standing=find_standing(agent, waits, state, found.activity, claimed=count_claimed(rows), long=True),
        is_ended=is_over,
        stopped_at=stopped_at,
        failures=[] if state is None else reports.failing_checks(state),
        waits=waits,
        receipt=None if answered is None else load_receipt(board, session, answered.seq),
        agents=agents,
        totals=reports.total_words(report.totals) if report.items else (),
        timeline=lay_out(
            sorted(report.items, key=lambda entry: places.get(entry.subject.agent, len(places))), found.calls, now
        ),
        events=[*_view_events(found)],
        before=found.events[-1].seq if len(found.events) == MOST_EVENTS else None,
        left=found.left,
        is_live=past is None and before == LATEST,
    )


def _find(
    tx: Transaction, session: str, revisions: Mapping[str, int], before: int, titles: Iterable[str], now: datetime
) -> _SessionLog | None:
    project = tx.session_project(session)
    if project is None:
        return None
    agents = [row for name in sorted(tx.names(session)) if (row := tx.agent(session, name)) is not None]
    numbers = {row.name: row.number for row in agents}
    names = {number: name for name, number in numbers.items()}
    calls: dict[tuple[str, str], list[ToolCall]] = {}
    for name, number in numbers.items():
        for call in tx.tool_calls.of_agent(number, _MOST_CALLS):
            if not call.is_talk:
                calls.setdefault((name, call.item), []).append(call)
    first = min((row for row in agents if row.parent is None), key=lambda row: row.number, default=None)
    label = "" if first is None else first.label or ""
    left = [row for row in agents if row.name == MAIN and not find_obstacle(tx, row, now)]
    return _SessionLog(
        project=project,
        title=find_title(tx, session, (label, *titles), tx.lists(session=session)),
        owner="" if first is None else first.name,
        host=tx.find_host(session),
        activity=NO_ACTIVITY if first is None else tx.overviews.load_activity(first.number),
        parents={
            row.name: (names[row.parent], tx.subagents.started_for(row.number)) for row in agents if row.parent in names
        },
        calls=calls,
        events=tx.log.latest(numbers.values(), MOST_EVENTS, before=before),
        makers={name: tx.log.maker_of(numbers[name], number) for name, number in revisions.items() if name in numbers},
        left=sum(len(row.state.todos.open_items) for row in left),
    )


def _view_agent(
    row: ListRow,
    found: _SessionLog,
    entries: Mapping[Subject, ItemReport],
    helped: Mapping[str, Sequence[str]],
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
        elapsed = lists.pause_words(item.started_at, stopped_at).lstrip(", ")
        return replace(found, mark="idle", word="stopped", elapsed=elapsed)

    parent, started_for = found.parents.get(row.agent, ("", ""))
    return AgentBlock(
        element=element_id(("list", row.session, row.agent)),
        name=row.agent,
        label=row.label or "",
        parent=parent,
        started_for=element_id(("item", parent, started_for)) if started_for else "",
        is_planning=row.mode == "plan",
        plan_id=todos.plan_id,
        progress=todos.progress,
        phases=[(name, [view(item) for item in items]) for name, items in lists.group_by_phase(todos) if items],
        tasks=() if is_past else row.tasks,
        omitted=len(todos.omitted),
        last=row.todos.revision,
        shown=todos.revision,
        maker=found.makers.get(row.agent),
    )


def view_item(
    subject: Subject,
    item: TodoItem,
    entry: ItemReport | None = None,
    helpers: Sequence[str] = (),
) -> ItemRow:
    """Return an item with what the report says of it."""
    is_helped = bool(helpers) and item.status is Status.PENDING
    status = Status.IN_PROGRESS if is_helped else item.status
    remarks = [lists.helper_words(helpers)] if helpers else []
    if why := lists.blocker_words(item):
        remarks.append(why)
    view = ItemRow(
        element=element_id(("item", subject.agent, subject.item)),
        item=item,
        mark=GRADE_ICONS[item.grade] if item.grade else STATUS_ICONS[status],
        word=item.status.replace("_", " "),
        grade=lists.grade_word(item),
        remarks=remarks,
    )
    if entry is None:
        return view
    found = reports.explain(entry)
    return replace(
        view,
        word=reports.status_words(entry),
        check=entry.check,
        grade=found.name,
        reason=found.reason if found.name else "",
        proof=reports.proof_words(entry)[bool(found.name and found.reason) :],
        elapsed=span(entry.elapsed).removeprefix("0 s"),
        work=() if entry.tally.is_empty else reports.item_words(entry)[bool(entry.helpers) :],
        files=reports.file_words(entry),
    )


def _view_events(found: _SessionLog) -> Iterator[Values]:
    """Yield the events that tell something: what changed, and each call once, by what it did."""
    calls = {(name, call.id): call for (name, _), made in found.calls.items() for call in made}
    news = {event.seq for event in lists.find_news(found.events)}
    for event in found.events:
        call = calls.get((event.agent or "", str(event.data.get("call_id", ""))))
        if event.kind in _TOOLS and call is not None:
            outcome = call.check_outcome if call.check_outcome in ("passed", "failed") else call.outcome
            words = f"{describe_call(call.name, call.preview)}{_SIGNS[outcome]}"
            mark = {"failed": "red", "passed": "green"}.get(outcome, "")
            style = "red" if outcome == "failed" else "dim" if outcome != "passed" else ""
        elif event.seq in news and event.kind != "list.edited":
            words, mark, style = sentence(event, UNICODE, found.host), _EVENT_MARKS.get(event.kind, ""), ""
        else:
            continue
        yield {"seq": event.seq, "at": event.at, "words": words, "mark": mark, "style": style}


_EVENT_MARKS: Final = {
    "item.completed": "done",
    "item.started": "work",
    "item.blocked": "blocked",
    "question.asked": "question",
    "question.answered": "done",
    "approval.proposed": "plan",
    "approval.approved": "done",
    "finding.raised": "look",
    "list.refused": "look",
}
