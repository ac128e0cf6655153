"""Render the first screen, once or live: what waits on a person, the agents at work, idle and gone, what was done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.grounding.offers import describe_offer
from punchlist.core.overview import Offer, PersonWait, name_wait
from punchlist.core.presence import PresenceState
from punchlist.core.todo import Status, TodoList
from punchlist.store import ListRow
from punchlist.terminal.lists import GRADES, NO_REASONS, STATES, bar, list_lines, pause_words, spin, tree, with_tasks
from punchlist.terminal.spans import (
    ASCII,
    Display,
    Glyphs,
    Line,
    Span,
    Style,
    cells,
    cut,
    pack,
    pad,
    plain,
    safe_line,
    show_name,
)
from punchlist.text import for_terminal, width
from punchlist.views.grades import Reasons, state_name
from punchlist.views.now import AgentNow, DoneSince, Roster

_WIDE: Final = 100
"""Columns from which a bar is drawn, and names have more room."""

_NARROW: Final = 60
"""Columns from which clocks have room."""

_SHORTEST_TAIL: Final = 5
_AGE: Final = 7
_BAR: Final = 7
_LONGEST_NAME: Final = 18
_MOST_IDLE: Final = 20
"""Rows of agents that need nobody; the others are counted."""

_SECTIONS: Final[dict[PresenceState, str]] = {
    "busy": "at work",
    "idle": "idle",
    "unknown": "unknown",
    "gone": "ended",
}
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
    offer: Offer | None = None
    """The agent's item in progress, if it looks done."""


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
    asked = {(wait.session, wait.agent) for wait in roster.waits}
    # Of an agent that waits for an answer on the board, its host says the same: it is one line.
    waiting = [row for row in roster.agents if row.state == "waiting" and (row.list_session, row.agent) not in asked]
    rows = [_waiting_row(row, show_name(row.name, glyphs), roster.at, glyphs) for row in waiting]
    rows += [_wait_row(wait, show_name(wait.owner, glyphs) or wait.kind, roster.at, glyphs) for wait in roster.waits]
    rows.sort(key=lambda row: (row.of.since or roster.at).timestamp())  # what waits longest comes first
    sections = [Section("waits on you", len(rows), rows)]
    for state, title in _SECTIONS.items():
        found = [row for row in roster.agents if row.state == state]
        shown = found if state == "busy" else found[:most]
        rows = [_agent_row(row, show_name(row.name, glyphs), roster.at, glyphs) for row in shown]
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
    room = (display.columns or EVERY) - cells(line) - 2
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
    is_busy = row.state == "busy"
    # Only the clock of an agent at work runs; of any other the time is shown at which it stopped.
    began = row.focus_since or row.since if is_busy and not is_silent else None
    return NowRow(
        of=row,
        mark=_mark(row, glyphs),
        word=_name_state(row),
        name=name,
        headline=_silence(row, now) if is_silent else _headline(row, glyphs),
        count=f"{row.done}/{row.total}" if row.total else "",
        share=row.done / row.total if row.total else None,
        clock=format_age(began, now, exact=True) if is_busy else format_when(row.since, now),
        began=began,
        tail=tuple(_tail(row, now, glyphs)),
        offer=row.offer,
    )


def _name_state(row: AgentNow) -> str:
    if row.silent_since is not None:
        return "hung" if row.hung else "silent"
    return _SECTIONS[row.state]


def _silence(row: AgentNow, now: datetime) -> Line:
    """Return since when an agent is silent, and the call in which it hangs."""
    words = f"silent since {format_age(row.silent_since, now)}"
    if row.hung and row.doing:
        words = f"hung: {safe_line(row.doing)}, {words}"
    return (Span(words, "warning"),)


def _mark(row: AgentNow, glyphs: Glyphs) -> Span:
    if row.silent_since is not None:
        return Span("!", "warning")
    if row.state == "busy":
        return Span(glyphs.arrow, "focus")
    marks = {"idle": ("○", "o"), "unknown": ("?", "?"), "gone": ("–", "-")}
    return Span(marks[row.state][glyphs is ASCII], "dim")


