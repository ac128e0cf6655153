"""All about one task, as lines of text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from punchlist.core.task import USUAL, Task
from punchlist.surfaces.spans import Glyphs, Line, Look, Span, cut, shown
from punchlist.surfaces.tasks import Columns, blockers, standing, task_line, until
from punchlist.surfaces.text import ago
from punchlist.text import fit, for_terminal

_LABEL = 10
_LONGEST_VALUE = 2_000
"""Characters of a result or a state that are shown; `--json` has all."""


def task_card(task: Task, look: Look, now: datetime) -> Iterator[Line]:
    """The row of a task, each fact that there is about it on a line, its checklist and its description."""
    yield task_line(task, look, now, Columns([task]))
    for name, text in _facts(task, look.glyphs, now):
        line = (Span(f"  {name:<{_LABEL}}  ", "dim"), Span(text))
        yield cut(line, look.columns, look.glyphs)
    for check in task.checklist:
        box = look.glyphs.boxes["completed" if check.done else "pending"]
        text = Span(shown(check.text), "dim" if check.done else "plain")
        yield cut((Span("    "), Span(f"{box} ", "good" if check.done else "plain"), text), look.columns, look.glyphs)
    if task.description:
        yield ()
        for line in for_terminal(task.description, lines=True).splitlines():
            yield cut((Span(f"  {line}"),), look.columns, look.glyphs)


def _facts(task: Task, glyphs: Glyphs, now: datetime) -> Iterator[tuple[str, str]]:
    yield "status", _status(task, now)
    yield "list", shown(task.list)
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
            yield name, shown(value)
    yield from _numbers(task)
    for name, value in (("result", task.result), ("state", task.state or None), ("metadata", task.metadata or None)):
        if value is not None:
            yield name, value_text(value, glyphs)
    for late in task.late_results:
        by = f" by {shown(late.by)}" if late.by else ""
        yield "late", f"{value_text(late.result, glyphs)} (fence {late.fence}{by})"
    yield from _times(task, now)


def _status(task: Task, now: datetime) -> str:
    if task.is_ready:
        return "pending, ready to begin"
    if task.stuck_on:
        return f"{task.status}, blocked by {blockers(task)}: retry that, or `tasks unblock` this"
    why = standing(task, now)
    said = task.status.value.replace("_", " ")
    return said if not why or why.startswith(said) else f"{said}, {why}"


def _numbers(task: Task) -> Iterator[tuple[str, str]]:
    done, total, percent = task.progress
    if total > 1:
        yield "progress", f"{done} of {total}, {percent} %"
    if task.attempts or task.max_attempts:
        yield "attempts", f"{task.attempts}" + (f" of {task.max_attempts}" if task.max_attempts else "")
    yield "revision", f"{task.revision}" + (f", fence {task.fence}" if task.fence else "")


def _times(task: Task, now: datetime) -> Iterator[tuple[str, str]]:
    by = f" by {shown(task.created_by)}" if task.created_by else ""
    for name, at, more in (
        ("created", task.created_at, by),
        ("started", task.started_at, ""),
        ("finished", task.finished_at, ""),
    ):
        if at is not None:
            yield name, ago(at, now) + more
    if task.lease_until is not None:
        yield "lease", f"ends {until(task.lease_until, now)}"


def value_text(value: Any, glyphs: Glyphs) -> str:
    """A JSON value in one line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return fit(shown(text), _LONGEST_VALUE, glyphs.ellipsis)
