"""The first screen: what waits on a person, the agents at work, idle and gone, and what was done meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from punchlist.board import Board
from punchlist.bridges.programs import is_found
from punchlist.core.overview import PersonWait
from punchlist.core.presence import AgentNow, DoneSince, Roster
from punchlist.core.programs import ATTACHABLE, AgentProgram
from punchlist.hosts.attach import list_attached
from punchlist.server.pages.plan import describe_plan
from punchlist.server.pages.rendering import element_id, session_path, task_path
from punchlist.surfaces.lists import GRADES, STATES
from punchlist.surfaces.now import NowRow, Section, now_sections
from punchlist.surfaces.spans import UNICODE, Line, Span, Style, plural
from punchlist.surfaces.top import find_rows

_MOST_IDLE = 40
"""Rows of agents that need nobody; the others are counted."""

_KINDS = {
    "question": "question",
    "plan": "plan",
    "item": "blocked item",
    "task": "waiting task",
    "flow": "waiting flow",
}
_STATES = {"waiting": "waits on you", "busy": "at work", "idle": "idle", "gone": "gone"}


class RowView(Struct, frozen=True, kw_only=True):
    """One row of the first screen. `word` says in a word what the mark says by its shape."""

    id: str
    mark: Span
    word: str
    name: str
    path: str
    headline: Line
    tail: Line = ()
    count: str = ""
    percent: int | None = None
    since: datetime | None = None
    is_exact: bool = False
    silent_since: datetime | None = None
    wait: PersonWait | None = None


class SectionView(Struct, frozen=True):
    """Rows under a title; `more` rows are not shown."""

    id: str
    title: str
    number: int
    rows: Sequence[RowView]
    more: int


class DoneView(Struct, frozen=True):
    """The completions since a time: sessions by state, items by grade, each as words with a style."""

    since: datetime
    title: str
    sessions: Sequence[Span]
    grades: Sequence[Span]


class NowView(Struct, frozen=True, kw_only=True):
    """The whole screen. `attachable` are hosts found here that are not attached."""

    at: datetime
    waits: SectionView
    agents: Sequence[SectionView]
    done: DoneView | None
    is_empty: bool
    attachable: Sequence[AgentProgram] = ()


def load_now(board: Board, roster: Roster, words: str = "") -> NowView:
    """Return the first screen; with words, only the rows that hold all of them."""
    sections = find_rows(roster, UNICODE, words) if words else now_sections(roster, UNICODE, most=_MOST_IDLE)
    views = {section.title: _view_section(board, section) for section in sections}
    waits = views.pop("waits on you", SectionView("waits", "waits on you", 0, (), 0))
    empty = [
        SectionView(name.replace(" ", "-"), name, 0, (), 0) for name in ("at work", "idle", "gone") if name not in views
    ]
    is_empty = not roster.agents and not roster.waits
    return NowView(
        at=roster.at,
        waits=waits,
        agents=[*views.values(), *empty],
        done=None if roster.done is None or not roster.done.grades else _view_done(roster.done, roster.at),
        is_empty=is_empty,
        attachable=_find_attachable(roster, is_empty=is_empty),
    )


def count_waits(roster: Roster) -> int:
    """Return how many rows wait on a person."""
    return sum(section.number for section in now_sections(roster, UNICODE, most=0) if section.title == "waits on you")


def _view_section(board: Board, section: Section) -> SectionView:
    rows = [_view_row(board, row) for row in section.rows]
    name = "waits" if section.title == "waits on you" else section.title.replace(" ", "-")
    return SectionView(name, section.title, section.number, rows, section.number - len(rows))


def _view_row(board: Board, row: NowRow) -> RowView:
    of = row.of
    if isinstance(of, PersonWait):
        return RowView(
            id=element_id(of),
            mark=row.mark,
            word=_KINDS[of.kind],
            name=row.name,
            path=_find_path(of),
            headline=row.headline,
            tail=(Span(words, "dim"),) if of.kind == "plan" and (words := describe_plan(board, of)) else (),
            since=of.since,
            wait=of,
        )
    is_silent = of.silent_since is not None
    return RowView(
        id=element_id(of),
        mark=row.mark,
        word="silent" if is_silent else _STATES[of.state],
        name=row.name,
        path=session_path(of.list_session or of.session),
        headline=row.headline,
        tail=() if of.state == "waiting" else row.tail,
        count=row.count,
        percent=None if row.share is None else round(100 * row.share),
        since=None if is_silent else of.since if of.state == "waiting" else row.began,
        is_exact=of.state == "busy",
        silent_since=of.silent_since,
    )


def _find_path(wait: PersonWait) -> str:
    if wait.kind == "task":
        return task_path(wait.list, wait.id)
    return session_path(wait.session) if wait.session else "/tasks"


def _view_done(done: DoneSince, now: datetime) -> DoneView:
    since = done.since.astimezone()
    when = f"{since:%H:%M}" if since.date() == now.astimezone().date() else f"{since:%d %b %H:%M}"
    title = f"done since you looked ({when})" if done.has_looked else f"done since {when}"
    sessions = _count_words(done.sessions, STATES)
    if sessions:
        total = sum(number for name, number in done.sessions.items() if name != "idle" and name in STATES)
        sessions = [Span(plural(total, "session")), *sessions]
    return DoneView(done.since, title, sessions, _count_words(done.grades, GRADES))


def _count_words(counts: dict[str, int], styles: dict[str, Style]) -> list[Span]:
    return [
        Span(f"{counts[name]} {name}", style) for name, style in styles.items() if counts.get(name) and name != "idle"
    ]


def _find_attachable(roster: Roster, *, is_empty: bool) -> list[AgentProgram]:
    """Return the hosts that run here unattached; on an empty screen, all that are installed."""
    seen = {row.host for row in roster.agents if row.is_watched_only and row.state != "gone"}
    wanted = [host for host in ATTACHABLE.values() if host.name in seen or (is_empty and is_found(host))]
    attached = list_attached() if wanted else []
    return [host for host in wanted if host not in attached]


def find_agent(roster: Roster, session: str) -> AgentNow | None:
    """Return the agent whose work is on this session of the board, or whose host calls it so."""
    for row in roster.agents:
        if session in (row.list_session, row.session):
            return row
    return None