def _headline(row: AgentNow, glyphs: Glyphs) -> Line:
    """Return what an agent does: its item in progress, or that it looks done; without a list, its last call."""
    if row.offer is not None:
        return (Span(safe_line(describe_offer(row.offer)), "good"),)
    if row.focus and row.state == "busy":
        check = f" (check: {row.focus_check})" if row.focus_check else ""
        return (Span(row.focus, "focus"), Span(check, "dim"))
    if row.focus and row.stopped_at is not None:
        return (Span(f"{glyphs.pause} {row.focus}{pause_words(row.focus_since, row.stopped_at)}", "dim"),)
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
        parts.append(Span(state_name(row.session_state, row.changes_since), STATES[row.session_state]))
    if row.silent_since is not None and row.doing and not row.hung:
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
            said = f"{number} {name}" if styles is GRADES else f"{state_name(name)} {number}"
            if styles is STATES and place == 0:
                said += " session" if number == 1 else " sessions"
            line.append(Span(said if place == 0 else f"{dot}{said}", styles[name]))
        line.append(Span("   "))
    yield display.cut((*line, Span("punchlist brief --all", "dim")))


def done_title(done: DoneSince, now: datetime) -> str:
    """Return the title above what was completed: since when that is."""
    since = done.since.astimezone()
    when = f"{since:%H:%M}" if since.date() == now.astimezone().date() else f"{since:%d %b %H:%M}"
    return f"done since you looked ({when})" if done.has_looked else f"done since {when}"


# Names and times.


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


def format_when(at: datetime | None, now: datetime) -> str:
    """Return a time of the day, with the weekday if it was on another day."""
    if at is None:
        return ""
    local = at.astimezone()
    return f"{local:%H:%M}" if local.date() == now.astimezone().date() else f"{local:%a %H:%M}"


# The screen live: agents with one selected, next to it or in its place a list, a plan or the help.


PANE_COLUMNS: Final = 119
"""Cells from which the selected list stands next to the agents: 120 columns, of which the last is left free."""

_LONGEST_BAR: Final = 60
_LONGEST_LIST: Final = 7
"""Lines of a list below its agent."""

_CLOCK: Final = 6
"""Cells of a clock, `9m 59s`: with fewer the columns would move as it runs."""

EVERY: Final = 10_000
_DOUBTS: Final = ("unseen", "unchecked")
_CLOSED: Final = frozenset({Status.COMPLETED, Status.CANCELLED})
_KEYS: Final = (
    ("j k, arrows", "select; in a list or a plan: scroll"),
    ("enter", "answer what waits, or open the list"),
    ("p", "read a plan; then y approves, n rejects it"),
    ("a", "add an item to the list"),
    ("d", "mark the item in progress done"),
    ("y", "yes, it is done: the item that looks done, with the check as evidence"),
    ("e", "edit the list in $VISUAL or $EDITOR"),
    ("c", "continue: take over the open items of an agent that ended"),
    ("/", "filter; esc shows all again"),
    ("ctrl+t", "lists below their agents; in a list, what is done"),
    ("n", "notify me when an agent waits, ends, stalls or turns red"),
    ("esc", "back"),
    ("?", "this help"),
    ("q", "quit"),
)
_HINTS: Final = {
    "agents": "enter open, p plan, a add, d done, e edit, / filter, ^t lists, n notify, ? help, q quit",
    "list": "esc back, a add, d done, e edit, p plan, j k scroll, ^t done items, q quit",
    "plan": "y approve, n reject, j k scroll, esc back, q quit",
    "help": "esc back, q quit",
    "empty": "n notify, ? help, q quit",
}

TopView = Literal["agents", "list", "plan", "help"]
Subject = AgentNow | PersonWait
SubjectKey = tuple[str, ...]
_T = TypeVar("_T")


class Detail(Struct, frozen=True):
    """The selected agent in full: what it asks or proposes, and the lists of its session."""

    title: str
    text: str = ""
    rows: Sequence[ListRow] = ()
    hint: str = ""
    """How to attach it, if its list is a copy or there is none."""
    reasons: Reasons = {}
    stopped_at: datetime | None = None
    """When its agent stopped; None while that is at work."""


class TopRows(Struct, frozen=True):
    """The rows of the agents' view in their columns, as long as neither the agents nor the width change."""

    sections: Sequence[Section]
    layout: Mapping[str, Columns]
    waits: int
    """How many rows wait on the person, with those that a filter hides."""

    @property
    def rows(self) -> list[NowRow]:
        return [row for section in self.sections for row in section.rows]


class TopFrame(Struct, kw_only=True):
    """The content of one picture. `prompt` is the question at the end, `typed` its answer so far."""

    roster: Roster
    rows: TopRows
    now: datetime
    view: TopView = "agents"
    selected: SubjectKey | None = None
    filter: str = ""
    detail: Detail | None = None
    lists: Mapping[SubjectKey, Sequence[ListRow]] | None = None
    """The lists that are shown below their agents."""
    nothing: Sequence[Line] = ()
    """The text where there is no agent."""
    is_expanded: bool = False
    """In a list, what is done is shown item by item."""
    scroll: int = 0
    status: str = ""
    is_problem: bool = False
    prompt: str | None = None
    typed: str = ""
    feed: str = "live"
    tick: int = 0
    """Turns the spinners."""


