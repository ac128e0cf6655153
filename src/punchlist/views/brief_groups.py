"""The sessions of a brief in the order in which a person looks at them: to do, to look at, at work, checked, ended.

One row per session, in the worst group that it belongs to, with one sentence and one command.
"""

import os
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from datetime import datetime
from shlex import quote
from typing import Final, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.approval import parse_steps
from punchlist.core.grounding.tool_call import task_of
from punchlist.core.overview import STALLS, AgentOverview, PersonWait
from punchlist.core.programs import find_alike, name_session, short_id
from punchlist.core.report import Brief, ItemReport
from punchlist.core.todo import Status
from punchlist.text import plural
from punchlist.views.findings import finding_words
from punchlist.views.grades import explain_grade, red_words
from punchlist.views.list_owners import SessionNames
from punchlist.views.now import AgentNow, Roster, find_next_command

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
    wait: tuple[str, ...] = ()
    """The key of the wait that the row is about (`PersonWait.key`); empty for a row about none."""
    list: str = ""
    """The list of tasks that no session has, of which each worker has a row; `session` is empty then."""


class NotChecked(Struct, frozen=True):
    """Code changes of a project after the last check, in so many sessions."""

    project: str
    changes: int
    sessions: int
    name: str
    """Its folder, with the one above it if another project has the same."""


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
    list: str = ""


def group_sessions(
    brief: Brief,
    roster: Roster,
    owners: Iterable[AgentOverview] = (),
    stopped: Iterable[Stopped] = (),
    names: SessionNames = _NO_NAMES,
) -> BriefGroups:
    """Sort the sessions of a brief and the agents at work into groups. `owners` are the agents of the board."""
    sorter = _Sorter(brief, roster, owners, names)
    shared = _find_shared(roster)
    placed: set[tuple[str, ...]] = set()

    def take(rows: Iterable[BriefRow]) -> tuple[BriefRow, ...]:
        kept: list[BriefRow] = []
        for row in rows:
            key = _find_key(row.session, row.agent, row.list, row.wait or (row.kind,), shared)
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


def _find_key(session: str, agent: str, tasks: str, reason: tuple[str, ...], shared: Container[str]) -> tuple[str, ...]:
    """Return what a row is about: a session, an agent of a shared one, a worker's tasks of a list, or a flow.

    `reason` is the key of a wait, else the kind of the row. A list of tasks has a row for each kind: what failed there
    has nothing to do with what waits.
    """
    if session:
        return (session, agent) if session in shared else (session,)
    return (tasks, agent, reason[0]) if tasks else reason


def _find_shared(roster: Roster) -> set[str]:
    """Return the sessions in which several agents are seen: each of these has a row."""
    counts = Counter(row.list_session or row.session for row in roster.agents)
    return {session for session, number in counts.items() if number > 1}


def count_to_do(roster: Roster) -> int:
    """Count the sessions that wait on a person or hang: the rows of `do_now`, without a brief."""
    shared = _find_shared(roster)
    waits = {_find_key(wait.session, wait.agent, wait.list, wait.key, shared) for wait in roster.waits}
    stuck = [row for row in roster.agents if row.state == "waiting" or row.silent_since is not None]
    return len(waits | {_find_key(row.list_session or row.session, row.agent, "", (), shared) for row in stuck})


