"""From a board to somebody else: follows the events, and hands on what a feed makes of them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final, Protocol, TypeVar, runtime_checkable

from punchlist.board import Board, cursor_of
from punchlist.bridges.lists import Look, looking_into
from punchlist.core.events import Event
from punchlist.errors import StoreClosed

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
logger = logging.getLogger(__name__)
_POLL: Final = 0.5
"""Seconds between two looks at the time while nothing happens."""


class Feed(Protocol[T_co]):
    """Makes messages of events, and of time that goes by."""

    def add(self, event: Event) -> Iterable[T_co]: ...
    def tick(self, now: datetime) -> Iterable[T_co]: ...


@runtime_checkable
class Joining(Protocol):
    """A feed that has to know lists as they were before the events that it sees."""

    def join(self, look: Look) -> None: ...


def pass_on(
    board: Board,
    feed: Feed[T],
    deliver: Callable[[T], object],
    *,
    stop: threading.Event,
    after: int | str | None = None,
) -> None:
    """Until `stop` is set or the board is closed; run it on a thread of its own. By default from now on.

    A feed that follows lists is given a look into the board, for what was before that.
    What `deliver` raises is logged. It should be quick: `bridges.sinks.Outbox.put` is.
    """
    if isinstance(feed, Joining):
        feed.join(looking_into(board))
    try:
        cursor = board.store.last_seq() if after is None else cursor_of(after)
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
