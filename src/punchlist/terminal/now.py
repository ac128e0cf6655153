"""Render the first screen, once or live: the sessions in the groups of the brief, and the agents that do nothing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.grounding.offers import describe_offer
from punchlist.core.overview import PersonWait
from punchlist.core.report import assemble_brief
from punchlist.core.todo import Status, TodoList
from punchlist.store import ListRow
from punchlist.terminal.brief import TITLES
from punchlist.terminal.lists import GRADES, NO_REASONS, STATES, bar, list_lines, mark_item, tree, with_tasks
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
    safe_line,
    safe_sentence,
)
from punchlist.text import for_terminal, graphemes, width
from punchlist.views import brief_groups
from punchlist.views.findings import count_words, format_moment, span
from punchlist.views.grades import Reasons, check_words
from punchlist.views.now import AgentNow, Roster

_LEAST_SAID: Final = 30
"""Cells that the sentence of a row has before its time gets any; its tail comes after both."""

_TIME: Final = 7
"""Cells of a time: its first unit, `12 days`, or `07:13`."""

_ENOUGH_SAID: Final = 50
"""Cells of a sentence from which its tail may be shown too."""

_MOST_IDLE: Final = 20
"""Rows of agents that need nobody; the others are counted."""

_TITLES: Final[dict[str, tuple[str, Style]]] = {
    **TITLES,
    "checked": ("Checked since you looked", "good"),
    "idle": ("Idle", "bold"),
    "ended": ("Ended", "bold"),
}
_MARKS: Final[dict[str, tuple[str, str, Style]]] = {
    "red": ("✗", "x", "bad"),
    "failing": ("✗", "x", "bad"),
    "failed": ("✗", "x", "bad"),
    "unseen": ("·", ".", "plain"),
    "work": ("▸", ">", "focus"),
    "green": ("✓", "+", "good"),
    "confirmed": ("★", "*", "good"),
    "idle": ("○", "o", "dim"),
    "unknown": ("?", "?", "dim"),
    "stopped": ("–", "-", "dim"),
    "gone": ("–", "-", "dim"),
}
"""The mark of a row by its kind, in Unicode and in ASCII, and its style."""

_WAITING: Final = ("◆", "!", "warning")
_LOOKING: Final = ("?", "?", "bad")
_NOTHING: Final = assemble_brief((), (), (), (), after=0, until=0)

Subject = AgentNow | PersonWait | brief_groups.BriefRow
"""The subject of a row: a wait on a person, else the agent, else a session whose agent is not there any more."""


class NowRow(Struct, frozen=True, kw_only=True):
    """The cells of one line. `tail` is cut first where there is too little room, then the time."""

    of: Subject
    row: brief_groups.BriefRow
    agent: AgentNow | None
    mark: Span
    owner: brief_groups.RowOwner
    said: Span
    count: str
    tail: Span
    subagents: str


class Section(Struct, frozen=True):
    """The rows of one group."""

    name: str
    rows: Sequence[NowRow]

    @property
    def title(self) -> Line:
        title, style = _TITLES[self.name]
        helpers = sum(len(row.agent.subagents) + row.agent.more for row in self.rows if row.agent)
        more = f", with {count_words(helpers, 'subagent')}" if helpers and self.name == "at_work" else ""
        return (Span(title, style), Span(f" {len(self.rows)}{more}", "dim"))


class Columns(Struct, frozen=True):
    """The width of each column; 0 for one that is left out."""

    name: int = 0
    said: int = 0
    count: int = 0
    time: int = 0
    tail: int = 0


def now_lines(roster: Roster, display: Display) -> Iterator[Line]:
    """Yield the lines of the screen, each cut to the width of the display."""
    groups = brief_groups.group_sessions(_NOTHING, roster)
    sections = list_sections(groups, roster, display.glyphs)
    columns = lay_out([row for section in sections for row in section.rows], display)
    for place, section in enumerate(sections):
        if place:
            yield ()
        yield display.cut(section.title)
        shown = section.rows[:_MOST_IDLE] if section.name in ("idle", "ended") else section.rows
        for row in shown:
            yield row_line(row, columns, roster.at, display)
            if row.subagents:
                yield subagent_line(row, columns, display)
        if len(shown) < len(section.rows):
            yield (Span(f"  and {len(section.rows) - len(shown)} more", "dim"),)
    if roster.done is not None and roster.done.items:
        said = ", ".join(f"{roster.done.items[grade]} {grade}" for grade in GRADES if roster.done.items.get(grade))
        since = format_moment(roster.done.since, roster.at)
        yield ()
        yield display.cut((Span(f"Done since {since}", "bold"), Span(f"  {said}; punchlist brief --all", "dim")))
    if roster.waits:
        yield ()
        yield display.cut((Span("`punchlist answer` shows each in full, with the command that answers it.", "dim"),))


def list_sections(
    groups: brief_groups.BriefGroups, roster: Roster, glyphs: Glyphs, *, has_keys: bool = False
) -> list[Section]:
    """Return the groups that hold anything, what needs the person first. Where keys answer, no command is shown."""
    found = {name: rows for name, rows in brief_groups.join_rows(groups, roster).items() if rows}
    return [Section(name, [_make_row(row, name, glyphs, has_keys) for row in rows]) for name, rows in found.items()]


def _make_row(joined: brief_groups.JoinedRow, group: str, glyphs: Glyphs, has_keys: bool) -> NowRow:
    row, wait, agent = joined.of, joined.wait, joined.agent
    *signs, style = _MARKS.get(row.kind, _WAITING if group == "do_now" else _LOOKING)
    return NowRow(
        of=wait or agent or row,
        row=row,
        agent=agent,
        mark=Span(signs[glyphs is ASCII], style),
        owner=brief_groups.split_name(safe_line(row.name or row.kind)),
        said=_say(joined, style, glyphs),
        count=f"{agent.done}/{agent.total}" if agent and agent.total else "",
        tail=Span("") if has_keys and wait else _find_tail(joined, group),
        subagents=_name_subagents(agent) if agent and group == "at_work" else "",
    )


def _say(joined: brief_groups.JoinedRow, style: Style, glyphs: Glyphs) -> Span:
    """Return the sentence of a row: that an item looks done, or what the brief says."""
    wait, agent = joined.wait, joined.agent
    if wait is not None:
        return Span(safe_sentence(joined.sentence, glyphs))
    if agent is not None and agent.offer is not None:
        return Span(safe_line(describe_offer(agent.offer)), "good")
    check = f" (check: {agent.focus_check})" if agent and agent.focus_check and joined.of.kind == "work" else ""
    return Span(safe_line(joined.sentence + check), style if style in ("bad", "dim") else "plain")


def _find_tail(joined: brief_groups.JoinedRow, group: str) -> Span:
    """Return how to answer, or the last check of a session about which the sentence says nothing of it."""
    if joined.wait is not None:
        return Span(f"answer {safe_line(joined.wait.name)}", "dim")
    if joined.of.kind == "permission":
        return Span("in its window", "dim")
    return _describe_check(joined.agent) if group in ("at_work", "idle", "ended") else Span("")


def _describe_check(agent: AgentNow | None) -> Span:
    if agent is None:
        return Span("")
    words = check_words(agent.session_state, safe_line(agent.check), agent.changes_since)
    return Span(words, STATES.get(agent.session_state, "dim"))


def _name_subagents(agent: AgentNow) -> str:
    words = [f"{one.name} {one.done}/{one.total}" if one.total else one.name for one in agent.subagents]
    return ", ".join([*words, f"+{agent.more}"] if agent.more else words)


# Columns.


def lay_out(rows: Sequence[NowRow], display: Display) -> Columns:
    """Return the columns of all rows. The sentence has 30 cells before a time is shown."""
    columns = display.columns or 120
    name = min(max((width(str(row.owner)) for row in rows), default=0), max(12, columns // 3))
    count = max((len(row.count) for row in rows), default=0)
    said = columns - name - 4 - (count + 2 if count else 0)
    time = _TIME if said - _TIME - 2 >= _LEAST_SAID and any(row.row.at for row in rows) else 0
    said -= time + 2 if time else 0
    tail = max((width(row.tail.text) for row in rows), default=0)
    longest = max((width(row.said.text) for row in rows), default=0)
    if said - tail - 2 >= max(_LEAST_SAID, min(longest, _ENOUGH_SAID)):
        said -= tail + 2
    else:
        tail = 0
    return Columns(name, max(1, said), count, time, tail)


def row_line(row: NowRow, columns: Columns, now: datetime, display: Display) -> Line:
    """Return a row in its columns, cut to the width of the display."""
    glyphs = display.glyphs
    line: Line = (row.mark, Span(" "), *pad(_name_line(row.owner, glyphs), columns.name, glyphs), Span("  "))
    line = (*line, *pad((row.said,), columns.said, glyphs))
    if columns.count:
        line = (*line, Span(f"  {row.count:>{columns.count}}", "dim"))
    if columns.time:
        line = (*line, Span(f"  {_short_time(row.row, now):>{columns.time}}", "dim"))
    return display.cut((*line, Span("  "), row.tail) if columns.tail and row.tail.text else line)


def subagent_line(row: NowRow, columns: Columns, display: Display, inset: int = 0) -> Line:
    """Return the subagents of a row, below its sentence."""
    sign = display.glyphs.branch if display.glyphs is ASCII else "⤷"
    return display.cut((Span(" " * (columns.name + 4 + inset)), Span(f"{sign} {safe_line(row.subagents)}", "accent")))


def _name_line(owner: brief_groups.RowOwner, glyphs: Glyphs) -> Line:
    """Return a name: the project bold, the agent plain, the id dim. It is cut at its end, where the id is."""
    dot = f" {glyphs.dot} " if owner.project and owner.agent else ""
    return (Span(owner.project, "bold"), Span(f"{dot}{owner.agent}"), Span(f" {owner.id}" if owner.id else "", "dim"))


def _short_time(row: brief_groups.BriefRow, now: datetime) -> str:
    """Return how long it lasts, or when it was, in at most seven cells: `7 h`, `14 min`, `07:13`, `Sun`, `3 Nov`."""
    if row.at is None:
        return ""
    if row.is_lasting:
        return " ".join(span(max(now - row.at, timedelta())).split()[:2])
    return (format_moment(row.at, now).rpartition(" ")[0] or format_moment(row.at, now))[:_TIME]


# The screen live: agents with one selected, next to it or in its place a list, a plan or the help.


PANE_COLUMNS: Final = 119
"""Cells from which the selected list stands next to the agents: 120 columns, of which the last is left free."""

LEAST_LIST: Final = 4
"""Lines for which a list is shown below the agents: an empty one, its head, and two of its items."""

_DOUBTS: Final = ("unseen", "unchecked", None)
_CLOSED: Final = frozenset({Status.COMPLETED, Status.CANCELLED})
_KEYS: Final = (
    ("j k, arrows", "select; in a list or a plan: scroll"),
    ("tab", "the next group"),
    ("enter", "answer what waits, or open the list"),
    ("p", "read a plan; then y approves, n rejects it"),
    ("a", "add an item to the list"),
    ("d", "mark the item in progress done"),
    ("u", "undo your last change of the list"),
    ("y", "yes, it is done: the item that looks done, with the check as evidence"),
    ("e", "edit the list in $VISUAL or $EDITOR"),
    ("c", "continue: take over the open items of an agent that ended"),
    ("s", "seen: what was checked and done until now is not shown again"),
    ("/", "filter; esc shows all again"),
    ("ctrl+t", "show what is done in lists item by item"),
    ("n", "notify me when an agent waits, ends, stalls or turns red"),
    ("esc", "back"),
    ("?", "this help"),
    ("q", "quit"),
)
_HINTS: Final = {
    "agents": "enter open, a add, d done, u undo, e edit, tab group, / filter, s seen, n notify, ? help, q quit",
    "list": "esc back, a add, d done, u undo, e edit, p plan, j k scroll, ^t done items, q quit",
    "plan": "y approve, n reject, j k scroll, esc back, q quit",
    "help": "esc back, q quit",
    "empty": "n notify, ? help, q quit",
}

TopView = Literal["agents", "list", "plan", "help"]
SubjectKey = tuple[str, ...]
_T = TypeVar("_T")


class Detail(Struct, frozen=True):
    """The selected row in full: what it asks or proposes, and the lists of its session."""

    title: str
    row: NowRow | None = None
    text: str = ""
    rows: Sequence[ListRow] = ()
    hint: str = ""
    """How to attach it, if its list is a copy or there is none."""
    reasons: Reasons = {}


class TopRows(Struct, frozen=True):
    """The rows of the agents' view in their columns, as long as neither the agents nor the width change."""

    sections: Sequence[Section] = ()
    layout: Columns = Columns()
    numbers: Mapping[str, int] = {}
    """How many rows each group has, with those that a filter hides."""
    not_checked: str = ""

    @property
    def rows(self) -> list[NowRow]:
        return [row for section in self.sections for row in section.rows]