class _Sorter:
    """Makes the rows of each group. A session may have a row in several: the first one counts."""

    def __init__(self, brief: Brief, roster: Roster, owners: Iterable[AgentOverview], names: SessionNames) -> None:
        self._brief = brief
        seen = (row.list_session or row.session for row in roster.agents)
        self._alike = find_alike([*names.known, *seen, *(wait.session for wait in roster.waits)])
        self._names = replace(names, alike=self._alike)
        self._agents = roster.agents
        self._waits = roster.waits
        self._states = (*brief.sessions, *brief.red)
        self._red = {row.list_session: row.check for row in roster.agents if row.session_state == "red"}
        self._owners: dict[str, _Owner] = {}
        for entry in (*brief.completed, *brief.failed, *brief.under_way):
            of = entry.subject
            if of.session:
                self._owners.setdefault(of.session, self._name(entry.folder, of.session, of.agent))
        for one in owners:
            if one.session in names.known:
                self._owners[one.session] = self._name(one.project, one.session, one.agent)
        self._seen = {(owner.session, owner.agent): owner for owner in map(_name_seen, roster.agents)}
        self._owners |= {owner.session: owner for owner in self._seen.values()}
        self._done = _by_session(brief.completed)

    def to_do(self) -> Iterator[BriefRow]:
        """Yield what waits on a person, the longest first, then what hangs."""
        counts = Counter(wait.session or (wait.list, wait.agent) for wait in self._waits if wait.kind != "flow")
        for wait in sorted(self._waits, key=lambda one: (one.since is None, one.since)):
            yield self._wait_row(wait, counts[wait.session or (wait.list, wait.agent)] - 1)
        for row in self._agents:
            if row.state == "waiting":
                yield self._agent_row(row, "permission", row.waits_for or "waits for you", "", row.since)
        for row in self._agents:
            if row.silent_since is not None:
                said = f"silent: {row.focus or row.doing or 'its turn'}"
                if row.hung and row.doing:
                    said = f"hung: {row.doing}"
                yield self._agent_row(row, "hung", said, self._see(row.list_session), row.silent_since)

    def to_look_at(self) -> Iterator[BriefRow]:
        """Yield what is red, failing, failed, claimed without any call, or goes in a circle."""
        for state in self._states:
            if state.state == "red":
                at = state.decided_by.at if state.decided_by else None
                yield self._row(state.session, "red", red_words(state), self._see(state.session), at)
        for row in self._agents:
            if row.session_state == "red":  # and nothing is known of its last run
                said = f"red: {row.check}" if row.check else "red"
                yield self._agent_row(row, "red", said, self._see(row.list_session), row.check_at)
        doubtful = self._brief.doubtful
        failing = [entry for entry in doubtful if entry.grade == "failing"]
        for kind, entries in (("failing", failing), ("failed", self._brief.failed)):
            for found in _by_session(entries).values():
                first = found[0]
                why = explain_grade(first.grade, first.check, first.remarks).reason if kind == "failing" else ""
                said = f"{plural(len(found), 'item')} {kind}: {why or first.item.content}"
                yield self._entry_row(first, kind, said, first.item.finished_at)
        # A host that is attached, and reported no call at all, has no grades.
        without = [entry for entry in self._brief.unjudged if entry.subject.session in self._names.attached]
        claimed = [*(entry for entry in doubtful if entry.grade == "unseen"), *without]
        for found in _by_session(claimed).values():
            said = f"{plural(len(found), 'item')} claimed, nothing was run"
            yield self._entry_row(found[0], "unseen", said, found[-1].item.finished_at)
        for one in self._brief.noticed:
            if one.detector not in STALLS:
                said = finding_words("", one.detector, one.subject, one.seen).lstrip(": ")
                yield self._row(one.session, one.detector, said, self._see(one.session), one.at)

    def at_work(self) -> Iterator[BriefRow]:
        """Yield the agents at work, and items and tasks in progress of others that nobody sees run."""
        for row in self._agents:
            if row.state == "busy":
                count = f"{row.done}/{row.total} " if row.total else ""
                said = f"{count}{row.focus or row.doing or _rest_words(row)}"
                yield self._agent_row(row, "work", said, "", row.focus_since or row.since)
        seen = {row.list_session for row in self._agents} - {""}
        for entry in self._brief.under_way:
            if entry.subject.session not in seen and entry.item.status is Status.IN_PROGRESS:
                row = self._entry_row(entry, "work", entry.item.content, entry.item.started_at)
                yield replace(row, action="", is_lasting=True)

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
            yield self._row(one.session, "stopped", _stopped_words(one.place, one.open), "", None)

    def not_checked(self) -> tuple[NotChecked, ...]:
        """Return the changes that no check followed, by project, most first."""
        changes, sessions = Counter[str](), Counter[str]()
        for state in self._states:
            if state.state == "unchecked" and state.changes_since:
                project = self._owner(state.session).project
                changes[project] += state.changes_since
                sessions[project] += 1
        folders = Counter(os.path.basename(project) for project in changes)
        found: list[NotChecked] = []
        for project, number in changes.most_common():
            parent, folder = os.path.split(project)
            name = folder if folders[folder] == 1 else os.path.join(os.path.basename(parent), folder)
            found.append(NotChecked(project, number, sessions[project], name or project))
        return tuple(found)

    def _wait_row(self, wait: PersonWait, others: int) -> BriefRow:
        steps = len(parse_steps(wait.text).items) if wait.kind == "plan" else 0
        said = {
            "question": f"answer: “{wait.text}”",
            "plan": f"approve or reject: {wait.title}" + (f" ({plural(steps, 'step')})" if steps else ""),
            "item": f"{wait.title}: {wait.text}" if wait.text else wait.title,
        }.get(wait.kind, f"{wait.kind} {wait.id[:8]}: {wait.title}")
        more = f" (and {others} more)" if others > 0 else ""
        if wait.session in self._red:
            more += f"; {self._red[wait.session] or 'a check'} is red"
        owner = self._seen.get((wait.session, wait.agent)) or self._owners.get(wait.session)
        if owner is None and wait.list and not wait.session:
            owner = _name_worker(wait.list, wait.agent)._replace(project=wait.project)
        elif owner is None or owner.agent != wait.agent:
            name = name_session(wait.project, wait.session, wait.agent, wait.host, alike=self._alike)
            owner = _Owner(wait.project, wait.session, wait.agent, name or "flows")
        action = find_next_command(wait, self._waits, self._alike)
        row = _make_row(owner, wait.kind, f"{said}{more}", action, wait.since, is_lasting=True)
        return replace(row, wait=wait.key)

    def _agent_row(self, row: AgentNow, kind: str, said: str, action: str, at: datetime | None) -> BriefRow:
        return _make_row(_name_seen(row), kind, said, action, at, is_lasting=kind != "red")

    def _entry_row(self, entry: ItemReport, kind: str, said: str, at: datetime | None) -> BriefRow:
        """Return the row of whose item or task it is: a session, else the worker on a list of tasks."""
        of = entry.subject
        if of.session:
            return self._row(of.session, kind, said, self._see(of.session), at)
        tasks, number = task_of(of.item)
        return _make_row(_name_worker(tasks, of.agent), kind, said, _show_task(tasks, number), at)

    def _row(self, session: str, kind: str, said: str, action: str, at: datetime | None) -> BriefRow:
        return _make_row(self._owner(session), kind, said, action, at)

    def _owner(self, session: str) -> _Owner:
        return self._owners.get(session) or self._name("", session, "")

    def _name(self, folder: str, session: str, agent: str) -> _Owner:
        project = self._names.known[session][0] if session in self._names.known else folder
        name = self._names.name(session, agent) if session else name_session(project, "", agent)
        return _Owner(project, session, agent, name)

    def _see(self, session: str) -> str:
        return f"punchlist report --session {quote(short_id(session, self._alike))}" if session else ""


