"""The replies of the API that hold several things, or tell what was done. `views` has the things themselves."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import asdict

from punchlist.core.commands import Problem
from punchlist.core.events import Event
from punchlist.views.lists import AgentView, HitView, PlanView, SessionView, TaskView, TodosView
from punchlist.views.now import WaitView
from punchlist.views.reports import CostView


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


class SessionsView(Struct, frozen=True, kw_only=True):
    """A page of sessions, the latest first. `next` is the `after` of the next page; null on the last."""

    sessions: tuple[SessionView, ...]
    next: str | None


class AgentsView(Struct, frozen=True):
    """The agents of a session, in the order in which they came."""

    agents: tuple[AgentView, ...]


# What waits.


class WaitsView(Struct, frozen=True):
    """All that waits on a person, the longest wait first."""

    waits: tuple[WaitView, ...]


# Plans and answers.


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


# Tasks.


class TasksView(Struct, frozen=True, kw_only=True):
    """A page of tasks. `next` is the `after` of the next page; null on the last."""

    tasks: tuple[TaskView, ...]  # pyright: ignore[reportInvalidTypeForm]
    next: str | None = None


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


class MarkView(Struct, frozen=True):
    """Up to which event a reader has seen everything."""

    until: int


class StatsView(Struct, frozen=True):
    """Costs by dialect and profile."""

    costs: tuple[CostView, ...]


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
