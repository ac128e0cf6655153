"""Render todo lists: rows with boxes, phases as headings, subagents below the agents that started them, live cards."""

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
    cells,
    cut,
    pack,
    safe_line,
    show_name,
    walk_tree,
)
from punchlist.text import fit, plural
from punchlist.views.findings import ago, span
from punchlist.views.grades import Reasons, state_name
from punchlist.views.list_owners import SessionNames

STYLES: dict[Status, tuple[Style, Style]] = {
    Status.PENDING: ("plain", "plain"),
    Status.IN_PROGRESS: ("focus", "focus"),
    Status.BLOCKED: ("warning", "plain"),
    Status.COMPLETED: ("dim", "plain"),
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
        clock = Span(f"  {span(max(now - item.started_at, timedelta()))}", "dim")
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
    """Return that work stopped, and how long it had lasted: `, stopped after 14 s`."""
    if began is None or stopped_at < began:
        return ", stopped"
    return f", stopped after {span(stopped_at - began)}"


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
            indent = 2 + 2 * depth
            yield display.cut(_agent_head(row, display.glyphs, indent))
            others, why = helped.get(row.number, NOBODY), reasons.get(row.number, NO_REASONS)
            yield from list_lines(row.todos, display, indent=indent + 2, ids=ids, helped=others, reasons=why)


def state_spans(state: str, changes: int = 0, *, before: str) -> Line:
    """Return the state of a session, with a text before it; nothing if there is none, or it is idle."""
    if state in ("", "idle"):
        return ()
    return (Span(before, "dim"), Span(f"session {state_name(safe_line(state), changes)}", STATES.get(state, "plain")))


def _agent_head(row: ListRow, glyphs: Glyphs, indent: int) -> Line:
    """Return the line above an agent's rows: its name and `Items (done/total)`, or `Tasks`."""
    done, total, _ = row.todos.progress
    name = (Span(" " * indent), Span(safe_line(row.agent), "accent"))
    label = (Span(f" ({safe_line(row.label)})", "dim"),) if row.label else ()
    mode = (Span(" [plan mode]", "warning"),) if row.mode == "plan" else ()
    return (*name, *label, Span(f" {glyphs.dash} "), Span(f"{_noun(row)} ({done}/{total})", "bold"), *mode)


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


# The lists live, below one another.


_LONGEST_FEED = 12
_LONGEST_LIST = 10
"""Items of a list that are shown; a longer one is folded around its focus."""

_SHORTEST_LIST = 2
"""Items where there is too little room: the one at hand and the next."""

_BEFORE = 2
"""Items shown before the focus of a list that is folded."""

_LONGEST_BAR = 20


class Frame(Struct, frozen=True):
    """The content of one picture. `rows` come with parents before children; `tick` turns the spinners.

    `notes` stand beside the names of agents, by their number. `now` is the time to which the clock of an item in
    progress runs. `caption_rows` are kept free for the caption, so that the lists stand still as it changes.
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
    """Return the events that say what the lists do not show: no calls, and a question without what it does to an item.

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
    head = list(_head(frame, display, columns))
    inner = replace(spin(display, frame.tick), columns=columns)
    lists = list(_list_blocks(frame, inner, _LONGEST_LIST))
    if len(head) + len(lists) > height:
        lists = list(_list_blocks(frame, inner, _SHORTEST_LIST))
    room = min(height - len(head) - len(lists) - 1, _LONGEST_FEED)
    feed = [cut((Span("  "), *line), columns, display.glyphs) for line in frame.feed[-room:]] if room > 0 else []
    lines = [*head, *lists, *([()] if feed else []), *feed]
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


def _list_blocks(frame: Frame, display: Display, most: int) -> Iterator[Line]:
    """Yield each list with its head, subagents below the agents that started them."""
    glyphs = display.glyphs
    for depth, row in tree(frame.rows):
        if depth == 0:
            yield ()
        margin = f" {'  ' * (depth - 1)}{glyphs.branch} " if depth else " "
        name = Span(safe_line(row.agent), "accent" if depth else "bold")
        done: Line = (Span("finished" if row.todos.revision else "", "dim"),)
        if row.todos.progress.total:
            done = bar(row.todos, glyphs)
        mode = (Span("  plan mode", "warning"),) if row.mode == "plan" else ()
        note = frame.notes.get(row.number, ())
        yield display.cut((Span(margin, "dim"), name, Span("  "), *done, *mode, Span("  "), *note))
        yield from _list_rows(row.todos, display, frame.now, 1 if depth else most, indent=2 * depth + 3)


def spin(display: Display, tick: int) -> Display:
    """Make the box of an item in progress a spinner."""
    spinner = display.glyphs.spinner
    wheel = spinner[tick % len(spinner)].center(len(display.glyphs.boxes["pending"]))
    boxes = {**display.glyphs.boxes, "in_progress": wheel}
    return replace(display, glyphs=replace(display.glyphs, boxes=boxes))


def _list_rows(todos: TodoList, display: Display, now: datetime | None, most: int, *, indent: int) -> Iterator[Line]:
    """Yield so many items around the one at hand; of a subagent only that one."""
    items = todos.items
    busy = todos.focus or next((item for item in items if item.is_open), items[-1] if items else None)
    before = _BEFORE if most > _SHORTEST_LIST else 0
    first = 0 if busy is None else max(0, min(items.index(busy) - before, len(items) - most))
    margin, last = " " * indent, first + most
    if first and before:
        yield (Span(f"{margin}+{first} before", "dim"),)
    for item in items[first:last]:
        yield item_line(item, display, indent=indent, now=now)
    if last < len(items) and most > 1:
        yield (Span(f"{margin}+{len(items) - last} more", "dim"),)


def bar(todos: TodoList, glyphs: Glyphs, style: Style = "focus") -> Line:
    """Return the progress as a bar with a cell for each item, up to 20, and as `done/total`."""
    done, total, _ = todos.progress
    room = min(total, _LONGEST_BAR)
    full = room * done // total if total else 0
    return (Span(glyphs.full * full, style), Span(glyphs.empty * (room - full), "dim"), Span(f" {done}/{total}"))
