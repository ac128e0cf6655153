"""Show the lists of a board live: a card per agent, redrawn as the board changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from punchlist.cli.screen import Screen
from punchlist.core.events import Event
from punchlist.hosts.list_owners import is_personal_list
from punchlist.reader import BoardReader
from punchlist.store import ListRow
from punchlist.surfaces.lists import STATES, Frame, find_news, frame_lines, waiting_lines
from punchlist.surfaces.sentences import sentence
from punchlist.surfaces.spans import Glyphs, Line, Span, plain, safe_line
from punchlist.views.findings import short_session

FRAME_SECONDS = 0.1
_FEED = 40


def follow_lists(
    board: BoardReader,
    find_lists: Callable[[], Sequence[ListRow]],
    count_waits: Callable[[], int],
    title: str,
    empty: str,
) -> None:
    """Draw the lists until the person interrupts, and how much waits on them. `empty` is shown while there are none."""
    tick, seen = 0, board.store.last_seq()
    feed: deque[Line] = deque(maxlen=_FEED)
    rows, waits = find_lists(), count_waits()
    with Screen() as screen, suppress(KeyboardInterrupt):
        while True:
            now = board.now()
            shown = [row for row in rows if row.todos.items]
            frame = Frame(
                title=title,
                clock=f"{now.astimezone():%H:%M:%S}",
                caption="".join(map(plain, waiting_lines(waits))) if shown else empty,
                rows=shown,
                feed=list(feed),
                notes=_describe_sessions(board, shown, screen.display.glyphs),
                tick=tick,
                now=now,
            )
            screen.draw(frame_lines(frame, screen.display, screen.height - 1))
            if board.store.wait(seen, FRAME_SECONDS):
                events = list(board.events(seen))
                rows, waits = find_lists(), count_waits()  # after the events, so that they show all that those tell
                sessions = {row.session: _name_session(row) for row in rows}
                for event in find_news([event for event in events if event.session in sessions]):
                    name = sessions[event.session or ""] if len(sessions) > 1 else ""
                    feed.append(_describe_event(event, name, screen.display.glyphs))
                seen = max([seen, *(event.seq for event in events)])
            tick += 1


def _describe_sessions(board: BoardReader, rows: Sequence[ListRow], glyphs: Glyphs) -> dict[int, Line]:
    """Return for each agent the state of its session, the session's name, and the agent's label."""
    states = board.store.read(lambda tx: tx.session_states({row.session for row in rows}))
    notes: dict[int, Line] = {}
    for row in rows:
        words = [_name_session(row), *([safe_line(row.label)] if row.label else [])]
        dot, state = f" {glyphs.dot} ", states[row.session]
        first = (Span(state, STATES[state]), Span(dot, "dim")) if state != "idle" else ()
        notes[row.number] = (*first, Span(dot.join(words), "dim"))
    return notes


def _name_session(row: ListRow) -> str:
    is_own = is_personal_list(row.session, row.agent, row.project)
    return "yours" if is_own else safe_line(short_session(row.session))


def _describe_event(event: Event, session: str, glyphs: Glyphs) -> Line:
    before = f"{event.at.astimezone():%H:%M:%S}  {session}".rstrip()
    return (Span(f"{before}  ", "dim"), Span(sentence(event, glyphs)))
