"""Gather what a report or a brief tells: the work on the board, agents that stopped, and what Git saw of it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Final, NamedTuple

from msgspec.structs import replace

from punchlist.agent.briefs import recent_commit_calls
from punchlist.board import Board
from punchlist.core.grounding.commits import CommitCall
from punchlist.core.grounding.session import SessionState
from punchlist.core.grounding.tool_call import Subject, is_task
from punchlist.core.overview import STALLS, AgentOverview
from punchlist.core.report import Brief, ItemReport, ListNews, Noticed, Report
from punchlist.reports.git import GitFacts, ItemWork, find_makers, git_facts
from punchlist.settings.environment import project_of
from punchlist.store import Transaction
from punchlist.terminal.reports import place_words
from punchlist.views.brief_groups import BriefGroups, group_sessions
from punchlist.views.findings import Silent
from punchlist.views.list_owners import MAIN, is_personal_list, load_names
from punchlist.views.now import AgentNow, Roster
from punchlist.views.reports import Around, Changed, Changes, GitCommit, GitSummary, Stopped, UncommittedLines

_HANGS: Final = "no_output"
"""The kind of silence of an agent of the first screen."""

_FindCalls = Callable[[str], Sequence[CommitCall]]


class LoadedReport(NamedTuple):
    report: Report
    around: Around
    changes: Changes


class LoadedBrief(NamedTuple):
    """A brief. `mark` is the name under which its reader's place is kept, `spent` the tokens that were spent by now."""

    brief: Brief
    groups: BriefGroups
    around: Around
    changes: Changes
    mark: str
    spent: int


def load_report(board: Board, roster: Roster, *, session: str | None, project: str | None) -> LoadedReport:
    """Return the report on a session, a project or everything, with what Git saw of it."""
    report = board.report(session=session, project=project)

    def find_calls(project: str) -> Sequence[CommitCall]:
        return recent_commit_calls(board, 0, project) if session else report.committing

    git, changes = _ask_git(board, _find_beginnings(report), report.items, find_calls)
    news = {one.session for one in report.sessions}
    around = replace(_find_around(board, roster, project, news, session), git=git)
    owners = (*report.sessions, *report.elsewhere, *(entry.subject for entry in report.items))
    return LoadedReport(report, _add_names(board, around, owners), changes)


def name_mark(who: str, project: str | None = None) -> str:
    """Return the name under which a reader's place in the log is kept, for one project or for all."""
    return f"brief {who} {'' if project is None else project_of(project)}"


def load_brief(board: Board, roster: Roster, after: int | None, *, project: str | None, who: str) -> LoadedBrief:
    """Return the news after an event, by default after the reader's mark; `roster` says which agents are at work."""
    mark = name_mark(who, project)
    spent_before = 0
    if after is None:
        after = board.store.read(lambda tx: tx.log.mark(mark))
        spent_before = board.store.read(lambda tx: tx.log.mark(f"{mark} tokens"))
    found = board.brief(after, project=project)
    spent = sum(row.cost.tokens for row in board.costs(project=project))
    news = {one.session for one in found.sessions}
    items = (*found.completed, *found.failed, *found.under_way)
    since = _find_time(board, found.after)
    begun = dict.fromkeys(news, since)
    git, changes = _ask_git(board, begun, items, lambda project: recent_commit_calls(board, found.after, project))
    tokens = max(0, spent - spent_before)
    around = replace(_find_around(board, roster, project, news), git=git, tokens=tokens, since=since if after else None)
    owners = (*found.sessions, *found.red, *found.noticed, *found.lists, *(entry.subject for entry in items))
    around = _add_names(board, around, owners)
    found = _leave_out_ended(found, around, roster)
    groups = group_sessions(found, roster, around.agents, around.stopped, around.names)
    return LoadedBrief(found, groups, around, changes, mark, spent)


def _leave_out_ended(brief: Brief, around: Around, roster: Roster) -> Brief:
    """Return a brief without work under way of agents that are not at work, and without their silences."""
    at_work = {row.list_session for row in roster.agents if row.stopped_at is None} | around.own
    return replace(
        brief,
        under_way=[one for one in brief.under_way if one.subject.session in at_work or is_task(one.subject.item)],
        noticed=[one for one in brief.noticed if one.detector not in STALLS or one.session in at_work],
    )


