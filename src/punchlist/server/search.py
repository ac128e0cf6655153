"""Find what holds all words of a search: the same sessions, items and tasks for the page and for the API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from punchlist.board import Board
from punchlist.store import Transaction
from punchlist.terminal.lists import grade_word
from punchlist.views.lists import HitView

_MOST_ITEMS: Final = 20_000
"""Items that are looked at, those that changed last."""

_MOST_SESSIONS: Final = 2_000
_MOST_TASKS: Final = 5_000
"""Tasks of one list."""


class Hit(HitView, frozen=True, kw_only=True):
    """A hit as the page shows it."""

    title: str
    grade: str = ""
    at: datetime | None


def split_words(query: str) -> list[str]:
    """Return the words of a search, for `find_items` and its neighbours."""
    return query.casefold().split()


def holds_words(text: str, words: Sequence[str]) -> bool:
    """True if a text holds all of these words, in whichever order and case; False without any word."""
    folded = text.casefold()
    return bool(words) and all(word in folded for word in words)


def find_sessions(board: Board, words: Sequence[str], project: str | None = None) -> Iterator[Hit]:
    """Yield the sessions whose id, project or label holds all words, the latest first."""

    def read(tx: Transaction) -> list[Hit]:
        lists = tx.lists(project=project, limit=_MOST_SESSIONS)
        # The name that the first agent of a session has for a person; may be empty.
        labels = {row.session: row.label or "" for row in lists if row.parent is None}
        return [
            Hit(
                kind="session",
                project=row.project,
                session=row.id,
                text=f"{row.id} {labels.get(row.id, '')}".strip(),
                status=row.state,
                title=labels.get(row.id, ""),
                at=row.updated_at,
            )
            for row in tx.sessions(project=project, limit=_MOST_SESSIONS)
        ]

    yield from (hit for hit in board.store.read(read) if holds_words(f"{hit.text} {hit.project}", words))


def find_items(board: Board, words: Sequence[str], project: str | None = None) -> Iterator[Hit]:
    """Yield the items whose text or notes hold all words, those that changed last first, also of past lists."""
    for kept, where, session, agent in board.store.read(lambda tx: tx.overviews.latest_items(_MOST_ITEMS)):
        item = kept.item
        if project not in (None, where) or not holds_words(" ".join((item.content, *item.notes)), words):
            continue
        yield Hit(
            kind="item",
            project=where,
            session=session,
            agent=agent,
            id=item.id,
            text="\n".join((item.content, *item.notes)),
            status=item.status.value,
            title=item.content,
            grade=grade_word(item),
            at=item.finished_at or item.started_at or item.created_at,
        )


def find_tasks(board: Board, words: Sequence[str], project: str | None = None) -> Iterator[Hit]:
    """Yield the tasks whose subject, description, labels or owner hold all words."""
    for row, _ in board.store.read(lambda tx: tx.tasks.lists()):
        if project not in (None, row.project):
            continue
        for task in board.tasks(row.name).list(limit=_MOST_TASKS):
            if holds_words(" ".join((task.subject, task.description, *task.labels, task.owner or "")), words):
                yield Hit(
                    kind="task",
                    project=row.project,
                    session=row.session or "",
                    agent=task.owner or "",
                    list=row.name,
                    id=task.id,
                    text=task.subject,
                    status=task.status.value,
                    title=f"{task.id} {task.subject}",
                    grade=task.grade or "",
                    at=task.updated_at,
                )