class TopFrame(Struct, kw_only=True):
    """The content of one picture. `prompt` is the question at the end, `typed` its answer so far."""

    rows: TopRows
    now: datetime
    view: TopView = "agents"
    selected: SubjectKey | None = None
    filter: str = ""
    detail: Detail | None = None
    lists: Sequence[tuple[NowRow, Sequence[ListRow]]] = ()
    """The lists that are shown below the agents, as far as there is room."""
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
    """Turns the spinner."""


def key_of(subject: Subject) -> SubjectKey:
    """Return what tells an agent, a wait or a session from all others, and stays the same while it changes."""
    if isinstance(subject, PersonWait):
        return ("wait", *subject.key)
    if isinstance(subject, brief_groups.BriefRow):
        return ("session", subject.project, subject.session, subject.list, subject.agent)
    return ("agent", subject.host, subject.session, subject.agent)


def arrange_rows(groups: brief_groups.BriefGroups, roster: Roster, display: Display, words: str) -> TopRows:
    """Return the rows that hold all the words, in columns for this width."""
    sections, wanted = list_sections(groups, roster, display.glyphs, has_keys=True), words.lower().split()
    kept = [Section(one.name, [row for row in one.rows if _has_words(row, wanted)]) for one in sections]
    found = [section for section in kept if section.rows]
    inner = replace(display, columns=_list_columns(display) - 2)
    changes = [f"{one.name} {count_words(one.changes, 'change')}" for one in groups.not_checked]
    return TopRows(
        found,
        lay_out([row for section in found for row in section.rows], inner),
        {section.name: len(section.rows) for section in sections},
        f" {display.glyphs.dot} ".join(changes),
    )