def _add_names(board: Board, around: Around, others: Iterable[SessionState | Subject | Noticed | ListNews]) -> Around:
    """Return it with the names of all agents that are told of."""
    sessions = {one.session for one in (*others, *around.stopped, *around.stalls)} - {""}
    return replace(around, names=board.store.read(lambda tx: load_names(tx, sessions)))


def save_mark(tx: Transaction, mark: str, until: int, spent: int) -> None:
    """Note that a reader has seen everything up to an event."""
    if until > tx.log.mark(mark):
        tx.log.save_mark(mark, until)
        tx.log.save_mark(f"{mark} tokens", spent)


def _find_around(
    board: Board, roster: Roster, project: str | None, news: Container[str], session: str | None = None
) -> Around:
    """Return which agents stopped, of the sessions with news, and which are silent."""
    agents = {(one.session, one.agent): one for one in board.overview(project=project)}
    rows = {(row.list_session, row.agent): row for row in roster.agents}
    now = board.now()
    sessions = {row.list_session for row in roster.agents}
    # Of agents that others started, which no row is about, only their own silence is known.
    silent = {(one.session, one.agent): (one.finding.detector, one.since) for one in board.stalls(project=project)}
    silent = {owner: found for owner, found in silent.items() if owner not in rows and owner[0] in sessions}
    silent |= {owner: (_HANGS, row.silent_since) for owner, row in rows.items() if row.silent_since is not None}
    return Around(
        agents=sorted(agents.values(), key=lambda one: one.agent == MAIN),
        own=frozenset(one.session for one in agents.values() if is_personal_list(one.session, one.agent, one.project)),
        stopped=[
            Stopped(one.session, one.agent, left, _name_place(one))
            for owner, one in agents.items()
            if one.session in news and not one.waits and (left := _count_left(one, rows.get(owner)))
        ],
        stalls=[
            Silent(*owner, detector, now - since, _name_place(agents[owner]))
            for owner, (detector, since) in sorted(silent.items(), key=lambda found: found[1][1])
            if session in (None, owner[0]) and owner in agents
        ],
    )


def _count_left(one: AgentOverview, row: AgentNow | None) -> int:
    """Count the items that an agent which is no longer at work has left open, but for those that wait."""
    is_over = one.state in ("idle", "finished") if row is None else row.stopped_at is not None
    return one.counts.get("pending", 0) + one.counts.get("in_progress", 0) if is_over else 0


def _name_place(one: AgentOverview) -> str:
    call = one.last_call
    return place_words(one.focus, call.preview or call.name if call is not None and call.outcome == "running" else "")


# What Git saw of the work.


def _find_beginnings(report: Report) -> dict[str, datetime]:
    """Return for each session when its work began: with its first item in progress, or its first call."""
    begun: dict[str, list[datetime]] = {}
    tallies = [(entry.subject, entry.tally) for entry in report.items]
    for of, tally in (*tallies, *report.elsewhere.items()):
        begun.setdefault(of.session, []).extend(start for start, _ in tally.spans)
    for entry in report.items:
        begun[entry.subject.session].extend(start for start, _ in entry.stints)
    return {session: min(times) for session, times in begun.items() if times}


def _find_time(board: Board, after: int) -> datetime:
    """Return the time of the event at a cursor, or of the first one after it."""
    event = next(board.events(max(0, after - 1)), None)
    return board.now() if event is None else event.at


