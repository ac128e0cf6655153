"""Draw the night: one lane per session over the time since the person looked, as values for SVG.

Places are percents of the axis, so that marks never stretch. Shapes say what a part is; colours repeat it.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from msgspec import Struct

from punchlist.core.grounding.tool_call import ToolCall
from punchlist.core.report import ItemReport
from punchlist.core.todo import Status
from punchlist.presence.screen_feed import MOST_LANES
from punchlist.reports.work_reports import LoadedBrief
from punchlist.server.pages.home import HomeRow
from punchlist.server.pages.rendering import session_path
from punchlist.server.pages.timeline import merge_times

FEW_LANES: Final = 12
"""Lanes that stand above the groups; more are folded below them."""

_PAUSE: Final = timedelta(minutes=15)
"""Time without a call after which an agent counts as idle."""

_SHORTEST: Final = timedelta(hours=1)
_STEPS: Final = tuple(timedelta(minutes=number) for number in (10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080))
_MOST_HOURS: Final = 6
_WORDS: Final = {
    "question": "waits",
    "wait": "waits",
    "hung": "silent",
    "look": "look",
    "unseen": "claimed",
    "work": "at work",
    "ended": "ended",
}
"""The state of a session in one word, by its mark; else the reason for its place."""

_OPEN_PARTS: Final = {"hung": "silent", "question": "wait", "plan": "wait", "item": "wait", "permission": "wait"}
"""How the time until now is drawn, by the reason for which a session has its place."""


_PART_WORDS: Final = {"work": "at work", "wait": "waits for you", "silent": "silent", "idle": "idle"}
_MARK_WIDTH: Final = 2.0
"""Percent of the axis that a mark takes."""


class LanePart(Struct, frozen=True):
    """A stretch of time: at `work`, `wait`, `silent` or `idle`."""

    kind: str
    x: float
    width: float
    title: str


class LaneMark(Struct, frozen=True):
    """A moment: `green` or `red` for a check that went so, `done` for an item, `ended`; a link to it, if it has one."""

    kind: str
    x: float
    title: str
    path: str = ""


class Lane(Struct, frozen=True):
    row: HomeRow
    word: str
    parts: Sequence[LanePart]
    marks: Sequence[LaneMark]


class Night(Struct, frozen=True):
    """The picture: its lanes in the order of the groups, the times below the axis, and the sessions not drawn."""

    lanes: Sequence[Lane]
    hours: Sequence[tuple[float, str]]
    first: str
    last: str
    more: int
    """Sessions that are not drawn: they only read, or are beyond those that can be told apart."""


def draw_night(
    rows: Sequence[HomeRow], loaded: LoadedBrief, calls: Mapping[str, Sequence[ToolCall]], now: datetime
) -> Night | None:
    """Return the picture of these sessions, of the first 40 that have something to show; None if nothing was done."""
    running = ("work", "hung")
    # The calls are those of a session: of several agents in one, the first has its lane.
    first_rows = {row.of.session or row.id: row for row in reversed(rows)}
    sessions = [row for row in rows if first_rows[row.of.session or row.id] is row]
    drawn = [row for row in sessions if calls.get(row.of.session) or row.wait or row.mark in running]
    drawn = [row for row in drawn if row.of.kind != "idle"][:MOST_LANES]
    if not drawn:
        return None
    # To the minute: a picture that changes with each second is sent as often.
    minute = now.replace(second=0, microsecond=0) + timedelta(minutes=1)
    times = [call.finished.at for row in drawn for call in calls.get(row.of.session, ()) if call.finished]
    times += [row.of.at for row in drawn if row.of.at is not None]
    first = loaded.around.since or min(times, default=now)
    axis = _Axis(min(first, now - _SHORTEST), minute)
    done: dict[str, list[ItemReport]] = {}
    for entry in loaded.brief.completed:
        done.setdefault(entry.subject.session, []).append(entry)
    ended = {one.session: one.at for one in loaded.around.agents if one.state == "finished" and one.at is not None}
    lanes = [
        _draw_lane(row, calls.get(row.of.session, ()), done.get(row.of.session, ()), ended.get(row.of.session), axis)
        for row in drawn
    ]
    begin, end = f"{axis.first.astimezone():%H:%M}", f"{now.astimezone():%H:%M}"
    return Night(lanes, axis.hours(), begin, end, len(sessions) - len(drawn))


class _Axis:
    def __init__(self, first: datetime, last: datetime) -> None:
        self.first = first
        self.last = last

    def place(self, at: datetime) -> float:
        """Return where a time is, in percent; what lies outside is put at the edge."""
        share = 100 * (at - self.first) / (self.last - self.first)
        return round(min(100.0, max(0.0, share)), 1)

    def part(self, kind: str, begin: datetime, end: datetime, words: str) -> LanePart:
        x = self.place(begin)
        title = f"{words} {begin.astimezone():%H:%M} to {end.astimezone():%H:%M}"
        return LanePart(kind, min(x, 99.4), max(0.6, round(self.place(end) - x, 1)), title)

    def hours(self) -> list[tuple[float, str]]:
        """Return a few round times of the day, each with its place."""
        length = self.last - self.first
        step = next((step for step in _STEPS if length <= step * _MOST_HOURS), _STEPS[-1])
        begin = self.first.astimezone()
        at = begin.replace(hour=0, minute=0, second=0, microsecond=0)
        found: list[tuple[float, str]] = []
        while at < self.last:
            if at >= begin:
                found.append((self.place(at), f"{at:%a}" if step >= _STEPS[8] else f"{at:%H:%M}"))
            at += step
        return found


def _draw_lane(
    row: HomeRow, calls: Sequence[ToolCall], done: Iterable[ItemReport], ended: datetime | None, axis: _Axis
) -> Lane:
    spans = _merge_spans(calls, axis.first)
    parts = [axis.part("work", begin, end, "at work") for begin, end in spans]
    parts += [axis.part("idle", before[1], after[0], "idle") for before, after in pairwise(spans)]
    kind = "work" if row.of.kind == "work" else _OPEN_PARTS.get(row.of.kind, "idle")
    last = spans[-1][1] if spans else None
    begin = row.of.at if last is None or (row.of.is_lasting and kind != "work") else last
    end = ended or axis.last
    if begin is not None and begin < end:
        parts.append(axis.part(kind, begin, end, _PART_WORDS[kind]))
        if last is not None and last < begin:
            parts.append(axis.part("idle", last, begin, _PART_WORDS["idle"]))
    marks = [
        LaneMark("done", axis.place(at), f"{at.astimezone():%H:%M} done: {entry.item.content}")
        for entry in done
        if (at := entry.item.finished_at) is not None and entry.item.status is Status.COMPLETED
    ]
    path = session_path(row.of.session)
    marks += _mark_checks(calls, path, axis)
    if ended is not None:
        # Beside a check of the same moment, and below it where a narrow screen brings them together.
        x = max([axis.place(ended), *(mark.x + _MARK_WIDTH for mark in marks if mark.kind != "done")])
        marks.insert(0, LaneMark("ended", min(100.0, x), f"{ended.astimezone():%H:%M} ended", f"{path}#events"))
    return Lane(row, _WORDS.get(row.mark, row.of.kind), parts, marks)


def _merge_spans(calls: Iterable[ToolCall], first: datetime) -> list[tuple[datetime, datetime]]:
    """Return when an agent was at work: its calls, together with short pauses between them."""
    times = [
        (max(first, (call.started or call.finished).at), call.finished.at)
        for call in calls
        if call.finished is not None
    ]
    return merge_times(times, _PAUSE)


def _mark_checks(calls: Iterable[ToolCall], path: str, axis: _Axis) -> Iterable[LaneMark]:
    """Yield a mark where a check went green or red: not for each run that came out as the one before."""
    before: dict[str, str] = {}
    for call in sorted(
        (one for one in calls if one.finished is not None), key=lambda one: one.finished or (axis.last, 0)
    ):
        if call.check is None or call.finished is None or call.check_outcome not in ("passed", "failed"):
            continue
        if before.get(call.check.name) != call.check_outcome:
            kind = "green" if call.check_outcome == "passed" else "red"
            words = f"{call.finished.at.astimezone():%H:%M} {call.check.name} {call.check_outcome}"
            yield LaneMark(kind, axis.place(call.finished.at), words, f"{path}?before={call.finished.order + 1}#events")
        before[call.check.name] = call.check_outcome
