"""What the commands that report on work have in common: whose work, and what version control saw of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from punchlist.bridges.git import GitFacts, git_facts
from punchlist.bridges.git_shares import Work
from punchlist.config import project_of
from punchlist.surfaces.report_values import Changed, Changes

if TYPE_CHECKING:
    from punchlist.board import Board
    from punchlist.core.grounding import Subject
    from punchlist.core.report import ItemReport


def changes_of(board: Board, items: Iterable[ItemReport]) -> Changes:
    """What Git saw of the work on each item that was begun, in the projects that still are where they were."""
    by_session: dict[str, list[ItemReport]] = {}
    for entry in items:
        if entry.item.started_at is not None:
            by_session.setdefault(entry.subject.session, []).append(entry)
    found: dict[Subject, Changed] = {}
    facts: dict[str, GitFacts | None] = {}
    for session, entries in by_session.items():
        rows = board.lists(session=session)
        project = rows[0].project if rows else ""
        if not project or not os.path.exists(os.path.join(project, ".git")):
            continue
        if project not in facts:
            begun = [entry.item.started_at for group in by_session.values() for entry in group]
            facts[project] = git_facts(project_of(project), min(at for at in begun if at is not None))
        known = facts[project]
        if known is not None:
            for agent in {entry.subject.agent: None for entry in entries}:
                found.update(_shares(known, [entry for entry in entries if entry.subject.agent == agent]))
    return found


def _shares(facts: GitFacts, entries: Sequence[ItemReport]) -> Iterator[tuple[Subject, Changed]]:
    """The share of each item of one agent; what belongs to no item is counted for none."""
    works = [
        Work(item.started_at, item.finished_at, entry.tally.files, entry.tally.spans.kept, entry.commands)
        for entry in entries
        if (item := entry.item).started_at is not None
    ]
    for entry, seen in zip(entries, facts.shares(works), strict=True):
        commits = tuple(commit.hash[:12] for commit in seen.commits)
        yield entry.subject, Changed(commits, seen.files, *seen.lines)