def key_of(subject: Subject) -> SubjectKey:
    """Return what tells an agent or a wait from all others, and stays the same while it changes."""
    if isinstance(subject, PersonWait):
        return ("wait", subject.kind, subject.session, subject.agent, subject.list, subject.id)
    return ("agent", subject.host, subject.session, subject.agent)


def find_rows(sections: Iterable[Section], words: str) -> list[Section]:
    """Return the sections with the rows that hold all the words."""
    wanted = words.lower().split()
    found: list[Section] = []
    for section in sections:
        rows = [_drop_command(row) for row in section.rows if all(word in _text_of(row) for word in wanted)]
        if rows:
            found.append(Section(section.title, len(rows), rows))
    return found


def arrange_rows(roster: Roster, display: Display, words: str) -> TopRows:
    """Return the rows that hold all the words, in columns for this width."""
    sections = now_sections(roster, display.glyphs, most=EVERY)
    waits = sum(section.number for section in sections if section.title == "waits on you")
    found = find_rows(sections, words)
    inner = replace(display, columns=_list_columns(display) - 2)
    return TopRows(found, lay_out(found, inner, clock=_CLOCK), waits)


def _list_columns(display: Display) -> int:
    """Return the cells that the agents have: all, or what the pane leaves."""
    columns = display.columns or 80
    return columns if columns < PANE_COLUMNS else columns * 3 // 5


def _drop_command(row: NowRow) -> NowRow:
    """Leave out the command that answers: here a key does."""
    return replace(row, tail=()) if isinstance(row.of, PersonWait) else row


def _text_of(row: NowRow) -> str:
    of = row.of
    host = of.host if isinstance(of, AgentNow) else of.kind
    return f"{row.name} {plain(row.headline)} {plain(row.tail)} {of.session} {host}".lower()


def top_lines(frame: TopFrame, display: Display, height: int) -> list[Line]:
    """Return the picture: `height` lines, none wider than the display."""
    foot = _foot(frame, display, height)
    room = height - 1 - len(foot)
    if frame.view == "agents":
        body = _agents_body(frame, display, room)
    else:
        body = _scroll(_detail_body(frame, display), frame.scroll, room)
    body = [*body[:room], *([()] * (room - len(body)))]
    return [_head(frame, display), *body, *foot]


def count_scroll(frame: TopFrame, display: Display, height: int) -> int:
    """Return how far the list or the plan can be scrolled."""
    room = height - 1 - len(_foot(frame, display, height))
    return max(0, len(_detail_body(frame, display)) - room)


def _head(frame: TopFrame, display: Display) -> Line:
    columns, glyphs, waits = display.columns or 80, display.glyphs, frame.rows.waits
    busy = sum(one.state == "busy" for one in frame.roster.agents)
    number = (Span(f"{waits} wait{'s' if waits == 1 else ''} on you", "warning" if waits else "dim"),)
    left = (Span(" Punchlist  ", "bold"), *number, Span(f" {glyphs.dot} {busy} at work", "dim"))
    if frame.filter:
        left = (*left, Span(f"  /{safe_line(frame.filter)}", "accent"))
    right = (Span("*" if glyphs is ASCII else "●", "good"), Span(f" {frame.feed}", "dim"))
    gap = columns - cells(left) - cells(right)
    return cut((*left, Span(" " * gap), *right) if gap > 1 else left, columns, glyphs)


