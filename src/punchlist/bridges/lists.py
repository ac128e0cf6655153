"""Lists, followed through the events of a board: which list changed, and what it was before.

The events of one change stand together in the log, closed by the one that bears the new revision. Whoever joins in the
middle says what is known already (`know`); what the log tells of before that is passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from punchlist.board import Board
from punchlist.core.events import Event, fold
from punchlist.core.todo import TodoList

Look = Callable[[str, str, int], TodoList | None]
"""The list of a session's agent at a revision, or None if nobody knows it any more."""

_LEAD: Final = ("item.", "plan.started", "list.ordered", "list.wiped")


class ListChange(NamedTuple):
    """One change of one list. `event` is the one that closed it."""

    event: Event
    before: TodoList
    after: TodoList


class Lists:
    """The lists of as many agents as its events tell of. Where events are missing, `look` is asked for the list."""

    def __init__(self, look: Look | None = None) -> None:
        self._look = look
        self._known: dict[tuple[str, str], TodoList] = {}
        self._waiting: dict[tuple[str, str], list[Event]] = {}

    def know(self, session: str, agent: str, todos: TodoList) -> None:
        """The list as it is known from elsewhere."""
        self._known[session, agent] = todos

    def known(self, session: str, agent: str) -> TodoList:
        return self._known.get((session, agent), TodoList())

    def add(self, event: Event) -> ListChange | None:
        """Takes in one event; the change that it closes, if it closes one."""
        if event.session is None or event.agent is None:
            return None
        key = (event.session, event.agent)
        if event.kind.startswith(_LEAD):
            self._waiting.setdefault(key, []).append(event)
            return None
        revision = event.data.get("revision")
        if not event.kind.startswith("list.") or not isinstance(revision, int):
            return None
        before, waiting = self._known.get(key, TodoList()), self._waiting.pop(key, [])
        if revision <= before.revision:
            return None
        # Whoever joins in the middle may have missed a part of the first change that is seen here.
        whole = revision == before.revision + 1 and (key in self._known or self._look is None)
        after = _folded(before, [*waiting, event]) if whole else None
        if after is None and self._look is not None:
            after = self._look(*key, revision)
        if after is None:
            return None
        self._known[key] = after
        return ListChange(event, before, after)


def looking_into(board: Board) -> Look:
    """A look into the history of a board."""

    def look(session: str, agent: str, revision: int) -> TodoList | None:
        row = board.store.agent(session, agent)
        return None if row is None else board.store.list_at(row.number, revision)

    return look


def _folded(todos: TodoList, events: list[Event]) -> TodoList | None:
    """The list after these events; None if they are not about this list."""
    try:
        for event in events:
            todos = fold(todos, event.kind, event.data)
    except (LookupError, StopIteration, TypeError, ValueError, AttributeError):
        return None
    return todos
