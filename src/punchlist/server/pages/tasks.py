"""The pages of durable tasks: all lists with the claims on them, one list by state, as a table or a graph, one task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, cast
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import asdict, replace

from punchlist.board import Board, settle_due
from punchlist.core.events import Event
from punchlist.core.task import FLOWS, REASON, SETTLED, Task, TaskStatus
from punchlist.errors import TaskError, TaskListUnknown
from punchlist.hosts.copies import check_own_tasks
from punchlist.server.pages.rendering import list_path, session_path
from punchlist.server.pages.task_graph import TaskGraphLayout, lay_out_graph
from punchlist.settings.environment import project_of
from punchlist.store import Transaction
from punchlist.store.tasks import TaskCounts, TaskListRow
from punchlist.surfaces.spans import UNICODE, Style
from punchlist.surfaces.tasks import find_box, standing_words, task_facts
from punchlist.tasks import Tasks
from punchlist.tasks.work import name_workers

_MOST_LISTS: Final = 100
_MOST_CLAIMS: Final = 100
_MOST_PENDING: Final = 500
_MOST_ROWS: Final = 60
"""Tasks of one state that are shown; the table has all."""

_MOST_DONE: Final = 12
_TABLE_PAGE: Final = 200
_MOST_EVENTS: Final = 200
_MOST_DRAWN: Final = 2_000
"""Tasks of each status that the graph is drawn from."""


# One task in a row.


class TaskLine(Struct, frozen=True, kw_only=True):
    """A task as a row shows it. `word` says its status in words; `owner_path` leads to the session of its worker."""

    task: Task
    glyph: str
    style: Style
    text_style: Style
    word: str
    text: str
    words: str
    owner_path: str
    lease_until: datetime | None
    lease_percent: int


def view_line(task: Task, now: datetime, worker: tuple[str, str] | None = None) -> TaskLine:
    """Return a task as a row. `worker` is the session and the name of the agent of the board that has it."""
    glyph, style, text_style = find_box(task)
    left = 0.0 if task.lease_until is None else max(0.0, (task.lease_until - now).total_seconds())
    is_claimed = task.status is TaskStatus.IN_PROGRESS
    return TaskLine(
        task=task,
        glyph=glyph,
        style=style,
        text_style=text_style,
        word=_name_status(task),
        text=task.label if is_claimed else task.subject,
        words=("to be cancelled" if task.cancel_requested else "") if is_claimed else _words(task, now),
        owner_path="" if worker is None else session_path(worker[0]),
        lease_until=task.lease_until if is_claimed else None,
        lease_percent=min(100, round(100 * left / task.lease)) if task.lease else 0,
    )


def _name_status(task: Task) -> str:
    if task.is_ready:
        return "ready"
    return "blocked" if task.is_blocked else task.status.value.replace("_", " ")


def _words(task: Task, now: datetime) -> str:
    """Return why a task does not move, in the words of the model that said so; its grade has a place of its own."""
    if task.status is TaskStatus.COMPLETED:
        return ""
    state: Mapping[str, Any] = cast("Mapping[str, Any]", task.state) if isinstance(task.state, dict) else {}
    said = state.get(REASON)
    if task.status is TaskStatus.WAITING and isinstance(said, str) and said:
        return said
    return standing_words(task, now)


# All lists.


class ListLine(Struct, frozen=True, kw_only=True):
    """A list in short: how many tasks are in which state."""

    name: str
    project: str
    counts: Sequence[tuple[str, int, Style]]
    done: int
    total: int
    percent: int
    changed_at: datetime


class TaskListsPage(Struct, frozen=True, kw_only=True):
    """The page of all lists. `targets` are the lists that a new task may be put in, the likeliest first."""

    at: datetime
    claims: Sequence[TaskLine]
    lists: Sequence[ListLine]
    more: int
    targets: Sequence[str]


def load_lists(board: Board) -> TaskListsPage:
    """Return all lists of the board that hold tasks, those that changed last first, and the claims on their tasks."""
    now = board.now()
    settle_due(board)
    found = board.store.read(lambda tx: [(row, tx.tasks.count(row)) for row, _ in tx.tasks.lists()])
    known = [(row, count) for row, count in found if count is not None]
    known.sort(key=lambda pair: (not _count_open(pair[1]), -pair[1].changed_at.timestamp()))
    claims: list[TaskLine] = []
    for row, count in known:
        if count.statuses.get("in_progress") and len(claims) < _MOST_CLAIMS:
            found = board.tasks(row.name, project=row.project).list(status="in_progress", limit=_MOST_CLAIMS)
            claims += _view_lines(board, row, found, now)
    claims.sort(key=lambda line: (line.lease_until is None, line.lease_until or now))
    own = f"project:{project_of()}"
    names = [row.name for row, _ in known if row.session is None]
    targets = dict.fromkeys([own, *names] if own in names else [*names, own])
    return TaskListsPage(
        at=now,
        claims=claims[:_MOST_CLAIMS],
        lists=[_view_list(row, count) for row, count in known[:_MOST_LISTS]],
        more=max(0, len(known) - _MOST_LISTS),
        targets=list(targets),
    )


def _count_open(counts: TaskCounts) -> int:
    return sum(number for status, number in counts.statuses.items() if status not in SETTLED)


def _view_list(row: TaskListRow, counts: TaskCounts) -> ListLine:
    done = counts.statuses.get("completed", 0)
    total = sum(counts.statuses.values()) - counts.statuses.get("cancelled", 0)
    return ListLine(
        name=row.name,
        project=row.project,
        counts=[*_view_counts(counts)],
        done=done,
        total=total,
        percent=100 * done // total if total else 0,
        changed_at=counts.changed_at,
    )


def _view_counts(counts: TaskCounts) -> Iterable[tuple[str, int, Style]]:
    """Yield the states that a list has tasks in, those that need a person first."""
    found = counts.statuses
    blocked = found.get("pending", 0) - counts.ready
    words: Sequence[tuple[str, int, Style]] = (
        ("at work", found.get("in_progress", 0), "focus"),
        ("ready", counts.ready, "bold"),
        ("waiting", found.get("waiting", 0), "warning"),
        ("failed", found.get("failed", 0), "bad"),
        ("not ready", blocked, "dim"),
    )
    return (word for word in words if word[1])


# One list.


class StateGroup(Struct, frozen=True):
    """The tasks in one state; `more` of them are not shown."""

    id: str
    title: str
    tasks: Sequence[TaskLine]
    number: int
    status: str
    """The status by which the table shows all of them."""

    @property
    def more(self) -> int:
        return self.number - len(self.tasks)


class TableQuery(Struct, frozen=True):
    """A table's filters, empty where there is none, and the id after which it begins."""

    status: str = ""
    owner: str = ""
    label: str = ""
    after: str = ""


