"""Render durable tasks: one row each, a card with all facts about one, and the graph of dependencies."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from typing import Any

from punchlist.core.task import ENDED, USUAL, Task, TaskStatus, Wait
from punchlist.core.todo import Status
from punchlist.terminal.lists import GRADES, STYLES
from punchlist.terminal.spans import Display, Glyphs, Line, Span, Style, cells, safe_line, walk_tree
from punchlist.text import fit, for_terminal
from punchlist.views.findings import ago, until_words

_MOST_NAMED = 5
_DEEPEST = 20
"""Further in, rows are not indented any more: there would be no room for what they say."""
_LABEL = 10
_LONGEST_VALUE = 2_000
"""Characters of a result or a state that are shown; `--json` has all."""

Edge = tuple[str, str]
"""A blocker, and who waits for it."""

_LONGEST_TITLE = 80
_PLAIN = frozenset(" .,-_/()'!?+=:")


def find_box(task: Task, glyphs: Glyphs) -> tuple[str, Style, Style]:
    """Return the box of a task, the style of it, and that of the text."""
    status = Status.BLOCKED if task.is_blocked or task.status is TaskStatus.WAITING else Status(task.status.value)
    style, text_style = STYLES[status]
    if task.status is TaskStatus.COMPLETED and task.grade in glyphs.grades:
        return glyphs.grades[task.grade], GRADES[task.grade], "dim"
    return glyphs.boxes[status], style, "dim" if task.status is TaskStatus.COMPLETED else text_style


def _remarks(task: Task, glyphs: Glyphs, now: datetime) -> Line:
    remarks: list[Span] = []
    if why := standing_words(task, now):
        style: Style = "dim" if task.status in {TaskStatus.IN_PROGRESS, TaskStatus.PENDING} else "warning"
        remarks.append(Span(f" {glyphs.dash} {why}", "warning" if task.is_blocked else style))
    if task.progress.total > 1 and task.is_open:
        remarks.append(Span(f" ({task.progress.done}/{task.progress.total})", "dim"))
    if task.labels:
        remarks.append(Span("".join(f" #{safe_line(label)}" for label in task.labels), "accent"))
    return tuple(remarks)


def standing_words(task: Task, now: datetime) -> str:
    """Return why a task does not move, its worker, or the grade of its end; empty where there is nothing to say."""
    asked = ", to be cancelled" if task.cancel_requested and task.status not in ENDED else ""
    match task.status:
        case TaskStatus.IN_PROGRESS:
            owner = f", {safe_line(task.owner)}" if task.owner else ""
            lease = "" if task.lease_until is None else f", lease ends {until_words(task.lease_until, now)}"
            return f"{owner}{lease}{asked}".removeprefix(", ")
        case TaskStatus.WAITING:
            return f"{wait_words(task.wait, now)}{asked}"
        case TaskStatus.COMPLETED:
            return safe_line(task.grade or "")
        case TaskStatus.FAILED:
            return f"failed: {safe_line(task.failure)}" if task.failure else "failed"
        case TaskStatus.PENDING if task.open_blockers:
            return f"blocked by {_blockers(task)}{asked}"
        case TaskStatus.PENDING if task.not_before is not None:
            return f"rests, next attempt {until_words(task.not_before, now)}{asked}"
        case TaskStatus.PENDING if task.owner is not None:
            return f"for {safe_line(task.owner)}{asked}"
        case _:
            return asked.removeprefix(", ")


def _blockers(task: Task) -> str:
    """Return the blockers of a task; those that have ended without success with their status."""
    named = [
        f"{safe_line(each.id)} ({each.status})" if each.status in ENDED else safe_line(each.id)
        for each in task.held_by[:_MOST_NAMED]
    ]
    more = task.open_blockers - len(named)
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def wait_words(wait: Wait | None, now: datetime) -> str:
    if wait is None or wait.kind == "manual":
        return "waits for a person"
    if wait.kind == "timer":
        return "waits" if wait.at is None else f"resumes {until_words(wait.at, now)}"
    return f"waits for {safe_line(wait.topic or '')} {safe_line(wait.correlation_id or '')}"


def task_lines(tasks: Sequence[Task], display: Display, now: datetime) -> Iterator[Line]:
    """Yield a row for each task, those that are part of another below it."""
    return _draw_rows(tasks, lambda task: task.parent, display, now)


def _draw_rows(
    tasks: Sequence[Task], parent: Callable[[Task], str | None], display: Display, now: datetime
) -> Iterator[Line]:
    """Yield one row each: box, id, priority where they differ, subject, and why it waits or who has it."""
    glyphs = display.glyphs
    digits = max((len(task.id) for task in tasks), default=1)
    has_priority = any(task.priority != USUAL for task in tasks)
    for depth, task in walk_tree(tasks, lambda task: task.id, parent):
        box, box_style, style = find_box(task, glyphs)
        before = "" if depth == 0 else "  " * (min(depth, _DEEPEST) - 1) + f"{glyphs.branch} "
        priority = f"p{task.priority} " if has_priority else ""
        start = (
            Span(before, "dim"),
            Span(box, box_style),
            Span(f" {safe_line(task.id):>{digits}} {priority}", "dim"),
        )
        text = safe_line(task.label if task.status is TaskStatus.IN_PROGRESS else task.subject)
        rest = _remarks(task, glyphs, now)
        if display.columns is not None:
            room = display.columns - cells(start)
            text = fit(text, max(room - cells(rest), room // 2), glyphs.ellipsis)
        yield display.cut((*start, Span(text, style), *rest))


# All about one task.


def task_card(task: Task, display: Display, now: datetime) -> Iterator[Line]:
    """Yield the row of a task, each fact about it on a line, its checklist and its description."""
    yield from task_lines([task], display, now)
    for name, text in task_facts(task, display.glyphs, now):
        line = (Span(f"  {name:<{_LABEL}}  ", "dim"), Span(text))
        yield display.cut(line)
    for check in task.checklist:
        box = display.glyphs.boxes["completed" if check.done else "pending"]
        line = Span(f"{box} {safe_line(check.text)}", "dim" if check.done else "plain")
        yield display.cut((Span("    "), line))
    if task.description:
        yield ()
        for line in for_terminal(task.description, lines=True).splitlines():
            yield display.cut((Span(f"  {line}"),))


def task_facts(task: Task, glyphs: Glyphs, now: datetime) -> Iterator[tuple[str, str]]:
    """Yield each fact about a task: its name, and the words."""
    yield "status", _status(task, now)
    yield "list", safe_line(task.list)
    for name, value in (
        ("doing", task.active_form),
        ("owner", task.owner),
        ("labels", ", ".join(task.labels)),
        ("part of", task.parent),
        ("priority", "" if task.priority == USUAL else f"{task.priority} (0 comes first, 4 last)"),
        ("blocked by", ", ".join(task.blocked_by)),
        ("blocks", ", ".join(task.blocks)),
        ("files", ", ".join(task.reserved)),
        ("failure", task.failure),
    ):
        if value:
            yield name, safe_line(value)
    done, total, percent = task.progress
    if total > 1:
        yield "progress", f"{done} of {total}, {percent} %"
    if task.attempts or task.max_attempts:
        yield "attempts", f"{task.attempts}" + (f" of {task.max_attempts}" if task.max_attempts else "")
    yield "revision", f"{task.revision}" + (f", fence {task.fence}" if task.fence else "")
    for name, value in (("result", task.result), ("state", task.state or None), ("metadata", task.metadata or None)):
        if value is not None:
            yield name, _value_text(value, glyphs)
    for late in task.late_results:
        by = f" by {safe_line(late.by)}" if late.by else ""
        yield "late", f"{_value_text(late.result, glyphs)} (fence {late.fence}{by})"
    yield from _times(task, now)


def _status(task: Task, now: datetime) -> str:
    if task.is_ready:
        return "pending, ready to begin"
    if task.stuck_on:
        return f"{task.status}, blocked by {_blockers(task)}: retry that, or `tasks unblock` this"
    why = standing_words(task, now)
    said = task.status.value.replace("_", " ")
    return said if not why or why.startswith(said) else f"{said}, {why}"


def _times(task: Task, now: datetime) -> Iterator[tuple[str, str]]:
    by = f" by {safe_line(task.created_by)}" if task.created_by else ""
    for name, at, more in (
        ("created", task.created_at, by),
        ("started", task.started_at, ""),
        ("finished", task.finished_at, ""),
    ):
        if at is not None:
            yield name, ago(at, now) + more
    if task.lease_until is not None:
        yield "lease", f"ends {until_words(task.lease_until, now)}"


def _value_text(value: Any, glyphs: Glyphs) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return fit(safe_line(text), _LONGEST_VALUE, glyphs.ellipsis)


# What waits for what: a tree, a Mermaid diagram, one for Graphviz. In a diagram a subject is escaped.


def find_neighbours(id: str, edges: Sequence[Edge]) -> set[str]:
    """Return the task, all that it waits for and all that waits for it, however far."""
    found = {id}
    for pairs in (edges, [(task, blocker) for blocker, task in edges]):
        nexts: dict[str, list[str]] = {}
        for one, other in pairs:
            nexts.setdefault(one, []).append(other)
        seen, waiting = {id}, [id]
        while waiting:
            more = [each for each in nexts.get(waiting.pop(), []) if each not in seen]
            seen.update(more)
            waiting.extend(more)
        found |= seen
    return found


def graph_lines(tasks: Sequence[Task], edges: Sequence[Edge], display: Display, now: datetime) -> Iterator[Line]:
    """Yield a tree in the order of work: each task once, below the last of its blockers; the row names all of them."""
    known = {task.id for task in tasks}
    under = _last_blockers(tasks, [edge for edge in edges if known.issuperset(edge)])
    return _draw_rows(tasks, lambda task: under.get(task.id), display, now)


def _last_blockers(tasks: Sequence[Task], edges: Sequence[Edge]) -> dict[str, str]:
    """Return for each task the blocker that comes last when they are done in order."""
    layers = sort_layers((task.id for task in tasks), edges)
    places = {task: place for place, task in enumerate(chain.from_iterable(layers))}
    under: dict[str, str] = {}
    for blocker, task in edges:
        if task in places and places[blocker] > places.get(under.get(task, ""), -1):
            under[task] = blocker
    return under


def sort_layers(tasks: Iterable[str], edges: Iterable[Edge]) -> list[Sequence[str]]:
    """Return tasks in layers, each task after the last of its blockers. A cycle, in a damaged list, is left out."""
    sorter: TopologicalSorter[str] = TopologicalSorter(dict.fromkeys(tasks, ()))
    for blocker, task in edges:
        sorter.add(task, blocker)
    with suppress(CycleError):
        sorter.prepare()
    layers: list[Sequence[str]] = []
    while layer := sorter.get_ready():
        layers.append(layer)
        sorter.done(*layer)
    return layers


def draw_mermaid(tasks: Sequence[Task], edges: Sequence[Edge]) -> Iterator[str]:
    yield "flowchart TD"
    for task in tasks:
        yield f'  t{_number(task.id)}["{_escape_mermaid(_title(task))}"]'
    for blocker, task in edges:
        yield f"  t{_number(blocker)} --> t{_number(task)}"


def _escape_mermaid(text: str) -> str:
    """Write everything but letters, digits and a few plain signs in Mermaid's own codes."""
    return "".join(char if char.isalnum() or char in _PLAIN else f"#{ord(char)};" for char in text)


def draw_dot(tasks: Sequence[Task], edges: Sequence[Edge]) -> Iterator[str]:
    yield "digraph tasks {"
    yield "  node [shape=box];"
    for task in tasks:
        yield f'  t{_number(task.id)} [label="{_escape_dot(_title(task))}"];'
    for blocker, task in edges:
        yield f"  t{_number(blocker)} -> t{_number(task)};"
    yield "}"


def _escape_dot(text: str) -> str:
    """Escape a text for double quotes: no end of the text, no escape of Graphviz, no entity."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")


def _title(task: Task) -> str:
    status = task.status.value.replace("_", " ")
    return f"{_number(task.id)}: {fit(for_terminal(task.subject), _LONGEST_TITLE)} ({status})"


def _number(id: str) -> str:
    """Return an id, which is a number; anything else, from a damaged row, has no place in a diagram."""
    return id if id.isascii() and id.isdecimal() else "0"
