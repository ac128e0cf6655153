"""Render todo lists: rows with boxes, phases as headings, subagents below the agents that started them, live cards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.events import Event
from punchlist.core.task import show_tasks
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.store import ListRow
from punchlist.terminal.spans import (
    Display,
    Glyphs,
    Line,
    Span,
    Style,
    ago,
    cells,
    cut,
    pack,
    pad,
    plural,
    safe_line,
    show_name,
    walk_tree,
)
from punchlist.text import fit
from punchlist.views.grades import Reasons, state_name
from punchlist.views.list_owners import SessionNames

STYLES: dict[Status, tuple[Style, Style]] = {
    Status.PENDING: ("plain", "plain"),
    Status.IN_PROGRESS: ("focus", "focus"),
    Status.BLOCKED: ("warning", "plain"),
    Status.COMPLETED: ("good", "struck"),
    Status.FAILED: ("bad", "plain"),
    Status.CANCELLED: ("dim", "struck"),
}
"""The style of the box and of the text, for each status."""

GRADES: dict[str, Style] = {
    "verified": "good",
    "confirmed": "good",
    "unchecked": "dim",
    "unseen": "plain",
    "failing": "bad",
}
"""The style of each grade of a completion."""

STATES: dict[str, Style] = {"red": "bad", "unchecked": "dim", "green": "good", "idle": "dim"}
"""The style of each state of a session."""

Helped = Mapping[str, Sequence[str]]
"""The subagents that are at work on an item, by its id."""

NOBODY: Helped = {}
NO_REASONS: Mapping[str, str] = {}
DOUBTFUL = frozenset({"unseen", "failing"})

_LONE_PHASE = "Todos"
"""The phase that stands for none; alone on a list it needs no heading."""


def mark_item(item: TodoItem, glyphs: Glyphs, *, helped: bool = False) -> Span:
    """Return the mark of an item: of one that is done its grade, else its status."""
    if grade := grade_word(item):
        return Span(glyphs.grades.get(grade, glyphs.boxes["completed"]), GRADES.get(grade, "dim"))
    status = Status.IN_PROGRESS if helped and item.status is Status.PENDING else item.status
    return Span(glyphs.boxes[item.status.value], STYLES[status][0])


def item_line(
    item: TodoItem,
    display: Display,
    *,
    indent: int = 0,
    ids: bool = False,
    remarks: bool = True,
    helpers: Sequence[str] = (),
    now: datetime | None = None,
    stopped_at: datetime | None = None,
    reason: str = "",
) -> Line:
    """Return one row: mark, text (the active form, for an item in progress), blocker or grade, number of notes.

    An item that subagents are at work on is lit up, whatever its own list says, and they are named. With the time `now`
    an item in progress has a clock at its end, which stands since its agent `stopped_at`.
    """
    if now is not None and item.started_at is not None and item.status is Status.IN_PROGRESS:
        clock = Span(f" {format_clock(now - item.started_at)}", "dim")
        if stopped_at is not None:
            boxes = {**display.glyphs.boxes, "in_progress": display.glyphs.pause}
            display = replace(display, glyphs=replace(display.glyphs, boxes=boxes))
            clock = Span(pause_words(item.started_at, stopped_at), "dim")
        inner = display if display.columns is None else replace(display, columns=display.columns - len(clock.text))
        return (*item_line(item, inner, indent=indent, ids=ids, remarks=remarks, helpers=helpers), clock)
    _, style = STYLES[Status.IN_PROGRESS if helpers and item.status is Status.PENDING else item.status]
    start = (Span(" " * indent), mark_item(item, display.glyphs, helped=bool(helpers)), Span(" "))
    if ids:
        start = (*start, Span(f"{safe_line(item.id)} ", "dim"))
    text = safe_line(item.label if item.status is Status.IN_PROGRESS else item.content)
    rest = _remarks(item, display.glyphs, helpers, reason) if remarks else ()
    if display.columns is not None:
        room = display.columns - cells(start)
        text = fit(text, max(room - cells(rest), room // 2), display.glyphs.ellipsis)
    return display.cut((*start, Span(text, style), *rest))


def pause_words(began: datetime | None, stopped_at: datetime) -> str:
    """Return that work stopped, and how long it had lasted: `, stopped after 0:14`."""
    if began is None or stopped_at < began:
        return ", stopped"
    return f", stopped after {format_clock(stopped_at - began)}"


def format_clock(length: timedelta) -> str:
    """Return a length of time as a clock: `0:14`, `1:02:03`, `3d`."""
    seconds = max(0, int(length.total_seconds()))
    hours, minutes = seconds // 3600, seconds // 60 % 60
    if hours >= 24:
        return f"{hours // 24}d"
    return f"{hours}:{minutes:02}:{seconds % 60:02}" if hours else f"{minutes}:{seconds % 60:02}"


def _remarks(item: TodoItem, glyphs: Glyphs, helpers: Sequence[str], reason: str) -> Line:
    remarks: list[Span] = []
    if helpers:
        remarks.append(Span(f" {glyphs.dash} {helper_words(helpers)}", "accent"))
    if why := blocker_words(item):
        remarks.append(Span(f" {glyphs.dash} {why}", "warning"))
    if grade := grade_word(item):
        remarks.append(Span(f" {glyphs.dash} {safe_line(reason) or grade}", GRADES.get(grade, "dim")))
    if check := own_check_words(item):
        remarks.append(Span(f" {glyphs.dash} {check}", "dim"))
    if item.notes:
        remarks.append(Span(f" (+{plural(len(item.notes), 'note')})", "dim"))
    return tuple(remarks)


def helper_words(helpers: Sequence[str]) -> str:
    """Return the subagents at work on an item, in a few words."""
    return f"{safe_line(helpers[0])} is at it" if len(helpers) == 1 else f"{len(helpers)} subagents are at it"


def blocker_words(item: TodoItem) -> str:
    """Return why an item is blocked and on whom; empty if it is not, or does not say."""
    if item.status is not Status.BLOCKED or item.blocker is None or not (item.blocker.on or item.blocker.reason):
        return ""
    waits = f"waits on {safe_line(item.blocker.on)}" if item.blocker.on else "waits"
    return f"{waits}: {safe_line(item.blocker.reason)}" if item.blocker.reason else waits


def own_check_words(item: TodoItem) -> str:
    """Return the check that an item carries; empty if it has none."""
    return "" if item.check is None else f"check: {safe_line(item.check.command)}"


def grade_word(item: TodoItem) -> str:
    """Return the grade of a completed item; empty if it is not completed, or has no reported work."""
    return safe_line(item.grade) if item.status is Status.COMPLETED and item.grade else ""


def list_lines(
    todos: TodoList,
    display: Display,
    *,
    indent: int = 0,
    ids: bool = False,
    helped: Helped = NOBODY,
    now: datetime | None = None,
    stopped_at: datetime | None = None,
    reasons: Mapping[str, str] = NO_REASONS,
) -> Iterator[Line]:
    """Yield the rows of a list, under the headings of its phases if it has any; with clocks, if it knows the time."""
    margin = Span(" " * indent)
    for name, items in group_by_phase(todos):
        if name:
            yield display.cut((margin, Span(safe_line(name), "bold")))
        deeper = indent + 2 if name else indent
        for item in items:
            helpers, reason = helped.get(item.id, ()), reasons.get(item.id, "")
            draw = partial(item_line, item, display, indent=deeper, ids=ids, helpers=helpers, reason=reason)
            yield draw(now=now, stopped_at=stopped_at)
    if todos.omitted:
        said = f"left out by rewrites: {plural(len(todos.omitted), 'item')}: `punchlist todo restore` brings them back"
        yield display.cut((margin, Span(said, "dim")))


def group_by_phase(todos: TodoList) -> Iterator[tuple[str, list[TodoItem]]]:
    """Yield items under the name of their phase: first those without one, then phase by phase."""
    known = {phase.id for phase in todos.phases}
    yield "", [item for item in todos.items if item.phase_id not in known]
    is_lone = [phase.name for phase in todos.phases] == [_LONE_PHASE]
    for phase in todos.phases:
        yield "" if is_lone else phase.name, [item for item in todos.items if item.phase_id == phase.id]


def board_lines(
    rows: Sequence[ListRow],
    display: Display,
    *,
    now: datetime,
    projects: bool = False,
    ids: bool = False,
    helped: Mapping[int, Helped] | None = None,
    states: Mapping[str, tuple[str, int]] | None = None,
    reasons: Reasons | None = None,
    names: SessionNames | None = None,
) -> Iterator[Line]:
    """Yield all lists: one alone as `3 items:` and its rows; several by session, each agent with its `Items (1/3)`.

    `states` are those of the sessions, each with the code changes since its last check.
    """
    helped, states, reasons = helped or {}, states or {}, reasons or {}
    if len(rows) == 1 and not projects:
        words = [safe_line(word) for word in (rows[0].worktree, rows[0].label) if word]
        label = (Span(f" {', '.join(words)}", "dim"),) if words else ()
        state = state_spans(*states.get(rows[0].session, ("", 0)), before=" ")
        head = (Span(f"{_count_words(rows[0])}:", "bold"), *label, *state)
        yield display.cut(head)
        number = rows[0].number
        others, why = helped.get(number, NOBODY), reasons.get(number, NO_REASONS)
        yield from list_lines(rows[0].todos, display, indent=2, ids=ids, helped=others, reasons=why)
        return
    sessions: dict[str, list[ListRow]] = {}
    for row in rows:
        sessions.setdefault(row.session, []).append(row)
    for place, (session, members) in enumerate(sessions.items()):
        if place:
            yield ()
        dot = f" {display.glyphs.dot} "
        when = ago(max(row.updated_at for row in members), now)
        where = f"{dot}{safe_line(members[0].project)}" if projects else ""
        state = state_spans(*states.get(session, ("", 0)), before=dot)
        name = show_name((names or SessionNames()).name(session), display.glyphs)
        if display.columns is not None:
            room = display.columns - cells(state) - len(display.glyphs.ellipsis)
            name = fit(name, max(room, display.columns // 2), display.glyphs.ellipsis)
        head = (Span(name, "bold"), *state, Span(f"{where}{dot}{when}", "dim"))
        yield display.cut(head)
        for depth, row in tree(members):
            others, why = helped.get(row.number, NOBODY), reasons.get(row.number, NO_REASONS)
            yield from agent_lines(row, display, indent=2 + 2 * depth, ids=ids, helped=others, reasons=why)


def state_spans(state: str, changes: int = 0, *, before: str) -> Line:
    """Return the state of a session, with a text before it; nothing if there is none, or it is idle."""
    if state in ("", "idle"):
        return ()
    return (Span(before, "dim"), Span(f"session {state_name(safe_line(state), changes)}", STATES.get(state, "plain")))


def agent_lines(
    row: ListRow,
    display: Display,
    *,
    indent: int = 0,
    ids: bool = False,
    helped: Helped = NOBODY,
    reasons: Mapping[str, str] = NO_REASONS,
) -> Iterator[Line]:
    """Yield an agent's `Items (done/total)`, or `Tasks`, and its rows."""
    done, total, _ = row.todos.progress
    name = (Span(" " * indent), Span(safe_line(row.agent), "accent"))
    label = (Span(f" ({safe_line(row.label)})", "dim"),) if row.label else ()
    mode = (Span(" [plan mode]", "warning"),) if row.mode == "plan" else ()
    head = (*name, *label, Span(f" {display.glyphs.dash} "), Span(f"{_noun(row)} ({done}/{total})", "bold"), *mode)
    yield display.cut(head)
    yield from list_lines(row.todos, display, indent=indent + 2, ids=ids, helped=helped, reasons=reasons)