def _foot(frame: TopFrame, display: Display, height: int) -> list[Line]:
    """Return the last lines: what is asked, what was done, or the keys. A third of the height is theirs at most."""
    columns, most = display.columns or 80, max(1, height // 3)
    style: Style = "warning" if frame.is_problem else "good"
    said = list(pack([safe_line(frame.status)], columns - 1, " ")) if frame.status else []
    status: list[Line] = [(Span(f" {part}", style),) for part in said[:most]]
    if frame.prompt is not None:
        return [*(status if frame.is_problem else []), *_prompt_lines(frame, display, columns, most)]
    if status:
        return status
    is_empty = frame.view == "agents" and not frame.rows.sections and not frame.filter
    hints = _HINTS["empty" if is_empty else frame.view].split(", ")
    while len(hints) > 2 and len("  ".join(hints)) >= columns:
        del hints[-3]  # the last two are the way to the others, and out
    return [cut((Span(f" {'  '.join(hints)}", "dim"),), columns, display.glyphs)]


def _prompt_lines(frame: TopFrame, display: Display, columns: int, most: int) -> list[Line]:
    """Return the question and what was typed: in one line, or a long question above it."""
    label = (Span(f" {frame.prompt} ", "bold"),)
    above: list[Line] = []
    if cells(label) > columns // 2 and most > 1:
        parts = list(pack([frame.prompt or ""], columns - 1, " "))
        above = [(Span(f" {part}", "bold"),) for part in parts[: most - 1]]
        label = (Span(" > ", "accent"),)
    label = cut(label, columns // 2, display.glyphs)
    typed = safe_line(frame.typed)
    # Of a long answer the end is shown, where the person types.
    while cells((Span(typed),)) > columns - cells(label) - 1:
        typed = typed[1:]
    cursor = Span("_" if display.glyphs is ASCII else "▏", "accent")
    return [*above, (*label, Span(typed), cursor)]


# Agents.


def _agents_body(frame: TopFrame, display: Display, room: int) -> list[Line]:
    columns, wide = display.columns or 80, _list_columns(display)
    left = _agent_lines(frame, display, wide, room)
    if wide == columns:
        return left
    inner = replace(display, columns=columns - wide - 3)
    right = [] if frame.detail is None else _pane(frame, frame.detail, inner, room)
    edge = Span(f" {display.glyphs.frame[1]} ", "dim")
    lines: list[Line] = []
    for place in range(room):
        one = left[place] if place < len(left) else ()
        other = right[place] if place < len(right) else ()
        lines.append((*pad(one, wide, display.glyphs), edge, *other))
    return lines


def _agent_lines(frame: TopFrame, display: Display, columns: int, room: int) -> list[Line]:
    """Return the lines around the selected row. Only these are drawn: the others would take most of the time."""
    sections = frame.rows.sections
    if not sections:
        if not frame.filter:
            return [(), *(cut((Span("  "), *line), columns, display.glyphs) for line in frame.nothing)]
        return [(), cut((Span(f'  Nothing matches "{safe_line(frame.filter)}".'),), columns, display.glyphs)]
    inner = replace(display, columns=columns)
    drawn: list[Callable[[], Line]] = []
    chosen = 0
    for section in sections:
        title = f"{section.title} {display.glyphs.dot} {section.number}"
        drawn.append(partial(rule_line, title, inner))
        for row in section.rows:
            key = key_of(row.of)
            chosen = len(drawn) if key == frame.selected else chosen
            drawn.append(partial(_draw_row, row, frame.rows.layout[section.title], frame, inner))
            below = () if frame.lists is None else _short_list(frame, frame.lists.get(key, ()), row.of, inner)
            drawn += [partial(inner.cut, line) for line in below]
    done = frame.roster.done
    if done is not None and done.items and not frame.filter and len(drawn) + 2 <= room:
        drawn += [partial(inner.cut, line) for line in done_lines(done, frame.now, inner)]
    return [inner.cut(draw()) for draw in _scroll(drawn, chosen - room // 2, room)]


def _draw_row(row: NowRow, layout: Columns, frame: TopFrame, display: Display) -> Line:
    glyphs, columns = display.glyphs, display.columns or 80
    fresh = _drop_command(refresh_row(row, frame.now, glyphs))
    if isinstance(row.of, AgentNow) and row.of.state == "busy" and row.of.silent_since is None:
        fresh = replace(fresh, mark=Span(glyphs.spinner[frame.tick % len(glyphs.spinner)], "focus"))
    line = row_line(fresh, layout, replace(display, columns=columns - 2))
    if key_of(row.of) != frame.selected:
        return (Span("  "), *line)
    mark = ">" if glyphs is ASCII else "❯"
    return (Span(plain(pad((Span(f"{mark} "), *line), columns, glyphs)), "selected"),)


def _short_list(frame: TopFrame, rows: Sequence[ListRow], of: Subject, display: Display) -> list[Line]:
    stopped_at = of.stopped_at if isinstance(of, AgentNow) else None
    inner = replace(spin(display, frame.tick), columns=(display.columns or 80) - 6)
    lines: list[Line] = []
    for depth, row in tree(rows):
        if depth and row.todos.items:
            name = f"{'  ' * (depth - 1)}{display.glyphs.branch} {safe_line(row.agent)}"
            lines.append((Span(name, "accent"),))
        folded = _fold(with_tasks(row).todos, inner, frame.now, keeps=0, stopped_at=stopped_at)
        lines += [(Span("  " * depth), *line) for line in folded]
    if len(lines) > _LONGEST_LIST:
        lines = [*lines[: _LONGEST_LIST - 1], (Span(f"+{len(lines) - _LONGEST_LIST + 1} more: enter", "dim"),)]
    return [(Span("      "), *line) for line in lines]


def _scroll(lines: list[_T], first: int, room: int) -> list[_T]:
    """Return as many lines as there is room for, from the first one or from as late as fills the room."""
    begin = max(0, min(first, len(lines) - room))
    return lines[begin : begin + room]


# The selected agent, a plan, the help.


def _detail_body(frame: TopFrame, display: Display) -> list[Line]:
    if frame.view == "help":
        lines = ((Span(f"  {keys:<12}  ", "bold"), Span(words)) for keys, words in _KEYS)
        return [(), *map(display.cut, lines)]
    if frame.detail is None:
        return []
    inner = replace(display, columns=(display.columns or 80) - 1)
    lines = _detail_lines(frame, frame.detail, inner, is_folded=not frame.is_expanded)
    return [(), *((Span(" "), *line) for line in lines)]


def _pane(frame: TopFrame, detail: Detail, display: Display, room: int) -> list[Line]:
    """Return a detail in so many lines; where it has more, completed items are folded too."""
    lines = list(_detail_lines(frame, detail, display, is_folded=not frame.is_expanded))
    if len(lines) > room and frame.is_expanded:
        lines = list(_detail_lines(frame, detail, display, is_folded=True))
    if len(lines) > room:
        lines = [*lines[: room - 1], (Span(f"+{len(lines) - room + 1} more lines: enter", "dim"),)]
    return lines


def _detail_lines(frame: TopFrame, detail: Detail, display: Display, *, is_folded: bool) -> Iterator[Line]:
    columns, glyphs = display.columns or 80, display.glyphs
    yield cut((Span(detail.title, "bold"),), columns, glyphs)
    if detail.text:
        yield ()
        for line in detail.text.split("\n"):
            clean = for_terminal(line).rstrip()
            yield from ((Span(part),) for part in pack([clean], columns, " ")) if clean else [()]
    spun = spin(display, frame.tick)
    for depth, row in tree(detail.rows):
        todos = with_tasks(row).todos
        if not todos.items:
            continue
        yield ()
        if depth:
            name = f"{'  ' * (depth - 1)}{glyphs.branch} {safe_line(row.agent)}"
            yield cut((Span(name, "accent"),), columns, glyphs)
        yield bar(todos, glyphs, min(columns, _LONGEST_BAR))
        why = detail.reasons.get(row.number, NO_REASONS)
        if is_folded:
            yield from _fold(todos, spun, frame.now, reasons=why, stopped_at=detail.stopped_at)
        else:
            yield from list_lines(todos, spun, now=frame.now, reasons=why, stopped_at=detail.stopped_at)
    if not any(row.todos.items or row.tasks for row in detail.rows) and not detail.text:
        yield ()
        yield (Span("no list", "dim"),)
    if detail.hint:
        yield ()
        yield from ((Span(part, "dim"),) for part in pack([safe_line(detail.hint)], columns, " "))


def _fold(
    todos: TodoList,
    display: Display,
    now: datetime,
    *,
    keeps: int = 1,
    reasons: Mapping[str, str] = NO_REASONS,
    stopped_at: datetime | None = None,
) -> Iterator[Line]:
    """Yield a list with its completed items in one line, but for the last ones and those that fail."""
    closed = [item for item in todos.items if item.status in _CLOSED and item.grade != "failing"]
    folded = closed[: len(closed) - keeps]
    if len(folded) < 2 and keeps:
        folded = []
    if folded:
        dropped = sum(item.status is Status.CANCELLED for item in folded)
        counts = [(len(folded) - dropped, "done"), (dropped, "cancelled")]
        words = ", ".join(f"{number} {word}" for number, word in counts if number)
        worst = min((item.grade for item in folded if item.grade in _DOUBTS), key=_DOUBTS.index, default=None)
        sign = display.glyphs.grades[worst] if worst else display.glyphs.boxes["completed"]
        yield (Span(f"{sign} ", GRADES[worst] if worst else "good"), Span(words, "dim"))
    kept = tuple(item for item in todos.items if item not in folded)
    phases = {item.phase_id for item in kept}
    shown = replace(todos, items=kept, phases=tuple(phase for phase in todos.phases if phase.id in phases))
    yield from list_lines(shown, display, now=now, reasons=reasons, stopped_at=stopped_at)
