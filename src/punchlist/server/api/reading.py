"""Handlers that only read: what is going on, sessions, lists, plans, events, reports and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from difflib import unified_diff
from itertools import chain, islice
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from punchlist.conversations.bindings import load_receipt
from punchlist.core.events import Event, make_filter, parse_cursor
from punchlist.dialects import REGISTRY, dialect
from punchlist.errors import InvalidInput, PlanMissing, SessionUnknown
from punchlist.guidance.ledger import sum_costs
from punchlist.presence.roster import load_roster
from punchlist.reports.work_reports import (
    LoadedBrief,
    LoadedReport,
    load_brief,
    load_report,
)
from punchlist.server.api.calls import ApiCall
from punchlist.server.problems import ApiProblem
from punchlist.server.search import find_items, find_sessions, find_tasks, split_words
from punchlist.store import ListRow
from punchlist.store.plans import PlanRow
from punchlist.views.list_screen import ListScreen, load_list_screen
from punchlist.views.lists import (
    AgentView,
    HitView,
    PlanView,
    ProgressView,
    SessionView,
    TodosView,
    make_view,
    view_plan,
    view_session,
    view_todos,
)
from punchlist.views.now import NowView, ReceiptView, Roster, WaitView, view_now, view_waits
from punchlist.views.reports import BriefView, CostView, ReportView, view_brief, view_cost, view_report

_MOST_SESSIONS: Final = 10_000
_PAGE: Final = 1_000
_MOST_PASSED: Final = 20_000
"""Events that one request looks at, if its filters want none of them: the next request goes on from there."""

# Parts of queries.

_TEXT: Final = r"^[^\x00-\x1f\x7f]*$"
Project = (
    Annotated[
        str, Meta(min_length=1, max_length=4_096, pattern=_TEXT, description="Only what belongs to this project.")
    ]
    | None
)
Session = (
    Annotated[str, Meta(min_length=1, max_length=200, pattern=_TEXT, description="Only what belongs to this session.")]
    | None
)
Limit = Annotated[int, Meta(ge=1, le=1_000, description="How many to return at most.")]
Cursor = Annotated[
    str, Meta(pattern=r"^[0-9]{1,19}$", description="The `next` of the page before, or 0 for the first.")
]


class ProjectQuery(Struct, forbid_unknown_fields=True):
    project: Project = None


class PlaceQuery(ProjectQuery, forbid_unknown_fields=True):
    session: Session = None


class SessionsQuery(ProjectQuery, forbid_unknown_fields=True):
    after: (
        Annotated[str, Meta(min_length=1, max_length=200, description="The `next` of the page before, a session's id.")]
        | None
    ) = None
    limit: Limit = 100


class ListsQuery(ProjectQuery, forbid_unknown_fields=True):
    limit: Limit = 20


class ListsRecordQuery(PlaceQuery, forbid_unknown_fields=True):
    agent: Annotated[str, Meta(max_length=200, description="Only agents of this name.")] | None = None
    limit: Annotated[int, Meta(ge=0, le=10_000, description="How many to return at most.")] = 20


class RevisionQuery(Struct, forbid_unknown_fields=True):
    revision: (
        Annotated[int, Meta(ge=0, le=2**53, description="The list as it was at this revision; by default as it is.")]
        | None
    ) = None


class PlansQuery(ProjectQuery, forbid_unknown_fields=True):
    waiting: Annotated[bool, Meta(description="Only those that wait for a decision.")] = True


class EventsQuery(Struct, forbid_unknown_fields=True):
    after: Cursor = "0"
    limit: Limit = 100
    project: Project = None
    session: Session = None
    agent: Annotated[str, Meta(max_length=200, description="Only events of agents of this name.")] | None = None
    kind: (
        Annotated[str, Meta(max_length=100, description="A kind, such as `item.started`, or a group, such as `item`.")]
        | None
    ) = None


class BriefQuery(Struct, forbid_unknown_fields=True):
    after: (
        Annotated[str, Meta(pattern=r"^[0-9]{1,19}$", description="The event to begin after; by default your mark.")]
        | None
    ) = None
    project: Project = None


class ReceiptQuery(Struct, forbid_unknown_fields=True):
    event: Annotated[int, Meta(ge=0, le=2**53, description="The `event` of an answer.")]


class SearchQuery(Struct, forbid_unknown_fields=True):
    q: Annotated[
        str, Meta(min_length=1, max_length=200, description="The words to look for, in whichever order and case.")
    ]
    project: Project = None
    limit: Limit = 50


# Replies that hold several views, or tell what was done.


class ListsView(Struct, frozen=True):
    """Todo lists, the latest first."""

    lists: tuple[TodosView, ...]


class ProjectView(Struct, frozen=True):
    """A project: the root of a repository, else a folder."""

    project: str
    sessions: int
    updated_at: datetime


class ProjectsView(Struct, frozen=True):
    """Projects, the latest first."""

    projects: tuple[ProjectView, ...]


class SessionsView(Struct, frozen=True, kw_only=True):
    """A page of sessions, the latest first. `next` is the `after` of the next page; null on the last."""

    sessions: tuple[SessionView, ...]
    next: str | None


class AgentsView(Struct, frozen=True):
    """The agents of a session, in the order in which they came."""

    agents: tuple[AgentView, ...]


class WaitsView(Struct, frozen=True):
    """All that waits on a person, the longest wait first."""

    waits: tuple[WaitView, ...]


class PlansView(Struct, frozen=True):
    """Plans."""

    plans: tuple[PlanView, ...]  # pyright: ignore[reportInvalidTypeForm]


class PlanDiffView(Struct, frozen=True, kw_only=True):
    """The lines of a unified diff between two revisions of a plan; `before` is null for the first one."""

    before: int | None
    revision: int
    lines: tuple[str, ...]


EventView = make_view(
    "EventView", "One event of the log; `docs/events.md` says what the data of each kind holds.", Event, cursor=str
)


def show_event(event: Event) -> Struct:
    return EventView(cursor=event.cursor, **asdict(event))


class EventsView(Struct, frozen=True):
    """A page of events. `next` is the `after` of the next page, also where there is nothing yet."""

    events: tuple[EventView, ...]  # pyright: ignore[reportInvalidTypeForm]
    next: str
    more: bool
    last: int
    """The number of the latest event of the board."""


class StatsView(Struct, frozen=True):
    """Costs by dialect and profile."""

    costs: tuple[CostView, ...]


class SearchView(Struct, frozen=True):
    """Search results: sessions, then items, then tasks."""

    hits: tuple[HitView, ...]


class ToolView(Struct, frozen=True, kw_only=True):
    """A tool to offer to a model."""

    name: str
    description: str
    input_schema: dict[str, Any]
    annotations: dict[str, Any]


class DialectView(Struct, frozen=True, kw_only=True):
    """A dialect, and what it writes: todos, tasks or flows."""

    dialect: str
    layer: str
    tools: tuple[ToolView, ...]


class DialectsView(Struct, frozen=True):
    """The dialects in which tools can be called."""

    dialects: tuple[str, ...]


# What is going on.


def show_now(call: ApiCall, query: ProjectQuery) -> NowView:
    """Show every agent of this machine and of the board, what waits on a person, and what was done."""
    return view_now(_load_roster(call, call.choose_project(query.project)))


def _load_roster(call: ApiCall, project: str | None = None) -> Roster:
    present, seen_at = (None, None) if call.live is None else call.live.find_present()
    return load_roster(call.board, project=project, who=call.by, present=present, seen_at=seen_at)


def show_waits(call: ApiCall, query: PlaceQuery) -> WaitsView:
    """List what waits on a person: questions, plans, blocked items, tasks and flows."""
    session, project = call.choose_session(query.session), call.choose_project(query.project)
    waits = call.board.waits(project=project, session=session)
    return WaitsView(view_waits([one for one in waits if call.sees(one.project)]))


def list_projects(call: ApiCall) -> ProjectsView:
    """List the projects, the latest first."""
    rows = call.board.store.read(lambda tx: tx.list_projects())
    return ProjectsView(tuple(ProjectView(*row) for row in rows if call.sees(row[0])))


# Sessions and agents.


def list_sessions(call: ApiCall, query: SessionsQuery) -> SessionsView:
    """List sessions, the latest first."""
    project = call.choose_project(query.project)
    rows = list(call.board.store.read(lambda tx: tx.sessions(project=project, limit=_MOST_SESSIONS)))
    if query.after is not None:
        place = next((place for place, row in enumerate(rows) if row.id == query.after), None)
        if place is None:
            raise SessionUnknown(session=query.after)
        rows = rows[place + 1 :]
    waits = Counter(wait.session for wait in call.board.waits(project=project))
    shown = tuple(view_session(row, waits[row.id]) for row in rows[: query.limit])
    return SessionsView(sessions=shown, next=shown[-1].session if len(rows) > len(shown) else None)


def show_session(call: ApiCall) -> SessionView:
    """Show a session."""
    session = call.path["session"]
    row = call.board.store.read(lambda tx: tx.session(session))
    if row is None or not call.sees(row.project):
        raise SessionUnknown(session=session[:200])
    return view_session(row, len(call.board.waits(session=session)))


def list_agents(call: ApiCall) -> AgentsView:
    """List the agents of a session."""
    session = call.path["session"]
    call.find_project(session)
    rows = call.board.store.lists(session=session)
    return AgentsView(tuple(_show_agent(call, row, rows) for row in rows))


def show_agent(call: ApiCall) -> AgentView:
    """Show an agent."""
    found = call.find_agent()
    rows = call.board.store.lists(session=found.session)
    return next(_show_agent(call, row, rows) for row in rows if row.number == found.number)


def _show_agent(call: ApiCall, row: ListRow, rows: Sequence[ListRow]) -> AgentView:
    activity = call.board.store.read(lambda tx: tx.overviews.load_activity(row.number))
    focus = row.todos.focus
    return AgentView(
        session=row.session,
        agent=row.agent,
        parent=next((other.agent for other in rows if other.number == row.parent), None),
        label=row.label,
        project=row.project,
        mode=row.mode,
        state=activity.state,
        updated_at=row.updated_at,
        revision=row.todos.revision,
        progress=ProgressView(*row.todos.progress),
        focus=None if focus is None else focus.label,
        read_only=bool(activity.copy_of),
    )


# Lists and plans.


def list_todos(call: ApiCall, query: ListsQuery) -> ListsView:
    """List the todo lists that hold something, the latest first."""
    rows = call.board.store.lists(project=call.choose_project(query.project), limit=query.limit)
    shown = (view_todos(row.todos, session=row.session, agent=row.agent, project=row.project) for row in rows)
    return ListsView(tuple(shown))


def show_todos(call: ApiCall, query: RevisionQuery) -> TodosView:
    """Show an agent's list, as it is or as it was at a revision."""
    row = call.find_agent()
    todos = row.state.todos
    if query.revision is not None and query.revision != todos.revision:
        past = call.board.store.list_at(row.number, query.revision)
        if past is None:
            detail = f"The list has no revision {query.revision}, or it was pruned; it is at {todos.revision}."
            raise ApiProblem(404, "revision_unknown", detail, field="revision")
        todos = past
    return view_todos(todos, session=row.session, agent=row.name, project=row.project)