def with_tasks(row: ListRow) -> ListRow:
    """Return an agent whose list shows its tasks too, after its items. Never stored."""
    return row._replace(todos=show_tasks(row.todos, row.tasks))


def _count_words(row: ListRow) -> str:
    items = len(row.todos.items) - len(row.tasks)
    parts = [plural(items, "item")] if items or not row.tasks else []
    if row.tasks:
        parts.append(plural(len(row.tasks), "task"))
    return " and ".join(parts)


def _noun(row: ListRow) -> str:
    if not row.tasks:
        return "Items"
    return "Tasks" if len(row.todos.items) == len(row.tasks) else "Items and tasks"


def tree(rows: Sequence[ListRow]) -> Iterator[tuple[int, ListRow]]:
    """Yield agents with their depth, subagents below the agents that started them."""
    return walk_tree(rows, lambda row: row.number, lambda row: row.parent)


def waiting_lines(waits: int) -> Iterator[Line]:
    """Yield the line below a list that says how much waits on the reader; none if nothing does."""
    if waits:
        many = ("thing waits", "it") if waits == 1 else ("things wait", "them")
        yield (Span(f"{waits} {many[0]} on you; `punchlist answer` shows {many[1]}.", "accent"),)


# A live panel of agents at work: a card each, side by side as far as the terminal is wide.