class TableView(Struct, frozen=True):
    """Tasks as a table, with what they were filtered by; `next` is the address of the next page."""

    tasks: Sequence[TaskLine]
    query: TableQuery
    next: str


class GraphView(Struct, frozen=True):
    """The drawing of what waits for what, and its tasks; `has_done`: it holds what is done, too."""

    layout: TaskGraphLayout
    lines: Sequence[TaskLine]
    has_done: bool


class TaskListPage(Struct, frozen=True, kw_only=True):
    """The page of a list."""

    at: datetime
    list: ListLine
    look: str
    """`states`, `table` or `graph`."""
    groups: Sequence[StateGroup] = ()
    table: TableView | None = None
    graph: GraphView | None = None
    problem: str = ""
    """Why the list can only be read; empty if it can be changed."""
    is_live: bool = True

    @property
    def topic(self) -> str:
        return f"tasks-{self.look}:{self.list.name}" if self.is_live else ""


def load_list(
    board: Board, name: str, look: str, query: TableQuery | None = None, *, has_done: bool = False
) -> TaskListPage:
    """Return the page of a list; raise `TaskListUnknown` if the board has none of that name."""
    row, tasks = open_list(board, name)
    tasks.list(limit=0)  # writes what has come due, before the tasks are counted
    now = board.now()
    counts = board.store.read(lambda tx: tx.tasks.count(row)) or TaskCounts({}, 0, now)
    return TaskListPage(
        at=now,
        list=_view_list(row, counts),
        look=look,
        groups=_load_groups(board, row, tasks, counts, now) if look == "states" else (),
        table=_load_table(board, row, tasks, query or TableQuery(), now) if look == "table" else None,
        graph=_load_graph(board, row, tasks, now, has_done=has_done) if look == "graph" else None,
        problem=_find_problem(tasks),
        is_live=not has_done and query in (None, TableQuery()),
    )


def open_list(board: Board, name: str, *, by: str = "") -> tuple[TaskListRow, Tasks]:
    """Return a list of the board; raise `TaskListUnknown` if there is none of that name."""
    row = board.store.read(lambda tx: tx.tasks.find_list(name)) if name != FLOWS else None
    if row is None:
        raise TaskListUnknown(list=name[:200], known="the page Tasks shows those that there are")
    return row, board.tasks(row.name, project=row.project, by=by)


def _find_problem(tasks: Tasks) -> str:
    try:
        check_own_tasks(tasks)
    except TaskError as error:
        return str(error)
    return ""


def _view_lines(board: Board, row: TaskListRow, found: Sequence[Task], now: datetime) -> list[TaskLine]:
    """Return tasks of one list as rows, with the agents that work on them."""

    def load(tx: Transaction) -> list[TaskLine]:
        return [
            view_line(task, now, tx.tasks.worker(row, int(task.id)) if task.status is TaskStatus.IN_PROGRESS else None)
            for task in name_workers(tx, found)
        ]

    return board.store.read(load)


