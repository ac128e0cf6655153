"""Find what holds all words of a search: the same sessions, items and tasks for the page and for the API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from punchlist.board import Board
from punchlist.core.matching import holds_words
from punchlist.core.task import Task
from punchlist.core.todo import TodoItem
from punchlist.store import SessionRow, Transaction
from punchlist.store.task_rows import TaskListRow

_MOST_ITEMS: Final = 20_000
"""Items that are looked at, those that changed last."""

_MOST_SESSIONS: Final = 2_000
_MOST_TASKS: Final = 5_000
"""Tasks of one list."""


class FoundItem(NamedTuple):
    """An item of a list, also of a past one, and the agent that has it."""

    item: TodoItem
    project: str
    session: str
    agent: str


def find_sessions(board: Board, words: Sequence[str], project: str | None = None) -> Iterator[tuple[SessionRow, str]]:
    """Yield the sessions whose id, project or label holds all words, the latest first.

    The label is the name that its first agent has for a person; it may be empty.
    """

    def read(tx: Transaction) -> list[tuple[SessionRow, str]]:
        lists = tx.lists(project=project, limit=_MOST_SESSIONS)
        labels = {row.session: row.label or "" for row in lists if row.parent is None}
        rows = tx.sessions(project=project, limit=_MOST_SESSIONS)
        return [(row, labels.get(row.id, "")) for row in rows]

    for row, label in board.store.read(read):
        if holds_words(f"{row.id} {row.project} {label}", words):
            yield row, label


def find_items(board: Board, words: Sequence[str], project: str | None = None) -> Iterator[FoundItem]:
    """Yield the items whose text or notes hold all words, those that changed last first."""
    rows, places = board.store.read(lambda tx: (tx.overviews.latest_items(_MOST_ITEMS), tx.overviews.places()))
    for row in rows:
        found = FoundItem(row.kept.item, *places.get(row.agent, ("", "", "")))
        if not found.session or project not in (None, found.project):
            continue
        if holds_words(" ".join((found.item.content, *found.item.notes)), words):
            yield found


def find_tasks(board: Board, words: Sequence[str], project: str | None = None) -> Iterator[tuple[TaskListRow, Task]]:
    """Yield the tasks whose subject, description, labels or owner hold all words."""
    for row, _ in board.store.read(lambda tx: tx.tasks.lists()):
        if project not in (None, row.project):
            continue
        for task in board.tasks(row.name).list(limit=_MOST_TASKS):
            if holds_words(" ".join((task.subject, task.description, *task.labels, task.owner or "")), words):
                yield row, task
