"""Render a brief on one screen: the work since the reader was away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any, Final

from msgspec import Struct

from punchlist.core.brief import STALLS, Brief
from punchlist.core.report import ItemReport
from punchlist.surfaces.lists import helper_words
from punchlist.surfaces.reports import (
    Changes,
    change_words,
    check_words,
    count_words,
    item_data,
    session_data,
    span,
    state_lines,
    tally_words,
    work_words,
)
from punchlist.surfaces.spans import Glyphs, Line, Span, Style, pack, safe_line
from punchlist.surfaces.spans import cut as cut_line
from punchlist.text import cut, fit, width

_STALLS: Final = {
    "nothing_submitted": "was started{for}, and was given nothing to do",
    "no_runtime_event": "was given something to do{for}, and nothing has come from it since",
    "no_output": "has shown no sign of life{for}, and has said nothing yet; perhaps a tool still runs",
    "silent_after_output": "has shown no sign of life{for}; perhaps it waits for an answer",
    "timed_out": "has come to no end, and is no longer waited for",
}
_SINCE: Final = frozenset({"nothing_submitted", "no_runtime_event"})

_NOTICED: Final = ("session", "agent", "detector", "seen")
_MARGIN: Final = 4
_TEXT: Final = 80
"""Characters of an item's text where a line may be of any length."""

_LEAST: Final = 24
"""Cells that an item's text keeps on a line with what is known of it."""

_NARROW: Final = 72
"""On fewer columns what is known of an item is on lines of its own."""

_MOST_KNOWN: Final = 2

_MOST_LINES: Final = 3
_SESSION: Final = 16
"""Characters of a session id that is shown whole."""

_MOST_ROWS: Final = 4
"""Rows of one section; what is beyond is counted."""


class Silent(Struct, frozen=True):
    """An agent that has fallen silent: the stall that was detected, and its length if that is known."""

    session: str
    agent: str
    detector: str
    silent: timedelta | None = None


def stall_words(who: str, silent: Silent) -> str:
    """Return the stall of an agent of that name as a sentence."""
    said = _STALLS.get(silent.detector, "has shown no sign of life{for}")
    long = "" if silent.silent is None else span(silent.silent)
    when = "" if not long else f" {long} ago" if silent.detector in _SINCE else f" for {long}"
    return f"{who} {said.replace('{for}', when)}."


class ItemRows:
    """The items of one brief as rows of lines; their agents are named where there are several."""

    def __init__(self, entries: Iterable[ItemReport], changes: Changes, glyphs: Glyphs, columns: int) -> None:
        self._names = names({(entry.subject.session, entry.subject.agent) for entry in entries})
        self._changes = changes
        self._glyphs = glyphs
        self._columns = columns

    def of(self, entries: Iterable[ItemReport]) -> list[Sequence[str]]:
        return [self._row(entry) for entry in entries]

    def _row(self, entry: ItemReport) -> Sequence[str]:
        text, parts, mark = (
            safe_line(entry.item.content),
            list(map(safe_line, self._item_facts(entry))),
            self._glyphs.ellipsis,
        )
        if not self._columns:
            return [f" {self._glyphs.dash} ".join(filter(None, (cut(text, _TEXT, mark), ", ".join(parts))))]
        room = max(1, self._columns - _MARGIN)
        if self._columns < _NARROW:
            *more, last = list(pack(parts, room, ", "))[:_MOST_KNOWN] or [""]
            return [fit(text, room, mark), *more, *([last.rstrip(",")] if last else [])]
        known = _fit_parts(parts, room - min(width(text), _LEAST) - 3)
        if not known:
            return [fit(text, room, mark)]
        return [f"{fit(text, room - width(known) - 3, mark)} {self._glyphs.dash} {known}"]

    def _item_facts(self, entry: ItemReport) -> Iterator[str]:
        """Yield the facts about an item, the more important first."""
        owner, changed = (entry.subject.session, entry.subject.agent), self._changes.get(entry.subject)
        said = [
            entry.grade if entry.grade in ("failing", "unseen", "confirmed") else "",
            helper_words(entry.helpers) if entry.helpers else "",
            change_words(changed),
            check_words(entry),
            cut(self._names[owner], 2 * _SESSION, self._glyphs.ellipsis) if len(self._names) > 1 else "",
            span(entry.elapsed),
            count_words(len(changed.commits), "commit") if changed is not None and changed.commits else "",
            *(work_words(entry.tally, kinds=False) if not entry.tally.is_empty else ()),
        ]
        return (part for part in said if part)


