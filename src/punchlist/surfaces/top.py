"""Render the first screen live: agents with one selected, next to it or in its place a list, a plan or the help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.overview import PersonWait
from punchlist.core.presence import AgentNow, Roster
from punchlist.core.todo import Status, TodoList
from punchlist.store import ListRow
from punchlist.surfaces.lists import list_lines, tree, with_tasks
from punchlist.surfaces.now import NowRow, Section, done_lines, lay_out, now_sections, row_line, rule_line
from punchlist.surfaces.panel import bar
from punchlist.surfaces.spans import ASCII, Display, Glyphs, Line, Span, Style, cells, cut, pack, pad, plain, safe_line
from punchlist.text import for_terminal

PANE_COLUMNS: Final = 119
"""Cells from which the selected list stands next to the agents: 120 columns, of which the last is left free."""

_LONGEST_BAR: Final = 60
_EVERY: Final = 10_000
_CLOSED: Final = frozenset({Status.COMPLETED, Status.CANCELLED})
_KEYS: Final = (
    ("j k, arrows", "select; in a list or a plan: scroll"),
    ("enter", "answer what waits, or open the list"),
    ("p", "read a plan; then y approves, n rejects it"),
    ("a", "add an item to the list"),
    ("d", "mark the item in progress done"),
    ("/", "filter; esc shows all again"),
    ("esc", "back"),
    ("?", "this help"),
    ("q", "quit"),
)
_HINTS: Final = {
    "agents": "enter open  p plan  a add  d done  / filter  ? help  q quit",
    "list": "esc back  j k scroll  a add  d done  p plan  q quit",
    "plan": "y approve  n reject  j k scroll  esc back  q quit",
    "help": "esc back  q quit",
}

TopView = Literal["agents", "list", "plan", "help"]
Subject = AgentNow | PersonWait
SubjectKey = tuple[str, ...]


class Detail(Struct, frozen=True):
    """The selected agent in full: what it asks or proposes, and the lists of its session."""

    title: str
    text: str = ""
    rows: Sequence[ListRow] = ()
    hint: str = ""
    """How to attach it, if its list is a copy or there is none."""


class TopFrame(Struct, frozen=True, kw_only=True):
    """The content of one picture. `prompt` is the question in the last line, `typed` its answer so far."""

    roster: Roster
    view: TopView = "agents"
    selected: SubjectKey | None = None
    filter: str = ""
    detail: Detail | None = None
    scroll: int = 0
    status: str = ""
    is_problem: bool = False
    prompt: str | None = None
    typed: str = ""
    feed: str = "live"


def key_of(subject: Subject) -> SubjectKey:
    """Return what tells an agent or a wait from all others, and stays the same while it changes."""
    if isinstance(subject, PersonWait):
        return ("wait", subject.kind, subject.session, subject.agent, subject.list, subject.id)
    return ("agent", subject.host, subject.session, subject.agent)


def find_rows(roster: Roster, glyphs: Glyphs, words: str) -> list[Section]:
    """Return the sections with the rows that hold all the words."""
    wanted = words.lower().split()
    found: list[Section] = []
    for section in now_sections(roster, glyphs, most=_EVERY):
        rows = [_drop_command(row) for row in section.rows if all(word in _text_of(row) for word in wanted)]
        if rows:
            found.append(Section(section.title, len(rows), rows))
    return found


def _drop_command(row: NowRow) -> NowRow:
    """Leave out the command that answers: here a key does."""
    return replace(row, tail=()) if isinstance(row.of, PersonWait) else row


def _text_of(row: NowRow) -> str:
    of = row.of
    host = of.host if isinstance(of, AgentNow) else of.kind
    return f"{row.name} {plain(row.headline)} {plain(row.tail)} {of.session} {host}".lower()


def top_lines(frame: TopFrame, display: Display, height: int) -> list[Line]:
    """Return the picture: `height` lines, none wider than the display."""
    columns, room = display.columns or 80, height - 2
    if frame.view == "agents":
        body = _agents_body(frame, display, columns, room)
    else:
        body = _scroll(_detail_body(frame, display), frame.scroll, room)
    body = [*body[:room], *([()] * (room - len(body)))]
    return [_head(frame, display, columns), *body, _foot(frame, display, columns)]


def count_scroll(frame: TopFrame, display: Display, height: int) -> int:
    """Return how far the list or the plan can be scrolled."""
    return max(0, len(_detail_body(frame, display)) - (height - 2))


def _head(frame: TopFrame, display: Display, columns: int) -> Line:
    roster, glyphs = frame.roster, display.glyphs
    waits = sum(len(one.rows) for one in now_sections(roster, glyphs, most=_EVERY) if one.title == "waits on you")
    busy = sum(one.state == "busy" for one in roster.agents)
    number = (Span(f"{waits} wait{'s' if waits == 1 else ''} on you", "warning" if waits else "dim"),)
    left = (Span(" Punchlist  ", "bold"), *number, Span(f" {glyphs.dot} {busy} at work", "dim"))
    if frame.filter:
        left = (*left, Span(f"  /{safe_line(frame.filter)}", "accent"))
    right = (Span("*" if glyphs is ASCII else "●", "good"), Span(f" {frame.feed}", "dim"))
    gap = columns - cells(left) - cells(right)
    return cut((*left, Span(" " * gap), *right) if gap > 0 else left, columns, glyphs)


def _foot(frame: TopFrame, display: Display, columns: int) -> Line:
    glyphs = display.glyphs
    if frame.prompt is not None:
        cursor = Span("_" if glyphs is ASCII else "▏", "accent")
        label = cut((Span(f" {frame.prompt} ", "bold"),), columns // 2, glyphs)
        typed = safe_line(frame.typed)
        # Of a long answer the end is shown, where the person types.
        while cells((Span(typed),)) > columns - cells(label) - 1:
            typed = typed[1:]
        return (*label, Span(typed), cursor)
    if frame.status:
        style: Style = "warning" if frame.is_problem else "good"
        return cut((Span(f" {safe_line(frame.status)}", style),), columns, glyphs)
    return cut((Span(f" {_HINTS[frame.view]}", "dim"),), columns, glyphs)


# Agents.


def _agents_body(frame: TopFrame, display: Display, columns: int, room: int) -> list[Line]:
    if columns < PANE_COLUMNS or frame.detail is None:
        return _agent_lines(frame, display, columns, room)
    wide = columns * 3 // 5
    left = _agent_lines(frame, display, wide, room)
    inner = replace(display, columns=columns - wide - 3)
    right = _pane(frame.detail, inner, room)
    edge = Span(f" {display.glyphs.frame[1]} ", "dim")
    lines: list[Line] = []
    for place in range(room):
        one = left[place] if place < len(left) else ()
        other = right[place] if place < len(right) else ()
        lines.append((*pad(one, wide, display.glyphs), edge, *other))
    return lines


def _agent_lines(frame: TopFrame, display: Display, columns: int, room: int) -> list[Line]:
    sections = find_rows(frame.roster, display.glyphs, frame.filter)
    if not sections:
        words = f'Nothing matches "{safe_line(frame.filter)}".' if frame.filter else _NOTHING
        return [(), *((Span(f"  {line}"),) for line in pack([words], columns - 2, " "))]
    inner = replace(display, columns=columns - 2)
    layout = lay_out(sections, inner)
    lines: list[Line] = []
    chosen = 0
    for section in sections:
        title = f"{section.title} {display.glyphs.dot} {section.number}"
        lines.append(cut(rule_line(title, replace(display, columns=columns)), columns, display.glyphs))
        for row in section.rows:
            line = row_line(row, layout[section.title], inner)
            if key_of(row.of) == frame.selected:
                chosen = len(lines)
                mark = ">" if display.glyphs is ASCII else "❯"
                lines.append((Span(plain(pad((Span(f"{mark} "), *line), columns, display.glyphs)), "selected"),))
            else:
                lines.append((Span("  "), *line))
    done = frame.roster.done
    if done is not None and done.grades and not frame.filter and len(lines) + 2 <= room:
        lines += [cut(line, columns, display.glyphs) for line in done_lines(done, frame.roster.at, inner)]
    return _scroll(lines, chosen - room // 2, room)


_NOTHING: Final = (
    "No agent runs on this machine, and nothing waits on you. Start one, and it appears here; "
    "`punchlist now` says what is looked for."
)


def _scroll(lines: list[Line], first: int, room: int) -> list[Line]:
    """Return as many lines as there is room for, from the first one or from as late as fills the room."""
    begin = max(0, min(first, len(lines) - room))
    return lines[begin : begin + room]


# The selected agent, a plan, the help.


def _detail_body(frame: TopFrame, display: Display) -> list[Line]:
    if frame.view == "help":
        return [(), *((Span(f"  {keys:<12}  ", "bold"), Span(words)) for keys, words in _KEYS)]
    return [] if frame.detail is None else list(_detail_lines(frame.detail, display))


def _pane(detail: Detail, display: Display, room: int) -> list[Line]:
    """Return a detail in so many lines; where it has more, completed items are folded first."""
    lines = list(_detail_lines(detail, display))
    if len(lines) > room:
        lines = list(_detail_lines(detail, display, is_folded=True))
    if len(lines) > room:
        lines = [*lines[: room - 1], (Span(f"+{len(lines) - room + 1} more lines: enter", "dim"),)]
    return lines


def _detail_lines(detail: Detail, display: Display, *, is_folded: bool = False) -> Iterator[Line]:
    columns, glyphs = display.columns or 80, display.glyphs
    yield cut((Span(detail.title, "bold"),), columns, glyphs)
    if detail.text:
        yield ()
        for line in detail.text.split("\n"):
            clean = for_terminal(line).rstrip()
            yield from ((Span(part),) for part in pack([clean], columns, " ")) if clean else [()]
    for depth, row in tree(detail.rows):
        todos = with_tasks(row).todos
        if not todos.items:
            continue
        yield ()
        if depth:
            name = f"{'  ' * (depth - 1)}{glyphs.branch} {safe_line(row.agent)}"
            yield cut((Span(name, "accent"),), columns, glyphs)
        yield bar(todos, glyphs, min(columns, _LONGEST_BAR))
        yield from _fold(todos, display) if is_folded else list_lines(todos, display)
    if not detail.rows and not detail.text:
        yield ()
        yield (Span("no list", "dim"),)
    if detail.hint:
        yield ()
        yield from ((Span(part, "dim"),) for part in pack([safe_line(detail.hint)], columns, " "))


def _fold(todos: TodoList, display: Display) -> Iterator[Line]:
    """Yield a list with its completed items in one line, but for the last one."""
    closed = [item for item in todos.items if item.status in _CLOSED]
    kept = tuple(item for item in todos.items if item not in closed[:-1])
    phases = {item.phase_id for item in kept}
    if len(closed) > 1:
        box = display.glyphs.boxes["completed"]
        yield (Span(f"{box} ", "good"), Span(f"{len(closed) - 1} done", "struck"))
    shown = replace(todos, items=kept, phases=tuple(phase for phase in todos.phases if phase.id in phases))
    yield from list_lines(shown, display)
