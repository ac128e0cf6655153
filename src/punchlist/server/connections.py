"""Bound the connections that no token came by: when they are closed, and how many there are. uvicorn bounds neither."""

from __future__ import annotations

import asyncio
import resource
from contextlib import suppress
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

MOST_STRANGERS: Final = 512
"""Connections without a token. When one more comes, the oldest is closed: a new one is about to say who it is."""

_MOST_FILES: Final = 8192
_RECEIVED: Final = (h11.DONE, h11.MUST_CLOSE, h11.CLOSED)  # by a client that has sent its request to the end


class Connections(ServerState):
    """The connections of one server."""

    def __init__(self) -> None:
        super().__init__()
        self.strangers: dict[Connection, None] = {}
        """Those that no token came by, oldest first; one that has shown a token leaves it a little later."""
        self.request_seconds = 10.0
        """Seconds in which a request has to be complete, from the connection or from the response before it."""


class Connection(H11Protocol):
    """A connection with a deadline for each request. A response may take as long as it likes."""

    server_state: Connections
    _deadline: asyncio.TimerHandle | None = None

    @property
    def has_grant(self) -> bool:
        """True if the last request had a token that counts: the gate notes that in its scope."""
        request: Any = self.scope or {"state": {}}
        return request["state"].get("grant") is not None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._watch_request()
        strangers = self.server_state.strangers
        strangers[self] = None
        while len(strangers) > MOST_STRANGERS:
            oldest = next(iter(strangers))
            del strangers[oldest]
            if not oldest.has_grant:
                oldest.transport.abort()

    def handle_events(self) -> None:
        if self.has_grant:  # of the request before; the scope of the next one has none until the gate was asked
            self.server_state.strangers.pop(self, None)
        super().handle_events()
        self._watch_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_deadline()
        self.server_state.strangers.pop(self, None)
        super().connection_lost(exc)

    def _watch_request(self) -> None:
        if self.conn.their_state in _RECEIVED:
            self._stop_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.server_state.request_seconds, self.transport.abort)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def raise_file_limit() -> None:
    """Let this process have as many files and connections open as it may: the usual limit of 1,024 is soon reached."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(_MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