def names(owners: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return a name for each session and agent: with the session where two agents have one name."""
    known = list(owners)
    said = [agent for _, agent in known]
    return {
        (session, agent): agent if said.count(agent) == 1 else f"{agent} in {_short_session(session)}"
        for session, agent in known
    }


def _short_session(session: str) -> str:
    """Return the part of a session id by which people tell it from others: of a long one the end, which is random."""
    return session if len(session) <= _SESSION else session[-8:]


def wrap_row(text: str, glyphs: Glyphs, columns: int) -> Sequence[str]:
    """Wrap a text on a few lines of that many columns, with the margin of a row."""
    room = max(1, columns - _MARGIN) if columns else 0
    lines = list(pack([safe_line(text)], room, ""))
    if len(lines) <= _MOST_LINES:
        return lines or [""]
    return [*lines[: _MOST_LINES - 1], fit(" ".join(lines[_MOST_LINES - 1 :]), room, glyphs.ellipsis)]


def _fit_parts(parts: Iterable[str], room: int) -> str:
    """Return as many parts as there is room for, none of them cut."""
    kept: list[str] = []
    for part in parts:
        if width(", ".join([*kept, part])) <= room:
            kept.append(part)
    return ", ".join(kept)


class Around(Struct, frozen=True):
    """The parts of a brief that are not in the log: questions and plans, silent agents, and the cost since then."""

    questions: Sequence[str] = ()
    plans: Sequence[str] = ()
    stalls: Sequence[Silent] = ()
    tokens: int = 0


def is_empty(brief: Brief, around: Around) -> bool:
    return brief.is_empty and not (around.questions or around.plans or around.stalls)


def brief_lines(brief: Brief, around: Around, changes: Changes, glyphs: Glyphs, columns: int = 0) -> Iterator[Line]:
    """Yield the lines of a brief, one screen at most; with `columns`, they fit into them."""
    if is_empty(brief, around):
        yield (Span("Nothing happened since you last looked, and nothing waits for you."),)
        return
    for line in state_lines(brief.sessions, glyphs):
        yield cut_line(line, columns or None, glyphs)
    rows = ItemRows((*completed_items(brief), *brief.failed, *brief.under_way), changes, glyphs, columns)
    waiting = [*around.questions, *around.plans, *(_blocked_words(entry) for entry in brief.waiting)]
    stalled = _noticed_words(brief, around)
    sections: Sequence[tuple[str, Sequence[Sequence[str]], Style]] = (
        ("Waiting on you", [wrap_row(text, glyphs, columns) for text in waiting], "accent"),
        ("Done, but not borne out", rows.of(brief.doubtful), "bad"),
        ("Failed", rows.of(brief.failed), "bad"),
        ("Stalled or going in circles", [wrap_row(text, glyphs, columns) for text in stalled], "warning"),
        ("Done and checked", rows.of(brief.verified), "good"),
        ("Done, confirmed by a person", rows.of(brief.confirmed), "good"),
        ("Done, not checked", rows.of(brief.unchecked), "plain"),
        ("Done, not judged", rows.of(brief.unjudged), "dim"),
        ("Under way", rows.of(brief.under_way), "focus"),
    )
    for name, section, style in sections:
        yield from _section(glyphs, name, section, style)
    cost = f"; the todo layer cost about {count_words(around.tokens, 'token')}" if around.tokens else ""
    said = f"Work since: {', '.join(tally_words(brief.work, kinds=False))}{cost}."
    yield from ((Span(line, "dim"),) for line in pack([said], columns, ""))


def _noticed_words(brief: Brief, around: Around) -> list[str]:
    """Return the agents that are or were silent and other findings, as sentences."""
    owners = {(one.session, one.agent) for one in (*around.stalls, *brief.noticed)}
    called, silent = names(owners), {(one.session, one.agent) for one in around.stalls}
    said = [stall_words(called[one.session, one.agent], one) for one in around.stalls]
    for one in brief.noticed:
        owner = (one.session, one.agent)
        if one.detector not in STALLS:
            said.append(f"{called[owner]}: {one.seen}")
        elif owner not in silent:
            said.append(stall_words(called[owner], Silent(*owner, one.detector)))
    return list(dict.fromkeys(said))


def completed_items(brief: Brief) -> tuple[ItemReport, ...]:
    """Return all items that were marked done."""
    return (*brief.verified, *brief.confirmed, *brief.unchecked, *brief.doubtful, *brief.unjudged)


def brief_data(brief: Brief, around: Around, changes: Changes) -> dict[str, Any]:
    """Return a brief as JSON values."""
    parts = ("verified", "confirmed", "unchecked", "doubtful", "unjudged", "failed", "waiting", "under_way")
    called = names({(one.session, one.agent) for one in around.stalls})
    return {
        "sessions": [session_data(session) for session in brief.sessions],
        **{name: [item_data(entry, changes.get(entry.subject)) for entry in getattr(brief, name)] for name in parts},
        "noticed": [
            {
                **{name: getattr(one, name) for name in ("session", "agent", "detector", "seen")},
                "at": one.at.isoformat(),
            }
            for one in brief.noticed
        ],
        "questions": list(around.questions),
        "plans": list(around.plans),
        "stalled": [stall_words(called[one.session, one.agent], one) for one in around.stalls],
        "calls": brief.work.calls,
        "failures": brief.work.failures,
        "active_seconds": brief.work.active.total_seconds(),
        "layer_tokens": around.tokens,
        "until": brief.until,
    }


def _section(glyphs: Glyphs, name: str, rows: Sequence[Sequence[str]], style: Style) -> Iterator[Line]:
    """Yield rows of one or more lines each, under their name."""
    if not rows:
        return
    yield (Span(f"{name} ({len(rows)})", style),)
    kept = rows if len(rows) <= _MOST_ROWS else rows[: _MOST_ROWS - 1]
    for first, *more in kept:
        yield (Span(f"  {glyphs.dot} {first}"),)
        yield from ((Span(f"    {line}", "dim"),) for line in more)
    if len(kept) < len(rows):
        yield (Span(f"  {glyphs.ellipsis} and {len(rows) - len(kept)} more; `punchlist report` shows them", "dim"),)


def _blocked_words(entry: ItemReport) -> str:
    why = entry.item.blocker.reason if entry.item.blocker is not None else ""
    return f"{entry.item.content}: {why}" if why else entry.item.content
