"""Render a brief on one screen: sessions in groups, the worst first, then what was done since in a few lines."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from punchlist.core.report import Brief
from punchlist.settings.environment import project_of
from punchlist.terminal.lists import GRADES
from punchlist.terminal.reports import tally_words
from punchlist.terminal.spans import Glyphs, Line, Span, Style, cut, pack, safe_line, safe_sentence, show_name
from punchlist.text import fit, width
from punchlist.views.brief_groups import BriefGroups, BriefRow, Group
from punchlist.views.findings import count_words, format_moment, span
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
_WIDEST: Final = 120
"""Cells of a line: further away, a time is not read with its sentence."""

_NARROW: Final = 76
"""On fewer columns the sentence is on a line of its own."""


def is_empty(brief: Brief, groups: BriefGroups) -> bool:
    """True if there is nothing to tell; work that only goes on is nothing new."""
    return brief.is_empty and not groups.do_now


def brief_lines(
    brief: Brief,
    groups: BriefGroups,
    around: Around,
    now: datetime,
    glyphs: Glyphs,
    columns: int = 0,
    more: str = "punchlist report",
) -> Iterator[Line]:
    """Yield the lines of a brief; with `columns`, they fit into them, but for commands. `more` is the last one."""
    columns = min(columns, _WIDEST)
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
        said = [f"{safe_line(one.name)} {count_words(one.changes, 'change')}" for one in groups.not_checked]
        yield from _labelled("Not checked", pack(said, _room(columns), f" {glyphs.dot} "))
        yield ()
    facts = list(_pack_facts(brief, around, columns))
    if facts:
        facts.append(f"more: {more}")
    elif brief.has_news:
        facts.append("nothing was finished; `punchlist events` shows what changed")
    else:
        facts.append("nothing new happened" if groups.do_now else _NOTHING)
    since = "So far" if around.since is None else f"Since {format_moment(around.since, now)}"
    yield from _labelled(since, facts)


def git_words(git: Iterable[GitSummary]) -> Iterator[str]:
    """Yield where commits were made and where files are not committed, as sentences; nothing where there is nothing."""
    # The worktrees of a repository share its commits.
    made = {commit.hash: name_project(project_of(one.project)) for one in git for commit in one.commits}
    left = [name_project(one.project) for one in git if one.uncommitted.files]
    if made:
        projects = set(made.values())
        where = next(iter(projects)) if len(projects) == 1 else count_words(len(projects), "project")
        yield f"{count_words(len(made), 'commit')} in {where}"
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
    said = list(pack([safe_sentence(row.sentence, glyphs)], room, ""))
    if len(said) > _MOST_LINES:
        said[_MOST_LINES - 1 :] = [fit(" ".join(said[_MOST_LINES - 1 :]), room, glyphs.ellipsis)]
    project, dot, agent = name.partition(f" {glyphs.dot} ")
    least = max(wide - width(dot + agent), min(width(project), wide // 2))
    who = fit(
        fit(project, least, glyphs.ellipsis) + dot + agent, wide, glyphs.ellipsis
    )  # the command has the id, whole
    if is_narrow:
        yield cut((label, Span(who, "bold"), Span(f"  {at}", "dim")), columns, glyphs)
    else:
        first, *said = said
        gap = " " * (room - width(first) + 2) if columns else "  "
        yield label, Span(who + " " * (wide - width(who) + 2), "bold"), Span(first), Span(f"{gap}{at}", "dim")
    yield from ((Span(f"{inset}{line}"),) for line in said)
    if row.action:
        action = safe_line(row.action)
        has_room = not columns or len(inset) + width(action) <= columns
        yield (Span(f"{inset if has_room else '  '}{action}", "accent"),)  # never cut: it is there to be pasted


def _time_words(row: BriefRow, now: datetime) -> str:
    if row.at is None:
        return ""
    return span(now - row.at) if row.is_lasting else format_moment(row.at, now)


def _pack_facts(brief: Brief, around: Around, columns: int) -> Iterator[str]:
    """Yield what was done, committed and spent, a line each."""
    cost = f"; the todo layer cost about {count_words(around.tokens, 'token')}" if around.tokens else ""
    work = [] if brief.work.is_empty else [", ".join(tally_words(brief.work, kinds=False)) + cost]
    facts = [*filter(None, (done_words(brief), _added_words(brief), "; ".join(git_words(around.git)))), *work]
    for fact in facts:
        yield from pack([safe_line(fact)], _room(columns), "")


def _labelled(label: str, lines: Iterable[str]) -> Iterator[Line]:
    wide = max(_LABEL, width(label) + 2)
    for place, line in enumerate(lines):
        yield Span((label if place == 0 else "").ljust(wide), "dim"), Span(line)


def _room(columns: int) -> int:
    return max(20, columns - _LABEL - 8) if columns else 0


def name_project(project: str) -> str:
    """Return the last part of a project's folder."""
    return safe_line(os.path.basename(project) or project)