def _list_columns(display: Display) -> int:
    """Return the cells that the agents have: all, or what the pane leaves, which takes a third."""
    columns = display.columns or 80
    return columns if columns < PANE_COLUMNS else columns - columns // 3 - 1


def _has_words(row: NowRow, words: Sequence[str]) -> bool:
    host = row.of.host if isinstance(row.of, AgentNow) else row.row.kind
    text = f"{row.owner} {row.said.text} {row.tail.text} {row.row.session} {host}".lower()
    return all(word in text for word in words)


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
    columns, glyphs, numbers = display.columns or 80, display.glyphs, frame.rows.numbers
    waits = numbers.get("do_now", 0)
    said: list[Span] = [Span(f"{waits} wait{'s' if waits == 1 else ''} for you", "warning")] if waits else []
    if looks := numbers.get("look_first"):
        said.append(Span(f"{looks} to look at first", "bad"))
    said.append(Span(f"{numbers.get('at_work', 0)} at work", "dim"))
    parts = [part for one in said for part in (Span(f" {glyphs.dot} ", "dim"), one)][1:]
    left: Line = (Span(" Punchlist  ", "bold"), *parts)
    if frame.filter:
        left = (*left, Span(f"  /{safe_line(frame.filter)}", "accent"))
    clock = f"  {frame.now.astimezone():%H:%M} "
    right = (Span("*" if glyphs is ASCII else "●", "good"), Span(f" {frame.feed}{clock}", "dim"))
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
    if hints[0] == "enter open" and frame.selected is not None and frame.selected[0] == "wait":
        hints[0] = "enter answer"
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
    cursor = Span("_" if display.glyphs is ASCII else "▏", "accent")
    return [*above, (*label, Span(_find_end(safe_line(frame.typed), columns - cells(label) - 1)), cursor)]


