"""The pages of durable tasks: all lists with the claims on them, one list by state, as a table or a graph, one task."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import fmean
from typing import Any, Final, cast
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import asdict

from punchlist.board import Board, settle_due
from punchlist.core.task import FLOWS, REASON, SETTLED, Task, TaskStatus
from punchlist.errors import TaskError, TaskListUnknown
from punchlist.server.pages.rendering import Values, find_task_mark, list_path, session_path
from punchlist.settings.environment import project_of
from punchlist.store import Transaction
from punchlist.store.tasks import TaskCounts, TaskListRow
from punchlist.tasks import Tasks
from punchlist.tasks.work import name_workers
from punchlist.terminal.spans import UNICODE, Style
from punchlist.terminal.tasks import Edge, sort_layers, standing_words, task_facts
from punchlist.views.list_owners import check_tasks_editable

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
    mark: str
    word: str
    text: str
    words: str
    owner_path: str
    lease_until: datetime | None
    lease_percent: int


def view_line(task: Task, now: datetime, worker: tuple[str, str] | None = None) -> TaskLine:
    """Return a task as a row. `worker` is the session and the name of the agent of the board that has it."""
    left = 0.0 if task.lease_until is None else max(0.0, (task.lease_until - now).total_seconds())
    is_claimed = task.status is TaskStatus.IN_PROGRESS
    return TaskLine(
        task=task,
        mark=find_task_mark(task),
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


def load_lists(board: Board) -> Values:
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
    return {
        "at": now,
        "claims": claims[:_MOST_CLAIMS],
        "lists": [_view_list(row, count) for row, count in known[:_MOST_LISTS]],
        "more": max(0, len(known) - _MOST_LISTS),
        "targets": list(targets),  # the lists that a new task may be put in, the likeliest first
    }


def _count_open(counts: TaskCounts) -> int:
    return sum(number for status, number in counts.statuses.items() if status not in SETTLED)


def _view_list(row: TaskListRow, counts: TaskCounts) -> Values:
    """Return a list in short: how many tasks are in which state."""
    found = counts.statuses
    done = found.get("completed", 0)
    total = sum(found.values()) - found.get("cancelled", 0)
    words: Sequence[tuple[str, int, Style]] = (
        ("at work", found.get("in_progress", 0), "focus"),
        ("ready", counts.ready, "bold"),
        ("waiting", found.get("waiting", 0), "warning"),
        ("failed", found.get("failed", 0), "bad"),
        ("not ready", found.get("pending", 0) - counts.ready, "dim"),
    )
    return {
        "name": row.name,
        "project": row.project,
        "counts": [word for word in words if word[1]],
        "done": done,
        "total": total,
        "percent": 100 * done // total if total else 0,
        "changed_at": counts.changed_at,
    }


# One list.


class TableQuery(Struct, frozen=True):
    """A table's filters, empty where there is none, and the id after which it begins."""

    status: str = ""
    owner: str = ""
    label: str = ""
    after: str = ""


def load_list(board: Board, name: str, look: str, query: TableQuery | None = None, *, has_done: bool = False) -> Values:
    """Return the page of a list as `states`, `table` or `graph`; raise `TaskListUnknown` if there is none."""
    row, tasks = open_list(board, name)
    tasks.list(limit=0)  # writes what has come due, before the tasks are counted
    now = board.now()
    counts = board.store.read(lambda tx: tx.tasks.count(row)) or TaskCounts({}, 0, now)
    is_live = not has_done and query in (None, TableQuery())
    return {
        "at": now,
        "list": _view_list(row, counts),
        "look": look,
        "groups": _load_groups(board, row, tasks, counts, now) if look == "states" else (),
        "table": _load_table(board, row, tasks, query or TableQuery(), now) if look == "table" else None,
        "graph": _load_graph(board, row, tasks, now, has_done=has_done) if look == "graph" else None,
        "problem": _find_problem(tasks),
        "is_live": is_live,
        "topic": f"tasks-{look}:{row.name}" if is_live else "",
    }


def open_list(board: Board, name: str) -> tuple[TaskListRow, Tasks]:
    """Return a list of the board; raise if there is none of that name."""
    row = board.store.read(lambda tx: tx.tasks.find_list(name)) if name != FLOWS else None
    if row is None:
        raise TaskListUnknown(list=name[:200], known="the page Tasks shows those that there are")
    return row, board.tasks(row.name, project=row.project)


def _find_problem(tasks: Tasks) -> str:
    try:
        check_tasks_editable(tasks)
    except TaskError as error:
        return str(error)
    return ""


def _view_lines(board: Board, row: TaskListRow, found: Sequence[Task], now: datetime) -> list[TaskLine]:
    def load(tx: Transaction) -> list[TaskLine]:
        return [
            view_line(task, now, tx.tasks.worker(row, int(task.id)) if task.status is TaskStatus.IN_PROGRESS else None)
            for task in name_workers(tx, found)
        ]

    return board.store.read(load)


