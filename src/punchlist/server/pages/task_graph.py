"""Lay out what waits for what, in layers from left to right: blockers stand before the tasks that wait for them.

The drawing follows from the tasks alone: the same tasks make the same picture, and a task that changes its status does
not move. Edges over several layers are led between the tasks of those in the middle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from punchlist.core.task import Task
from punchlist.surfaces.tasks import Edge, sort_layers

MOST_NODES: Final = 80
"""Tasks that are drawn; more of them are counted."""

WIDTH: Final = 216
HEIGHT: Final = 46
_BETWEEN: Final = 54
_GAP: Final = 14
_BEND_HEIGHT: Final = 8
_MARGIN: Final = 8
_SWEEPS: Final = 8
"""Rounds of ordering: further ones change next to nothing in graphs of this size."""

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
    layers = _order(_fill_layers(levels, chains.values()), chains.values())
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
    """Return an edge as the keys that it connects: its ends, and a bend in every layer between them."""
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


def _find_neighbours(chains: Iterable[Sequence[_Key]]) -> tuple[dict[_Key, list[_Key]], dict[_Key, list[_Key]]]:
    """Return the neighbours of each key on its left, and on its right."""
    lefts: dict[_Key, list[_Key]] = {}
    rights: dict[_Key, list[_Key]] = {}
    for chain in chains:
        for one, other in pairwise(chain):
            rights.setdefault(one, []).append(other)
            lefts.setdefault(other, []).append(one)
    return lefts, rights


def _order(layers: list[list[_Key]], chains: Iterable[Sequence[_Key]]) -> list[list[_Key]]:
    """Return the layers, each in an order in which few edges cross: by the mean place of the neighbours."""
    lefts, rights = _find_neighbours(chains)
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        near = lefts if forward else rights
        steps = range(1, len(layers)) if forward else range(len(layers) - 2, -1, -1)
        for number in steps:
            beside = layers[number - 1] if forward else layers[number + 1]
            places = {key: place for place, key in enumerate(beside)}
            means: dict[_Key, float] = {}
            for own, key in enumerate(layers[number]):
                found = [places[other] for other in near.get(key, ()) if other in places]
                means[key] = sum(found) / len(found) if found else own
            layers[number].sort(key=means.__getitem__)
    return layers


def _height(key: _Key) -> int:
    return HEIGHT if isinstance(key, str) else _BEND_HEIGHT


def _place(layers: Sequence[Sequence[_Key]], chains: Iterable[Sequence[_Key]]) -> dict[_Key, float]:
    """Return the middle of each key from top to bottom: near its neighbours, and apart from its layer."""
    lefts, rights = _find_neighbours(chains)
    middles: dict[_Key, float] = {}
    for layer in layers:
        _spread(layer, dict.fromkeys(layer, 0.0), middles)
    for sweep in range(_SWEEPS):
        near = lefts if sweep % 2 == 0 else rights
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = {
                key: sum(middles[other] for other in near[key]) / len(near[key]) if near.get(key) else middles[key]
                for key in layer
            }
            _spread(layer, wanted, middles)
    return middles


def _spread(layer: Sequence[_Key], wanted: Mapping[_Key, float], middles: dict[_Key, float]) -> None:
    """Put the keys of a layer where they are wanted, in their order, and apart; on the whole neither up nor down."""
    at = float("-inf")
    for key in layer:
        at = max(wanted[key], at + _height(key) / 2)
        middles[key] = at
        at += _height(key) / 2 + _GAP
    if layer:
        drift = sum(middles[key] - wanted[key] for key in layer) / len(layer)
        for key in layer:
            middles[key] -= drift


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