def _load_groups(board: Board, row: TaskListRow, tasks: Tasks, counts: TaskCounts, now: datetime) -> list[StateGroup]:
    """Return the tasks of a list by state, those that need a person before those that need nobody."""
    working = tasks.list(status="in_progress", limit=_MOST_CLAIMS)
    waiting = tasks.list(status="waiting", limit=_MOST_PENDING)
    asking = [task for task in waiting if task.wait is None or task.wait.kind == "manual"]
    later = [task for task in waiting if task not in asking]
    ready = tasks.ready(_MOST_ROWS)
    pending = [task for task in tasks.list(status="pending", limit=_MOST_PENDING) if not task.is_ready]
    done = board.store.read(lambda tx: [one.task for one in tx.tasks.latest_settled(row, limit=_MOST_DONE)])
    number = counts.statuses.get
    found: Sequence[tuple[str, str, Sequence[Task], int, str]] = (
        ("at-work", "at work", working, number("in_progress", 0), "in_progress"),
        ("asking", "waits on you", asking, len(asking), "waiting"),
        ("failed", "failed", tasks.list(status="failed", limit=_MOST_ROWS), number("failed", 0), "failed"),
        ("ready", "ready", ready, counts.ready, "pending"),
        ("blocked", "not ready yet", pending, number("pending", 0) - counts.ready, "pending"),
        ("waiting", "waits for a time or an event", later, number("waiting", 0) - len(asking), "waiting"),
        ("done", "done", done, number("completed", 0) + number("cancelled", 0), "completed"),
    )
    return [
        StateGroup(name, title, _view_lines(board, row, rows[:_MOST_ROWS], now), count, status)
        for name, title, rows, count, status in found
    ]


def _load_table(board: Board, row: TaskListRow, tasks: Tasks, query: TableQuery, now: datetime) -> TableView:
    found = tasks.list(
        status=query.status if query.status in list(TaskStatus) else None,
        owner=query.owner or None,
        label=query.label or None,
        after=query.after or None,
        limit=_TABLE_PAGE + 1,
    )
    page = found[:_TABLE_PAGE]
    given = {"view": "table", **{name: value for name, value in asdict(query).items() if value}}
    following = f"{list_path(row.name)}?{urlencode({**given, 'after': page[-1].id})}" if len(found) > len(page) else ""
    return TableView(_view_lines(board, row, page, now), query, following)


def _load_graph(board: Board, row: TaskListRow, tasks: Tasks, now: datetime, *, has_done: bool) -> GraphView:
    found = [
        task
        for status in ("pending", "in_progress", "waiting", "failed")
        for task in tasks.list(status=status, limit=_MOST_DRAWN)
    ]
    if has_done:
        found += board.store.read(lambda tx: [one.task for one in tx.tasks.latest_settled(row, limit=_MOST_DRAWN // 4)])
    found.sort(key=lambda task: int(task.id))
    layout = lay_out_graph(found)
    return GraphView(layout, _view_lines(board, row, [node.task for node in layout.nodes], now), has_done)


# One task.


class TaskPage(Struct, frozen=True, kw_only=True):
    """The page of a task. `line` is None if it was deleted: its history stays."""

    at: datetime
    id: str
    list: str
    line: TaskLine | None = None
    words: str = ""
    """Why it does not move; empty if it can."""
    facts: Sequence[tuple[str, str]] = ()
    blockers: Sequence[TaskLine] = ()
    dependents: Sequence[TaskLine] = ()
    children: Sequence[TaskLine] = ()
    parent: TaskLine | None = None
    events: Sequence[Event] = ()
    more: int = 0
    problem: str = ""


_SHOWN_APART: Final = frozenset({"status", "list", "labels", "blocked by", "blocks", "part of", "progress", "lease"})
"""Facts that have a place of their own on the page."""


def load_task(board: Board, name: str, wanted: str) -> TaskPage:
    """Return the page of a task; raise `TaskListUnknown` or `TaskUnknown` if there is none, and never was."""
    row, tasks = open_list(board, name)
    history = tasks.history(wanted)
    number = int(wanted)
    exists = board.store.read(lambda tx: tx.tasks.find(row, number, alone=True)) is not None
    task = tasks.get(wanted) if exists else None
    page = TaskPage(
        at=board.now(),
        id=str(number),
        list=name,
        events=history[: -_MOST_EVENTS - 1 : -1],
        more=max(0, len(history) - _MOST_EVENTS),
        problem=_find_problem(tasks),
    )
    return page if task is None else _fill_page(board, row, tasks, task, page)


def _fill_page(board: Board, row: TaskListRow, tasks: Tasks, task: Task, page: TaskPage) -> TaskPage:
    now = page.at

    def view(ids: Iterable[str]) -> list[TaskLine]:
        found = board.store.read(lambda tx: [tx.tasks.find(row, int(one), alone=True) for one in ids])
        return _view_lines(board, row, [one.task for one in found if one is not None], now)

    (line,) = _view_lines(board, row, [task], now)
    facts = list(task_facts(line.task, UNICODE, now))
    return replace(
        page,
        line=line,
        words=line.words if line.word in ("in progress", "ready") else dict(facts)["status"].partition(", ")[2],
        facts=[fact for fact in facts if fact[0] not in _SHOWN_APART],
        blockers=view(task.blocked_by[:_MOST_ROWS]),
        dependents=view(task.blocks[:_MOST_ROWS]),
        children=_view_lines(board, row, tasks.list(parent=task.id, limit=_MOST_ROWS), now),
        parent=None if task.parent is None else next(iter(view([task.parent])), None),
    )