_GAP = 1
_SLIMMEST = 25
"""A card is at least this wide where several stand side by side."""
_LONGEST_FEED = 12
_LONGEST_LIST = 10
"""Items of a list that are shown; a longer one is folded around its focus."""

_SLIMMEST_BAR = 6
"""Cells of a bar beside which the percent is shown."""

_BEFORE = 2
"""Items shown before the focus of a list that is folded."""


class Frame(Struct, frozen=True):
    """The content of one picture. `rows` come with parents before children; `tick` turns the spinners.

    `notes` stand in the upper edges of cards, by the number of their agent. `now` is the time to which the clock of an
    item in progress runs. `caption_rows` are kept free for the caption, so that the cards stand still as it changes.
    """

    title: str
    clock: str
    caption: str
    rows: Sequence[ListRow]
    feed: Sequence[Line]
    notes: Mapping[int, Line]
    tick: int = 0
    now: datetime | None = None
    caption_rows: int = 0


_QUIET = frozenset({
    "agent.joined", "list.replaced", "list.edited", "list.confirmed", "list.ordered", "list.graded", "item.changed",
})  # fmt: skip


def find_news(events: Sequence[Event]) -> list[Event]:
    """Return the events that say what the cards do not show: no calls, and a question without what it does to an item.

    An item that was added is news if the agent did not add it itself.
    """
    asked = {(event.session, event.agent, event.at) for event in events if event.kind.startswith("question.")}

    def is_news(event: Event) -> bool:
        if event.kind == "item.added":
            return event.by != event.agent
        if event.kind in ("item.blocked", "item.unblocked"):
            return (event.session, event.agent, event.at) not in asked
        return event.kind not in _QUIET and not event.kind.startswith(("tool.", "guidance."))

    return [event for event in events if is_news(event)]