def list_plans(call: ApiCall, query: PlansQuery) -> PlansView:
    """List the plans that wait for a decision, or the latest one of each agent."""
    now = call.board.now()
    rows = call.board.plans(waiting=query.waiting)
    project = call.choose_project(query.project)
    return PlansView(tuple(view_plan(row, now) for row in rows if project in (None, row.project)))


def load_plans(call: ApiCall) -> list[PlanRow]:
    """Return all revisions of the plan of the agent in the path, the oldest first."""
    row = call.find_agent()
    plans = call.board.agent(row.name, session=row.session, project=row.project).plans
    return [PlanRow(row.session, row.name, row.project, row.number, plan) for plan in plans]


def show_plan(call: ApiCall) -> Struct:
    """Show the latest revision of an agent's plan."""
    plans = load_plans(call)
    if not plans:
        raise PlanMissing
    return view_plan(plans[-1], call.board.now())


def list_plan_revisions(call: ApiCall) -> PlansView:
    """List all revisions of an agent's plan, the oldest first."""
    now = call.board.now()
    return PlansView(tuple(view_plan(row, now) for row in load_plans(call)))


def diff_plan(call: ApiCall) -> PlanDiffView:
    """Show how the latest revision of a plan differs from the one before."""
    plans = [row.plan for row in load_plans(call) if row.plan.text]
    if not plans:
        raise PlanMissing
    before = plans[-2] if len(plans) > 1 else None
    old = [] if before is None else before.text.splitlines()
    lines = unified_diff(old, plans[-1].text.splitlines(), lineterm="")
    return PlanDiffView(
        before=None if before is None else before.revision, revision=plans[-1].revision, lines=tuple(lines)
    )