def _load_groups(board: Board, row: TaskListRow, tasks: Tasks, counts: TaskCounts, now: datetime) -> list[Values]:
    """Return the tasks in each state; `more` of them are not shown, and the table shows all by their `status`."""
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
        ("asking", "waits for you", asking, len(asking), "waiting"),
        ("failed", "failed", tasks.list(status="failed", limit=_MOST_ROWS), number("failed", 0), "failed"),
        ("ready", "ready", ready, counts.ready, "pending"),
        ("blocked", "not ready yet", pending, number("pending", 0) - counts.ready, "pending"),
        ("waiting", "waits for a time or an event", later, number("waiting", 0) - len(asking), "waiting"),
        ("done", "done", done, number("completed", 0) + number("cancelled", 0), "completed"),
    )
    groups: list[Values] = []
    for name, title, rows, count, status in found:
        shown = _view_lines(board, row, rows[:_MOST_ROWS], now)
        more = count - len(shown)
        groups.append({"id": name, "title": title, "tasks": shown, "number": count, "status": status, "more": more})
    return groups


def _load_table(board: Board, row: TaskListRow, tasks: Tasks, query: TableQuery, now: datetime) -> Values:
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
    return {"tasks": _view_lines(board, row, page, now), "query": query, "next": following}


def _load_graph(board: Board, row: TaskListRow, tasks: Tasks, now: datetime, *, has_done: bool) -> Values:
    found = [
        task
        for status in ("pending", "in_progress", "waiting", "failed")
        for task in tasks.list(status=status, limit=_MOST_DRAWN)
    ]
    if has_done:
        found += board.store.read(lambda tx: [one.task for one in tx.tasks.latest_settled(row, limit=_MOST_DRAWN // 4)])
    found.sort(key=lambda task: int(task.id))
    layout = lay_out_graph(found)
    lines = _view_lines(board, row, [node.task for node in layout.nodes], now)
    return {"layout": layout, "lines": lines, "has_done": has_done}


# One task.


_SHOWN_APART: Final = frozenset({"status", "list", "labels", "blocked by", "blocks", "part of", "progress", "lease"})
"""Facts that have a place of their own on the page."""


def load_task(board: Board, name: str, wanted: str) -> Values:
    """Return the page of a task; raise `TaskListUnknown` or `TaskUnknown` if there is none, and never was.

    `line` is None if the task was deleted: its history stays.
    """
    row, tasks = open_list(board, name)
    history = tasks.history(wanted)
    now, number = board.now(), int(wanted)
    page: dict[str, Any] = {
        "at": now,
        "id": str(number),
        "list": name,
        "line": None,
        "events": history[: -_MOST_EVENTS - 1 : -1],
        "more": max(0, len(history) - _MOST_EVENTS),
        "problem": _find_problem(tasks),
    }
    if board.store.read(lambda tx: tx.tasks.find(row, number, alone=True)) is None:
        return page
    task = tasks.get(wanted)

    def view(ids: Iterable[str]) -> list[TaskLine]:
        found = board.store.read(lambda tx: [tx.tasks.find(row, int(one), alone=True) for one in ids])
        return _view_lines(board, row, [one.task for one in found if one is not None], now)

    (line,) = _view_lines(board, row, [task], now)
    facts = list(task_facts(line.task, UNICODE, now))
    can_move = line.word in ("in progress", "ready")
    return {
        **page,
        "line": line,
        "words": line.words if can_move else dict(facts)["status"].partition(", ")[2],  # why it does not move
        "facts": [fact for fact in facts if fact[0] not in _SHOWN_APART],
        "blockers": view(task.blocked_by[:_MOST_ROWS]),
        "dependents": view(task.blocks[:_MOST_ROWS]),
        "children": _view_lines(board, row, tasks.list(parent=task.id, limit=_MOST_ROWS), now),
        "parent": None if task.parent is None else next(iter(view([task.parent])), None),
    }


# What waits for what, in layers from left to right: blockers stand before the tasks that wait for them. The drawing
# follows from the tasks alone: the same tasks make the same picture, and a task that changes its status does not move.
# Edges over several layers are led between the tasks of those in the middle.

MOST_NODES: Final = 80
"""Tasks that are drawn; more of them are counted."""

WIDTH: Final = 178
HEIGHT: Final = 46
_BETWEEN: Final = 42
_GAP: Final = 14
_BEND_HEIGHT: Final = 8
_MARGIN: Final = 8

_Key = str | tuple[str, str, int]
"""A task, or the place at which an edge passes a layer."""


class GraphNode(Struct, frozen=True):
    """A task at its place: the upper left corner of its box."""

    task: Task
    x: int
    y: int


class GraphEdge(Struct, frozen=True):
    """The line from a blocker to a task that waits for it, and the head of the arrow, as paths of SVG."""

    blocker: str
    task: str
    line: str
    head: str


class TaskGraphLayout(Struct, frozen=True):
    """A drawing. `left_out` tasks have dependencies, and no room; `alone` tasks have none."""

    nodes: Sequence[GraphNode]
    edges: Sequence[GraphEdge]
    width: int
    height: int
    left_out: int
    alone: int
    node_width: int = WIDTH
    node_height: int = HEIGHT


def lay_out_graph(tasks: Sequence[Task], most: int = MOST_NODES) -> TaskGraphLayout:
    """Return the drawing of the tasks that wait for others of them, or block others of them."""
    known = {task.id: task for task in tasks}
    edges = [(blocker, task.id) for task in tasks for blocker in task.blocked_by if blocker in known]
    linked = {one for edge in edges for one in edge}
    levels = _find_levels([task.id for task in tasks if task.id in linked], edges)
    drawn = sorted(levels, key=lambda one: (levels[one], int(one)))[:most]
    levels = {one: levels[one] for one in drawn}
    edges = [edge for edge in edges if edge[0] in levels and edge[1] in levels]
    chains = {edge: _lead(edge, levels) for edge in edges}
    layers = _fill_layers(levels, chains.values())
    middles = _place(layers, chains.values())
    lefts = {key: _MARGIN + number * (WIDTH + _BETWEEN) for number, layer in enumerate(layers) for key in layer}
    top = min((middles[key] - _height(key) / 2 for key in middles), default=0.0)
    ys = {key: round(middle - top + _MARGIN) for key, middle in middles.items()}
    return TaskGraphLayout(
        nodes=[GraphNode(known[one], lefts[one], ys[one] - HEIGHT // 2) for one in drawn],
        edges=[_draw(edge, chain, lefts, ys) for edge, chain in chains.items()],
        width=max((left + WIDTH for left in lefts.values()), default=0) + _MARGIN,
        height=max((ys[key] + round(_height(key) / 2) for key in ys), default=0) + _MARGIN,
        left_out=len(linked) - len(drawn),
        alone=len(tasks) - len(linked),
    )


def _find_levels(ids: Sequence[str], edges: Iterable[Edge]) -> dict[str, int]:
    """Return the layer of each task: one after the last of its blockers. A cycle in a damaged list comes last."""
    layers = sort_layers(ids, edges)
    levels = {one: number for number, layer in enumerate(layers) for one in layer}
    return {one: levels.get(one, len(layers)) for one in [*levels, *ids]}


def _lead(edge: Edge, levels: Mapping[str, int]) -> list[_Key]:
    blocker, task = edge
    bends: list[_Key] = [(blocker, task, level) for level in range(levels[blocker] + 1, levels[task])]
    return [blocker, *bends, task]


def _fill_layers(levels: Mapping[str, int], chains: Iterable[Sequence[_Key]]) -> list[list[_Key]]:
    layers: list[list[_Key]] = [[] for _ in range(max(levels.values(), default=-1) + 1)]
    for task, level in levels.items():
        layers[level].append(task)
    for chain in chains:
        for bend in chain[1:-1]:
            if isinstance(bend, tuple):
                layers[bend[2]].append(bend)
    return layers


def _height(key: _Key) -> int:
    return HEIGHT if isinstance(key, str) else _BEND_HEIGHT


def _place(layers: Sequence[list[_Key]], chains: Iterable[Sequence[_Key]]) -> dict[_Key, float]:
    """Return the middle of each key from top to bottom: near those before it and in their order, so few edges cross."""
    before: dict[_Key, list[_Key]] = {}
    for chain in chains:
        for one, other in pairwise(chain):
            before.setdefault(other, []).append(one)
    middles: dict[_Key, float] = {}
    for layer in layers:
        wanted = {key: fmean(middles[one] for one in before[key]) if key in before else 0.0 for key in layer}
        layer.sort(key=wanted.__getitem__)
        top = float("-inf")
        for key in layer:
            middles[key] = max(wanted[key], top + _height(key) / 2)
            top = middles[key] + _height(key) / 2 + _GAP
    return middles


def _draw(edge: Edge, chain: Sequence[_Key], lefts: Mapping[_Key, int], ys: Mapping[_Key, int]) -> GraphEdge:
    blocker, task = edge
    x, y = lefts[blocker] + WIDTH, ys[blocker]
    line = f"M{x} {y}"
    for key in chain[1:]:
        left, middle = lefts[key], ys[key]
        half = (left - x) // 2
        line += f"C{x + half} {y} {left - half} {middle} {left} {middle}"
        x, y = left, middle
        if key != task:
            x += WIDTH
            line += f"H{x}"
    return GraphEdge(blocker, task, line, f"M{x} {y}l-8 -4v8z")
