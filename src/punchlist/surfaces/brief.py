"""Render a brief on one screen: the work since the reader was away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from punchlist.core.report import Brief, ItemReport, ListNews
from punchlist.surfaces.headlines import (
    count_words,
    first_lines,
    name_task_list,
    names,
    red_commands,
    section,
    wrap_row,
)
from punchlist.surfaces.lists import helper_words
from punchlist.surfaces.reports import (
    Told,
    change_words,
    check_words,
    tally_words,
    work_words,
)
from punchlist.surfaces.spans import Glyphs, Line, Span, Style, pack, safe_line
from punchlist.text import cut, fit, width
from punchlist.views.findings import span
from punchlist.views.reports import Around, Changes

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
    """The items of one brief as rows of lines; agents are named where there are several, workers always."""

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
            cut(self._names[owner], _NAME, self._glyphs.ellipsis) if len(self._names) > 1 or not owner[0] else "",
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
    """True if there is nothing to tell; work that only goes on is nothing new."""
    return brief.is_empty and not around.stalls


def brief_lines(brief: Brief, around: Around, changes: Changes, glyphs: Glyphs, columns: int = 0) -> Iterator[Line]:
    """Yield the lines of a brief, one screen at most; with `columns`, they fit into them."""
    if opening := _opening_words(brief, around):
        yield from ((Span(line),) for line in pack([opening], columns, ""))
    if is_empty(brief, around) and not brief.under_way and not brief.red:
        return
    sessions = (*brief.sessions, *brief.red)
    named = bool(brief.red)  # of these nothing else in the brief tells
    yield from first_lines(sessions, around, brief.waits, brief.noticed, glyphs, columns, most=_MOST_ROWS, named=named)
    items, told = (*completed_items(brief), *brief.failed, *brief.under_way), red_commands(sessions)
    rows = ItemRows(items, changes, told, glyphs, columns)
    lists = [wrap_row(text, glyphs, columns) for text in _list_words(brief.lists, around)]
    yield from section(glyphs, "Lists", lists, "plain", _MOST_ROWS)
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
    if brief.work.is_empty and not around.tokens:
        return
    cost = f"; the todo layer cost about {count_words(around.tokens, 'token')}" if around.tokens else ""
    said = f"Work since: {', '.join(tally_words(brief.work, kinds=False))}{cost}."
    yield from ((Span(line, "dim"),) for line in pack([said], columns, ""))


def _opening_words(brief: Brief, around: Around) -> str:
    """Return the words before all else: a greeting, or that nothing is new; mostly empty."""
    if around.is_first and is_empty(brief, around) and not brief.under_way:
        return 'Hello. There is nothing here yet; begin with `punchlist todo append "My first item"`.'
    if around.is_first:
        return "Hello. This is your first brief here, on all that there is; the next one says what is new."
    if not is_empty(brief, around):
        shown = (completed_items(brief), brief.failed, brief.under_way, brief.lists, brief.waits, brief.noticed)
        is_bare = not any((*shown, around.stopped, around.stalls)) and brief.work.is_empty
        return "Nothing was finished since you last looked; `punchlist events` shows what changed." if is_bare else ""
    if brief.under_way:
        return "Work is going on. Nothing is new since you last looked, and nothing waits on you."
    return "Nothing happened since you last looked, and nothing waits on you."


def _list_words(lists: Sequence[ListNews], around: Around) -> Iterator[str]:
    """Yield which lists were begun, and onto which items came."""
    called = names({(one.session, one.agent) for one in lists if one.session not in around.own and not one.list})
    for one in lists:
        items = count_words(one.added, "task" if one.list else "item")
        who = called.get((one.session, one.agent), "You")
        if one.list:
            yield f"{items} added to {name_task_list(one.list)}"
        elif one.by != one.agent and one.session not in around.own:
            yield f"{one.by} added {items} to the list of {who}, which has {one.total:,} now"
        elif one.added == one.total:
            yield f"{who} began a list of {items}"
        else:
            yield f"{who} added {items} to a list, which has {one.total:,} now"


def completed_items(brief: Brief) -> tuple[ItemReport, ...]:
    """Return all items that were marked done."""
    return (*brief.verified, *brief.confirmed, *brief.unchecked, *brief.doubtful, *brief.unjudged)