def frame_lines(frame: Frame, display: Display, height: int) -> list[Line]:
    """Return the picture, at most `height` lines of `display.columns` cells; the oldest of the feed is cut first."""
    columns = display.columns or 80
    head = [*_head(frame, display, columns), ()]
    cards = _cards(frame, display, columns, compact=False)
    if len(head) + len(cards) > height:
        cards = _cards(frame, display, columns, compact=True)
    room = min(height - len(head) - len(cards) - 1, _LONGEST_FEED)
    feed = [cut((Span("  "), *line), columns, display.glyphs) for line in frame.feed[-room:]] if room > 0 else []
    lines = [*head, *cards, *([()] if feed else []), *feed]
    return lines[:height]


def _head(frame: Frame, display: Display, columns: int) -> Iterator[Line]:
    done = sum(row.todos.progress.done for row in frame.rows)
    total = sum(row.todos.progress.total for row in frame.rows)
    title = (Span(f" {frame.title}", "bold"),)
    right = (Span(f"{done} of {total} done", "good"), Span(f"  {frame.clock}", "dim"))
    gap = " " * max(1, columns - cells(title) - cells(right) - 1)
    yield cut((*title, Span(gap), *right), columns, display.glyphs)
    wrapped = list(pack([frame.caption], max(1, columns - 5), ""))
    rows = max(len(wrapped), frame.caption_rows)
    if rows:
        yield ()
    for place in range(rows):
        text = wrapped[place] if place < len(wrapped) else ""
        mark = Span(f" {display.glyphs.arrow} " if place == 0 and text else "   ", "accent")
        yield (mark, Span(text, "accent"))


