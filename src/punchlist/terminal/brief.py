"""Render a brief on one screen: sessions in groups, the worst first, then what was done since in a few lines."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from punchlist.core.report import Brief
from punchlist.terminal.lists import GRADES
from punchlist.terminal.reports import count_words, tally_words
from punchlist.terminal.spans import Glyphs, Line, Span, Style, pack, safe_line, show_name
from punchlist.text import fit, width
from punchlist.views.brief_groups import BriefGroups, BriefRow, Group
from punchlist.views.findings import span
from punchlist.views.reports import Around, GitSummary

TITLES: Final[dict[Group, tuple[str, Style]]] = {
    "do_now": ("Do now", "warning"),
    "look_first": ("Look first", "bad"),
    "at_work": ("At work", "focus"),
    "checked": ("Checked", "good"),
    "ended": ("Ended", "dim"),
}
_MOST_ROWS: Final = 8
"""Rows of one group; what is beyond is counted."""

_MOST_LINES: Final = 3
"""Lines of one sentence."""

_NOTHING: Final = "nothing happened, and nothing waits on you; `punchlist now` shows who runs here"
_LABEL: Final = 13
_LONGEST_NAME: Final = 30
_NARROW: Final = 76
"""On fewer columns the sentence is on a line of its own."""


def is_empty(brief: Brief, groups: BriefGroups) -> bool:
    """True if there is nothing to tell; work that only goes on is nothing new."""
    return brief.is_empty and not groups.do_now


def brief_lines(
    brief: Brief, groups: BriefGroups, around: Around, now: datetime, glyphs: Glyphs, columns: int = 0
) -> Iterator[Line]:
    """Yield the lines of a brief; with `columns`, they fit into them."""
    rows = [row for group in TITLES for row in getattr(groups, group)]
    names = {id(row): show_name(row.name, glyphs) for row in rows}
    room = min(_LONGEST_NAME, max(map(width, names.values()), default=0))
    for group, (title, style) in TITLES.items():
        found: Sequence[BriefRow] = getattr(groups, group)
        for place, row in enumerate(found[:_MOST_ROWS]):
            label = Span((title if place == 0 else "").ljust(_LABEL), style)
            yield from _row_lines(row, label, names[id(row)], room, now, glyphs, columns)
        if len(found) > _MOST_ROWS:
            yield (Span(f"{'':{_LABEL}}{glyphs.ellipsis} and {len(found) - _MOST_ROWS} more", "dim"),)
        if found:
            yield ()
    if groups.not_checked:
        said = [f"{_name_project(one.project)} {count_words(one.changes, 'change')}" for one in groups.not_checked]
        yield from _labelled("Not checked", pack(said, _room(columns), f" {glyphs.dot} "))
        yield ()
    yield from _labelled(_since_words(around, now), _pack_facts(brief, around, columns))


def format_moment(at: datetime | None, now: datetime) -> str:
    """Return a time of day, with its weekday or its day if it was not today: `06:24`, `Sun 16:53`, `3 Nov 09:12`."""
    if at is None:
        return ""
    local, today = at.astimezone(), now.astimezone().date()
    days = (today - local.date()).days
    day = "" if days == 0 else f"{local:%a} " if 0 < days < 7 else f"{local.day} {local:%b} "
    return f"{day}{local:%H:%M}"


def git_words(git: Iterable[GitSummary]) -> Iterator[str]:
    """Yield where commits were made and where files are not committed, as sentences; nothing where there is nothing."""
    made = {_name_project(one.project): len(one.commits) for one in git if one.commits}
    left = [_name_project(one.project) for one in git if one.uncommitted.files]
    if made:
        where = next(iter(made)) if len(made) == 1 else count_words(len(made), "project")
        yield f"{count_words(sum(made.values()), 'commit')} in {where}"
    if left:
        yield f"uncommitted files in {', '.join(left)}"


def done_words(brief: Brief) -> str:
    """Return the number of items that were done, by their grades; empty if there are none."""
    grades = Counter(entry.grade or "not judged" for entry in brief.completed)
    known = [(name, grades[name]) for name in (*GRADES, "not judged") if grades[name]]
    said = ", ".join(f"{number} {name}" for name, number in known)
    return f"{count_words(len(brief.completed), 'item')} done: {said}" if said else ""


def _added_words(brief: Brief) -> str:
    added = sum(one.added for one in brief.lists)
    return f"{count_words(added, 'item')} added to {count_words(len(brief.lists), 'list')}" if added else ""


def _row_lines(
    row: BriefRow, label: Span, name: str, wide: int, now: datetime, glyphs: Glyphs, columns: int
) -> Iterator[Line]:
    """Yield a row: its name, its sentence and its time; below, the command that goes on from there."""
    at = _time_words(row, now)
    is_narrow = bool(columns) and columns < _NARROW
    inset = " " * (2 if is_narrow else _LABEL + wide + 2)
    room = max(20, columns - len(inset) - (0 if is_narrow else width(at) + 2)) if columns else 0
    said = list(pack([safe_line(row.sentence)], room, ""))
    if len(said) > _MOST_LINES:
        said[_MOST_LINES - 1 :] = [fit(" ".join(said[_MOST_LINES - 1 :]), room, glyphs.ellipsis)]
    who = fit(name, wide, glyphs.ellipsis)
    if is_narrow:
        yield label, Span(who, "bold"), Span(f"  {at}", "dim")
    else:
        first, *said = said
        gap = " " * (room - width(first) + 2) if columns else "  "
        yield label, Span(who + " " * (wide - width(who) + 2), "bold"), Span(first), Span(f"{gap}{at}", "dim")
    yield from ((Span(f"{inset}{line}"),) for line in said)
    if row.action:
        yield (Span(f"{inset}{safe_line(row.action)}", "accent"),)


def _time_words(row: BriefRow, now: datetime) -> str:
    if row.at is None:
        return ""
    return span(now - row.at) if row.is_lasting else format_moment(row.at, now)


def _since_words(around: Around, now: datetime) -> str:
    return f"Since {format_moment(around.since, now)}" if around.since is not None else "So far"


def _pack_facts(brief: Brief, around: Around, columns: int) -> Iterator[str]:
    """Yield what was done, committed and spent, a line each; that nothing was, if so."""
    cost = f"; the todo layer cost about {count_words(around.tokens, 'token')}" if around.tokens else ""
    work = [] if brief.work.is_empty else [", ".join(tally_words(brief.work, kinds=False)) + cost]
    facts = [*filter(None, (done_words(brief), _added_words(brief), "; ".join(git_words(around.git)))), *work]
    if not facts:
        yield "nothing was finished; `punchlist events` shows what changed" if brief.has_news else _NOTHING
        return
    for fact in facts:
        yield from pack([safe_line(fact)], _room(columns), "")
    yield "more: punchlist report"


def _labelled(label: str, lines: Iterable[str]) -> Iterator[Line]:
    wide = max(_LABEL, width(label) + 2)
    for place, line in enumerate(lines):
        yield Span((label if place == 0 else "").ljust(wide), "dim"), Span(line)


def _room(columns: int) -> int:
    return max(20, columns - _LABEL - 6) if columns else 0


def _name_project(project: str) -> str:
    return safe_line(os.path.basename(project) or project)
