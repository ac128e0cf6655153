"""The page of all sessions: newest first, filtered, fifty a page. Also the title of a session, and how it stands."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from punchlist.board import Board
from punchlist.core.grounding.session import SessionState, session_state
from punchlist.core.overview import NO_LINE, Activity, PersonWait, SessionLine
from punchlist.core.presence import describe_call
from punchlist.core.programs import name_session
from punchlist.server.pages.rendering import Values
from punchlist.server.search import find_items, holds_words, split_words
from punchlist.store import ListRow, Transaction
from punchlist.store.records import BrowsedSession, RowDamaged
from punchlist.views.brief_groups import RowOwner, split_name
from punchlist.views.grades import red_words, state_name, state_reason
from punchlist.views.now import AgentNow, Roster

PAGE: Final = 50
STEP: Final = 2_000
"""Sessions that are looked at for one page, and filtered; older ones are a step further."""

STATES: Final = {
    "waits": "Waits for you",
    "red": "Red",
    "work": "At work",
    "green": "Green",
    "unchecked": "Not checked",
    "idle": "Nothing changed",
    "ended": "Ended",
}

_WAITS: Final = {
    "question": ("question", "Waits for your answer"),
    "plan": ("plan", "Plan to decide"),
    "item": ("wait", "Waits for you"),
}
_decode_line = msgspec.json.Decoder(SessionLine).decode


class Standing(Struct, frozen=True):
    """How a session stands: a mark, words that carry its colour, the rest of the sentence, and since when."""

    mark: str
    lead: str
    rest: str = ""
    """With what stands between: `: pytest, 2 of 120 failed`, `, ended`."""
    since: datetime | None = None


def is_ended(agent: AgentNow | None, waits: Sequence[PersonWait]) -> bool:
    """True if a session is over: its agent is gone, or was not heard of for long, and nothing waits on a person."""
    return not waits and (agent is None or agent.state == "gone")


def find_standing(
    agent: AgentNow | None,
    waits: Sequence[PersonWait],
    state: SessionState | None,
    activity: Activity,
    *,
    claimed: int,
    long: bool = False,
) -> Standing:
    """Say in one sentence how a session stands, by what matters most; `claimed` items are done without any call."""
    if waits:
        return Standing(*_WAITS.get(waits[0].kind, ("wait", "Waits for you")), since=waits[0].since)
    if agent is not None and agent.state == "waiting":
        return Standing("question", "Waits for you", _after(": ", agent.waits_for), agent.since)
    if agent is not None and agent.silent_since is not None:
        return Standing("hung", "Hung", _after(": ", agent.doing or agent.focus), agent.silent_since)
    found = state or SessionState("", "idle")
    name, reason = state_name(found.state, found.changes_since), state_reason(found)
    if found.state == "red":
        return Standing("red", "Red", f": {reason if long else red_words(found).removeprefix('red: ')}")
    if agent is not None and agent.state == "busy":
        rest = agent.focus or agent.doing if long else name.removeprefix("idle")
        return Standing("work", "At work", _after(": " if long else ", ", rest))
    end = ", ended" if is_ended(agent, waits) else ""
    if found.state == "green":
        check = "" if found.decided_by is None else found.decided_by.program
        return Standing("green", "Green", f": {reason if long else check}{end}")
    if found.state == "unchecked":
        count = f"{found.changes_since} {'change' if found.changes_since == 1 else 'changes'} not checked"
        return Standing("unchecked", count, f"{f'; {reason}' if long else ''}{end}")
    if claimed:
        count = f"{claimed} {'item' if claimed == 1 else 'items'} claimed"
        return Standing("unseen", count if long else f"{claimed} claimed", f", nothing was run{end}")
    if end and activity.state == "working" and activity.last_call and activity.last_call.outcome == "running":
        return Standing("ended", "Stopped", f" in {describe_call(activity.last_call.name, activity.last_call.preview)}")
    return Standing("ended" if end else "idle", "Ended" if end else "Idle", ", nothing was changed")


def _after(sign: str, words: str) -> str:
    return f"{sign}{words}" if words else ""


def find_title(tx: Transaction, session: str, given: Iterable[str], lists: Sequence[ListRow]) -> str:
    """Return the title of a session: the first that is `given`, else the first line of its list, or of an earlier one.

    Its first prompt is the label of its first agent.
    """
    titles = [*filter(None, given), *(item.content for row in lists for item in row.todos.items[:1])]
    if not titles:
        titles = [row.kept.item.content for row in tx.overviews.finished_items(session)[-1:]]
    return titles[0] if titles else ""


# The page.


class SessionQuery(Struct, frozen=True):
    """The filter of the page; an empty field leaves out nothing."""

    q: str = ""
    project: str = ""
    state: str = ""
    agent: str = ""


class SessionEntry(Struct, frozen=True, kw_only=True):
    """A row of the page."""

    id: str
    title: str
    name: RowOwner
    standing: Standing
    doing: str
    """Its last call, where it has no title."""
    done: int
    total: int
    began: datetime
    at: datetime


class _Finder(Struct, frozen=True):
    """The live agents and the waits by session, and what the person looks for."""

    agents: Mapping[str, AgentNow]
    waits: Mapping[str, Sequence[PersonWait]]
    query: SessionQuery
    words: Sequence[str]
    found: set[str]
    """Sessions that have an item with all words."""

    def name(self, row: BrowsedSession) -> RowOwner:
        agent = self.agents.get(row.id)
        if agent is not None:
            return split_name(agent.name)
        return split_name(name_session(row.project, row.id, row.agent, row.host))

    def finds(self, row: BrowsedSession) -> bool:
        query, name = self.query, self.name(row)
        if query.agent and name.agent != query.agent:
            return False
        if query.state and query.state not in self._find_states(row):
            return False
        text = f"{row.id} {row.project} {row.label} {name}"
        return not self.words or row.id in self.found or holds_words(text, self.words)

    def _find_states(self, row: BrowsedSession) -> set[str]:
        agent, waits, states = self.agents.get(row.id), self.waits.get(row.id, ()), {row.state}
        if waits or (agent is not None and (agent.state == "waiting" or agent.silent_since is not None)):
            states.add("waits")
        elif agent is not None and agent.state == "busy":
            states.add("work")
        if is_ended(agent, waits):
            states.add("ended")
        return states

    def view(self, tx: Transaction, row: BrowsedSession) -> SessionEntry:
        agent, lists = self.agents.get(row.id), tx.lists(session=row.id)
        waits, checks = self.waits.get(row.id, ()), tx.find_checks(row.id)
        line = _decode_line(checks.line) if checks is not None and checks.line else NO_LINE
        state = session_state(row.id, tx.completions.load_record(row.id))
        call = row.activity.last_call
        titles = (row.label, "" if agent is None else agent.title, *(one.title for one in waits if one.kind == "plan"))
        return SessionEntry(
            id=row.id,
            title=find_title(tx, row.id, titles, lists),
            name=self.name(row),
            standing=find_standing(agent, waits, state, row.activity, claimed=count_claimed(lists)),
            doing="" if call is None else describe_call(call.name, call.preview),
            done=line.done,
            total=line.total,
            began=row.created_at,
            at=row.at,
        )


def count_claimed(lists: Iterable[ListRow]) -> int:
    """Count the items that are done without any call that was seen."""
    return sum(item.grade == "unseen" for row in lists for item in row.todos.items)


def load_sessions(board: Board, roster: Roster, query: SessionQuery, page: int = 1, step: int = 0) -> Values:
    """Return a page of the sessions that a query finds; `step` is how many steps of older ones to go back."""
    words = split_words(query.q)
    found = {hit.session for hit in find_items(board, words, query.project or None)} if words else set[str]()
    waits: dict[str, list[PersonWait]] = {}
    for wait in roster.waits:
        waits.setdefault(wait.session, []).append(wait)
    finder = _Finder(
        agents={row.list_session or row.session: row for row in reversed(roster.agents)},
        waits=waits,
        query=query,
        words=words,
        found=found,
    )

    def read(tx: Transaction) -> Values:
        rows = tx.browse_sessions(project=query.project or None, limit=STEP, skip=step * STEP)
        found = [row for row in rows if finder.finds(row)]
        pages = max(1, -(-len(found) // PAGE))
        shown = min(max(page, 1), pages)
        first = (shown - 1) * PAGE
        known = {name: count for name, count, _ in tx.list_projects() if count}
        views: list[SessionEntry] = []
        for row in found[first : first + PAGE]:
            with suppress(RowDamaged, msgspec.DecodeError):  # `doctor` tells of it; the other sessions are shown
                views.append(finder.view(tx, row))
        return {
            "at": roster.at,
            "query": query,
            "rows": views,
            "first": first,
            "found": len(found),
            "total": sum(known.values()),
            "projects": known,
            "agents": sorted({finder.name(row).agent for row in rows}),
            "states": STATES,
            "page": shown,
            "pages": pages,
            "step": step,
            "skipped": step * STEP,
            "has_older": len(rows) == STEP,
            "fields": _encode(query),
            "without": {name: f"?{_encode(replace(query, **{name: ''}))}" for name in query.__struct_fields__},
        }

    return board.store.read(read)


def _encode(query: SessionQuery) -> str:
    return urlencode({name: value for name, value in asdict(query).items() if value})