def _ask_git(
    board: Board, begun: Mapping[str, datetime], items: Iterable[ItemReport], find_calls: _FindCalls
) -> tuple[list[GitSummary], Changes]:
    """Return what Git saw in each worktree since the work there began, and of the work on each item.

    `begun` has the sessions to ask for. `find_calls` returns the calls that make commits, of all agents of a project. A
    project that is no repository is left out.
    """

    @cache
    def where(session: str) -> str:
        return board.store.read(lambda tx: tx.session_folder(session)) or ""

    since: dict[str, datetime] = {}
    for session, at in begun.items():
        since[where(session)] = min(at, since.get(where(session), at))
    entries: dict[str, list[ItemReport]] = {}
    for entry in items:
        if entry.item.started_at is not None:
            entries.setdefault(where(entry.subject.session), []).append(entry)
    summaries, changes = list[GitSummary](), dict[Subject, Changed]()
    for project in sorted({*since, *entries}):
        if not project or not os.path.exists(os.path.join(project, ".git")):
            continue
        here = entries.get(project, [])
        times = [entry.item.started_at for entry in here if entry.item.started_at is not None]
        facts = git_facts(project, min([*times, *([since[project]] if project in since else [])]))
        if facts is None:
            continue
        if project in since:
            summaries.append(_sum_up(facts, since[project]))
        known = find_calls(project_of(project)) if facts.commits else ()
        there = [call for call in known if where(call.of[0].session) == project]
        changes.update(_share_changes(facts, here, there))
    return summaries, changes


def _sum_up(facts: GitFacts, since: datetime) -> GitSummary:
    made = [GitCommit(one.hash, one.at, one.subject) for one in reversed(facts.commits) if one.span[1] > since]
    lines = [file.lines for file in facts.changed.values()]
    left = UncommittedLines(len(lines), sum(one.added for one in lines), sum(one.removed for one in lines))
    return GitSummary(facts.root, tuple(made), left, facts.is_complete)


_Owner = tuple[str, str]
"""A session and an agent."""

_Groups = Mapping[_Owner, Sequence[ItemReport]]
_Place = tuple[_Owner, int | None]
"""An item by its owner and its index among the owner's; None where only the owner is known."""


def _share_changes(
    facts: GitFacts, entries: Iterable[ItemReport], calls: Sequence[CommitCall]
) -> Iterator[tuple[Subject, Changed]]:
    """Yield the changes of each item; commits that belong to none are counted for none."""
    groups: dict[_Owner, list[ItemReport]] = {}
    for entry in entries:
        groups.setdefault((entry.subject.session, entry.subject.agent), []).append(entry)
    made = {commit.hash: made for commit in facts.commits if (made := find_makers(commit, calls))}
    places = {name: [place for call in each if (place := _find_place(call, groups))] for name, each in made.items()}
    shares = {owner: facts.shares(_collect_work(group), _find_makers(owner, places)) for owner, group in groups.items()}
    times = Counter(commit.hash for group in shares.values() for share in group for commit in share.commits)
    for owner, group in groups.items():
        for entry, share in zip(group, shares[owner], strict=True):
            shared = sum(times[commit.hash] > 1 for commit in share.commits)
            names = tuple(commit.hash[:12] for commit in share.commits)
            yield entry.subject, Changed(names, share.files, *share.lines, shared)


def _collect_work(entries: Iterable[ItemReport]) -> list[ItemWork]:
    return [
        ItemWork(at, entry.item.finished_at, entry.tally.files, entry.tally.spans)
        for entry in entries
        if (at := entry.item.started_at) is not None
    ]


def _find_place(call: CommitCall, groups: _Groups) -> _Place | None:
    """Return where a call counts: for its item; without one, for its agent, else for the item that started that."""
    for of in call.of:
        for owner, group in groups.items():
            for place, entry in enumerate(group):
                if entry.subject == of or (is_task(of.item) and entry.subject.item == of.item):
                    return owner, place
        if of.item:
            return None  # an item that nobody asked for
        if (of.session, of.agent) in groups:
            return (of.session, of.agent), None
    return None


def _find_makers(owner: _Owner, places: Mapping[str, Sequence[_Place]]) -> dict[str, int | None]:
    """Return for one agent which of its items made each commit, None where none of them did."""
    found: dict[str, int | None] = {}
    for name, made_by in places.items():
        mine = [place for maker, place in made_by if maker == owner]
        if None not in mine or any(place is not None for place in mine):
            found[name] = next((place for place in mine if place is not None), None)
    return found