def _name_seen(row: AgentNow) -> _Owner:
    return _Owner(row.project, row.list_session or row.session, row.agent, row.name)


def _name_worker(tasks: str, worker: str) -> _Owner:
    """Return the owner of tasks that no session has: `web · w1`, by the folder of a project's own list."""
    project = tasks.removeprefix("project:") if tasks.startswith("project:") else ""
    return _Owner(project, "", worker, name_session(project or tasks, "", worker or "tasks"), tasks)


def _show_task(tasks: str, number: str) -> str:
    return f"punchlist tasks show {quote(number)} --list {quote(tasks)}"


def _make_row(
    owner: _Owner, kind: str, said: str, action: str, at: datetime | None, *, is_lasting: bool = False
) -> BriefRow:
    return BriefRow(**owner._asdict(), kind=kind, sentence=said, action=action, at=at, is_lasting=is_lasting)


def _by_session(entries: Iterable[ItemReport]) -> dict[str | tuple[str, str], list[ItemReport]]:
    """Return the items of each session, and those of each worker on a list of tasks that no session has."""
    found: dict[str | tuple[str, str], list[ItemReport]] = {}
    for entry in entries:
        of = entry.subject
        found.setdefault(of.session or (task_of(of.item)[0], of.agent), []).append(entry)
    return found


def _stopped_words(place: str, left: int) -> str:
    where = f" {place}" if place else ""
    return f"stopped{where}, {plural(left, 'item')} open"


class JoinedRow(Struct, frozen=True):
    """A row with what waits and the agent that runs, for a screen that has keys, forms and columns for these."""

    of: BriefRow
    wait: PersonWait | None = None
    agent: AgentNow | None = None

    @property
    def sentence(self) -> str:
        """Its sentence without the count, which has a column of its own."""
        if self.of.kind != "work" or self.agent is None:
            return self.of.sentence
        return self.of.sentence.removeprefix(f"{self.agent.done}/{self.agent.total} ")


def join_rows(groups: BriefGroups, roster: Roster) -> dict[str, list[JoinedRow]]:
    """Return the rows of each group, and in `idle` and `ended` the agents that do nothing and have no row yet."""
    waits = {wait.key: wait for wait in roster.waits}
    agents = {(row.list_session or row.session, row.agent): row for row in roster.agents}
    first = {session: row for (session, _), row in reversed(agents.items())}
    found: dict[str, list[BriefRow]] = {name: [*getattr(groups, name)] for name in ("do_now", "look_first", "at_work")}
    # An agent that stopped with open items may still be there.
    left = [row for row in groups.ended if row.session not in first or first[row.session].state == "gone"]
    found |= {"checked": [*groups.checked], "idle": [], "ended": left}
    placed = {(row.session, row.agent) for rows in found.values() for row in rows}
    sessions = {session for session, _ in placed}
    shared = _find_shared(roster)
    for (session, agent), row in agents.items():
        # A conversation that ended after another took its work over is not shown again.
        is_other = session in shared and (session, agent) not in placed and row.state != "gone"
        if session not in sessions or is_other:
            found["ended" if row.state == "gone" else "idle"].append(_rest(row))
    return {
        name: [
            JoinedRow(row, waits.get(row.wait), agents.get((row.session, row.agent)) or first.get(row.session))
            for row in rows
        ]
        for name, rows in found.items()
    }


def _rest(agent: AgentNow) -> BriefRow:
    """Return the row of an agent that does nothing."""
    left = agent.total - agent.done
    is_stopped = agent.focus or (left and agent.state == "gone")
    said = _stopped_words(agent.place, left) if is_stopped else _rest_words(agent)
    if agent.machine and agent.state == "unknown" and agent.since is not None:
        said = f"machine {agent.machine} unreachable since {agent.since.astimezone():%H:%M}"
    return _make_row(_name_seen(agent), agent.state, said, "", agent.since, is_lasting=agent.state == "idle")


def _rest_words(agent: AgentNow) -> str:
    """Return what an agent without an item in progress and without a call would do next."""
    if agent.total:
        return f"next: {agent.next}" if agent.next else "all done"
    return agent.title or agent.doing or "no list yet"


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
