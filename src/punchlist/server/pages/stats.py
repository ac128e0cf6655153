"""The page of figures: completed items by day and grade, the time that items take, the cost of the layer itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Final

from msgspec import Struct

from punchlist.board import Board
from punchlist.core.overview import KeptItem
from punchlist.core.report import known_stints, sum_stints
from punchlist.guidance.ledger import NOTHING, Cost, Size, sum_costs
from punchlist.surfaces.lists import GRADES
from punchlist.surfaces.sentences import span
from punchlist.surfaces.spans import Style

_MOST_ITEMS: Final = 20_000
_DAYS: Final = 14
_HOURS: Final = 24
_WIDTH: Final = 480
_HEIGHT: Final = 120
_NO_GRADE: Final = "not judged"
_SPANS: Final = (
    ("under 1 min", timedelta(minutes=1)),
    ("1 to 5 min", timedelta(minutes=5)),
    ("5 to 15 min", timedelta(minutes=15)),
    ("15 to 60 min", timedelta(hours=1)),
    ("1 to 4 h", timedelta(hours=4)),
    ("longer", timedelta.max),
)


class Part(Struct, frozen=True):
    """A part of a bar, in the units of its chart."""

    y: float
    height: float
    look: str


class Bar(Struct, frozen=True):
    x: float
    width: float
    middle: float
    label: str
    title: str
    total: int
    top: float
    parts: Sequence[Part]


class Chart(Struct, frozen=True):
    width: int
    height: int
    bars: Sequence[Bar]


class Share(Struct, frozen=True):
    """A named number, with its share of the largest in percent."""

    name: str
    number: int
    percent: int
    style: Style = "plain"


class CostView(Struct, frozen=True):
    """A dialect and profile in estimated tokens."""

    name: str
    turns: str
    calls: str
    share: str
    parts: Sequence[str]
    tokens: str
    per_turn: str
    percent: int


class StatsView(Struct, frozen=True, kw_only=True):
    at: datetime
    completed: int
    is_cut: bool
    days: Chart
    hours: Chart
    grades: Sequence[Share]
    times: Sequence[Share]
    median: str
    costs: Sequence[CostView]


def load_stats(board: Board) -> StatsView:
    """Return the figures of the board: of items as people's and agents' lists keep them, also past ones."""
    rows = board.store.read(lambda tx: tx.overviews.latest_items(_MOST_ITEMS, status="completed"))
    items = [row.kept for row in rows if not row.kept.is_gone]
    now = board.now()
    elapsed = [length for item in items if (length := _find_length(item, now)) is not None]
    grades = Counter(item.item.grade or _NO_GRADE for item in items)
    costs = sum_costs(row.cost for row in board.costs())
    return StatsView(
        at=now,
        completed=len(items),
        is_cut=len(rows) == _MOST_ITEMS,
        days=_chart(items, now, timedelta(days=1), _DAYS, "%d"),
        hours=_chart(items, now, timedelta(hours=1), _HOURS, "%H"),
        grades=_shares([(name, grades[name]) for name in (*GRADES, _NO_GRADE) if grades[name]]),
        times=_shares(_count_spans(elapsed)) if elapsed else (),
        median=span(median(elapsed)) if elapsed else "",
        costs=[_view_cost(cost, max(one.tokens for one in costs)) for cost in costs],
    )


def _find_length(kept: KeptItem, now: datetime) -> timedelta | None:
    return sum_stints(kept.stints or known_stints(kept.item), now)


def _chart(items: Iterable[KeptItem], now: datetime, step: timedelta, number: int, form: str) -> Chart:
    """Return completions per step of time, the latest on the right, as bars of stacked grades."""
    local = now.astimezone()
    begin = local.replace(minute=0, second=0, microsecond=0)
    if step >= timedelta(days=1):
        begin = begin.replace(hour=0)
    starts = [begin - step * back for back in range(number - 1, -1, -1)]
    counts: list[Counter[str]] = [Counter() for _ in starts]
    for kept in items:
        at = kept.item.finished_at
        if at is not None:
            place = number - 1 - int((begin + step - at.astimezone(local.tzinfo)) / step)
            if 0 <= place < number:
                counts[place][kept.item.grade or _NO_GRADE] += 1
    most = max([sum(count.values()) for count in counts], default=0) or 1
    bars = [
        _stack(place, number, start, form, count, most)
        for place, (start, count) in enumerate(zip(starts, counts, strict=True))
    ]
    return Chart(_WIDTH, _HEIGHT + 34, bars)


def _stack(place: int, number: int, start: datetime, form: str, count: Counter[str], most: int) -> Bar:
    """Return one bar; of many only each third has a label."""
    parts: list[Part] = []
    top = float(_HEIGHT + 16)
    for grade in (*GRADES, _NO_GRADE):
        if count[grade]:
            height = _HEIGHT * count[grade] / most
            top -= height
            parts.append(Part(round(top, 1), round(height, 1), grade.replace(" ", "-")))
    words = ", ".join(f"{count[grade]} {grade}" for grade in (*GRADES, _NO_GRADE) if count[grade])
    step = _WIDTH / number
    return Bar(
        x=round(place * step + step / 8, 1),
        width=round(step * 3 / 4, 1),
        middle=round(place * step + step / 2, 1),
        label=start.strftime(form) if number <= _DAYS or start.hour % 3 == 0 else "",
        title=f"{start:%d %b} {start:%H:%M}: {words or 'nothing'}",
        total=count.total(),
        top=round(top - 4, 1),
        parts=parts,
    )


def _count_spans(lengths: Sequence[timedelta]) -> list[tuple[str, int]]:
    counts = Counter(next(name for name, most in _SPANS if length < most) for length in lengths)
    return [(name, counts[name]) for name, _ in _SPANS]


def _shares(counts: Sequence[tuple[str, int]]) -> list[Share]:
    most = max([number for _, number in counts], default=0) or 1
    return [Share(name, number, round(100 * number / most), GRADES.get(name, "plain")) for name, number in counts]


def _view_cost(cost: Cost, most: int) -> CostView:
    said = sum(cost.spent.injections.values(), NOTHING)
    sizes: tuple[Size, ...] = (cost.spent.descriptions, said, cost.calls.arguments, cost.calls.replies)
    return CostView(
        name=f"{cost.dialect}/{cost.profile}" if cost.profile else cost.dialect,
        turns=f"{cost.spent.turns:,}",
        calls=f"{cost.calls.arguments.count:,}",
        share=f"{cost.share:.0%}",
        parts=[f"{size.tokens:,}" for size in sizes],
        tokens=f"{cost.tokens:,}",
        per_turn=f"{cost.tokens / cost.spent.turns:,.1f}" if cost.spent.turns else "-",
        percent=round(100 * cost.tokens / most) if most else 0,
    )
