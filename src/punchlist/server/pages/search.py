"""Search the board: agents and waits, items of all lists, sessions, tasks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import starmap
from typing import Final

from msgspec import Struct

from punchlist.board import Board
from punchlist.core.matching import split_words
from punchlist.core.task import Task
from punchlist.server.matches import FoundItem, find_items, find_sessions, find_tasks
from punchlist.server.pages.now import NowPage, load_now
from punchlist.server.pages.rendering import session_path, task_path, title_of
from punchlist.store import SessionRow
from punchlist.surfaces.lists import STYLES, grade_word
from punchlist.surfaces.spans import UNICODE, Style
from punchlist.surfaces.tasks import find_box
from punchlist.views.now import Roster

_MOST_SHOWN: Final = 50


class Hit(Struct, frozen=True, kw_only=True):
    path: str
    glyph: str
    style: Style
    text: str
    place: str
    grade: str = ""
    at: datetime | None = None


class HitGroup(Struct, frozen=True):
    """Hits of one kind; `number` counts those that are not shown too."""

    title: str
    number: int
    hits: Sequence[Hit]


class SearchView(Struct, frozen=True):
    query: str
    at: datetime
    now: NowPage
    groups: Sequence[HitGroup]

    @property
    def number(self) -> int:
        agents = self.now.waits.number + sum(section.number for section in self.now.agents)
        return agents + sum(group.number for group in self.groups)


def search(board: Board, roster: Roster, query: str) -> SearchView:
    """Return everything that holds all words of the query, in any case."""
    words = split_words(query)
    groups: list[HitGroup] = []
    if words:
        groups = [
            _make_group("items", map(_view_item, find_items(board, words))),
            _make_group("sessions", starmap(_view_session, find_sessions(board, words))),
            _make_group("tasks", (_view_task(task) for _, task in find_tasks(board, words))),
        ]
    return SearchView(query, roster.at, load_now(board, roster, query), [group for group in groups if group.number])


def _make_group(title: str, found: Iterable[Hit]) -> HitGroup:
    hits = list(found)
    return HitGroup(title, len(hits), hits[:_MOST_SHOWN])


def _view_item(found: FoundItem) -> Hit:
    item = found.item
    style, _ = STYLES[item.status]
    return Hit(
        path=session_path(found.session),
        glyph=UNICODE.boxes[item.status.value],
        style=style,
        text=item.content,
        place=f"{os.path.basename(found.project)} · {found.agent}",
        grade=grade_word(item),
        at=item.finished_at or item.started_at or item.created_at,
    )


def _view_session(row: SessionRow, label: str) -> Hit:
    text = f"{row.id} {label}".strip()
    return Hit(path=session_path(row.id), glyph="▤", style="dim", text=text, place=row.project, at=row.updated_at)


def _view_task(task: Task) -> Hit:
    box, style, _ = find_box(task)
    return Hit(
        path=task_path(task.list, task.id),
        glyph=UNICODE.boxes[box],
        style=style,
        text=f"{task.id} {task.subject}",
        place=title_of(task.list),
        grade=task.grade or "",
        at=task.updated_at,
    )
