"""Durable tasks as lines of text: one row each, with why it does not move, and a card with all about one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from punchlist.core.task import ENDED, USUAL, Task, TaskStatus, Wait
from punchlist.surfaces.spans import Glyphs, Line, Look, Span, Style, cells, cut, shown
from punchlist.surfaces.text import plural
from punchlist.text import fit

_BOXES = {TaskStatus.WAITING: "blocked"}
_STYLES: dict[TaskStatus, tuple[Style, Style]] = {
    TaskStatus.PENDING: ("plain", "plain"),
    TaskStatus.IN_PROGRESS: ("focus", "focus"),
    TaskStatus.WAITING: ("warning", "plain"),
    TaskStatus.COMPLETED: ("good", "dim"),
    TaskStatus.FAILED: ("bad", "plain"),
    TaskStatus.CANCELLED: ("dim", "struck"),
}
"""The style of the box and of the text, for each status."""

_MOST_NAMED = 5
_DEEPEST = 20
"""Further in, rows are not indented any more: there would be no room for what they say."""


class Columns:
    """What the rows of one table have in common: how wide the ids are, and whether priorities are shown."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.id = max((len(task.id) for task in tasks), default=1)
        self.priority = any(task.priority != USUAL for task in tasks)


def task_line(task: Task, look: Look, now: datetime, columns: Columns, *, before: str = "") -> Line:
    """One row: box, id, priority where they differ, subject, and why it waits or who has it."""
    glyphs = look.glyphs
    box, style = _STYLES[task.status]
    if task.is_blocked:
        box = "warning"
    priority = f"p{task.priority} " if columns.priority else ""
    start = (
        Span(before, "dim"),
        Span(_box(task, glyphs), box),
        Span(f" {shown(task.id):>{columns.id}} {priority}", "dim"),
    )
    text = shown(task.label if task.status is TaskStatus.IN_PROGRESS else task.subject)
    rest = _remarks(task, glyphs, now)
    if look.columns is not None:
        room = look.columns - cells(start)
        text = fit(text, max(room - cells(rest), room // 2), glyphs.ellipsis)
    return cut((*start, Span(text, style), *rest), look.columns, glyphs)


def _box(task: Task, glyphs: Glyphs) -> str:
    return glyphs.boxes["blocked" if task.is_blocked else _BOXES.get(task.status, task.status.value)]


def _remarks(task: Task, glyphs: Glyphs, now: datetime) -> Line:
    remarks: list[Span] = []
    if why := standing(task, now):
        style: Style = "dim" if task.status in {TaskStatus.IN_PROGRESS, TaskStatus.PENDING} else "warning"
        remarks.append(Span(f" {glyphs.dash} {why}", "warning" if task.is_blocked else style))
    if task.progress.total > 1 and task.is_open:
        remarks.append(Span(f" ({task.progress.done}/{task.progress.total})", "dim"))
    if task.labels:
        remarks.append(Span("".join(f" #{shown(label)}" for label in task.labels), "accent"))
    return tuple(remarks)


def standing(task: Task, now: datetime) -> str:
    """Why a task does not move, or who moves it, or how its end was graded; empty where there is nothing to say."""
    asked = ", to be cancelled" if task.cancel_requested and task.status not in ENDED else ""
    match task.status:
        case TaskStatus.IN_PROGRESS:
            owner = shown(task.owner or "somebody")
            lease = "" if task.lease_until is None else f", lease ends {until(task.lease_until, now)}"
            return f"{owner}{lease}{asked}"
        case TaskStatus.WAITING:
            return f"{waiting_for(task.wait, now)}{asked}"
        case TaskStatus.COMPLETED:
            return shown(task.grade or "")
        case TaskStatus.FAILED:
            return f"failed: {shown(task.failure)}" if task.failure else "failed"
        case TaskStatus.PENDING if task.open_blockers:
            return f"blocked by {blockers(task)}{asked}"
        case TaskStatus.PENDING if task.not_before is not None:
            return f"rests, next attempt {until(task.not_before, now)}{asked}"
        case TaskStatus.PENDING if task.owner is not None:
            return f"for {shown(task.owner)}{asked}"
        case _:
            return asked.removeprefix(", ")


def blockers(task: Task) -> str:
    """Who holds a task back; those that will not let it go by themselves with their status."""
    named = [
        f"{shown(each.id)} ({each.status})" if each.status in ENDED else shown(each.id)
        for each in task.held_by[:_MOST_NAMED]
    ]
    more = task.open_blockers - len(named)
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def waiting_for(wait: Wait | None, now: datetime) -> str:
    if wait is None or wait.kind == "manual":
        return "waits for a person"
    if wait.kind == "timer":
        return "waits" if wait.at is None else f"goes on {until(wait.at, now)}"
    return f"waits for {shown(wait.topic or '')} {shown(wait.correlation_id or '')}"


def until(at: datetime, now: datetime) -> str:
    """How far away a time is, in the largest unit of which there are at least two, rounded."""
    seconds = (at - now).total_seconds()
    if seconds <= 0:
        return "now"
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return f"in {plural(round(seconds / size), unit)}"
    return f"in {plural(max(1, round(seconds)), 'second')}"


def task_lines(tasks: Sequence[Task], look: Look, now: datetime) -> Iterator[Line]:
    """A row for each task, those that are part of another below it."""
    columns = Columns(tasks)
    known = {task.id for task in tasks}
    below: dict[str | None, list[Task]] = {}
    for task in tasks:
        below.setdefault(task.parent if task.parent in known else None, []).append(task)
    rows = [(0, task) for task in reversed(below.get(None, []))]
    while rows:
        depth, task = rows.pop()
        yield task_line(task, look, now, columns, before=indent(depth, look.glyphs))
        rows.extend((depth + 1, child) for child in reversed(below.get(task.id, [])))


def indent(depth: int, glyphs: Glyphs) -> str:
    return "" if depth == 0 else "  " * (min(depth, _DEEPEST) - 1) + f"{glyphs.branch} "
