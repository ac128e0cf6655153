"""Render todo lists: rows with boxes, phases as headings, subagents below the agents that started them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from punchlist.core.task import show_tasks
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.store import ListRow
from punchlist.surfaces.spans import Display, Glyphs, Line, Span, Style, ago, cells, plural, safe_line, walk_tree
from punchlist.text import fit

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
    "unseen": "warning",
    "failing": "bad",
}
"""The style of each grade of a completion."""

STATES: dict[str, Style] = {"red": "bad", "unchecked": "warning", "green": "good", "idle": "dim"}
"""The style of each state of a session."""

Helped = Mapping[str, Sequence[str]]
"""The subagents that are at work on an item, by its id."""

NOBODY: Helped = {}
DOUBTFUL = frozenset({"unseen", "failing"})

_LONE_PHASE = "Todos"
"""The phase that stands for none; alone on a list it needs no heading."""


def item_line(
    item: TodoItem,
    display: Display,
    *,
    indent: int = 0,
    ids: bool = False,
    remarks: bool = True,
    helpers: Sequence[str] = (),
    now: datetime | None = None,
) -> Line:
    """Return one row: box, text (the active form, for an item in progress), blocker or grade, number of notes.

    An item that subagents are at work on is lit up, whatever its own list says, and they are named. With the time `now`
    an item in progress has a clock at its end.
    """
    if now is not None and item.started_at is not None and item.status is Status.IN_PROGRESS:
        clock = Span(f" {_format_clock(now - item.started_at)}", "dim")
        inner = display if display.columns is None else replace(display, columns=display.columns - len(clock.text))
        return (*item_line(item, inner, indent=indent, ids=ids, remarks=remarks, helpers=helpers), clock)
    box, style = STYLES[Status.IN_PROGRESS if helpers and item.status is Status.PENDING else item.status]
    start = (Span(" " * indent), Span(display.glyphs.boxes[item.status.value], box), Span(" "))
    if ids:
        start = (*start, Span(f"{safe_line(item.id)} ", "dim"))
    text = safe_line(item.label if item.status is Status.IN_PROGRESS else item.content)
    rest = _remarks(item, display.glyphs, helpers) if remarks else ()
    if display.columns is not None:
        room = display.columns - cells(start)
        text = fit(text, max(room - cells(rest), room // 2), display.glyphs.ellipsis)
    return display.cut((*start, Span(text, style), *rest))


def _format_clock(length: timedelta) -> str:
    seconds = max(0, int(length.total_seconds()))
    hours, minutes = seconds // 3600, seconds // 60 % 60
    if hours >= 24:
        return f"{hours // 24}d"
    return f"{hours}:{minutes:02}:{seconds % 60:02}" if hours else f"{minutes}:{seconds % 60:02}"


def _remarks(item: TodoItem, glyphs: Glyphs, helpers: Sequence[str]) -> Line:
    remarks: list[Span] = []
    if helpers:
        remarks.append(Span(f" {glyphs.dash} {helper_words(helpers)}", "accent"))
    if why := blocker_words(item):
        remarks.append(Span(f" {glyphs.dash} {why}", "warning"))
    if grade := grade_word(item):
        remarks.append(Span(f" {glyphs.dash} {grade}", GRADES.get(grade, "dim")))
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
) -> Iterator[Line]:
    """Yield the rows of a list, under the headings of its phases if it has any; with clocks, if it knows the time."""
    margin = Span(" " * indent)
    for name, items in group_by_phase(todos):
        if name:
            yield display.cut((margin, Span(safe_line(name), "bold")))
        deeper = indent + 2 if name else indent
        for item in items:
            yield item_line(item, display, indent=deeper, ids=ids, helpers=helped.get(item.id, ()), now=now)
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
    states: Mapping[str, str] | None = None,
) -> Iterator[Line]:
    """Yield all lists: one alone as `3 items:` and its rows; several by session, each agent with its `Items (1/3)`.

    `states` are those of the sessions that are not idle.
    """
    helped, states = helped or {}, states or {}
    if len(rows) == 1 and not projects:
        label = (Span(f" {safe_line(rows[0].label)}", "dim"),) if rows[0].label else ()
        state = state_spans(states.get(rows[0].session, ""), " ")
        head = (Span(f"{_count_words(rows[0])}:", "bold"), *label, *state)
        yield display.cut(head)
        yield from list_lines(rows[0].todos, display, indent=2, ids=ids, helped=helped.get(rows[0].number, NOBODY))
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
        state = state_spans(states.get(session, ""), dot)
        name = f"Session {safe_line(session)}"
        if display.columns is not None:
            room = display.columns - cells(state) - len(display.glyphs.ellipsis)
            name = fit(name, max(room, display.columns // 2), display.glyphs.ellipsis)
        head = (Span(name, "bold"), *state, Span(f"{where}{dot}{when}", "dim"))
        yield display.cut(head)
        for depth, row in tree(members):
            others = helped.get(row.number, NOBODY)
            yield from agent_lines(row, display, indent=2 + 2 * depth, ids=ids, helped=others)


def state_spans(state: str, before: str) -> Line:
    """Return the state of a session, with a text before it; nothing if there is none, or it is idle."""
    if state in ("", "idle"):
        return ()
    return (Span(before, "dim"), Span(f"session {safe_line(state)}", STATES.get(state, "plain")))


def agent_lines(
    row: ListRow, display: Display, *, indent: int = 0, ids: bool = False, helped: Helped = NOBODY
) -> Iterator[Line]:
    """Yield an agent's `Items (done/total)`, or `Tasks`, and its rows."""
    done, total, _ = row.todos.progress
    name = (Span(" " * indent), Span(safe_line(row.agent), "accent"))
    label = (Span(f" ({safe_line(row.label)})", "dim"),) if row.label else ()
    mode = (Span(" [plan mode]", "warning"),) if row.mode == "plan" else ()
    head = (*name, *label, Span(f" {display.glyphs.dash} "), Span(f"{_noun(row)} ({done}/{total})", "bold"), *mode)
    yield display.cut(head)
    yield from list_lines(row.todos, display, indent=indent + 2, ids=ids, helped=helped)


def with_tasks(row: ListRow) -> ListRow:
    """Return an agent whose list shows its tasks too, after its items. Never stored."""
    return row._replace(todos=show_tasks(row.todos, row.tasks))


def _count_words(row: ListRow) -> str:
    """Return how many items and tasks are shown."""
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
