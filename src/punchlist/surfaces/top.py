"""Render the first screen live: agents with one selected, next to it or in its place a list, a plan or the help."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Final, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.overview import PersonWait
from punchlist.core.todo import Status, TodoList
from punchlist.store import ListRow
from punchlist.surfaces.lists import list_lines, tree, with_tasks
from punchlist.surfaces.now import (
    Columns,
    NowRow,
    Section,
    done_lines,
    lay_out,
    now_sections,
    refresh_row,
    row_line,
    rule_line,
)
from punchlist.surfaces.panel import bar, spin
from punchlist.surfaces.spans import ASCII, Display, Line, Span, Style, cells, cut, pack, pad, plain, safe_line
from punchlist.text import for_terminal
from punchlist.views.now import AgentNow, Roster

PANE_COLUMNS: Final = 119
"""Cells from which the selected list stands next to the agents: 120 columns, of which the last is left free."""

_LONGEST_BAR: Final = 60
_LONGEST_LIST: Final = 7
"""Lines of a list below its agent."""

_CLOCK: Final = 6
"""Cells of a clock, `9m 59s`: with fewer the columns would move as it runs."""

EVERY: Final = 10_000
_CLOSED: Final = frozenset({Status.COMPLETED, Status.CANCELLED})
_KEYS: Final = (
    ("j k, arrows", "select; in a list or a plan: scroll"),
    ("enter", "answer what waits, or open the list"),
    ("p", "read a plan; then y approves, n rejects it"),
    ("a", "add an item to the list"),
    ("d", "mark the item in progress done"),
    ("e", "edit the list in $VISUAL or $EDITOR"),
    ("/", "filter; esc shows all again"),
    ("ctrl+t", "lists below their agents; in a list, what is done"),
    ("n", "notify me when an agent waits, ends, stalls or turns red"),
    ("esc", "back"),
    ("?", "this help"),
    ("q", "quit"),
)
_HINTS: Final = {
    "agents": (
        "enter open",
        "p plan",
        "a add",
        "d done",
        "e edit",
        "/ filter",
        "^t lists",
        "n notify",
        "? help",
        "q quit",
    ),
    "list": ("esc back", "a add", "d done", "e edit", "p plan", "j k scroll", "^t done items", "q quit"),
    "plan": ("y approve", "n reject", "j k scroll", "esc back", "q quit"),
    "help": ("esc back", "q quit"),
    "empty": ("n notify", "? help", "q quit"),
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


class TopRows(Struct, frozen=True):
    """The rows of the agents' view in their columns, as long as neither the agents nor the width change."""

    sections: Sequence[Section]
    layout: Mapping[str, Columns]
    waits: int
    """How many rows wait on the person, with those that a filter hides."""

    @property
    def rows(self) -> list[NowRow]:
        return [row for section in self.sections for row in section.rows]


class TopFrame(Struct, frozen=True, kw_only=True):
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
    hints = list(_HINTS["empty" if is_empty else frame.view])
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
            below = () if frame.lists is None else _short_list(frame, frame.lists.get(key, ()), inner)
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


def _short_list(frame: TopFrame, rows: Sequence[ListRow], display: Display) -> list[Line]:
    """Return an agent's lists in a few lines, below its row."""
    inner = replace(spin(display, frame.tick), columns=(display.columns or 80) - 6)
    lines: list[Line] = []
    for depth, row in tree(rows):
        if depth and row.todos.items:
            name = f"{'  ' * (depth - 1)}{display.glyphs.branch} {safe_line(row.agent)}"
            lines.append((Span(name, "accent"),))
        folded = _fold(with_tasks(row).todos, inner, frame.now, keeps=0)
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
        yield from _fold(todos, spun, frame.now) if is_folded else list_lines(todos, spun, now=frame.now)
    if not any(row.todos.items or row.tasks for row in detail.rows) and not detail.text:
        yield ()
        yield (Span("no list", "dim"),)
    if detail.hint:
        yield ()
        yield from ((Span(part, "dim"),) for part in pack([safe_line(detail.hint)], columns, " "))


def _fold(todos: TodoList, display: Display, now: datetime, *, keeps: int = 1) -> Iterator[Line]:
    """Yield a list with its completed items in one line, but for the last ones."""
    closed = [item for item in todos.items if item.status in _CLOSED]
    folded = closed[: len(closed) - keeps]
    if len(folded) < 2 and keeps:
        folded = []
    if folded:
        dropped = sum(item.status is Status.CANCELLED for item in folded)
        counts = [(len(folded) - dropped, "done"), (dropped, "cancelled")]
        words = ", ".join(f"{number} {word}" for number, word in counts if number)
        yield (Span(f"{display.glyphs.boxes['completed']} ", "good"), Span(words, "dim"))
    kept = tuple(item for item in todos.items if item not in folded)
    phases = {item.phase_id for item in kept}
    shown = replace(todos, items=kept, phases=tuple(phase for phase in todos.phases if phase.id in phases))
    yield from list_lines(shown, display, now=now)
