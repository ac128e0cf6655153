"""Gather what a report or a brief tells: the work on the board, agents that stopped, and what Git saw of it."""

import os
from collections.abc import Container, Iterable, Mapping
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from punchlist.board import Board
from punchlist.core.grounding.session import SessionState
from punchlist.core.grounding.tool_call import Subject, is_task
from punchlist.core.overview import STALLS, AgentOverview
from punchlist.core.report import Brief, ListNews, Noticed, Report
from punchlist.reports.git import ask_git
from punchlist.settings.environment import project_of
from punchlist.store import Transaction
from punchlist.views.brief_groups import BriefGroups, group_sessions
from punchlist.views.findings import Silent, place_words
from punchlist.views.list_owners import MAIN, is_personal_list, load_names
from punchlist.views.now import AgentNow, Roster
from punchlist.views.reports import Around, GitSummary, Stopped

_HANGS: Final = "no_output"
"""The kind of silence of an agent of the first screen."""


class LoadedReport(Struct, frozen=True):
    report: Report
    around: Around


class LoadedBrief(Struct, frozen=True):
    """A brief. `mark` is the name under which its reader's place is kept, `spent` the tokens that were spent by now."""

    brief: Brief
    groups: BriefGroups
    around: Around
    mark: str
    spent: int


def load_report(board: Board, roster: Roster, *, session: str | None, project: str | None) -> LoadedReport:
    """Return the report on a session, a project or everything, with what Git saw of it."""
    if board.is_remote:
        return board.load("loaded_report", LoadedReport, session=session, project=project)
    report = board.report(session=session, project=project)
    git = _ask_git(board, _find_beginnings(report))
    news = {one.session for one in report.sessions}
    around = replace(_find_around(board, roster, project, news, session), git=git)
    owners = (*report.sessions, *(of for of, _ in report.elsewhere), *(entry.subject for entry in report.items))
    return LoadedReport(report, _add_names(board, around, owners))


def name_mark(who: str, project: str | None = None) -> str:
    """Return the name under which a reader's place in the log is kept, for one project or for all."""
    return f"brief {who} {'' if project is None else project_of(project)}"


def load_brief(
    board: Board, roster: Roster, after: int | None, *, project: str | None, who: str, asks_git: bool = True
) -> LoadedBrief:
    """Return the news after an event, by default after the reader's mark; `roster` says which agents are at work."""
    if board.is_remote:
        return board.load("loaded_brief", LoadedBrief, after=after, project=project)
    mark = name_mark(who, project)
    spent_before = 0
    if after is None:
        after = board.store.read(lambda tx: tx.log.mark(mark))
        spent_before = board.store.read(lambda tx: tx.log.mark(f"{mark} tokens"))
    found = board.brief(after, project=project)
    spent = sum(row.cost.tokens for row in board.costs(project=project))
    news = {one.session for one in found.sessions}
    items = (*found.completed, *found.failed, *found.under_way)
    event = next(board.events(max(0, found.after - 1)), None)  # the one at the cursor, or the first after it
    since = board.now() if event is None else event.at
    git = _ask_git(board, dict.fromkeys(news, since)) if asks_git else ()
    tokens = max(0, spent - spent_before)
    around = replace(_find_around(board, roster, project, news), git=git, tokens=tokens, since=since if after else None)
    owners = (*found.sessions, *found.red, *found.noticed, *found.lists, *(entry.subject for entry in items))
    around = _add_names(board, around, owners)
    found = _leave_out_ended(found, around, roster)
    groups = group_sessions(found, roster, around.agents, around.stopped, around.names)
    return LoadedBrief(found, groups, around, mark, spent)


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


def mark_seen(board: Board, loaded: LoadedBrief, project: str | None) -> None:
    """Note that the reader of a brief has seen it, on the board of a server too."""
    until, mark, spent = loaded.brief.until, loaded.mark, loaded.spent
    if board.is_remote:
        board.send("/brief/mark", {"until": until, "project": board.name_project(project)})
        return
    # The mark is not worth the wait for a process that was stopped with the lock.
    board.store.transact(lambda tx: save_mark(tx, mark, until, spent), durable=False, wait=1.0)


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
            Stopped(one.session, one.agent, left, place_words(one.focus, one.last_call))
            for owner, one in agents.items()
            if one.session in news and not one.waits and (left := _count_left(one, rows.get(owner)))
        ],
        stalls=[
            Silent(*owner, detector, now - since, place_words(agents[owner].focus, agents[owner].last_call))
            for owner, (detector, since) in sorted(silent.items(), key=lambda found: found[1][1])
            if session in (None, owner[0]) and owner in agents
        ],
    )


def _count_left(one: AgentOverview, row: AgentNow | None) -> int:
    """Count the items that an agent which is no longer at work has left open, but for those that wait."""
    is_over = one.state in ("idle", "finished") if row is None else row.stopped_at is not None
    return one.counts.get("pending", 0) + one.counts.get("in_progress", 0) if is_over else 0


# What Git saw of the work.


def _find_beginnings(report: Report) -> dict[str, datetime]:
    """Return for each session when its work began: with its first item in progress, or its first call."""
    begun: dict[str, list[datetime]] = {}
    tallies = [(entry.subject, entry.tally) for entry in report.items]
    for of, tally in (*tallies, *report.elsewhere):
        begun.setdefault(of.session, []).extend(start for start, _ in tally.spans)
    for entry in report.items:
        begun[entry.subject.session].extend(start for start, _ in entry.stints)
    return {session: min(times) for session, times in begun.items() if times}


def _ask_git(board: Board, begun: Mapping[str, datetime]) -> list[GitSummary]:
    """Return what Git saw in each worktree since the work there began; `begun` has the sessions to ask for."""
    since: dict[str, datetime] = {}
    for session, at in begun.items():
        folder = board.store.read(lambda tx, session=session: tx.session_folder(session)) or ""
        since[folder] = min(at, since.get(folder, at))
    repositories = [one for one in sorted(since) if one and os.path.exists(os.path.join(one, ".git"))]
    found = [ask_git(folder, since[folder]) for folder in repositories]
    return [one for one in found if one is not None]
