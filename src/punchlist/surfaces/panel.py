"""Render a live panel of agents at work: a card each, side by side as far as the terminal is wide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.events import Event
from punchlist.core.todo import Status, TodoList
from punchlist.store import ListRow
from punchlist.surfaces.lists import DOUBTFUL, GRADES, blocker_words, grade_word, item_line, tree
from punchlist.surfaces.spans import Display, Glyphs, Line, Span, Style, cells, cut, pack, pad, safe_line

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
    """Return a frame around the body, with the agent's name and its note in the upper edge."""
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
    """Yield a subagent in one or two lines: its name and count, and its item in progress."""
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
