"""Render the first screen: what waits on a person, the agents at work, idle and gone, what was done meanwhile."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from punchlist.core.events import json_time
from punchlist.core.overview import PersonWait
from punchlist.core.presence import AgentNow, DoneSince, PresenceState, Roster
from punchlist.core.session_line import SessionLine, name_wait
from punchlist.surfaces.headlines import short_session, wait_data
from punchlist.surfaces.lists import GRADES, STATES
from punchlist.surfaces.spans import ASCII, Display, Glyphs, Line, Span, Style, cells, pad, plural, safe_line
from punchlist.text import fit, width

_WIDE: Final = 100
"""Columns from which a bar is drawn, and names have more room."""

_BAR: Final = 7
_LONGEST_NAME: Final = 18
_MOST_IDLE: Final = 20
"""Rows of agents that need nobody; the others are counted."""

_HOSTS: Final = {"claude-code": "claude"}
_SECTIONS: Final[dict[PresenceState, str]] = {"busy": "at work", "idle": "idle", "gone": "gone"}
_WAIT_MARKS: Final = {
    "question": ("?", "?"),
    "plan": ("▤", "="),
    "item": ("⊘", "#"),
    "task": ("⊘", "#"),
    "flow": ("⊘", "#"),
}
"""The mark of what waits, in Unicode and in ASCII."""


class _Row(Struct, frozen=True):
    """The cells of one agent. `tail` is cut first where there is too little room, then the headline."""

    mark: Span
    name: str
    age: str
    headline: Line
    count: str
    share: float | None
    clock: str
    tail: Line


def now_lines(roster: Roster, display: Display) -> Iterator[Line]:
    """Yield the lines of the screen, each cut to the width of the display."""
    glyphs = display.glyphs
    names = _name_agents(roster.agents, glyphs)
    asked = {(wait.session, wait.agent) for wait in roster.waits}
    # Of an agent that waits for an answer on the board, its host says the same: it is one line.
    waiting = [row for row in roster.agents if row.state == "waiting" and (row.list_session, row.agent) not in asked]
    drawn = [(row.since, _waiting_row(row, names[row], roster.at, glyphs)) for row in waiting]
    for wait in roster.waits:
        name = _name_owner(wait, roster.agents, names, glyphs)
        drawn.append((wait.since, _wait_row(wait, name, roster.at, glyphs)))
    if drawn:
        drawn.sort(key=lambda pair: (pair[0] or roster.at).timestamp())  # what waits longest comes first
        yield from _section("waits on you", len(drawn), [row for _, row in drawn], display)
    for state, title in _SECTIONS.items():
        found = [row for row in roster.agents if row.state == state]
        shown = found if state == "busy" else found[:_MOST_IDLE]
        if found:
            rows = [_agent_row(row, names[row], roster.at, glyphs) for row in shown]
            yield from _section(title, len(found), rows, display)
        if len(found) > len(shown):
            yield (Span(f"  and {len(found) - len(shown)} more", "dim"),)
    if roster.done is not None and roster.done.grades:
        yield from _done_lines(roster.done, display)
    if roster.waits:
        yield ()
        yield display.cut((Span("`punchlist answer` shows each in full, with the command that answers it.", "dim"),))


# Sections and columns.


def _section(title: str, number: int, rows: Sequence[_Row], display: Display) -> Iterator[Line]:
    yield _rule(f"{title} {display.glyphs.dot} {number}", display)
    columns = display.columns or 120
    wide = columns >= _WIDE
    named = min(max(width(row.name + row.age) for row in rows), 34 if wide else 24)
    has_counts = any(row.count for row in rows)
    count = max((len(row.count) for row in rows), default=0)
    bar = _BAR + 1 if wide and has_counts else 0
    clock = max((len(row.clock) for row in rows), default=0)
    tail = min(max(cells(row.tail) for row in rows), max(0, columns // 4 if wide else 16))
    fixed = (
        3 + named + 2 + (bar + count + 2 if has_counts else 0) + (clock + 2 if clock else 0) + (tail + 2 if tail else 0)
    )
    headline = max(12, min(columns - fixed, max(cells(row.headline) for row in rows)))
    for row in rows:
        yield display.cut(_draw(row, display.glyphs, named, headline, bar, count if has_counts else 0, clock))


def _draw(row: _Row, glyphs: Glyphs, named: int, headline: int, bar: int, count: int, clock: int) -> Line:
    name = (Span(row.name, "bold"), Span(row.age, "dim"))
    line: Line = (row.mark, Span("  "), *pad(name, named, glyphs), Span("  "), *pad(row.headline, headline, glyphs))
    if count:
        line = (*line, Span("  "), *(_draw_bar(row.share, glyphs) if bar else ()), Span(f"{row.count:>{count}}"))
    if clock:
        line = (*line, Span(f"  {row.clock:>{clock}}", "dim"))
    return (*line, Span("  "), *row.tail) if row.tail else line


def _draw_bar(share: float | None, glyphs: Glyphs) -> Line:
    if share is None:
        return (Span(" " * (_BAR + 1)),)
    full = int(_BAR * share)
    style: Style = "good" if full == _BAR else "focus"
    return (Span(glyphs.full * full, style), Span(glyphs.empty * (_BAR - full), "dim"), Span(" "))


def _rule(title: str, display: Display) -> Line:
    across = display.glyphs.frame[0]
    columns = min(display.columns or 80, 120)
    before = f"{across * 2} "
    return (Span(before, "dim"), Span(title, "bold"), Span(f" {across * max(2, columns - len(title) - 4)}", "dim"))


# Rows.


def _wait_row(wait: PersonWait, name: str, now: datetime, glyphs: Glyphs) -> _Row:
    mark = _WAIT_MARKS[wait.kind][glyphs is ASCII]
    text = safe_line(name_wait(wait))
    if wait.kind == "question":
        text = f"{glyphs.quotes[0]}{text}{glyphs.quotes[1]}"
    elif wait.kind == "plan":
        text = f"Plan r{safe_line(wait.id)}: {safe_line(wait.title)}"
    tail = Span(f"answer {safe_line(wait.name)}", "dim")
    return _Row(Span(mark, "warning"), name, _age(wait.since, now, glyphs), (Span(text),), "", None, "", (tail,))


def _waiting_row(row: AgentNow, name: str, now: datetime, glyphs: Glyphs) -> _Row:
    headline = (Span(safe_line(row.waits_for) or "waits for you"),)
    return _Row(
        Span("!", "warning"),
        name,
        _age(row.since, now, glyphs),
        headline,
        "",
        None,
        "",
        (Span("in its window", "dim"),),
    )


def _agent_row(row: AgentNow, name: str, now: datetime, glyphs: Glyphs) -> _Row:
    line = row.line
    is_silent = row.silent_since is not None
    mark = _mark(row, glyphs)
    if is_silent:
        headline: Line = (Span(f"silent since {format_age(row.silent_since, now)}", "warning"),)
    else:
        headline = _headline(row, glyphs)
    began = datetime.fromtimestamp(line.since, now.tzinfo) if line.since and row.state == "busy" else row.since
    return _Row(
        mark=mark,
        name=name,
        age="",
        headline=headline,
        count=f"{line.done}/{line.total}" if line.total else "",
        share=line.done / line.total if line.total else None,
        clock="" if is_silent else format_age(began, now),
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
    line = row.line
    if line.focus and row.state == "busy":
        return (Span(line.focus, "focus"),)
    if line.total:
        following = line.focus or line.next
        if following:
            return (Span(f"next: {following}", "dim"),)
        return (Span("all done" if line.done == line.total else safe_line(row.title), "dim"),)
    said = safe_line(row.doing if row.state == "busy" and row.doing else row.title or row.doing)
    words = f"no list {glyphs.dot} {said}" if said else "no list"
    return (Span("no list", "dim"), Span(words.removeprefix("no list"), "plain" if row.state == "busy" else "dim"))


def _tail(row: AgentNow, now: datetime, glyphs: Glyphs) -> Iterator[Span]:
    """Yield the state of the session, what a silent agent did last, and its subagents."""
    parts: list[Span] = []
    if row.session_state == "red":
        sign = "failed" if glyphs is ASCII else glyphs.boxes["failed"]
        check = f": {row.line.check} {sign}" if row.line.check else ""
        ago = f" {format_age(row.check_at, now)} ago" if row.check_at else ""
        parts.append(Span(f"red{check}{ago}", "bad"))
    elif row.session_state in STATES and row.session_state != "idle":
        parts.append(Span(row.session_state, STATES[row.session_state]))
    if row.silent_since is not None and row.doing:
        parts.append(Span(f"last: {safe_line(row.doing)}", "dim"))
    parts.extend(_subagents(row.line, glyphs))
    for place, part in enumerate(parts):
        if place:
            yield Span("  ")
        yield part


def _subagents(line: SessionLine, glyphs: Glyphs) -> Iterator[Span]:
    sign = glyphs.branch if glyphs is ASCII else "⤷"
    for one in line.subagents:
        count = f" {one.done}/{one.total}" if one.total else ""
        yield Span(f"{sign} {one.name}{count}", "accent")
    if line.more:
        yield Span(f"+{line.more}", "accent")


def _done_lines(done: DoneSince, display: Display) -> Iterator[Line]:
    local = done.since.astimezone()
    is_today = local.date() == datetime.now(local.tzinfo).date()
    yield _rule(
        f"done since you looked ({local:%H:%M})" if is_today else f"done since you looked ({local:%d %b %H:%M})",
        display,
    )
    line: list[Span] = [Span("   ")]
    dot = f" {display.glyphs.dot} "
    for words, styles in ((done.sessions, STATES), (done.grades, GRADES)):
        known = [(name, words[name]) for name in styles if words.get(name) and name != "idle"]
        for place, (name, number) in enumerate(known):
            said = f"{name} {plural(number, 'session')}" if styles is STATES and place == 0 else f"{name} {number}"
            if styles is GRADES:
                said = f"{number} {name}"
            line.append(Span(said if place == 0 else f"{dot}{said}", styles[name]))
        line.append(Span("   "))
    yield display.cut((*line, Span("punchlist brief --all", "dim")))


# Names and times.


def _name_agents(agents: Iterable[AgentNow], glyphs: Glyphs) -> dict[AgentNow, str]:
    """Return `project · host` of each agent, with the beginning of its session where two would be called the same."""
    rows = list(agents)
    short = {row: _name_agent(row, glyphs) for row in rows}
    times = Counter(short.values())
    return {
        row: name if times[name] == 1 else f"{name} {short_session(row.session)[:6]}" for row, name in short.items()
    }


def _name_agent(row: AgentNow, glyphs: Glyphs) -> str:
    project = safe_line(os.path.basename(row.project)) or "?"
    host = _HOSTS.get(row.host, safe_line(row.host))
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


def format_age(since: datetime | None, now: datetime) -> str:
    """Return how long ago a time was, in few characters: `12 s`, `1m 14s`, `25m`, `2h 5m`, `3d`; empty if unknown."""
    if since is None:
        return ""
    seconds = max(0, int((now - since) / timedelta(seconds=1)))
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 600:
        return f"{seconds // 60}m {seconds % 60}s" if seconds % 60 else f"{seconds // 60}m"
    if seconds < 3600:
        return f"{seconds // 60}m"
    if seconds < 86_400:
        return f"{seconds // 3600}h {seconds % 3600 // 60}m"
    return f"{seconds // 86_400}d"


# JSON.


def now_data(roster: Roster) -> dict[str, Any]:
    """Return the screen as JSON values."""
    done = roster.done
    return {
        "at": json_time(roster.at),
        "agents": [_agent_data(row) for row in roster.agents],
        "waits": [wait_data(wait) for wait in roster.waits],
        "done": None
        if done is None
        else {"since": json_time(done.since), "items": done.grades, "sessions": done.sessions},
    }


def _agent_data(row: AgentNow) -> dict[str, Any]:
    line = row.line
    return {
        "state": row.state,
        "since": _time(row.since),
        "project": row.project,
        "host": row.host,
        "session": row.session,
        "agent": row.agent,
        "waits_for": row.waits_for,
        "title": row.title,
        "pid": row.pid,
        "doing": row.doing,
        "on_board": not row.is_watched_only,
        "focus": line.focus,
        "focus_since": _time(datetime.fromtimestamp(line.since, UTC)) if line.since else None,
        "done": line.done,
        "total": line.total,
        "session_state": row.session_state,
        "check": line.check,
        "check_at": _time(row.check_at),
        "silent_since": _time(row.silent_since),
        "subagents": [{"name": one.name, "done": one.done, "total": one.total} for one in line.subagents],
    }


def _time(at: datetime | None) -> str | None:
    return None if at is None else json_time(at)
