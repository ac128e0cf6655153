"""The replies of the API. Every key is always there, so that a program need not ask."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import asdict
from msgspec.structs import fields as fields_of

from punchlist.core.approval import Plan
from punchlist.core.commands import Problem
from punchlist.core.events import Event
from punchlist.core.task import Task
from punchlist.core.todo import Phase, TodoItem, TodoList
from punchlist.store.plans import PlanRow
from punchlist.surfaces.tasks import task_data
from punchlist.views.waits import WaitView


def make_view(name: str, about: str, record: type[Struct], **others: Any) -> type[Struct]:
    """Return a reply with the fields of a record, all of them required, and `others` added or in their place."""
    types = {field.name: field.type for field in fields_of(record)} | others
    return msgspec.defstruct(name, list(types.items()), namespace={"__doc__": about}, kw_only=True, frozen=True)


# Lists.


class ProgressView(Struct, frozen=True):
    """Completed among those that are not cancelled."""

    done: int
    total: int
    percent: int


ItemView = make_view("Item", "One item of a todo list.", TodoItem)


class TodosView(Struct, frozen=True, kw_only=True):
    """The list of one agent at one revision."""

    session: str
    agent: str
    project: str
    revision: int
    plan_id: str
    progress: ProgressView
    focus: str | None
    """The id of the item in progress."""
    explanation: str | None
    phases: tuple[Phase, ...]
    items: tuple[ItemView, ...]  # pyright: ignore[reportInvalidTypeForm]
    omitted: tuple[ItemView, ...]  # pyright: ignore[reportInvalidTypeForm]
    """Open items that a rewrite left out; they can be restored."""


def show_todos(todos: TodoList, *, session: str, agent: str, project: str) -> TodosView:
    focus = todos.focus
    return TodosView(
        session=session,
        agent=agent,
        project=project,
        revision=todos.revision,
        plan_id=todos.plan_id,
        progress=ProgressView(*todos.progress),
        focus=None if focus is None else focus.id,
        explanation=todos.explanation,
        phases=todos.phases,
        items=tuple(_show_item(item) for item in todos.items),
        omitted=tuple(_show_item(item) for item in todos.omitted),
    )


def _show_item(item: TodoItem) -> Struct:
    return ItemView(**asdict(item))


class ListsView(Struct, frozen=True):
    """Todo lists, the latest first."""

    lists: tuple[TodosView, ...]


# Projects, sessions and agents.


class ProjectView(Struct, frozen=True):
    """A project: the root of a repository, else a folder."""

    project: str
    sessions: int
    updated_at: datetime


class ProjectsView(Struct, frozen=True):
    """Projects, the latest first."""

    projects: tuple[ProjectView, ...]


class SessionView(Struct, frozen=True, kw_only=True):
    """A session. `state` says how its checks stand; `waits` counts what waits on a person in it."""

    session: str
    project: str
    created_at: datetime
    updated_at: datetime | None
    agents: int
    state: str
    waits: int


class SessionsView(Struct, frozen=True, kw_only=True):
    """A page of sessions, the latest first. `next` is the `after` of the next page; null on the last."""

    sessions: tuple[SessionView, ...]
    next: str | None


class AgentView(Struct, frozen=True, kw_only=True):
    """An agent of a session, with its list in short."""

    session: str
    agent: str
    parent: str | None
    label: str | None
    project: str
    mode: str
    state: str
    updated_at: datetime
    revision: int
    progress: ProgressView
    focus: str | None
    read_only: bool
    """True if the list is a copy from the agent's log, which its agent does not see."""


class AgentsView(Struct, frozen=True):
    """The agents of a session, in the order in which they came."""

    agents: tuple[AgentView, ...]


# What waits.


class WaitsView(Struct, frozen=True):
    """All that waits on a person, the longest wait first."""

    waits: tuple[WaitView, ...]


# Plans and answers.

PlanView = make_view(
    "Plan",
    "One revision of an agent's plan. `waits` is true while a person can decide on it.",
    Plan,
    session=str,
    agent=str,
    project=str,
    title=str,
    waits=bool,
    steps=tuple[str, ...],
)


def show_plan(row: PlanRow, now: datetime) -> Struct:
    plan = row.plan
    place = {"session": row.session, "agent": row.agent, "project": row.project}
    steps = tuple(item.content for item in plan.todos.items)
    return PlanView(**asdict(plan), **place, title=plan.title, waits=plan.waits(now), steps=steps)


class PlansView(Struct, frozen=True):
    """Plans."""

    plans: tuple[PlanView, ...]  # pyright: ignore[reportInvalidTypeForm]


class PlanDiffView(Struct, frozen=True, kw_only=True):
    """The lines of a unified diff between two revisions of a plan; `before` is null for the first one."""

    before: int | None
    revision: int
    lines: tuple[str, ...]


class AnsweredView(Struct, frozen=True, kw_only=True):
    """The wait that was resolved, and the number of the last event of it, by which its receipt is found."""

    outcome: Literal["answered", "approved", "rejected", "unblocked", "resumed"]
    session: str
    agent: str
    id: str
    by: str
    event: int


class ReceiptView(Struct, frozen=True, kw_only=True):
    """How far news went to an agent: sent to its host, accepted by it, seen by the model."""

    state: str
    sent: datetime | None
    accepted: datetime | None
    seen: datetime | None


