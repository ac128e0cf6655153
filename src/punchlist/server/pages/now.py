"""The first screen: what waits on a person, the agents at work, idle and gone, and what was done meanwhile."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec.structs import replace

from punchlist.attach.attachments import list_attached
from punchlist.board import Board
from punchlist.core.programs import ATTACHABLE, AgentProgram
from punchlist.logs.programs import is_found
from punchlist.server.pages.plan import describe_plan
from punchlist.server.pages.rendering import Values
from punchlist.terminal.lists import GRADES, STATES
from punchlist.terminal.now import EVERY, NowRow, Section, done_title, find_rows, now_sections
from punchlist.terminal.spans import UNICODE, Line, Span, Style, plural
from punchlist.views.grades import state_name
from punchlist.views.now import AgentNow, DoneSince, Roster

_MOST_IDLE = 40
"""Rows of agents that need nobody; the others are counted."""


def load_now(board: Board, roster: Roster, words: str = "") -> dict[str, Any]:
    """Return the first screen; with words, only the rows that hold all of them."""
    sections = now_sections(roster, UNICODE, most=EVERY if words else _MOST_IDLE)
    if words:
        sections = find_rows(sections, words)
    known = {
        section.title: replace(section, rows=[replace(row, tail=_find_tail(board, row)) for row in section.rows])
        for section in sections
    }
    waits = known.pop("waits on you", Section("waits on you", 0, ()))
    is_empty = not roster.agents and not roster.waits
    return {
        "at": roster.at,
        "waits": waits,
        "agents": list(known.values()),
        "done": None if roster.done is None or not roster.done.items else _view_done(roster.done, roster.at),
        "is_empty": is_empty,
        "attachable": _find_attachable(roster, is_empty=is_empty),
    }


def count_waits(roster: Roster) -> int:
    return sum(section.number for section in now_sections(roster, UNICODE, most=0) if section.title == "waits on you")


def _find_tail(board: Board, row: NowRow) -> Line:
    """Return what stands at the end of a row: of what waits, no command, but how long a plan is."""
    of = row.of
    if isinstance(of, AgentNow):
        return () if of.state == "waiting" else row.tail
    return (Span(words, "dim"),) if of.kind == "plan" and (words := describe_plan(board, of)) else ()


def _view_done(done: DoneSince, now: datetime) -> Values:
    """Return what was done: sessions by state, items by grade, each as words with a style."""
    sessions = _count_words(done.sessions, STATES)
    if sessions:
        total = sum(number for name, number in done.sessions.items() if name != "idle" and name in STATES)
        sessions = [Span(plural(total, "session")), *sessions]
    return {"title": done_title(done, now), "sessions": sessions, "grades": _count_words(done.items, GRADES)}


def _count_words(counts: dict[str, int], styles: dict[str, Style]) -> list[Span]:
    return [
        Span(f"{counts[name]} {state_name(name) if styles is STATES else name}", style)
        for name, style in styles.items()
        if counts.get(name) and name != "idle"
    ]


def _find_attachable(roster: Roster, *, is_empty: bool) -> list[AgentProgram]:
    """Return the hosts that run here unattached; on an empty screen, all that are installed."""
    seen = {row.host for row in roster.agents if not row.on_board and row.state != "gone"}
    wanted = [host for host in ATTACHABLE.values() if host.name in seen or (is_empty and is_found(host))]
    attached = list_attached() if wanted else []
    return [host for host in wanted if host not in attached]


def find_agent(roster: Roster, session: str) -> AgentNow | None:
    """Return the agent whose work is on this session of the board, or whose host calls it so."""
    return next((row for row in roster.agents if session in (row.list_session, row.session)), None)
