"""Follow lists through the events of a board, and pass messages made from events to a consumer.

The events of one change stand together in the log, closed by the one with the new revision. A follower that joins in
the middle passes a function that looks lists up on the board, or says what is known already (`know`); earlier events
are skipped.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from punchlist.board import Board, parse_cursor
from punchlist.core.events import Event, fold
from punchlist.core.todo import TodoList
from punchlist.errors import StoreClosed

logger = logging.getLogger(__name__)


Look = Callable[[str, str, int], TodoList | None]
"""Returns the list of a session's agent at a revision, or None if it is no longer known."""

_WIPED: Final = "list.wiped"
_CONFIRMED: Final = "list.confirmed"
_LEAD: Final = ("item.", "plan.started", "list.ordered", _WIPED)


class ListChange(NamedTuple):
    """One change of one list.

    Some dialects clear a list as soon as its last item is finished. `shown` is then the finished list, which people
    want to see until there is another one.
    """

    before: TodoList
    shown: TodoList


class Lists:
    """The lists of all agents in the events. Where events are missing, `look` is asked for the list."""

    def __init__(self, look: Look | None = None) -> None:
        self._look = look
        self._known: dict[tuple[str, str], TodoList] = {}
        self._waiting: dict[tuple[str, str], list[Event]] = {}

    def join(self, look: Look) -> None:
        """Ask `look` from now on for lists of which events are missing, unless another one was given."""
        self._look = self._look or look

    def know(self, session: str, agent: str, todos: TodoList) -> None:
        """Set a list that is known from elsewhere."""
        self._known[session, agent] = todos

    def known(self, session: str, agent: str) -> TodoList:
        return self._known.get((session, agent), TodoList())

    def add(self, event: Event) -> ListChange | None:
        """Read one event; return the change that it closes, if it closes one."""
        if event.session is None or event.agent is None:
            return None
        key = (event.session, event.agent)
        if event.kind.startswith(_LEAD):
            self._waiting.setdefault(key, []).append(event)
            return None
        revision = event.data.get("revision")
        if not event.kind.startswith("list.") or not isinstance(revision, int):
            return None
        waiting, joins = self._waiting.pop(key, []), key not in self._known
        before = self._look_before(key, event, revision) if joins else self._known[key]
        if revision <= before.revision or event.kind == _CONFIRMED:
            return None
        after = shown = None
        if revision == before.revision + 1:
            after = _fold_events(before, [*waiting, event])
            shown = _fold_events(before, [each for each in (*waiting, event) if each.kind != _WIPED])
        if self._look is not None and (joins or after is None):
            found = self._look(*key, revision)
            if found != after:  # events of this change, or changes before it, were missed
                after = shown = found
        if after is None:
            return None
        self._known[key] = after
        return ListChange(before, shown or after)

    def _look_before(self, key: tuple[str, str], event: Event, revision: int) -> TodoList:
        found = None
        if self._look is not None:
            found = self._look(*key, revision if event.kind == _CONFIRMED else revision - 1)
        if found is None:
            return TodoList()
        self._known[key] = found
        return found


def looking_into(board: Board) -> Look:
    """Return a function that looks lists up in a board's history."""

    def look(session: str, agent: str, revision: int) -> TodoList | None:
        row = board.store.agent(session, agent)
        return None if row is None else board.store.list_at(row.number, revision)

    return look


def _fold_events(todos: TodoList, events: list[Event]) -> TodoList | None:
    """Return the list after these events; None if they are not about this list."""
    try:
        for event in events:
            todos = fold(todos, event.kind, event.data)
    except (LookupError, StopIteration, TypeError, ValueError, AttributeError):
        return None
    return todos


# Feeds: messages made from the events of a board.


def event_text(data: Mapping[str, Any]) -> str:
    """Return the text of an event: all that is kept of it, else its one line; empty if the board keeps no texts."""
    return str(data.get("text") or data.get("preview") or "")


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
_POLL: Final = 0.5
"""Seconds between two ticks while nothing happens: a feed may hold text back for a while."""


class Feed(Protocol[T_co]):
    """Makes messages from events, and from time that passes."""

    def add(self, event: Event) -> Iterable[T_co]: ...
    def tick(self, now: datetime) -> Iterable[T_co]: ...


def pass_on(
    board: Board,
    feed: Feed[T],
    deliver: Callable[[T], object],
    *,
    stop: threading.Event,
    after: int | str | None = None,
) -> None:
    """Deliver a feed's messages until `stop` is set or the board is closed; run it on a thread of its own.

    Starts now unless `after` says where. A feed that follows lists can look up earlier ones on the board.
    Errors of `deliver` are logged. It should be quick, as `bridges.sinks.Outbox.put` is.
    """
    lists = getattr(feed, "lists", None)
    if isinstance(lists, Lists):
        lists.join(looking_into(board))
    try:
        cursor = board.store.last_seq() if after is None else parse_cursor(after)
        while not stop.is_set():
            for event in board.events(cursor):
                cursor = event.seq
                _deliver([*feed.add(event), *feed.tick(event.at)], deliver)
            _deliver(feed.tick(board.now()), deliver)
            board.store.wait(cursor, _POLL)
    except StoreClosed:
        return


def _deliver(messages: Iterable[T], deliver: Callable[[T], object]) -> None:
    for message in messages:
        try:
            deliver(message)
        except Exception:
            logger.exception("a message from the board could not be delivered")
