"""Lay out the timeline of a session: a lane per item, the times in progress as bars, tool calls as ticks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from msgspec import Struct

from punchlist.core.grounding.tool_call import ToolCall
from punchlist.core.presence import describe_call
from punchlist.core.report import ItemReport
from punchlist.server.pages.rendering import Values, element_id
from punchlist.views.findings import count_words, span

_MOST_LANES: Final = 200
_LABEL: Final = 18.0
"""Percent of the axis that a time of day needs."""


_IDLE: Final = timedelta(minutes=10)
"""Time without activity that is folded, if it is longer."""

_FOLD: Final = 4.0
_FOLDS: Final = 40.0
"""Percent of the axis for one fold, and for all of them at most."""

_LEAST_STRETCH: Final = 0.03


class Timeline(Struct, frozen=True):
    """Lanes, the folds that stand for time without activity, and times of day. Places are percents of the axis."""

    lanes: Sequence[Values]
    folds: Sequence[Values]
    times: Sequence[Values]
    more: int
    """Lanes that are left out."""


Calls = Mapping[tuple[str, str], Sequence[ToolCall]]
"""Tool calls by agent and by the key of the item that they were made for."""


_LaneWork = tuple[str, str, str, str, Sequence[tuple[datetime, datetime]], Sequence[ToolCall]]
"""The element of an item, the label, title and look (its grade, else its status) of its lane, its times, its calls."""


def lay_out(entries: Sequence[ItemReport], calls: Calls, now: datetime) -> Timeline | None:
    """Return the timeline of these items and of the calls without one; None if nothing was done yet."""
    lanes: list[_LaneWork] = []
    known: set[tuple[str, str]] = set()
    several = len({entry.subject.agent for entry in entries} | {agent for agent, _ in calls}) > 1
    for entry in entries:
        key = (entry.subject.agent, entry.subject.item)
        known.add(key)
        stints = [(begin, max(stop or now, begin)) for begin, stop in entry.stints]
        if stints or calls.get(key):
            state = entry.grade or entry.item.status.value
            words = f"{entry.item.content} ({state.replace('_', ' ')}, {span(entry.elapsed) or 'no time'})"
            is_helper = entry.subject.agent != entries[0].subject.agent
            label = f"↳ {entry.subject.agent}: {entry.item.content}" if is_helper else entry.item.content
            lanes.append((element_id(("item", *key)), label, words, state, stints, calls.get(key, ())))
    for (agent, item), made in calls.items():
        if (agent, item) not in known and made:
            label = f"{agent}: no item" if several else "no item"
            lanes.append(("", label, f"{label}: {count_words(len(made), 'call')}", "none", (), made))
    if not lanes:
        return None
    shown = lanes[:_MOST_LANES]
    axis = Axis(_find_active(shown))
    drawn = [
        {
            "element": element,
            "label": label,
            "title": title,
            "look": look,
            "bars": [_place_bar(axis, begin, stop) for begin, stop in stints],
            "ticks": _place_ticks(axis, (call for call in made if not _has_failed(call))),
            "failures": _place_ticks(axis, (call for call in made if _has_failed(call)), titled=True),
        }
        for element, label, title, look, stints, made in shown
    ]
    return Timeline(drawn, _place_folds(axis), _place_times(axis), len(lanes) - len(shown))


def _find_active(lanes: Iterable[_LaneWork]) -> list[tuple[datetime, datetime]]:
    """Return when something happened: both ends of each time in progress, and each call."""
    active: list[tuple[datetime, datetime]] = []
    for *_, stints, made in lanes:
        active += [(at, at) for stint in stints for at in stint]
        for call in made:
            begin, end = call.started or call.finished, call.finished or call.started
            if begin is not None and end is not None:
                active.append((begin.at, max(begin.at, end.at)))
    return active


def _has_failed(call: ToolCall) -> bool:
    return call.outcome == "failed" or call.check_outcome == "failed"


def _place_bar(axis: Axis, begin: datetime, stop: datetime) -> tuple[str, str]:
    left = min(axis.place(begin), 99.7)
    return f"{left:.2f}", f"{max(axis.place(stop) - left, 0.3):.2f}"


def _place_ticks(axis: Axis, calls: Iterable[ToolCall], *, titled: bool = False) -> dict[str, str]:
    """Return one tick per place: there may be more calls than pixels."""
    places: dict[str, str] = {}
    for call in calls:
        at = call.started or call.finished
        if at is not None:
            title = f"{describe_call(call.name, call.preview)} failed" if titled else ""
            places[f"{min(axis.place(at.at), 99.5):.1f}"] = title
    return places


def _place_folds(axis: Axis) -> list[Values]:
    """Return each fold with the length of the time that it stands for."""
    folds: list[Values] = []
    for right, (before, after) in zip(axis.lefts[1:], pairwise(axis.stretches), strict=True):
        x, width = f"{right - axis.fold + 0.3:.2f}", f"{axis.fold - 0.3:.2f}"
        folds.append({"x": x, "width": width, "label": span(after[0] - before[1])})
    return folds


def _place_times(axis: Axis) -> list[Values]:
    """Return times of day along the axis, as far apart as they need: those of its ends, then those after folds."""
    first, last = axis.stretches[0][0].astimezone(), axis.stretches[-1][1].astimezone()
    times: dict[float, Values] = {}
    for at in (first, last, *(start.astimezone() for start, _ in axis.stretches[1:])):
        x = 100.0 if first != at == last else axis.place(at)
        middle = min(max(x, _LABEL / 2), 100 - _LABEL / 2)
        if all(abs(middle - other) >= _LABEL for other in times):
            day = f"{at:%a} " if at is first and first.date() != last.date() else ""
            anchor = {0.0: "start", 100.0: "end"}.get(x, "middle")
            times[middle] = {"x": f"{x:.2f}", "label": f"{day}{at:%H:%M}", "anchor": anchor}
    return [times[middle] for middle in sorted(times)]


def merge_times(times: Iterable[tuple[datetime, datetime]], pause: timedelta) -> list[tuple[datetime, datetime]]:
    """Return times in order, those with no longer pause between them as one."""
    merged: list[tuple[datetime, datetime]] = []
    for begin, end in sorted(times):
        if merged and begin - merged[-1][1] <= pause:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return merged


class Axis:
    """Places moments on an axis of 100 percent, on which time without activity is folded."""

    def __init__(self, active: Iterable[tuple[datetime, datetime]]) -> None:
        self.stretches = stretches = merge_times(active, _IDLE)
        self.fold = min(_FOLD, _FOLDS / max(1, len(stretches) - 1))
        lengths = [(end - start).total_seconds() for start, end in stretches]
        weights = [max(length, _LEAST_STRETCH * sum(lengths), 1.0) for length in lengths]
        share = (100 - self.fold * (len(stretches) - 1)) / sum(weights)
        self.widths = [weight * share for weight in weights]
        self.lefts = [sum(self.widths[:index]) + index * self.fold for index in range(len(stretches))]

    def place(self, at: datetime) -> float:
        for (start, end), left, width in zip(self.stretches, self.lefts, self.widths, strict=True):
            if at <= start:
                return left
            if at <= end:
                return left + width * (at - start) / (end - start)
        return 100.0
