"""Handlers that only read: what is going on, sessions, lists, plans, events, reports and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from difflib import unified_diff
from itertools import chain, islice
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from punchlist.core.events import KINDS, Event, parse_cursor
from punchlist.core.matching import split_words
from punchlist.dialects import REGISTRY, dialect
from punchlist.errors import PlanMissing, SessionUnknown
from punchlist.guidance.ledger import sum_costs
from punchlist.hosts.receipts import load_receipt
from punchlist.hosts.reports import load_brief, load_report
from punchlist.hosts.roster import load_first_screen
from punchlist.server.api import replies
from punchlist.server.api.calls import Call
from punchlist.server.matches import find_items, find_sessions, find_tasks
from punchlist.server.problems import ApiProblem
from punchlist.store import ListRow
from punchlist.store.plans import PlanRow
from punchlist.views.costs import view_cost
from punchlist.views.lists import (
    AgentView,
    HitView,
    ProgressView,
    SessionView,
    TodosView,
    view_plan,
    view_session,
    view_todos,
)
from punchlist.views.now import NowView, view_now
from punchlist.views.reports import BriefView, ReportView, view_brief, view_report
from punchlist.views.waits import ReceiptView, view_wait

_MOST_SESSIONS: Final = 10_000
_PAGE: Final = 1_000
_MOST_PASSED: Final = 20_000
"""Events that one request looks at, if its filters want none of them: the next request goes on from there."""

_GROUPS: Final = frozenset(kind.partition(".")[0] for kind in KINDS)

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


class PlaceQuery(Struct, forbid_unknown_fields=True):
    project: Project = None
    session: Session = None


class SessionsQuery(Struct, forbid_unknown_fields=True):
    project: Project = None
    after: (
        Annotated[str, Meta(min_length=1, max_length=200, description="The `next` of the page before, a session's id.")]
        | None
    ) = None
    limit: Limit = 100


class ListsQuery(Struct, forbid_unknown_fields=True):
    project: Project = None
    limit: Limit = 20


class RevisionQuery(Struct, forbid_unknown_fields=True):
    revision: (
        Annotated[int, Meta(ge=0, le=2**53, description="The list as it was at this revision; by default as it is.")]
        | None
    ) = None


class PlansQuery(Struct, forbid_unknown_fields=True):
    project: Project = None
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


# What is going on.


def show_now(call: Call, query: ProjectQuery) -> NowView:
    project = call.choose_project(query.project)
    present, seen_at = call.find_present()
    roster = load_first_screen(call.board, project=project, who=call.by, present=present, seen_at=seen_at)
    return view_now(roster)


def show_waits(call: Call, query: PlaceQuery) -> replies.WaitsView:
    session, project = call.choose_session(query.session), call.choose_project(query.project)
    waits = call.board.waits(project=project, session=session)
    return replies.WaitsView(tuple(view_wait(one) for one in waits if call.sees(one.project)))


def list_projects(call: Call) -> replies.ProjectsView:
    rows = call.board.store.read(lambda tx: tx.list_projects())
    return replies.ProjectsView(tuple(replies.ProjectView(*row) for row in rows if call.sees(row[0])))


# Sessions and agents.


def list_sessions(call: Call, query: SessionsQuery) -> replies.SessionsView:
    project = call.choose_project(query.project)
    rows = list(call.board.store.sessions(project=project, limit=_MOST_SESSIONS))
    if query.after is not None:
        place = next((place for place, row in enumerate(rows) if row.id == query.after), None)
        if place is None:
            raise SessionUnknown(session=query.after)
        rows = rows[place + 1 :]
    waits = Counter(wait.session for wait in call.board.waits(project=project))
    shown = tuple(view_session(row, waits[row.id]) for row in rows[: query.limit])
    return replies.SessionsView(sessions=shown, next=shown[-1].session if len(rows) > len(shown) else None)


def show_session(call: Call) -> SessionView:
    session = call.path["session"]
    call.find_project(session)
    row = call.board.store.read(lambda tx: tx.session(session))
    if row is None:
        raise SessionUnknown(session=session)
    return view_session(row, len(call.board.waits(session=session)))


def list_agents(call: Call) -> replies.AgentsView:
    session = call.path["session"]
    call.find_project(session)
    rows = call.board.store.lists(session=session)
    return replies.AgentsView(tuple(_show_agent(call, row, rows) for row in rows))


def show_agent(call: Call) -> AgentView:
    found = call.find_agent()
    rows = call.board.store.lists(session=found.session)
    return next(_show_agent(call, row, rows) for row in rows if row.number == found.number)


def _show_agent(call: Call, row: ListRow, rows: Sequence[ListRow]) -> AgentView:
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


def list_todos(call: Call, query: ListsQuery) -> replies.ListsView:
    rows = call.board.store.lists(project=call.choose_project(query.project), limit=query.limit)
    shown = (view_todos(row.todos, session=row.session, agent=row.agent, project=row.project) for row in rows)
    return replies.ListsView(tuple(shown))


def show_todos(call: Call, query: RevisionQuery) -> TodosView:
    row = call.find_agent()
    todos = row.state.todos
    if query.revision is not None and query.revision != todos.revision:
        past = call.board.store.list_at(row.number, query.revision)
        if past is None:
            detail = f"The list has no revision {query.revision}, or it was pruned; it is at {todos.revision}."
            raise ApiProblem(404, "revision_unknown", detail, field="revision")
        todos = past
    return view_todos(todos, session=row.session, agent=row.name, project=row.project)


def list_plans(call: Call, query: PlansQuery) -> replies.PlansView:
    now = call.board.now()
    rows = call.board.plans(waiting=query.waiting)
    project = call.choose_project(query.project)
    return replies.PlansView(tuple(view_plan(row, now) for row in rows if project in (None, row.project)))


def load_plans(call: Call) -> list[PlanRow]:
    """Return all revisions of the plan of the agent in the path, the oldest first."""
    row = call.find_agent()
    plans = call.board.agent(row.name, session=row.session, project=row.project).plans
    return [PlanRow(row.session, row.name, row.project, row.number, plan) for plan in plans]


def show_plan(call: Call) -> Struct:
    plans = load_plans(call)
    if not plans:
        raise PlanMissing
    return view_plan(plans[-1], call.board.now())


def list_plan_revisions(call: Call) -> replies.PlansView:
    now = call.board.now()
    return replies.PlansView(tuple(view_plan(row, now) for row in load_plans(call)))


def diff_plan(call: Call) -> replies.PlanDiffView:
    plans = [row.plan for row in load_plans(call) if row.plan.text]
    if not plans:
        raise PlanMissing
    before = plans[-2] if len(plans) > 1 else None
    old = [] if before is None else before.text.splitlines()
    lines = unified_diff(old, plans[-1].text.splitlines(), lineterm="")
    return replies.PlanDiffView(
        before=None if before is None else before.revision, revision=plans[-1].revision, lines=tuple(lines)
    )


# Events.


def list_events(call: Call, query: EventsQuery) -> replies.EventsView:
    session, project = call.choose_session(query.session), call.choose_project(query.project)
    is_wanted = _make_filter(call, query)
    size = _PAGE if query.kind or query.agent else query.limit + 1
    cursor, passed, found = parse_cursor(query.after), 0, list[Event]()
    more = True
    while more and len(found) < query.limit and passed < _MOST_PASSED:
        page = _read_page(call, session, project, cursor, size)
        more = len(page) == size
        for event in page:
            cursor, passed = event.seq, passed + 1
            if is_wanted(event):
                found.append(event)
                if len(found) == query.limit:
                    more = more or event is not page[-1]
                    break
    return replies.EventsView(tuple(replies.show_event(event) for event in found), str(cursor), more)


def _read_page(call: Call, session: str | None, project: str | None, after: int, size: int) -> Sequence[Event]:
    """Return the next events of a session, else of a project, else of the board."""
    store = call.board.store
    if session is None and project is None:
        return store.events_after(after, size)
    return store.read(lambda tx: tx.log.page(session, project, after, size))


def _make_filter(call: Call, query: EventsQuery) -> Callable[[Event], bool]:
    kind = query.kind
    if kind is not None and kind not in KINDS and kind not in _GROUPS:
        detail = f"There is no such kind of event; the groups are {', '.join(sorted(_GROUPS))}."
        raise ApiProblem(422, "invalid_input", detail, field="kind")

    def is_wanted(event: Event) -> bool:
        return (
            call.sees(event.project)
            and query.project in (None, event.project)
            and query.agent in (None, event.agent)
            and (kind is None or event.kind == kind or event.kind.startswith(f"{kind}."))
        )

    return is_wanted


def show_receipt(call: Call, query: ReceiptQuery) -> ReceiptView:
    session = call.path["session"]
    call.find_project(session)
    return load_receipt(call.board, session, query.event)


# Reports and costs.


def show_report(call: Call, query: PlaceQuery) -> ReportView:
    session = call.choose_session(query.session)
    project = call.choose_project(query.project)
    report, around, changes = load_report(call.board, session=session, project=None if session else project)
    return view_report(report, around, changes)


def show_brief(call: Call, query: BriefQuery) -> BriefView:
    project = call.choose_project(query.project)
    after = None if query.after is None else parse_cursor(query.after)
    found = load_brief(call.board, after, project=project, who=call.by)
    return view_brief(found.brief, found.around, found.changes)


def show_stats(call: Call, query: PlaceQuery) -> replies.StatsView:
    session, project = call.choose_session(query.session), call.choose_project(query.project)
    costs = sum_costs(row.cost for row in call.board.costs(project=project, session=session))
    return replies.StatsView(tuple(map(view_cost, costs)))


# Searching.


def search(call: Call, query: SearchQuery) -> replies.SearchView:
    """Find sessions, items and tasks that hold all words, as the page does."""
    project, words = call.choose_project(query.project), split_words(query.q)
    found = chain.from_iterable(find(call.board, words, project) for find in (find_sessions, find_items, find_tasks))
    hits = list(islice(found, query.limit))
    return replies.SearchView(msgspec.convert(hits, tuple[HitView, ...], from_attributes=True))


# Tools.


def list_dialects(call: Call) -> replies.DialectsView:
    return replies.DialectsView(tuple(REGISTRY))


def show_dialect(call: Call) -> replies.DialectView:
    name = call.path["dialect"]
    if name not in REGISTRY:
        raise ApiProblem(404, "unknown_name", f"There is no such dialect; known are: {', '.join(REGISTRY)}.")
    found = dialect(name)
    tools = msgspec.convert(found.tools, tuple[replies.ToolView, ...], from_attributes=True)
    return replies.DialectView(dialect=name, layer=found.layer, tools=tools)