# Events.


def list_events(call: ApiCall, query: EventsQuery) -> EventsView:
    """List what happened after a cursor, in order."""
    session, project = call.choose_session(query.session), call.choose_project(query.project)
    try:
        wanted = make_filter(project=project, agent=query.agent, kinds=[] if query.kind is None else [query.kind])
    except InvalidInput as error:
        raise ApiProblem(422, error.code, str(error), field="kind") from None
    size = _PAGE if query.kind or query.agent else query.limit + 1
    cursor, passed, found = parse_cursor(query.after), 0, list[Event]()
    more = True
    while more and len(found) < query.limit and passed < _MOST_PASSED:
        page = _read_page(call, session, project, cursor, size)
        more = len(page) == size
        for event in page:
            cursor, passed = event.seq, passed + 1
            if wanted.is_wanted(event):
                found.append(event)
                if len(found) == query.limit:
                    more = more or event is not page[-1]
                    break
    return EventsView(tuple(show_event(event) for event in found), str(cursor), more, call.board.store.last_seq())


def _read_page(call: ApiCall, session: str | None, project: str | None, after: int, size: int) -> Sequence[Event]:
    store = call.board.store
    if session is None and project is None:
        return store.events_after(after, size)
    return store.read(lambda tx: tx.log.page(session, project, after, size))