def _find_end(typed: str, room: int) -> str:
    """Return the end of an answer that has room: the person types there."""
    place = len(typed)
    for cluster in reversed(list(graphemes(typed))):
        room -= width(cluster)
        if room < 0:
            break
        place -= len(cluster)
    return typed[place:]


# Agents, and with room to spare their lists.


def _agents_body(frame: TopFrame, display: Display, room: int) -> list[Line]:
    columns, wide = display.columns or 80, _list_columns(display)
    left = _agent_lines(frame, replace(display, columns=wide), room)
    if wide == columns:
        return left
    inner = replace(display, columns=columns - wide - 3)
    right = [] if frame.detail is None else _pane(frame, frame.detail, inner, room)
    edge = Span(f" {display.glyphs.edge} ", "dim")
    lines: list[Line] = []
    for place in range(room):
        one = left[place] if place < len(left) else ()
        other = right[place] if place < len(right) else ()
        lines.append((*pad(one, wide, display.glyphs), edge, *other))
    return lines


def _agent_lines(frame: TopFrame, display: Display, room: int) -> list[Line]:
    """Return the lines around the selected row. Only these are drawn: the others would take most of the time."""
    if not frame.rows.sections:
        nothing = [(Span(f'Nothing matches "{safe_line(frame.filter)}".'),)] if frame.filter else frame.nothing
        return [(), *(display.cut((Span("  "), *line)) for line in nothing)]
    drawn: list[Callable[[], Line]] = []
    chosen = 0
    is_roomy = count_lines(frame.rows) <= room
    for section in frame.rows.sections:
        if is_roomy:
            drawn.append(tuple)
        drawn.append(partial(display.cut, (Span("  "), *section.title)))
        for row in section.rows:
            chosen = len(drawn) if key_of(row.of) == frame.selected else chosen
            drawn.append(partial(_draw_row, row, frame, display))
            if row.subagents and is_roomy:
                drawn.append(partial(subagent_line, row, frame.rows.layout, display, inset=2))
        if section.name == "checked" and frame.rows.not_checked and is_roomy:
            drawn.append(partial(display.cut, (Span(f"    Not checked: {safe_line(frame.rows.not_checked)}", "dim"),)))
    lists = _list_blocks(frame, display, room - len(drawn))
    return [draw() for draw in _scroll(drawn, chosen - room // 2, room)] + lists


def count_lines(rows: TopRows) -> int:
    """Return the lines that all rows take with their titles, an empty line before each, and their subagents."""
    return (
        sum(2 + len(section.rows) + sum(bool(row.subagents) for row in section.rows) for section in rows.sections) + 1
    )


def _draw_row(row: NowRow, frame: TopFrame, display: Display) -> Line:
    glyphs, is_selected = display.glyphs, key_of(row.of) == frame.selected
    if is_selected and row.row.kind == "work":
        row = replace(row, mark=Span(glyphs.spinner[frame.tick % len(glyphs.spinner)], "focus"))
    line = row_line(row, frame.rows.layout, frame.now, replace(display, columns=(display.columns or 80) - 2))
    sign = ">" if glyphs is ASCII else "❯"
    return (Span(f"{sign} " if is_selected else "  ", "focus"), *line)


def _list_blocks(frame: TopFrame, display: Display, room: int) -> list[Line]:
    """Return lists with their heads, as many as there is room for; the last one may be cut."""
    lines: list[Line] = []
    inner = replace(display, columns=(display.columns or 80) - 4)
    for row, found in frame.lists:
        left = room - len(lines)
        if left < LEAST_LIST or not found:
            break
        name = cut((Span("  List of ", "bold"), *_name_line(row.owner, display.glyphs)), inner.columns, display.glyphs)
        head = (*name, Span("  "), *_progress(with_tasks(found[0]).todos, row.agent, display.glyphs))
        stopped_at = row.agent.stopped_at if row.agent else None
        items: list[Line] = []
        for depth, one in tree(found):
            if depth:
                items.append((Span(f"{'  ' * depth}{display.glyphs.branch} {safe_line(one.agent)}", "accent"),))
            draw = list_lines if frame.is_expanded else _fold
            items += draw(with_tasks(one).todos, inner, now=frame.now, stopped_at=stopped_at)
        if len(items) > left - 2:
            items = [*items[: left - 3], (Span(f"+{len(items) - left + 3} more", "dim"),)]
        lines += [(), display.cut(head), *(display.cut((Span("    "), *item)) for item in items)]
    return lines


def _progress(todos: TodoList, agent: AgentNow | None, glyphs: Glyphs) -> Line:
    """Return a bar, the count, and how the last check went."""
    check = _describe_check(agent)
    said = (Span(f" {glyphs.dot} ", "dim"), check) if check.text else ()
    return (*bar(todos, glyphs, "bad" if check.style == "bad" else "focus"), *said)


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
    lines = [(), *_detail_lines(frame, detail, display, is_folded=not frame.is_expanded)]
    if len(lines) > room and frame.is_expanded:
        lines = [(), *_detail_lines(frame, detail, display, is_folded=True)]
    if len(lines) > room:
        lines = [*lines[: room - 1], (Span(f"+{len(lines) - room + 1} more lines: enter", "dim"),)]
    return lines


def _detail_lines(frame: TopFrame, detail: Detail, display: Display, *, is_folded: bool) -> Iterator[Line]:
    columns, glyphs = display.columns or 80, display.glyphs
    yield cut((Span(detail.title, "bold"),), columns, glyphs)
    if detail.row is not None:
        yield from _state_lines(detail.row, frame.now, columns, says=not detail.text)
    if detail.text:
        yield ()
        for line in detail.text.split("\n"):
            clean = for_terminal(line).rstrip()
            yield from ((Span(part),) for part in pack([clean], columns, " ")) if clean else [()]
    agent = detail.row.agent if detail.row else None
    stopped_at = agent.stopped_at if agent else None
    for depth, row in tree(detail.rows):
        todos = with_tasks(row).todos
        if not todos.items:
            continue
        yield ()
        if depth:
            name = f"{'  ' * (depth - 1)}{glyphs.branch} {safe_line(row.agent)}"
            yield cut((Span(name, "accent"),), columns, glyphs)
        yield display.cut(_progress(todos, None if depth else agent, glyphs))
        why = detail.reasons.get(row.number, NO_REASONS)
        draw = _fold if is_folded else list_lines
        yield from draw(todos, display, now=frame.now, reasons=why, stopped_at=stopped_at)
    if not any(row.todos.items or row.tasks for row in detail.rows) and not detail.text:
        yield ()
        yield (Span("no list", "dim"),)
    if detail.hint:
        yield ()
        yield from ((Span(part, "dim"),) for part in pack([safe_line(detail.hint)], columns, " "))


def _state_lines(row: NowRow, now: datetime, columns: int, *, says: bool) -> Iterator[Line]:
    """Yield the sentence of a row in full, and since when or when it is so."""
    at, lasts = row.row.at, row.row.is_lasting
    when = "" if at is None else format_moment(at, now)
    if at is not None and lasts:
        when = f"since {when}, {span(now - at)}"
    said = list(pack([row.said.text if says else "waits for you"], columns - 2, ""))
    yield ()
    for place, part in enumerate(said):
        yield (row.mark if place == 0 else Span(" "), Span(f" {part}", row.said.style))
    if when:
        yield (Span(f"  {when}", "dim"),)


def _fold(
    todos: TodoList,
    display: Display,
    *,
    now: datetime,
    reasons: Mapping[str, str] = NO_REASONS,
    stopped_at: datetime | None = None,
) -> Iterator[Line]:
    """Yield a list with its completed items in one line, but for the last one and those that fail."""
    closed = [item for item in todos.items if item.status in _CLOSED and item.grade != "failing"]
    folded = closed[:-1] if len(closed) > 2 else []
    if folded:
        done = [item for item in folded if item.status is Status.COMPLETED]
        counts = [(len(done), "done"), (len(folded) - len(done), "cancelled")]
        words = ", ".join(f"{number} {word}" for number, word in counts if number)
        doubtful = (item for doubt in _DOUBTS for item in done if item.grade == doubt)
        worst = next(doubtful, (done or folded)[0])
        yield (mark_item(worst, display.glyphs), Span(f" {words}", "dim"))
    kept = tuple(item for item in todos.items if item not in folded)
    phases = {item.phase_id for item in kept}
    shown = replace(todos, items=kept, phases=tuple(phase for phase in todos.phases if phase.id in phases))
    yield from list_lines(shown, display, now=now, reasons=reasons, stopped_at=stopped_at)
