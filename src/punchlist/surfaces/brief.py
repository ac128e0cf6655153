"""Render a brief on one screen: the work since the reader was away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from punchlist.core.brief import Brief
from punchlist.core.events import json_time
from punchlist.core.report import ItemReport
from punchlist.surfaces.headlines import Around, around_data, count_words, first_lines, names, red_commands, section
from punchlist.surfaces.lists import helper_words
from punchlist.surfaces.reports import (
    Changes,
    Told,
    change_words,
    check_words,
    item_data,
    session_data,
    tally_words,
    work_words,
)
from punchlist.surfaces.sentences import span
from punchlist.surfaces.spans import Glyphs, Line, Span, Style, pack, safe_line
from punchlist.text import cut, fit, width

_MARGIN: Final = 4
_TEXT: Final = 80
"""Characters of an item's text where a line may be of any length."""

_LEAST: Final = 24
"""Cells that an item's text keeps on a line with what is known of it."""

_NARROW: Final = 76
"""On fewer columns what is known of an item is on lines of its own."""

_MOST_KNOWN: Final = 2
_NAME: Final = 32

_MOST_ROWS: Final = 4
"""Rows of one section; what is beyond is counted."""


class ItemRows:
    """The items of one brief as rows of lines; their agents are named where there are several."""

    def __init__(
        self, entries: Iterable[ItemReport], changes: Changes, told: Told, glyphs: Glyphs, columns: int
    ) -> None:
        self._names = names({(entry.subject.session, entry.subject.agent) for entry in entries})
        self._changes = changes
        self._told = told
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
            *check_words(entry, self._told)[:1],
            change_words(changed),
            cut(self._names[owner], _NAME, self._glyphs.ellipsis) if len(self._names) > 1 else "",
            span(entry.elapsed),
            count_words(len(changed.commits), "commit") if changed is not None and changed.commits else "",
            *(work_words(entry.tally, kinds=False) if entry.grade is None and not entry.tally.is_empty else ()),
        ]
        return (part for part in said if part)


def _fit_parts(parts: Iterable[str], room: int) -> str:
    """Return as many parts as there is room for, none of them cut."""
    kept: list[str] = []
    for part in parts:
        if width(", ".join([*kept, part])) <= room:
            kept.append(part)
    return ", ".join(kept)


def is_empty(brief: Brief, around: Around) -> bool:
    return brief.is_empty and not (around.questions or around.plans or around.stalls)


def brief_lines(brief: Brief, around: Around, changes: Changes, glyphs: Glyphs, columns: int = 0) -> Iterator[Line]:
    """Yield the lines of a brief, one screen at most; with `columns`, they fit into them."""
    if is_empty(brief, around):
        yield (Span("Nothing happened since you last looked, and nothing waits for you."),)
        return
    yield from first_lines(brief.sessions, around, brief.waiting, brief.noticed, glyphs, columns, most=_MOST_ROWS)
    items, told = (*completed_items(brief), *brief.failed, *brief.under_way), red_commands(brief.sessions)
    rows = ItemRows(items, changes, told, glyphs, columns)
    sections: Sequence[tuple[str, Sequence[ItemReport], Style]] = (
        ("Failed", brief.failed, "bad"),
        ("Marked done, but failing or unseen", brief.doubtful, "bad"),
        ("Done and checked", brief.verified, "good"),
        ("Done, confirmed by a person", brief.confirmed, "good"),
        ("Done, not checked", brief.unchecked, "plain"),
        ("Done, not judged", brief.unjudged, "dim"),
        ("Under way", brief.under_way, "focus"),
    )
    for name, entries, style in sections:
        yield from section(glyphs, name, rows.of(entries), style, _MOST_ROWS)
    cost = f"; the todo layer cost about {count_words(around.tokens, 'token')}" if around.tokens else ""
    said = f"Work since: {', '.join(tally_words(brief.work, kinds=False))}{cost}."
    yield from ((Span(line, "dim"),) for line in pack([said], columns, ""))


def completed_items(brief: Brief) -> tuple[ItemReport, ...]:
    """Return all items that were marked done."""
    return (*brief.verified, *brief.confirmed, *brief.unchecked, *brief.doubtful, *brief.unjudged)


def brief_data(brief: Brief, around: Around, changes: Changes) -> dict[str, Any]:
    """Return a brief as JSON values."""
    parts = ("waiting", "failed", "doubtful", "verified", "confirmed", "unchecked", "unjudged", "under_way")
    items = {name: list(getattr(brief, name)) for name in parts}
    items["waiting"] = [entry for entry in brief.waiting if entry.subject not in around.asked]
    return {
        "sessions": [session_data(session) for session in brief.sessions],
        **around_data(around),
        "noticed": [
            {
                **{name: getattr(one, name) for name in ("session", "agent", "detector", "seen")},
                "at": json_time(one.at),
            }
            for one in brief.noticed
        ],
        **{name: [item_data(entry, changes.get(entry.subject)) for entry in each] for name, each in items.items()},
        "calls": brief.work.calls,
        "failures": brief.work.failures,
        "active_seconds": brief.work.active.total_seconds(),
        "layer_tokens": around.tokens,
        "until": brief.until,
    }
