"""Search the board: agents and waits, items of all lists, sessions, tasks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from punchlist.board import Board
from punchlist.core.matching import holds_words, split_words
from punchlist.core.presence import Roster
from punchlist.core.task import FLOWS, Task
from punchlist.server.pages.now import NowView, load_now
from punchlist.server.pages.rendering import session_path, task_path
from punchlist.server.pages.tasks import title_of
from punchlist.surfaces.lists import GRADES, STYLES, grade_word
from punchlist.surfaces.spans import UNICODE, Style
from punchlist.surfaces.tasks import find_box

_MOST_ITEMS: Final = 20_000
"""Items that are looked at, those that changed last."""

_MOST_SESSIONS: Final = 2_000
_MOST_TASKS: Final = 5_000
_MOST_SHOWN: Final = 50


class Hit(Struct, frozen=True, kw_only=True):
    path: str
    glyph: str
    style: Style
    text: str
    place: str
    grade: str = ""
    grade_style: Style = "dim"
    at: datetime | None = None


class HitGroup(Struct, frozen=True):
    """Hits of one kind; `number` counts those that are not shown too."""

    title: str
    number: int
    hits: Sequence[Hit]


class SearchView(Struct, frozen=True):
    query: str
    at: datetime
    now: NowView
    groups: Sequence[HitGroup]

    @property
    def number(self) -> int:
        agents = self.now.waits.number + sum(section.number for section in self.now.agents)
        return agents + sum(group.number for group in self.groups)


def search(board: Board, roster: Roster, query: str) -> SearchView:
    """Return everything that holds all words of the query, in any case."""
    words = split_words(query)
    groups = [_find_items(board, words), _find_sessions(board, words), _find_tasks(board, words)] if words else []
    return SearchView(query, roster.at, load_now(board, roster, query), [group for group in groups if group.number])


def _find_items(board: Board, words: Sequence[str]) -> HitGroup:
    rows, places = board.store.read(lambda tx: (tx.overviews.latest_items(_MOST_ITEMS), tx.overviews.places()))
    hits: list[Hit] = []
    for row in rows:
        item = row.kept.item
        project, session, agent = places.get(row.agent, ("", "", ""))
        if session and holds_words(" ".join((item.content, *item.notes)), words):
            style, _ = STYLES[item.status]
            grade = grade_word(item)
            hits.append(
                Hit(
                    path=session_path(session),
                    glyph=UNICODE.boxes[item.status.value],
                    style=style,
                    text=item.content,
                    place=f"{os.path.basename(project)} · {agent}",
                    grade=grade,
                    grade_style=GRADES.get(grade, "dim"),
                    at=item.finished_at or item.started_at or item.created_at,
                )
            )
    return HitGroup("items", len(hits), hits[:_MOST_SHOWN])


def _find_sessions(board: Board, words: Sequence[str]) -> HitGroup:
    hits = [
        Hit(path=session_path(row.id), glyph="▤", style="dim", text=row.id, place=row.project, at=row.updated_at)
        for row in board.sessions(limit=_MOST_SESSIONS)
        if holds_words(f"{row.id} {row.project}", words)
    ]
    return HitGroup("sessions", len(hits), hits[:_MOST_SHOWN])


def _find_tasks(board: Board, words: Sequence[str]) -> HitGroup:
    hits: list[Hit] = []
    for row, _ in board.store.read(lambda tx: tx.tasks.lists()):
        if row.name == FLOWS:
            continue
        hits += [
            _view_task(task)
            for task in board.tasks(row.name).list(limit=_MOST_TASKS)
            if holds_words(f"{task.subject} {task.description} {' '.join(task.labels)} {task.owner or ''}", words)
        ]
    return HitGroup("tasks", len(hits), hits[:_MOST_SHOWN])


def _view_task(task: Task) -> Hit:
    box, style = find_box(task)
    return Hit(
        path=task_path(task.list, task.id),
        glyph=UNICODE.boxes[box],
        style=style,
        text=f"{task.id} {task.subject}",
        place=title_of(task.list),
        grade=task.grade or "",
        grade_style=GRADES.get(task.grade or "", "dim"),
        at=task.updated_at,
    )
