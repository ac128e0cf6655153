"""Sessions, their agents, the lists and plans of those, and durable tasks."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import asdict
from msgspec.structs import fields as fields_of

from punchlist.core.approval import Plan
from punchlist.core.task import Task
from punchlist.core.todo import Phase, TodoItem, TodoList
from punchlist.store import SessionRow
from punchlist.store.plans import PlanRow


def make_view(name: str, about: str, record: type[Struct], **others: Any) -> type[Struct]:
    """Return a view with the fields of a record, all of them required, and `others` added or in their place."""
    types = {field.name: field.type for field in fields_of(record)} | others
    return msgspec.defstruct(name, list(types.items()), namespace={"__doc__": about}, kw_only=True, frozen=True)


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


def view_todos(todos: TodoList, *, session: str, agent: str, project: str) -> TodosView:
    """Return a list with whose it is."""
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
        items=tuple(_view_item(item) for item in todos.items),
        omitted=tuple(_view_item(item) for item in todos.omitted),
    )


def _view_item(item: TodoItem) -> Struct:
    return ItemView(**asdict(item))


class SessionView(Struct, frozen=True, kw_only=True):
    """A session. `state` says how its checks stand; `waits` counts what waits on a person in it."""

    session: str
    project: str
    created_at: datetime
    updated_at: datetime | None
    agents: int
    state: str
    waits: int


def view_session(row: SessionRow, waits: int) -> SessionView:
    """Return a session with how much waits on a person in it."""
    known = row._asdict()
    return SessionView(session=known.pop("id"), waits=waits, **known)


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


def view_plan(row: PlanRow, now: datetime) -> Struct:
    """Return a plan with whose it is, and whether it waits now."""
    plan = row.plan
    place = {"session": row.session, "agent": row.agent, "project": row.project}
    steps = tuple(item.content for item in plan.todos.items)
    return PlanView(**asdict(plan), **place, title=plan.title, waits=plan.waits(now), steps=steps)


class HitView(Struct, frozen=True, kw_only=True):
    """Something that holds the words that were looked for; `id` is empty for a session."""

    kind: Literal["session", "item", "task"]
    project: str
    session: str
    agent: str = ""
    list: str = ""
    id: str = ""
    text: str
    status: str


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


def view_task(task: Task) -> Struct:
    """Return a task with what follows from its neighbours."""
    known = asdict(task) | {
        "held_by": tuple(BlockingView(*each) for each in task.held_by),
        "progress": ProgressView(*task.progress),
    }
    return TaskView(**known, ready=task.is_ready, blocked=task.is_blocked, stuck_on=task.stuck_on)


class EdgeView(Struct, frozen=True):
    """One task waits for another."""

    blocker: str
    task: str


class TaskGraphView(Struct, frozen=True):
    """All tasks of a list, with their edges."""

    tasks: tuple[TaskView, ...]  # pyright: ignore[reportInvalidTypeForm]
    edges: tuple[EdgeView, ...]


def view_graph(tasks: Iterable[Task], edges: Iterable[tuple[str, str]]) -> TaskGraphView:
    """Return tasks with what waits for what."""
    return TaskGraphView(tuple(map(view_task, tasks)), tuple(EdgeView(*edge) for edge in edges))
