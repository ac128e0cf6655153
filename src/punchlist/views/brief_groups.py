"""The sessions of a brief in the order in which a person looks at them: to do, to look at, at work, checked, ended.

One row per session, in the worst group that it belongs to, with one sentence and one command.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from shlex import quote
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from punchlist.core.overview import STALLS, AgentOverview, PersonWait
from punchlist.core.programs import name_session, short_id
from punchlist.core.report import Brief, ItemReport
from punchlist.core.todo import Status
from punchlist.views.findings import finding_words
from punchlist.views.grades import explain_grade, red_words
from punchlist.views.list_owners import SessionNames
from punchlist.views.now import AgentNow, Roster, answer_commands

Group = Literal["do_now", "look_first", "at_work", "checked", "ended"]


class Stopped(Struct, frozen=True):
    """An agent that ended its turn, or its work, with so many items open."""

    session: str
    agent: str
    open: int
    place: str = ""


class BriefRow(Struct, frozen=True, kw_only=True):
    """A session: one sentence about it, and the command that goes on from there, empty if none does."""

    kind: str
    """The reason for its place: `question`, `plan`, `hung`, `red`, `failing`, `unseen`, `green`, …"""
    project: str
    session: str
    agent: str
    name: str
    """`api · claude bede30`, as on every surface."""
    sentence: str
    action: str = ""
    at: datetime | None = None
    is_lasting: bool = False
    """It has lasted since `at`, which is else the time of an event."""


class NotChecked(Struct, frozen=True):
    """Code changes of a project after the last check, in so many sessions."""

    project: str
    changes: int
    sessions: int


class BriefGroups(Struct, frozen=True, kw_only=True):
    """Every session of a brief once, the groups in the order of need."""

    do_now: tuple[BriefRow, ...]
    look_first: tuple[BriefRow, ...]
    at_work: tuple[BriefRow, ...]
    checked: tuple[BriefRow, ...]
    ended: tuple[BriefRow, ...]
    not_checked: tuple[NotChecked, ...]


_NO_NAMES: Final = SessionNames()


class _Owner(NamedTuple):
    project: str
    session: str
    agent: str
    name: str


def group_sessions(
    brief: Brief,
    roster: Roster,
    owners: Iterable[AgentOverview] = (),
    stopped: Iterable[Stopped] = (),
    names: SessionNames = _NO_NAMES,
) -> BriefGroups:
    """Sort the sessions of a brief and the agents at work into groups. `owners` are the agents of the board."""
    sorter = _Sorter(brief, roster, owners, names)
    placed: set[str] = set()

    def take(rows: Iterable[BriefRow]) -> tuple[BriefRow, ...]:
        kept: list[BriefRow] = []
        for row in rows:
            key = row.session or f"{row.project} {row.agent}"
            if key not in placed:
                placed.add(key)
                kept.append(row)
        return tuple(kept)

    return BriefGroups(
        do_now=take(sorter.to_do()),
        look_first=take(sorter.to_look_at()),
        at_work=take(sorter.at_work()),
        checked=take(sorter.checked()),
        ended=take(sorter.ended(stopped)),
        not_checked=sorter.not_checked(),
    )


def count_to_do(roster: Roster) -> int:
    """Count the sessions that wait on a person or hang: the rows of `do_now`, without a brief."""
    waits = {wait.session or f"{wait.project} {wait.agent}" for wait in roster.waits}
    stuck = [row for row in roster.agents if row.state == "waiting" or row.silent_since is not None]
    return len(waits | {row.list_session or row.session for row in stuck})


class _Sorter:
    """Makes the rows of each group. A session may have a row in several: the first one counts."""

    def __init__(self, brief: Brief, roster: Roster, owners: Iterable[AgentOverview], names: SessionNames) -> None:
        self._brief = brief
        self._names = names
        self._agents = roster.agents
        self._waits = roster.waits
        self._states = (*brief.sessions, *brief.red)
        self._owners: dict[str, _Owner] = {}
        for entry in (*brief.completed, *brief.failed, *brief.under_way):
            of = entry.subject
            self._owners.setdefault(of.session, self._name(entry.folder, of.session, of.agent))
        for one in owners:
            if one.session in names.known:
                self._owners[one.session] = self._name(one.project, one.session, one.agent)
        for row in roster.agents:
            session = row.list_session or row.session
            self._owners[session] = _Owner(row.project, session, row.agent, row.name)
        self._done: dict[str, list[ItemReport]] = {}
        for entry in brief.completed:
            self._done.setdefault(entry.subject.session, []).append(entry)

    def to_do(self) -> Iterator[BriefRow]:
        """Yield what waits on a person, the longest first, then what hangs."""
        counts = Counter(wait.session or wait.list for wait in self._waits)
        for wait in sorted(self._waits, key=lambda one: (one.since is None, one.since)):
            yield self._wait_row(wait, counts[wait.session or wait.list] - 1)
        for row in self._agents:
            if row.state == "waiting":
                yield self._agent_row(row, "permission", row.waits_for or "waits for you", "", row.since)
        for row in self._agents:
            if row.silent_since is not None:
                said = (
                    f"hung: {row.doing}"
                    if row.hung and row.doing
                    else f"silent: {row.focus or row.doing or 'its turn'}"
                )
                yield self._agent_row(row, "hung", said, self._see(row.list_session), row.silent_since)

    def to_look_at(self) -> Iterator[BriefRow]:
        """Yield what is red, failing, failed, claimed without any call, or goes in a circle."""
        for state in self._states:
            if state.state == "red":
                at = state.decided_by.at if state.decided_by else None
                yield self._row(state.session, "red", red_words(state), self._see(state.session), at)
        for kind, entries in (("failing", self._graded("failing")), ("failed", self._failed())):
            for session, found in entries.items():
                first = found[0]
                why = explain_grade(first.grade, first.check, first.remarks).reason if kind == "failing" else ""
                said = f"{_count(found, 'item')} {kind}: {why or first.item.content}"
                yield self._row(session, kind, said, self._see(session), first.item.finished_at)
        for session, found in self._graded("unseen").items():
            said = f"{_count(found, 'item')} claimed, nothing was run"
            yield self._row(session, "unseen", said, self._see(session), found[-1].item.finished_at)
        for one in self._brief.noticed:
            if one.detector not in STALLS:
                said = finding_words("", one.detector, one.subject, one.seen).lstrip(": ")
                yield self._row(one.session, one.detector, said, self._see(one.session), one.at)

    def at_work(self) -> Iterator[BriefRow]:
        """Yield the agents at work, and items and tasks in progress of others that nobody sees run."""
        for row in self._agents:
            if row.state == "busy":
                count = f"{row.done}/{row.total} " if row.total else ""
                said = f"{count}{row.focus or row.doing or row.title or 'no list yet'}"
                yield self._agent_row(row, "work", said, "", row.focus_since or row.since)
        seen = {row.list_session for row in self._agents}
        for entry in self._brief.under_way:
            of, item = entry.subject, entry.item
            if of.session not in seen and item.status is Status.IN_PROGRESS:
                owner = self._owners.get(of.session) or self._name(entry.folder, of.session, of.agent)
                yield _make_row(owner, "work", item.content, "", item.started_at, is_lasting=True)

    def checked(self) -> Iterator[BriefRow]:
        """Yield the sessions whose last check is green after the last change, or whose items a person confirmed."""
        for state in self._states:
            check, done = state.decided_by, self._done.get(state.session, [])
            good = [entry for entry in done if entry.grade in ("verified", "confirmed")]
            if state.state == "green" and check is not None:
                count = f"{len(good)} of {len(done)} verified, " if done else ""
                said = f"{count}{check.program} green after the last change"
                yield self._row(state.session, "green", said, "", check.at)
            elif state.state == "idle" and good and len(good) == len(done):
                said = f"{len(good)} of {len(done)} confirmed"
                yield self._row(state.session, "confirmed", said, "", good[-1].item.finished_at)

    def ended(self, stopped: Iterable[Stopped]) -> Iterator[BriefRow]:
        """Yield the agents that stopped with open items."""
        for one in stopped:
            where = f" {one.place}" if one.place else ""
            noun = "item" if one.open == 1 else "items"
            yield self._row(one.session, "stopped", f"stopped{where}, {one.open} {noun} open", "", None)

    def not_checked(self) -> tuple[NotChecked, ...]:
        """Return the changes that no check followed, by project, most first."""
        changes, sessions = Counter[str](), Counter[str]()
        for state in self._states:
            if state.state == "unchecked" and state.changes_since:
                project = self._owner(state.session).project
                changes[project] += state.changes_since
                sessions[project] += 1
        return tuple(NotChecked(project, number, sessions[project]) for project, number in changes.most_common())

    def _graded(self, grade: str) -> dict[str, list[ItemReport]]:
        found: dict[str, list[ItemReport]] = {}
        for entry in self._brief.doubtful:
            if entry.grade == grade:
                found.setdefault(entry.subject.session, []).append(entry)
        return found

    def _failed(self) -> dict[str, list[ItemReport]]:
        found: dict[str, list[ItemReport]] = {}
        for entry in self._brief.failed:
            found.setdefault(entry.subject.session, []).append(entry)
        return found

    def _wait_row(self, wait: PersonWait, others: int) -> BriefRow:
        said = {
            "question": f"answer: “{wait.text}”",
            "plan": f"approve or reject: {wait.title}",
            "item": f"{wait.title}: {wait.text}" if wait.text else wait.title,
        }.get(wait.kind, f"{wait.kind} {wait.id[:8]}: {wait.title}")
        more = f" (and {others} more)" if others > 0 else ""
        owner = self._owners.get(wait.session) or _Owner(wait.project, wait.session, wait.agent, wait.owner)
        action = answer_commands(wait)[0]
        return _make_row(owner, wait.kind, f"{said}{more}", action, wait.since, is_lasting=True)

    def _agent_row(self, row: AgentNow, kind: str, said: str, action: str, at: datetime | None) -> BriefRow:
        return _make_row(self._owner(row.list_session or row.session), kind, said, action, at, is_lasting=True)

    def _row(self, session: str, kind: str, said: str, action: str, at: datetime | None) -> BriefRow:
        return _make_row(self._owner(session), kind, said, action, at)

    def _owner(self, session: str) -> _Owner:
        return self._owners.get(session) or self._name("", session, "")

    def _name(self, folder: str, session: str, agent: str) -> _Owner:
        project = self._names.known[session][0] if session in self._names.known else folder
        name = self._names.name(session, agent) if session else name_session(project, "", agent)
        return _Owner(project, session, agent, name)

    def _see(self, session: str) -> str:
        return f"punchlist report --session {quote(short_id(session))}" if session else ""


def _make_row(
    owner: _Owner, kind: str, said: str, action: str, at: datetime | None, *, is_lasting: bool = False
) -> BriefRow:
    return BriefRow(
        kind=kind,
        project=owner.project,
        session=owner.session,
        agent=owner.agent,
        name=owner.name,
        sentence=said,
        action=action,
        at=at,
        is_lasting=is_lasting,
    )


def _count(entries: Sequence[ItemReport], noun: str) -> str:
    return f"{len(entries)} {noun}" if len(entries) == 1 else f"{len(entries)} {noun}s"


class RowOwner(NamedTuple):
    """The name of an agent in its parts: the project, the agent or its program, the end of the session's id."""

    project: str
    agent: str
    id: str

    def __str__(self) -> str:
        return f"{self.project} · {self.agent} {self.id}".strip(" ·")


def split_name(name: str) -> RowOwner:
    """Return the parts of `api · claude bede30`, for a page that shows each in its own way."""
    project, _, who = name.rpartition(" · ") if name.count(" · ") < 2 else name.partition(" · ")
    agent, _, short = who.rpartition(" ")
    return RowOwner(project, agent, short) if agent else RowOwner(project, who, "")
