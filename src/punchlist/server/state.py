"""The state of one server while it runs. Handlers get it by `state_of(request)`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

from anyio import CapacityLimiter, fail_after, to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection

from punchlist.board import Board
from punchlist.core.programs import doubt_person
from punchlist.errors import StoreBusy
from punchlist.presence.screen_feed import BriefCache, LiveRoster
from punchlist.server.access import Access, Grant
from punchlist.server.broadcast import Broadcaster
from punchlist.settings.environment import login_name
from punchlist.store import Store
from punchlist.store.sidecars import limit_wait
from punchlist.views.now import Roster

MOST_WRITES: Final = 8
"""Writes on a thread at the same time. The board takes one after the other, so more would only wait."""

_WRITE_SECONDS: Final = 5.0
"""Seconds that a write waits for its turn before it is answered with 503."""

_READ_SECONDS: Final = 0.25
"""Seconds that a read waits for the lock, to write what has come due; after that the board is read as it stands."""

Result = TypeVar("Result")


class WriteQueue:
    """Runs the writes of requests on a few threads of their own: those that wait for the lock hold up no read."""

    def __init__(self, store: Store, *, seconds: float = _WRITE_SECONDS) -> None:
        self._path = store.path
        self._seconds = seconds
        self._places = CapacityLimiter(MOST_WRITES)

    @property
    def count(self) -> int:
        """How many writes run or wait."""
        found = self._places.statistics()
        return found.borrowed_tokens + found.tasks_waiting

    async def run(self, work: Callable[..., Result], *args: Any) -> Result:
        """Run work that may write, and return its result; raise `StoreBusy` if its turn does not come in time."""
        began, place = time.monotonic(), object()
        try:
            with fail_after(self._seconds):
                await self._places.acquire_on_behalf_of(place)
        except TimeoutError:
            raise StoreBusy(path=self._path, seconds=f"{self._seconds:g}") from None
        try:
            with limit_wait(max(0.0, self._seconds - (time.monotonic() - began))):
                # A limiter of its own: the thread counts against the place that is held, not against those of reads.
                return await to_thread.run_sync(partial(work, *args), limiter=CapacityLimiter(1))
        finally:
            self._places.release_on_behalf_of(place)


async def run_read(work: Callable[..., Result], *args: Any) -> Result:
    """Run work that only reads on a thread. It writes what has come due, if the lock can be had at once."""
    with limit_wait(_READ_SECONDS, in_all=True):
        return await run_in_threadpool(work, *args)


class ServerState:
    """The board that is served, and the parts of the server that live as long as it."""

    app: Starlette
    """The application behind the gate; `make_app` sets it."""

    def __init__(self, board: Board, access: Access, *, is_watched: bool = False) -> None:
        self.board = board
        self.access = access
        self.broadcaster = Broadcaster(board)
        self.writes = WriteQueue(board.store)
        self.deliveries = CapacityLimiter(MOST_WRITES)
        """Threads that tell hosts what was changed, once its reply was sent: they too may wait for the lock."""
        self.live = LiveRoster(board, who=login_name(), watches=is_watched)
        """The agents of this machine; it follows them while the server runs."""
        self.briefs = BriefCache(board)
        self.started_at = board.now()

    def load_roster(self) -> Roster:
        """Return the first screen as it is now: what hosts say is at most two seconds old, the board is read."""
        self.live.load()
        return self.live.roster


def state_of(request: HTTPConnection) -> ServerState:
    return request.app.state.server


def grant_of(request: HTTPConnection) -> Grant:
    """Return what the caller may do. Every route but a public one has a grant."""
    return request.state.grant


def has_person(grant: Grant) -> bool:
    """True if a person is known to do this: they have the link or a person's token, and no agent started the server."""
    return grant.is_person and doubt_person(os.environ, is_terminal=True) is None
