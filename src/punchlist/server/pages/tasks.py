"""The page of durable tasks: by state, as a table, as a graph; what is ready, and who is at what."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Final, Literal

from msgspec import Struct

from punchlist.board import Board
from punchlist.core.task import FLOWS, USUAL, Task, TaskStatus
from punchlist.core.todo import Status
from punchlist.server.pages.rendering import element_id
from punchlist.surfaces.lists import GRADES, STYLES
from punchlist.surfaces.spans import UNICODE, Style
from punchlist.surfaces.tasks import find_neighbours, standing_words
from punchlist.text import fit

View = Literal["state", "table", "graph"]

_MOST_TASKS: Final = 1_000
_MOST_ENDED: Final = 50
"""Ended tasks that a column shows, the latest ones."""

_COLUMNS: Final = {
    "ready": "ready",
    "held": "held back",
    "in_progress": "in progress",
    "completed": "completed",
    "failed": "failed or cancelled",
}


class TaskView(Struct, frozen=True, kw_only=True):
    """One task. `words` say why it does not move, who has it, or the grade of its end."""

    element: str
    id: str
    subject: str
    glyph: str
    style: Style
    word: str
    words: str
    owner: str
    lease_until: datetime | None
    since: datetime | None
    labels: Sequence[str]
    priority: str
    blocked_by: Sequence[str]
    progress: str
    grade: str
    grade_style: Style
    path: str


class TaskColumn(Struct, frozen=True):
    id: str
    title: str
    number: int
    tasks: Sequence[TaskView]
    more: int


class ListLink(Struct, frozen=True):
    """A list of tasks that the page may show, with the number of its tasks."""

    name: str
    title: str
    number: int


class Node(Struct, frozen=True):
    """A task as a box of the graph."""

    x: int
    y: int
    task: TaskView
    title: str


class Graph(Struct, frozen=True):
    """Tasks in layers, blockers to the left; `edges` are paths."""

    width: int
    height: int
    nodes: Sequence[Node]
    edges: Sequence[str]
    more: int
    """Tasks that are left out."""


class TasksView(Struct, frozen=True, kw_only=True):
    at: datetime
    lists: Sequence[ListLink]
    name: str
    title: str
    view: View
    columns: Sequence[TaskColumn]
    table: Sequence[TaskView]
    claims: Sequence[TaskView]
    graph: Graph | None
    more: int


def load_tasks(board: Board, name: str | None = None, view: str = "state") -> TasksView:
    """Return the page of a list of tasks, by default of the one with most tasks."""
    rows = board.store.read(lambda tx: tx.tasks.lists())
    lists = [ListLink(row.name, title_of(row.name), number) for row, number in rows if row.name != FLOWS]
    lists.sort(key=lambda one: -one.number)
    chosen = name if name is not None else (lists[0].name if lists else "default")
    shown: View = view if view == "table" or view == "graph" else "state"  # noqa: PLR1714 (narrows the type)
    found = board.tasks(chosen).graph()
    now = board.now()
    tasks = found.tasks[-_MOST_TASKS:]
    views = {task.id: _view(task, now) for task in tasks}
    claims = [task for task in tasks if task.status is TaskStatus.IN_PROGRESS]
    return TasksView(
        at=now,
        lists=lists,
        name=chosen,
        title=title_of(chosen),
        view=shown,
        columns=_columns(tasks, views) if shown == "state" else (),
        table=list(views.values()) if shown == "table" else (),
        claims=[views[task.id] for task in sorted(claims, key=lambda task: task.lease_until or now)],
        graph=lay_out_graph(tasks, found.edges, views) if shown == "graph" and tasks else None,
        more=len(found.tasks) - len(tasks),
    )


def title_of(name: str) -> str:
    """Return the name of a list as people say it."""
    kind, _, rest = name.partition(":")
    if kind == "project" and rest:
        return os.path.basename(rest) or rest
    return f"session {rest}" if kind == "session" and rest else name


def _view(task: Task, now: datetime) -> TaskView:
    is_held = task.status is TaskStatus.WAITING or task.is_blocked
    box = "blocked" if is_held else task.status.value
    style, _ = STYLES[Status(box)]
    word = "ready" if task.is_ready else "held back" if is_held else task.status.value.replace("_", " ")
    done, total, _ = task.progress
    words = standing_words(task, now)
    return TaskView(
        element=element_id(("task", task.list, task.id)),
        id=task.id,
        subject=task.label if task.status is TaskStatus.IN_PROGRESS else task.subject,
        glyph=UNICODE.boxes[box],
        style=style,
        word=word,
        # The owner, the lease and the grade have places of their own.
        words="" if task.status in (TaskStatus.IN_PROGRESS, TaskStatus.COMPLETED) else words,
        owner=task.owner or "",
        lease_until=task.lease_until if task.status is TaskStatus.IN_PROGRESS else None,
        since=task.finished_at or task.started_at or task.created_at,
        labels=task.labels,
        priority="" if task.priority == USUAL else f"p{task.priority}",
        blocked_by=task.blocked_by,
        progress=f"{done}/{total}" if total > 1 and task.is_open else "",
        grade=task.grade or "" if task.status is TaskStatus.COMPLETED else "",
        grade_style=GRADES.get(task.grade or "", "dim"),
        path="" if task.worked is None else task.worked.session,
    )


def _columns(tasks: Sequence[Task], views: Mapping[str, TaskView]) -> list[TaskColumn]:
    """Return the tasks by state; of those that have ended the latest."""
    groups: dict[str, list[Task]] = {name: [] for name in _COLUMNS}
    for task in tasks:
        groups[_find_column(task)].append(task)
    groups["ready"].sort(key=lambda task: (task.priority, int(task.id)))
    columns: list[TaskColumn] = []
    for name, title in _COLUMNS.items():
        group = groups[name]
        if name in ("completed", "failed"):
            group = sorted(group, key=_end_of, reverse=True)[:_MOST_ENDED]
        number = len(groups[name])
        columns.append(TaskColumn(name, title, number, [views[task.id] for task in group], number - len(group)))
    return columns


def _find_column(task: Task) -> str:
    match task.status:
        case TaskStatus.IN_PROGRESS:
            return "in_progress"
        case TaskStatus.COMPLETED:
            return "completed"
        case TaskStatus.FAILED | TaskStatus.CANCELLED:
            return "failed"
        case _:
            return "ready" if task.is_ready else "held"


def _end_of(task: Task) -> float:
    return 0.0 if task.finished_at is None else task.finished_at.timestamp()


# The graph.

_BOX: Final = (190, 34)
_GAP: Final = (56, 12)
_MARGIN: Final = 8
_MOST_NODES: Final = 200
_TITLE_CELLS: Final = 22
_SWEEPS: Final = 4

_Edge = tuple[str, str]
_Place = tuple[int, int]


def lay_out_graph(tasks: Sequence[Task], edges: Sequence[_Edge], views: Mapping[str, TaskView]) -> Graph:
    """Return tasks with edges in layers: each stands one layer right of the last of its blockers.

    Tasks without an edge are left out, unless there are no others. Within a layer a task is placed near its
    neighbours. An edge over several layers has a free place in each, so that it runs behind no task.
    """
    known = {task.id for task in tasks}
    edges = [edge for edge in edges if known.issuperset(edge)]
    drawn = _choose_nodes(tasks, edges)
    edges = [edge for edge in edges if set(drawn).issuperset(edge)]
    level = _find_levels(drawn, edges)
    layers: list[list[str]] = [[] for _ in range(max(level.values()) + 1)]
    for task in drawn:
        layers[level[task]].append(task)
    chains = [_make_chain(edge, level, layers) for edge in edges]
    _order_layers(layers, [link for chain in chains for link in pairwise(chain)])
    places = {
        name: (_MARGIN + column * (_BOX[0] + _GAP[0]), _MARGIN + row * (_BOX[1] + _GAP[1]))
        for column, layer in enumerate(layers)
        for row, name in enumerate(layer)
    }
    tallest = max(len(layer) for layer in layers)
    return Graph(
        width=2 * _MARGIN + len(layers) * (_BOX[0] + _GAP[0]) - _GAP[0],
        height=2 * _MARGIN + tallest * (_BOX[1] + _GAP[1]) - _GAP[1],
        nodes=[Node(*places[task], views[task], fit(views[task].subject, _TITLE_CELLS)) for task in drawn],
        edges=[_draw_edge([places[name] for name in chain]) for chain in chains],
        more=len(tasks) - len(drawn),
    )


def _choose_nodes(tasks: Sequence[Task], edges: Sequence[_Edge]) -> list[str]:
    """Return the tasks to draw; of too many those that hang together with open ones."""
    linked = {task for edge in edges for task in edge}
    drawn = [task.id for task in tasks if task.id in linked or not linked]
    if len(drawn) <= _MOST_NODES:
        return drawn
    wanted: set[str] = set()
    for task in tasks:
        if task.is_open and task.id in linked and len(wanted) < _MOST_NODES:
            wanted |= find_neighbours(task.id, edges)
    return [task for task in drawn if task in wanted or not wanted][:_MOST_NODES]


def _find_levels(tasks: Sequence[str], edges: Sequence[_Edge]) -> dict[str, int]:
    """Return for each task the length of the longest way to it."""
    after: dict[str, list[str]] = {}
    waits = dict.fromkeys(tasks, 0)
    for blocker, task in edges:
        after.setdefault(blocker, []).append(task)
        waits[task] += 1
    level = dict.fromkeys(tasks, 0)
    free = [task for task in tasks if not waits[task]]
    while free:  # edges close no cycle
        blocker = free.pop()
        for task in after.get(blocker, ()):
            level[task] = max(level[task], level[blocker] + 1)
            waits[task] -= 1
            if not waits[task]:
                free.append(task)
    return level


def _make_chain(edge: _Edge, level: Mapping[str, int], layers: Sequence[list[str]]) -> list[str]:
    """Return the places that an edge runs through, and add those between its ends to their layers."""
    blocker, task = edge
    between = [f"{blocker}>{task}:{at}" for at in range(level[blocker] + 1, level[task])]
    for at, name in enumerate(between, level[blocker] + 1):
        layers[at].append(name)
    return [blocker, *between, task]


def _order_layers(layers: Sequence[list[str]], links: Sequence[_Edge]) -> None:
    """Sort each layer by the mean place of its neighbours, to and fro: fewer edges cross."""
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for left, right in links:
        before.setdefault(right, []).append(left)
        after.setdefault(left, []).append(right)
    place = {name: row for layer in layers for row, name in enumerate(layer)}
    for sweep in range(_SWEEPS):
        is_forth = sweep % 2 == 0
        neighbours = before if is_forth else after

        def find_mean(name: str, neighbours: Mapping[str, Sequence[str]] = neighbours) -> float:
            found = [place[one] for one in neighbours.get(name, ())]
            return sum(found) / len(found) if found else float(place[name])

        for layer in layers if is_forth else reversed(layers):
            layer.sort(key=find_mean)
            place.update({name: row for row, name in enumerate(layer)})


def _draw_edge(places: Sequence[_Place]) -> str:
    """Return the path of an edge, from the right side of the first box to the left side of the last."""
    x, y = places[0][0] + _BOX[0], places[0][1] + _BOX[1] // 2
    path = f"M{x} {y}"
    bend = _GAP[0] // 2
    for left, top in places[1:]:
        to = top + _BOX[1] // 2
        path += f"C{x + bend} {y} {left - bend} {to} {left} {to}"
        x, y = left + _BOX[0], to
        if (left, top) != places[-1]:
            path += f"H{x}"
    return path