def _cards(frame: Frame, display: Display, columns: int, *, compact: bool) -> list[Line]:
    """Return the agents at the top of the tree, each with its subagents in its card."""
    families: list[list[tuple[int, ListRow]]] = []
    for depth, row in tree(frame.rows):
        if depth == 0:
            families.append([])
        families[-1].append((depth, row))
    if not families:
        return []
    beside = min(len(families), max(1, (columns + _GAP) // (_SLIMMEST + _GAP)))
    wide = (columns + _GAP) // beside - _GAP
    lines: list[Line] = []
    for first in range(0, len(families), beside):
        bodies = [
            _body(family, frame, display, wide - 4, compact=compact) for family in families[first : first + beside]
        ]
        tallest = max(len(body) for body in bodies)
        drawn = [
            _card(family[0][1], body, frame, display.glyphs, wide, tallest)
            for family, body in zip(families[first : first + beside], bodies, strict=True)
        ]
        for first_part, *others in zip(*drawn, strict=True):
            lines.append((*first_part, *(one for part in others for one in (Span(" " * _GAP), *part))))
    return lines


def _card(row: ListRow, body: list[Line], frame: Frame, glyphs: Glyphs, wide: int, height: int) -> list[Line]:
    across, down, *corners = glyphs.frame
    edge: Style = "warning" if row.mode == "plan" else "dim"
    name = cut((Span(safe_line(row.agent), "bold"),), wide - 6, glyphs)
    mode = (Span("plan mode", edge),) if row.mode == "plan" else ()
    dot = (Span(f" {glyphs.dot} ", edge),) if mode and row.number in frame.notes else ()
    fill = wide - 6 - cells(name)
    note = cut((*mode, *dot, *frame.notes.get(row.number, ())), max(0, fill - 3), glyphs)
    if cells(note):
        rest = (Span(f"{across * (fill - cells(note) - 2)} ", edge), *note, Span(" ", edge))
    else:
        rest = (Span(across * fill, edge),)
    top = (Span(f"{corners[0]}{across} ", edge), *name, Span(" "), *rest, Span(f"{across}{corners[1]}", edge))
    bottom = (Span(corners[2] + across * (wide - 2) + corners[3], edge),)
    inside = [*body, *([()] * (height - len(body)))]
    side = Span(down, edge)
    middle: list[Line] = [(side, Span(" "), *pad(line, wide - 4, glyphs), Span(" "), side) for line in inside]
    return [top, *middle, bottom]


def _body(
    family: Sequence[tuple[int, ListRow]], frame: Frame, display: Display, wide: int, *, compact: bool
) -> list[Line]:
    inner = replace(spin(display, frame.tick), columns=wide)
    lines: list[Line] = []
    for depth, row in family:
        if depth == 0:
            lines.append(bar(row.todos, display.glyphs, wide))
            lines.extend(_rows(row.todos, inner, frame.now, compact=compact))
        else:
            lines.extend(list(_child(row, inner, depth, frame.now))[: 1 if compact else None])
    return lines


def spin(display: Display, tick: int) -> Display:
    """Make the box of an item in progress a spinner."""
    spinner = display.glyphs.spinner
    wheel = spinner[tick % len(spinner)].center(len(display.glyphs.boxes["pending"]))
    boxes = {**display.glyphs.boxes, "in_progress": wheel}
    return replace(display, glyphs=replace(display.glyphs, boxes=boxes))


def _rows(todos: TodoList, display: Display, now: datetime | None, *, compact: bool) -> Iterator[Line]:
    items = todos.items
    busy = todos.focus or next((item for item in items if item.is_open), items[-1] if items else None)
    first, last = 0, len(items)
    if busy is not None and (compact or len(items) > _LONGEST_LIST):
        place, most = items.index(busy), 1 if compact else _LONGEST_LIST
        first = max(0, min(place - (0 if compact else _BEFORE), len(items) - most))
        last = first + most
    if first and not compact:
        yield (Span(f"+{first} before", "dim"),)
    for item in items[first:last]:
        yield item_line(item, display, remarks=False, now=now)
        if not compact and (why := blocker_words(item)):
            yield (Span(" " * (len(display.glyphs.boxes["blocked"]) + 1)), Span(why, "warning"))
        if not compact and (grade := grade_word(item)) in DOUBTFUL:
            yield (Span(" " * (len(display.glyphs.boxes["completed"]) + 1)), Span(grade, GRADES[grade]))
    following = next((item for item in items[last:] if item.status is Status.PENDING), None)
    if compact and following is not None:
        yield (Span("Next: ", "dim"), Span(safe_line(following.content), "dim"))
    elif last < len(items):
        yield (Span(f"+{len(items) - last} more", "dim"),)


def _child(row: ListRow, display: Display, depth: int, now: datetime | None) -> Iterator[Line]:
    done, total, _ = row.todos.progress
    margin = Span("  " * (depth - 1))
    count = f" {done}/{total}" if total else " finished" if row.todos.revision else ""
    yield (margin, Span(f"{display.glyphs.branch} ", "dim"), Span(safe_line(row.agent), "accent"), Span(count, "dim"))
    busy = next((item for item in row.todos.items if item.status is Status.IN_PROGRESS), None)
    if busy is not None:
        yield item_line(busy, display, indent=2 * depth, remarks=False, now=now)


def bar(todos: TodoList, glyphs: Glyphs, wide: int) -> Line:
    """Return the progress as a bar, as `done/total` and in percent."""
    done, total, percent = todos.progress
    count, share = f" {done}/{total}", f" {percent} %"
    if len(count) + len(share) + _SLIMMEST_BAR <= wide:
        count += share
    room = max(1, wide - len(count))
    full = room * done // total if total else 0
    style: Style = "good" if total and done == total else "focus"
    return (Span(glyphs.full * full, style), Span(glyphs.empty * (room - full), "dim"), Span(count, "bold"))
