"""Show the lists of a board live: a card per agent, redrawn as the board changes."""

from __future__ import annotations

import os
import sys
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from punchlist.cli.terminal import Screen
from punchlist.core.events import Event
from punchlist.reader import BoardReader
from punchlist.store import ListRow
from punchlist.surfaces.panel import Frame, frame_lines
from punchlist.surfaces.sentences import sentence
from punchlist.surfaces.spans import Glyphs, Line, Span

FRAME_SECONDS = 0.1
_STATES = ("red", "unchecked", "green")
_FEED = 40
_QUIET = frozenset({"list.replaced", "list.edited", "list.confirmed", "list.ordered", "item.changed", "item.added"})
"""Events that say nothing which the cards do not show."""


def can_draw() -> bool:
    """True if standard output is a terminal on which a picture can be redrawn."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def follow_lists(board: BoardReader, find_lists: Callable[[], Sequence[ListRow]], title: str, empty: str) -> None:
    """Draw the lists until the person interrupts. `empty` is shown while there are none."""
    tick, seen = 0, board.store.last_seq()
    feed: deque[Line] = deque(maxlen=_FEED)
    rows = find_lists()
    with Screen() as screen, suppress(KeyboardInterrupt):
        while True:
            now = board.now()
            shown = [row for row in rows if row.todos.items]
            frame = Frame(
                title=title,
                clock=f"{now.astimezone():%H:%M:%S}",
                caption=_describe_states(board, rows) if shown else empty,
                rows=shown,
                feed=list(feed),
                tools={},
                tick=tick,
                now=now,
            )
            screen.draw(frame_lines(frame, screen.display, screen.height - 1))
            if board.store.wait(seen, FRAME_SECONDS):
                events = list(board.events(seen))
                rows = find_lists()  # after the events, so that it shows all that they tell
                sessions = {row.session for row in rows}
                for event in events:
                    seen = event.seq
                    if event.session in sessions and _is_news(event):
                        feed.append(_describe_event(event, screen.display.glyphs))
            tick += 1


def _describe_states(board: BoardReader, rows: Sequence[ListRow]) -> str:
    """Return the sessions that are red or unchecked, in a few words."""
    states = board.store.read(lambda tx: tx.session_states())
    found = [(row.session, states.get(row.session, "idle")) for row in rows if row.parent is None]
    counts = Counter(state for _, state in set(found) if state != "idle")
    several = len({session for session, _ in found}) > 1
    named = [f"{counts[state]} {state}" if several else state for state in _STATES if counts[state]]
    return f"session{'s' if several else ''} {', '.join(named)}" if named else ""


def _is_news(event: Event) -> bool:
    return event.kind not in _QUIET and not event.kind.startswith(("tool.", "guidance."))


def _describe_event(event: Event, glyphs: Glyphs) -> Line:
    return (Span(f"{event.at.astimezone():%H:%M:%S}  ", "dim"), Span(sentence(event, glyphs)))
