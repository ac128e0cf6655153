"""Items in a brief: a line for each, with what matters most of it even where there is little room."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from punchlist.core.report import ItemReport
from punchlist.surfaces.packing import packed
from punchlist.surfaces.report_values import Changes
from punchlist.surfaces.report_words import change_words, check_words, counted, span, work_words
from punchlist.surfaces.spans import Glyphs, shown
from punchlist.surfaces.text import at_it
from punchlist.text import cut, fit, width

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


class ItemRows:
    """The items of one brief as rows of lines; who they belong to is told where there are several."""

    def __init__(self, entries: Iterable[ItemReport], changes: Changes, glyphs: Glyphs, columns: int) -> None:
        self._names = names({(entry.subject.session, entry.subject.agent) for entry in entries})
        self._changes = changes
        self._glyphs = glyphs
        self._columns = columns

    def of(self, entries: Iterable[ItemReport]) -> list[Sequence[str]]:
        return [self._row(entry) for entry in entries]

    def _row(self, entry: ItemReport) -> Sequence[str]:
        text, parts, mark = shown(entry.item.content), list(map(shown, self._known(entry))), self._glyphs.ellipsis
        if not self._columns:
            return [f" {self._glyphs.dash} ".join(filter(None, (cut(text, _TEXT, mark), ", ".join(parts))))]
        room = max(1, self._columns - _MARGIN)
        if self._columns < _NARROW:
            *more, last = list(packed(parts, room, ", "))[:_MOST_KNOWN] or [""]
            return [fit(text, room, mark), *more, *([last.rstrip(",")] if last else [])]
        known = _fitting(parts, room - min(width(text), _LEAST) - 3)
        if not known:
            return [fit(text, room, mark)]
        return [f"{fit(text, room - width(known) - 3, mark)} {self._glyphs.dash} {known}"]

    def _known(self, entry: ItemReport) -> Iterator[str]:
        """What is known of an item, the more important first."""
        owner, changed = (entry.subject.session, entry.subject.agent), self._changes.get(entry.subject)
        said = [
            entry.grade if entry.grade in ("contradicted", "asserted", "confirmed") else "",
            at_it(entry.helpers) if entry.helpers else "",
            change_words(changed),
            check_words(entry),
            cut(self._names[owner], 2 * _SESSION, self._glyphs.ellipsis) if len(self._names) > 1 else "",
            span(entry.elapsed),
            counted(len(changed.commits), "commit") if changed is not None and changed.commits else "",
            *(work_words(entry.tally, kinds=False) if not entry.tally.is_empty else ()),
        ]
        return (part for part in said if part)


def names(owners: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """What each of these agents, given with its session, is called: with the session where two have one name."""
    known = list(owners)
    said = [agent for _, agent in known]
    return {
        (session, agent): agent if said.count(agent) == 1 else f"{agent} in {short(session)}"
        for session, agent in known
    }


def short(session: str) -> str:
    """A session as people tell it from others: of a long id the end, which is by chance."""
    return session if len(session) <= _SESSION else session[-8:]


def wrapped(text: str, glyphs: Glyphs, columns: int) -> Sequence[str]:
    """A text on a few lines of that many columns with the margin of a row."""
    room = max(1, columns - _MARGIN) if columns else 0
    lines = list(packed([shown(text)], room, ""))
    if len(lines) <= _MOST_LINES:
        return lines or [""]
    return [*lines[: _MOST_LINES - 1], fit(" ".join(lines[_MOST_LINES - 1 :]), room, glyphs.ellipsis)]


def _fitting(parts: Iterable[str], room: int) -> str:
    """As many parts as there is room for, none of them cut."""
    kept: list[str] = []
    for part in parts:
        if width(", ".join([*kept, part])) <= room:
            kept.append(part)
    return ", ".join(kept)