# Tasks.


class BlockingView(Struct, frozen=True):
    """A blocker that still holds a task back."""

    id: str
    status: str


TaskView = make_view(
    "Task",
    "One durable task. `fence` is what its worker shows with every change.",
    Task,
    held_by=tuple[BlockingView, ...],
    progress=ProgressView,
    ready=bool,
    blocked=bool,
    stuck_on=tuple[str, ...],
)


def show_task(task: Task) -> Struct:
    return msgspec.convert(task_data(task), TaskView)


class TasksView(Struct, frozen=True, kw_only=True):
    """A page of tasks. `next` is the `after` of the next page; null on the last."""

    tasks: tuple[TaskView, ...]  # pyright: ignore[reportInvalidTypeForm]
    next: str | None = None


class EdgeView(Struct, frozen=True):
    """One task waits for another."""

    blocker: str
    task: str


class TaskGraphView(Struct, frozen=True):
    """All tasks of a list, with their edges."""

    tasks: tuple[TaskView, ...]  # pyright: ignore[reportInvalidTypeForm]
    edges: tuple[EdgeView, ...]


class TaskListView(Struct, frozen=True, kw_only=True):
    """A list of tasks. `created` counts those that it ever had."""

    list: str
    project: str
    session: str | None
    created: int


class TaskListsView(Struct, frozen=True):
    """Lists of tasks."""

    lists: tuple[TaskListView, ...]


# Events, reports, costs.


class EventView(Struct, frozen=True, kw_only=True):
    """One event of the log; `docs/events.md` says what the data of each kind holds."""

    cursor: str
    seq: int
    at: datetime
    kind: str
    by: str
    project: str | None
    session: str | None
    agent: str | None
    data: Mapping[str, Any]
    v: int


def show_event(event: Event) -> EventView:
    return EventView(cursor=event.cursor, **asdict(event))


class EventsView(Struct, frozen=True):
    """A page of events. `next` is the `after` of the next page, also where there is nothing yet."""

    events: tuple[EventView, ...]
    next: str
    more: bool


class HistoryView(Struct, frozen=True):
    """Every event of one task, the oldest first."""

    events: tuple[EventView, ...]


class ReportView(Struct, frozen=True, kw_only=True):
    """The state of each session, and for each item its grade, time, work and evidence."""

    state: str
    sessions: tuple[dict[str, Any], ...]
    git: tuple[dict[str, Any], ...]
    waits: tuple[WaitView, ...]
    stopped: tuple[dict[str, Any], ...]
    stalled: tuple[str, ...]
    items: tuple[dict[str, Any], ...]
    elsewhere: tuple[dict[str, Any], ...]
    totals: dict[str, Any]


class BriefView(Struct, frozen=True, kw_only=True):
    """Changes after an event. `until` is the `after` of the next brief."""

    sessions: tuple[dict[str, Any], ...]
    git: tuple[dict[str, Any], ...]
    waits: tuple[WaitView, ...]
    stopped: tuple[dict[str, Any], ...]
    stalled: tuple[str, ...]
    lists: tuple[dict[str, Any], ...]
    noticed: tuple[dict[str, Any], ...]
    failed: tuple[dict[str, Any], ...]
    doubtful: tuple[dict[str, Any], ...]
    verified: tuple[dict[str, Any], ...]
    confirmed: tuple[dict[str, Any], ...]
    unchecked: tuple[dict[str, Any], ...]
    unjudged: tuple[dict[str, Any], ...]
    under_way: tuple[dict[str, Any], ...]
    calls: int
    failures: int
    active_seconds: float
    layer_tokens: int
    until: int


class MarkView(Struct, frozen=True):
    """Up to which event a reader has seen everything."""

    until: int


class SizeView(Struct, frozen=True):
    """How many texts, their bytes, and an estimate of their tokens."""

    count: int
    bytes: int
    tokens: int


class CostView(Struct, frozen=True, kw_only=True):
    """Tokens that Punchlist itself cost, in one dialect and profile."""

    dialect: str
    profile: str | None
    turns: int
    turns_caused: int
    turns_with_no_other_tool: int
    calls: int
    calls_refused: int
    calls_of_other_tools: int
    share_of_calls: float
    descriptions: SizeView
    said: dict[str, Any]
    arguments: SizeView
    replies: SizeView
    withheld: int
    bytes: int
    tokens: int


class StatsView(Struct, frozen=True):
    """Costs by dialect and profile."""

    costs: tuple[CostView, ...]


class HitView(Struct, frozen=True, kw_only=True):
    """Something that holds the words that were looked for; `id` is empty for a session."""

    kind: Literal["session", "item", "task"]
    project: str
    session: str
    agent: str
    list: str
    id: str
    text: str
    status: str


class SearchView(Struct, frozen=True):
    """Search results: sessions, then items, then tasks."""

    hits: tuple[HitView, ...]


# Tools.


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


class ToolReplyView(Struct, frozen=True, kw_only=True):
    """The reply to a tool call: its text for the model and its structured form, both as the dialect's original has."""

    text: str
    data: Any
    is_error: bool
    problems: tuple[Problem, ...]
    awaits: str | None
    """The id of a plan that a person has to decide on first."""
