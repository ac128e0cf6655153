"""Search the board: agents and waits, items of all lists, sessions, tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from punchlist.board import Board
from punchlist.core.matching import split_words
from punchlist.server.matches import Hit, find_items, find_sessions, find_tasks
from punchlist.server.pages.now import NowPage, load_now
from punchlist.views.now import Roster

_KINDS = {"items": find_items, "sessions": find_sessions, "tasks": find_tasks}


class SearchPage(Struct, frozen=True):
    query: str
    at: datetime
    now: NowPage
    groups: Mapping[str, Sequence[Hit]]

    @property
    def number(self) -> int:
        agents = self.now.waits.number + sum(section.number for section in self.now.agents)
        return agents + sum(map(len, self.groups.values()))


def search(board: Board, roster: Roster, query: str) -> SearchPage:
    """Return everything that holds all words of the query, in any case."""
    words = split_words(query)
    groups = {name: list(find(board, words)) for name, find in _KINDS.items()} if words else {}
    return SearchPage(query, roster.at, load_now(board, roster, query), groups)
