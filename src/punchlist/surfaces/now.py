"""Render the first screen: what waits on a person, the agents at work, idle and gone, what was done meanwhile."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from punchlist.core.overview import PersonWait, name_wait
from punchlist.core.presence import PresenceState
from punchlist.core.programs import find_short_name
from punchlist.surfaces.lists import GRADES, STATES
from punchlist.surfaces.spans import ASCII, Display, Glyphs, Line, Span, Style, cells, cut, pad, plural, safe_line
from punchlist.text import fit, width
from punchlist.views.findings import short_session
from punchlist.views.now import AgentNow, DoneSince, Roster

_WIDE: Final = 100
"""Columns from which a bar is drawn, and names have more room."""

_NARROW: Final = 60
"""Columns from which clocks have room."""

_SHORTEST_TAIL: Final = 5
_EVERYTHING: Final = 10_000
_AGE: Final = 7
_BAR: Final = 7
_LONGEST_NAME: Final = 18
_MOST_IDLE: Final = 20
"""Rows of agents that need nobody; the others are counted."""

_SECTIONS: Final[dict[PresenceState, str]] = {"busy": "at work", "idle": "idle", "gone": "gone"}
_WAITS: Final = {
    "question": ("?", "?", "question"),
    "plan": ("▤", "=", "plan"),
    "item": ("⊘", "#", "blocked item"),
    "task": ("⊘", "#", "waiting task"),
    "flow": ("⊘", "#", "waiting flow"),
}
"""The mark of what waits, in Unicode and in ASCII, and the word for it."""


class NowRow(Struct, frozen=True):
    """The cells of one line. `tail` is cut first where there is too little room; `of` is what the line is about."""

    of: AgentNow | PersonWait
    mark: Span
    word: str
    """The meaning of the mark in a word, for readers who do not see its shape."""
    name: str
    headline: Line
    age: str = ""
    count: str = ""
    share: float | None = None
    clock: str = ""
    began: datetime | None = None
    """The time from which the clock counts; None if there is none."""
    tail: Line = ()


class Section(Struct, frozen=True):
    """Lines under one title; `number` is how many there are, with those that are not shown."""

    title: str
    number: int
    rows: Sequence[NowRow]

    @property
    def more(self) -> int:
        return self.number - len(self.rows)


class Columns(Struct, frozen=True):
    """The width of each column; 0 for one that is left out."""

    name: int
    headline: int
    bar: int
    count: int
    clock: int


def now_lines(roster: Roster, display: Display) -> Iterator[Line]:
    """Yield the lines of the screen, each cut to the width of the display."""
    sections = now_sections(roster, display.glyphs)
    columns = lay_out(sections, display)
    for section in sections:
        yield rule_line(f"{section.title} {display.glyphs.dot} {section.number}", display)
        for row in section.rows:
            yield row_line(row, columns[section.title], display)
        if section.more:
            yield (Span(f"   and {section.more} more", "dim"),)
    if roster.done is not None and roster.done.items:
        yield from done_lines(roster.done, roster.at, display)
    if roster.waits:
        yield ()
        yield display.cut((Span("`punchlist answer` shows each in full, with the command that answers it.", "dim"),))


def now_sections(roster: Roster, glyphs: Glyphs, *, most: int = _MOST_IDLE) -> list[Section]:
    """Return the sections that hold anything, what needs the person first; at most so many rows of idle agents."""
    names = _name_agents(roster.agents, glyphs)
    asked = {(wait.session, wait.agent) for wait in roster.waits}
    # Of an agent that waits for an answer on the board, its host says the same: it is one line.
    waiting = [row for row in roster.agents if row.state == "waiting" and (row.list_session, row.agent) not in asked]
    rows = [_waiting_row(row, names[row], roster.at, glyphs) for row in waiting]
    rows += [
        _wait_row(wait, _name_owner(wait, roster.agents, names, glyphs), roster.at, glyphs) for wait in roster.waits
    ]
    rows.sort(key=lambda row: (row.of.since or roster.at).timestamp())  # what waits longest comes first
    sections = [Section("waits on you", len(rows), rows)]
    for state, title in _SECTIONS.items():
        found = [row for row in roster.agents if row.state == state]
        shown = found if state == "busy" else found[:most]
        rows = [_agent_row(row, names[row], roster.at, glyphs) for row in shown]
        sections.append(Section(title, len(found), rows))
    return [section for section in sections if section.number]


# Columns.


def lay_out(sections: Sequence[Section], display: Display, *, clock: int = 0) -> dict[str, Columns]:
    """Return the columns of each section. All agents stand in the same columns; clocks have room for `clock` cells."""
    columns = display.columns or _WIDE + 20
    every = [row for section in sections for row in section.rows]
    waits = [row for row in every if row.age or isinstance(row.of, PersonWait)]
    agents = [row for row in every if row not in waits]
    found: dict[str, Columns] = {}
    for section in sections:
        alike = waits if section.rows[0] in waits else agents
        # Where there is little room, the names of agents do not make way for the times of what waits.
        named = every if columns >= _WIDE else alike
        name = min(max(width(row.name) + _age_cells(row, clock) for row in named), columns // 3)
        found[section.title] = _fit_columns(alike, name, columns, clock)
    return found


def _age_cells(row: NowRow, clock: int) -> int:
    """Return the cells of an age; where clocks run, as many as it has when it grows to `59 s` and `59m`."""
    return max(width(row.age), _AGE if clock else 0) if row.age else 0


def _fit_columns(rows: Sequence[NowRow], name: int, columns: int, least: int) -> Columns:
    is_wide = columns >= _WIDE
    count = max(len(row.count) for row in rows)
    bar = _BAR + 1 if is_wide and count else 0
    clock, tail = 0, 0
    if columns >= _NARROW:
        clock = max(len(row.clock) for row in rows)
        clock = max(clock, least) if clock else 0
        tail = min(max(cells(row.tail) for row in rows), columns // 4)
    taken = 3 + name + bar + sum(2 + one for one in (count, clock, tail) if one) + 2
    headline = max(12, min(columns - taken, max(cells(row.headline) for row in rows)))
    return Columns(name, headline, bar, count, clock)


def row_line(row: NowRow, columns: Columns, display: Display) -> Line:
    """Return a row in its columns, cut to the width of the display."""
    glyphs = display.glyphs
    # Where there is no room for both, the name makes way: of two agents that wait, the age tells which waits longer.
    named = cut((Span(row.name, "bold"),), max(1, columns.name - width(row.age)), glyphs)
    name = pad((*named, Span(row.age, "dim")), columns.name, glyphs)
    start: Line = (row.mark, Span("  "), *name, Span("  "))
    if not (columns.count or columns.clock or row.tail):
        return display.cut((*start, *row.headline))
    line: Line = (*start, *pad(row.headline, columns.headline, glyphs))
    if columns.count:
        bar = _draw_bar(row.share, glyphs) if columns.bar else ()
        line = (*line, Span("  "), *bar, Span(f"{row.count:>{columns.count}}"))
    if columns.clock:
        line = (*line, Span(f"  {row.clock:>{columns.clock}}", "dim"))
    room = (display.columns or _EVERYTHING) - cells(line) - 2
    return display.cut((*line, Span("  "), *row.tail) if row.tail and room >= _SHORTEST_TAIL else line)


def _draw_bar(share: float | None, glyphs: Glyphs) -> Line:
    if share is None:
        return (Span(" " * (_BAR + 1)),)
    full = int(_BAR * share)
    style: Style = "good" if full == _BAR else "focus"
    return (Span(glyphs.full * full, style), Span(glyphs.empty * (_BAR - full), "dim"), Span(" "))


def rule_line(title: str, display: Display) -> Line:
    """Return the line above a section."""
    across = display.glyphs.frame[0]
    columns = min(display.columns or 80, 120)
    before = f"{across * 2} "
    return (Span(before, "dim"), Span(title, "bold"), Span(f" {across * max(2, columns - len(title) - 4)}", "dim"))


# Rows.


def refresh_row(row: NowRow, now: datetime, glyphs: Glyphs) -> NowRow:
    """Return a row as it is at another time: its clock runs."""
    if isinstance(row.of, PersonWait):
        return _wait_row(row.of, row.name, now, glyphs)
    draw = _waiting_row if row.of.state == "waiting" else _agent_row
    return draw(row.of, row.name, now, glyphs)


def _wait_row(wait: PersonWait, name: str, now: datetime, glyphs: Glyphs) -> NowRow:
    *marks, word = _WAITS[wait.kind]
    mark = Span(marks[glyphs is ASCII], "warning")
    text = safe_line(name_wait(wait))
    if wait.kind == "question":
        text = f"{glyphs.quotes[0]}{text}{glyphs.quotes[1]}"
    elif wait.kind == "plan":
        text = f"Plan r{safe_line(wait.id)}: {safe_line(wait.title)}"
    tail = Span(f"answer {safe_line(wait.name)}", "dim")
    age = _age(wait.since, now, glyphs)
    return NowRow(wait, mark, word, name, (Span(text),), age=age, began=wait.since, tail=(tail,))


def _waiting_row(row: AgentNow, name: str, now: datetime, glyphs: Glyphs) -> NowRow:
    headline = (Span(safe_line(row.waits_for) or "waits for you"),)
    tail = (Span("in its window", "dim"),)
    mark, age = Span("!", "warning"), _age(row.since, now, glyphs)
    return NowRow(row, mark, "waits on you", name, headline, age=age, began=row.since, tail=tail)


def _agent_row(row: AgentNow, name: str, now: datetime, glyphs: Glyphs) -> NowRow:
    is_silent = row.silent_since is not None
    if is_silent:
        headline: Line = (Span(f"silent since {format_age(row.silent_since, now)}", "warning"),)
    else:
        headline = _headline(row, glyphs)
    is_busy = row.state == "busy"
    began = None if is_silent else (row.focus_since if is_busy else None) or row.since
    return NowRow(
        of=row,
        mark=_mark(row, glyphs),
        word="silent" if is_silent else _SECTIONS[row.state],
        name=name,
        headline=headline,
        count=f"{row.done}/{row.total}" if row.total else "",
        share=row.done / row.total if row.total else None,
        clock=format_age(began, now, exact=is_busy),
        began=began,
        tail=tuple(_tail(row, now, glyphs)),
    )


def _mark(row: AgentNow, glyphs: Glyphs) -> Span:
    if row.silent_since is not None:
        return Span("!", "warning")
    if row.state == "busy":
        return Span(glyphs.arrow, "focus")
    if row.state == "gone":
        return Span("x" if glyphs is ASCII else glyphs.boxes["failed"], "dim")
    return Span("o" if glyphs is ASCII else glyphs.boxes["pending"], "dim")


def _headline(row: AgentNow, glyphs: Glyphs) -> Line:
    """Return what an agent does: its item in progress; without a list, its last call or its title."""
    if row.focus and row.state == "busy":
        return (Span(row.focus, "focus"),)
    if row.total:
        following = row.focus or row.next
        if following:
            return (Span(f"next: {following}", "dim"),)
        return (Span("all done" if row.done == row.total else safe_line(row.title), "dim"),)
    said = safe_line(row.doing if row.state == "busy" and row.doing else row.title or row.doing)
    words = f"no list {glyphs.dot} {said}" if said else "no list"
    return (Span("no list", "dim"), Span(words.removeprefix("no list"), "plain" if row.state == "busy" else "dim"))


def _tail(row: AgentNow, now: datetime, glyphs: Glyphs) -> Iterator[Span]:
    """Yield the state of the session, what a silent agent did last, and its subagents."""
    parts: list[Span] = []
    if row.session_state == "red":
        sign = "failed" if glyphs is ASCII else glyphs.boxes["failed"]
        check = f": {row.check} {sign}" if row.check else ""
        ago = f" {format_age(row.check_at, now)} ago" if row.check_at else ""
        parts.append(Span(f"red{check}{ago}", "bad"))
    elif row.session_state in STATES and row.session_state != "idle":
        parts.append(Span(row.session_state, STATES[row.session_state]))
    if row.silent_since is not None and row.doing:
        parts.append(Span(f"last: {safe_line(row.doing)}", "dim"))
    parts.extend(_subagents(row, glyphs))
    for place, part in enumerate(parts):
        if place:
            yield Span("  ")
        yield part


def _subagents(row: AgentNow, glyphs: Glyphs) -> Iterator[Span]:
    sign = glyphs.branch if glyphs is ASCII else "⤷"
    for one in row.subagents:
        count = f" {one.done}/{one.total}" if one.total else ""
        yield Span(f"{sign} {one.name}{count}", "accent")
    if row.more:
        yield Span(f"+{row.more}", "accent")


def done_lines(done: DoneSince, now: datetime, display: Display) -> Iterator[Line]:
    """Yield what was completed since the reader last looked."""
    yield rule_line(done_title(done, now), display)
    line: list[Span] = [Span("   ")]
    dot = f" {display.glyphs.dot} "
    for words, styles in ((done.sessions, STATES), (done.items, GRADES)):
        known = [(name, words[name]) for name in styles if words.get(name) and name != "idle"]
        for place, (name, number) in enumerate(known):
            said = f"{name} {plural(number, 'session')}" if styles is STATES and place == 0 else f"{name} {number}"
            if styles is GRADES:
                said = f"{number} {name}"
            line.append(Span(said if place == 0 else f"{dot}{said}", styles[name]))
        line.append(Span("   "))
    yield display.cut((*line, Span("punchlist brief --all", "dim")))


def done_title(done: DoneSince, now: datetime) -> str:
    """Return the title above what was completed: since when that is."""
    since = done.since.astimezone()
    when = f"{since:%H:%M}" if since.date() == now.astimezone().date() else f"{since:%d %b %H:%M}"
    return f"done since you looked ({when})" if done.has_looked else f"done since {when}"


# Names and times.


def _name_agents(agents: Iterable[AgentNow], glyphs: Glyphs) -> dict[AgentNow, str]:
    """Return `project · host` of each agent, with the end of its session where two would be called the same."""
    rows = list(agents)
    short = {row: _name_agent(row, glyphs) for row in rows}
    times = Counter(short.values())
    return {
        row: name if times[name] == 1 else f"{name} {short_session(row.session)[-6:]}" for row, name in short.items()
    }


def _name_agent(row: AgentNow, glyphs: Glyphs) -> str:
    project = safe_line(os.path.basename(row.project)) or "?"
    host = find_short_name(row.host) or safe_line(row.host)
    name = safe_line(row.agent) if row.agent not in ("", "main") or not host else ""
    return _join_names(glyphs, project, host, name)


def _name_owner(wait: PersonWait, agents: Iterable[AgentNow], names: Mapping[AgentNow, str], glyphs: Glyphs) -> str:
    for row in agents:
        if wait.session and row.list_session == wait.session and row.agent == wait.agent:
            return names[row]
    project = safe_line(os.path.basename(wait.project))
    return _join_names(glyphs, project, safe_line(wait.agent)) or wait.kind


def _join_names(glyphs: Glyphs, *names: str) -> str:
    return f" {glyphs.dot} ".join(fit(name, _LONGEST_NAME, glyphs.ellipsis) for name in names if name)


def _age(since: datetime | None, now: datetime, glyphs: Glyphs) -> str:
    return f" {glyphs.dot} {format_age(since, now)}" if since is not None else ""


def format_age(since: datetime | None, now: datetime, *, exact: bool = False) -> str:
    """Return how long ago a time was, in few characters: `12 s`, `4m`, `2h 5m`, `3d`; `exact`, `4m 14s`."""
    if since is None:
        return ""
    seconds = max(0, int((now - since) / timedelta(seconds=1)))
    if seconds < 60:
        return f"{seconds} s"
    if exact and seconds < 600 and seconds % 60:
        return f"{seconds // 60}m {seconds % 60}s"
    if seconds < 3600:
        return f"{seconds // 60}m"
    if seconds < 86_400:
        return f"{seconds // 3600}h {seconds % 3600 // 60}m"
    return f"{seconds // 86_400}d"
