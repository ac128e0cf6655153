"""Run the server in this process: its socket, and its end within a second."""

from __future__ import annotations

import errno
import logging
import socket
from typing import Final

import uvicorn

from punchlist.errors import InvalidInput
from punchlist.server.app import make_app
from punchlist.server.state import ServerState

DEFAULT_PORT: Final = 8137
_MOST_PORTS: Final = 50
"""Ports after the usual one that are tried where it is taken."""

_STOP_SECONDS: Final = 1
"""Seconds that requests have to end in when the server stops."""


def _is_fault(record: logging.LogRecord) -> bool:
    """Return False for uvicorn's complaint about a stream that we cut off: its client took nothing."""
    return "without completing response" not in record.getMessage()


class BoardServer(uvicorn.Server):
    """The server of one board. `should_exit = True`, Ctrl-C or SIGTERM stops it."""

    def __init__(self, state: ServerState) -> None:
        self.state = state
        super().__init__(
            uvicorn.Config(
                make_app(state),
                ws="none",
                lifespan="on",
                proxy_headers=False,  # nothing here depends on who asks or by which scheme
                access_log=False,  # an address may hold a token
                log_level="warning",
                server_header=False,
                timeout_graceful_shutdown=_STOP_SECONDS,
            )
        )
        logging.getLogger("uvicorn.error").addFilter(_is_fault)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams first: else they would keep the server."""
        self.state.broadcaster.close()
        await super().shutdown(sockets)


def bind(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens on a port; without one, on the usual port or the next that is free."""
    wanted = [port] if port is not None else range(DEFAULT_PORT, DEFAULT_PORT + _MOST_PORTS)
    for number in wanted:
        try:
            listener = socket.create_server((host, number), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise InvalidInput(problem=f"Cannot listen on {host}, port {number}: {error.strerror}.") from error
        else:
            # Connections inherit it. asyncio sets it only on sockets that name their protocol, and without it the body
            # of a response waits 40 ms for the reader to acknowledge its headers.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return listener
    which = f"Port {port} is" if port is not None else f"The ports from {DEFAULT_PORT} on are"
    raise InvalidInput(problem=f"{which} taken; name another one with `--port`.")
