"""The page of figures: items and tasks completed by day and grade, the time they take, the cost of the layer itself."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from punchlist.board import Board
from punchlist.core.overview import KeptItem
from punchlist.core.report import known_stints, sum_stints
from punchlist.core.task import Task
from punchlist.guidance.ledger import Cost, sum_costs
from punchlist.server.pages.rendering import Values
from punchlist.store import Transaction
from punchlist.terminal.lists import GRADES
from punchlist.terminal.reports import COST_HEADINGS, COST_LEGEND, cost_cells, cost_remarks, cost_title
from punchlist.views.findings import span
from punchlist.views.reports import said_size

_MOST_ITEMS: Final = 20_000
_DAYS: Final = 14
_HOURS: Final = 24
_WIDTH: Final = 480
_HEIGHT: Final = 120
_NO_GRADE: Final = "not judged"
_STYLES: Final = {**GRADES, _NO_GRADE: "faint"}
_COST_LOOKS: Final = ("tools", "said", "written", "read")
_SPANS: Final = (
    ("under 1 min", timedelta(minutes=1)),
    ("1 to 5 min", timedelta(minutes=5)),
    ("5 to 15 min", timedelta(minutes=15)),
    ("15 to 60 min", timedelta(hours=1)),
    ("1 to 4 h", timedelta(hours=4)),
    ("longer", timedelta.max),
)


class Completed(Struct, frozen=True):
    """An item or a task that was completed, and how long it was in progress; None if that is not known."""

    at: datetime | None
    grade: str
    elapsed: timedelta | None


def load_stats(board: Board) -> Values:
    """Return the figures of the board: of the items of all lists, also past ones, and of tasks."""

    def load(tx: Transaction) -> tuple[list[KeptItem], list[Task]]:
        rows = tx.overviews.latest_items(_MOST_ITEMS, status="completed")
        tasks = tx.tasks.latest_completed(limit=_MOST_ITEMS)
        return [row.kept for row in rows if not row.kept.is_gone], [row.task for row in tasks]

    items, tasks = board.store.read(load)
    now = board.now()
    completed = [*(_complete_item(item, now) for item in items), *map(_complete_task, tasks)]
    elapsed = sorted(one.elapsed for one in completed if one.elapsed is not None)
    grades = Counter(one.grade for one in completed)
    costs = sum_costs(row.cost for row in board.costs())
    return {
        "at": now,
        "number_of_items": len(items),
        "number_of_tasks": len(tasks),
        "is_cut": _MOST_ITEMS in (len(items), len(tasks)),
        "days": _chart(completed, now, timedelta(days=1), _DAYS, "%d"),
        "hours": _chart(completed, now, timedelta(hours=1), _HOURS, "%H"),
        "grades": _shares([(name, grades[name]) for name in (*GRADES, _NO_GRADE) if grades[name]]),
        "times": _shares(_count_spans(elapsed)) if elapsed else (),
        "median": span(elapsed[(len(elapsed) - 1) // 2]) if elapsed else "",
        "costs": [_view_cost(cost, max(one.tokens for one in costs)) for cost in costs],
        "headings": COST_HEADINGS,
        "legend": COST_LEGEND,
    }


def _complete_item(kept: KeptItem, now: datetime) -> Completed:
    elapsed = sum_stints(kept.stints or known_stints(kept.item), now)
    return Completed(kept.item.finished_at, kept.item.grade or _NO_GRADE, elapsed)


def _complete_task(task: Task) -> Completed:
    elapsed = None
    if task.started_at is not None and task.finished_at is not None:
        elapsed = task.finished_at - task.started_at
    return Completed(task.finished_at, task.grade or _NO_GRADE, elapsed)


def _chart(completed: Iterable[Completed], now: datetime, step: timedelta, number: int, form: str) -> list[Values]:
    """Return completions per step of time, the latest on the right, as bars of stacked grades."""
    local = now.astimezone()
    begin = local.replace(minute=0, second=0, microsecond=0)
    if step >= timedelta(days=1):
        begin = begin.replace(hour=0)
    starts = [begin - step * back for back in range(number - 1, -1, -1)]
    counts: list[Counter[str]] = [Counter() for _ in starts]
    for one in completed:
        if one.at is not None:
            place = number - 1 - int((begin + step - one.at.astimezone(local.tzinfo)) / step)
            if 0 <= place < number:
                counts[place][one.grade] += 1
    most = max([sum(count.values()) for count in counts], default=0) or 1
    return [
        _stack(place, number, start, form, count, most)
        for place, (start, count) in enumerate(zip(starts, counts, strict=True))
    ]


def _stack(place: int, number: int, start: datetime, form: str, count: Counter[str], most: int) -> Values:
    """Return one bar; of many only each third has a label. `when` and `words` say the same in a table."""
    parts: list[tuple[str, float, float]] = []
    top = float(_HEIGHT + 16)
    for grade in (*GRADES, _NO_GRADE):
        if count[grade]:
            height = _HEIGHT * count[grade] / most
            top -= height
            parts.append((grade.replace(" ", "-"), round(top, 1), round(height, 1)))
    words = ", ".join(f"{count[grade]} {grade}" for grade in (*GRADES, _NO_GRADE) if count[grade])
    step = _WIDTH / number
    return {
        "x": round(place * step + step / 8, 1),
        "width": round(step * 3 / 4, 1),
        "middle": round(place * step + step / 2, 1),
        "label": start.strftime(form) if number <= _DAYS or start.hour % 3 == 0 else "",
        "when": f"{start:%d %b}" if number <= _DAYS else f"{start:%d %b %H:%M}",
        "words": words or "nothing",
        "total": count.total(),
        "top": round(top - 4, 1),
        "parts": parts,  # of each its look, its upper edge and its height
    }


def _count_spans(lengths: Sequence[timedelta]) -> list[tuple[str, int]]:
    counts = Counter(next(name for name, most in _SPANS if length < most) for length in lengths)
    return [(name, counts[name]) for name, _ in _SPANS]


def _shares(counts: Sequence[tuple[str, int]]) -> list[Values]:
    """Return each number with its share of the largest in percent."""
    most = max([number for _, number in counts], default=0) or 1
    return [
        {"name": name, "number": number, "percent": round(100 * number / most), "style": _STYLES.get(name, "plain")}
        for name, number in counts
    ]


def _view_cost(cost: Cost, most: int) -> Values:
    """Return a dialect and profile in estimated tokens; its parts are in percent of the largest bar."""
    sizes = (cost.spent.descriptions, said_size(cost), cost.calls.arguments, cost.calls.replies)
    parts: list[tuple[str, float, float]] = []
    x = 0.0
    for look, size in zip(_COST_LOOKS, sizes, strict=True):
        width = round(100 * size.tokens / most, 2) if most else 0.0
        parts.append((look, round(x, 2), width))
        x += width
    return {"name": cost_title(cost), "cells": cost_cells(cost), "remarks": cost_remarks(cost), "parts": parts}