def show_receipt(call: ApiCall, query: ReceiptQuery) -> ReceiptView:
    """Show how far an answer went to the agent: sent, accepted by its host, seen by the model."""
    session = call.path["session"]
    call.find_project(session)
    return load_receipt(call.board, session, query.event)


# Reports and costs.


def show_report(call: ApiCall, query: PlaceQuery) -> ReportView:
    """Report on each item: its grade, time, work and evidence, and on the state of each session."""
    found = load_report_record(call, query)
    return view_report(found.report, found.around)


def show_brief(call: ApiCall, query: BriefQuery) -> BriefView:
    """Show what happened since your mark, or since an event."""
    found = load_brief_record(call, query)
    return view_brief(found.brief, found.groups, found.around)


# What the commands of another machine draw: the records of the screens, whole.


def load_roster_record(call: ApiCall, query: ProjectQuery) -> Roster:
    """Return what `punchlist now` draws."""
    return _load_roster(call, call.choose_project(query.project))


def load_report_record(call: ApiCall, query: PlaceQuery) -> LoadedReport:
    """Return what `punchlist report` writes."""
    session, project = call.choose_session(query.session), call.choose_project(query.project)
    where = None if session else project
    return load_report(call.board, _load_roster(call), session=session, project=where)


def load_brief_record(call: ApiCall, query: BriefQuery) -> LoadedBrief:
    """Return what `punchlist brief` draws."""
    project = call.choose_project(query.project)
    after = None if query.after is None else parse_cursor(query.after)
    return load_brief(call.board, _load_roster(call, project), after, project=project, who=call.by)


def load_lists_record(call: ApiCall, query: ListsRecordQuery) -> ListScreen:
    """Return what `punchlist todos` draws."""
    session, project = call.choose_session(query.session), call.choose_project(query.project)
    where = None if session else project
    return load_list_screen(call.board, project=where, session=session, agent=query.agent, limit=query.limit)


def show_stats(call: ApiCall, query: PlaceQuery) -> StatsView:
    """Show what Punchlist itself cost the agents, in tokens, by dialect and profile."""
    session, project = call.choose_session(query.session), call.choose_project(query.project)
    costs = sum_costs(row.cost for row in call.board.costs(project=project, session=session))
    return StatsView(tuple(map(view_cost, costs)))


# Searching.


def search(call: ApiCall, query: SearchQuery) -> SearchView:
    """Find sessions, items and tasks that hold all words of a query."""
    project, words = call.choose_project(query.project), split_words(query.q)
    found = chain.from_iterable(find(call.board, words, project) for find in (find_sessions, find_items, find_tasks))
    hits = list(islice(found, query.limit))
    return SearchView(msgspec.convert(hits, tuple[HitView, ...], from_attributes=True))


# Tools.


def list_dialects(call: ApiCall) -> DialectsView:
    """List the dialects in which tools can be called."""
    return DialectsView(tuple(REGISTRY))


def show_dialect(call: ApiCall) -> DialectView:
    """Show the tools of a dialect, to offer them to a model."""
    name = call.path["dialect"]
    if name not in REGISTRY:
        raise ApiProblem(404, "unknown_name", f"There is no such dialect; known are: {', '.join(REGISTRY)}.")
    found = dialect(name)
    tools = msgspec.convert(found.tools, tuple[ToolView, ...], from_attributes=True)
    return DialectView(dialect=name, layer=found.layer, tools=tools)
