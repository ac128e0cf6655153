"""What the commands that report on work have in common: whose work, and what version control saw of it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from punchlist.bridges.git import GitFacts, git_facts
from punchlist.bridges.git_shares import Work, makers
from punchlist.config import project_of
from punchlist.core.grounding import Subject, is_task
from punchlist.surfaces.report_values import Changed, Changes

if TYPE_CHECKING:
    from punchlist.board import Board
    from punchlist.core.grounding.commits import Committing
    from punchlist.core.report import ItemReport

_Whose = tuple[str, str]
"""A session and an agent."""

_Groups = Mapping[_Whose, Sequence["ItemReport"]]
_Place = tuple[_Whose, int | None]
"""An item by its agent and its place among those; None where only the agent is known."""


def changes_of(board: Board, items: Iterable[ItemReport], calls: Sequence[Committing] | None) -> Changes:
    """What Git saw of the work on each item that was begun, in the projects that still are where they were.

    `calls` are those that make commits, of all agents there; None if only some agents were looked at.
    """

    @cache
    def where(session: str) -> str:
        rows = board.lists(session=session)
        return rows[0].project if rows else ""

    found: dict[Subject, Changed] = {}
    for project, entries in _by_project(items, where).items():
        begun = min(entry.item.started_at for entry in entries if entry.item.started_at is not None)
        facts = git_facts(project_of(project), begun)
        if facts is not None:
            known = board.report(project=project).committing if calls is None and facts.commits else calls or ()
            there = [call for call in known if where(call.of[0].session) == project]
            found.update(_changes(facts, entries, there))
    return found


def _by_project(items: Iterable[ItemReport], where: Callable[[str], str]) -> dict[str, list[ItemReport]]:
    """Those that were begun, by the project of their session, where that is a repository."""
    found: dict[str, list[ItemReport]] = {}
    for entry in items:
        if entry.item.started_at is not None and (project := where(entry.subject.session)):
            found.setdefault(project, []).append(entry)
    return {project: group for project, group in found.items() if os.path.exists(os.path.join(project, ".git"))}


def _changes(
    facts: GitFacts, entries: Iterable[ItemReport], calls: Sequence[Committing]
) -> Iterator[tuple[Subject, Changed]]:
    """What is to be said of each item; what belongs to none is counted for none."""
    groups: dict[_Whose, list[ItemReport]] = {}
    for entry in entries:
        groups.setdefault((entry.subject.session, entry.subject.agent), []).append(entry)
    made = {commit.hash: made for commit in facts.commits if (made := makers(commit, calls))}
    places = {name: [place for call in each if (place := _place(call, groups))] for name, each in made.items()}
    stats = {whose: facts.shares(_works(group), _known(whose, places)) for whose, group in groups.items()}
    times = Counter(commit.hash for group in stats.values() for stat in group for commit in stat.commits)
    for whose, group in groups.items():
        for entry, stat in zip(group, stats[whose], strict=True):
            shared = sum(times[commit.hash] > 1 for commit in stat.commits)
            names = tuple(commit.hash[:12] for commit in stat.commits)
            yield entry.subject, Changed(names, stat.files, *stat.lines, shared)


def _works(entries: Iterable[ItemReport]) -> list[Work]:
    """The work on items that were begun."""
    return [
        Work(at, entry.item.finished_at, entry.tally.files, entry.tally.spans.kept, entry.commands)
        for entry in entries
        if (at := entry.item.started_at) is not None
    ]


def _place(call: Committing, groups: _Groups) -> _Place | None:
    """Where a call counts: for its item; without one, for its agent, else for what that was started for."""
    for of in call.of:
        for whose, group in groups.items():
            for place, entry in enumerate(group):
                if entry.subject == of or (is_task(of.item) and entry.subject.item == of.item):
                    return whose, place
        if of.item:
            return None  # an item that nobody asked for
        if (of.session, of.agent) in groups:
            return (of.session, of.agent), None
    return None


def _known(whose: _Whose, places: Mapping[str, Sequence[_Place]]) -> dict[str, int | None]:
    """What is known of commits for one agent: which of its items made them, or that none of them did."""
    found: dict[str, int | None] = {}
    for name, made_by in places.items():
        mine = [place for owner, place in made_by if owner == whose]
        if None not in mine or any(place is not None for place in mine):
            found[name] = next((place for place in mine if place is not None), None)
    return found
