"""Take the events of the client's hooks beside its requests: over a socket, and what they left in the inbox."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from punchlist.errors import PunchlistError

if TYPE_CHECKING:
    from punchlist.board import Board
    from punchlist.hosts.sockets import HookServer

_START_SECONDS = 1.0
"""A client that only lists the tools is gone by then: it costs no start of the board."""

_LOOK_SECONDS = 2.0
"""How often the inbox is looked for. Hooks write to it only while no server answers them."""


class HookListener:
    """A thread that opens the board once there is one, serves hooks on a socket and ingests the inbox."""

    def __init__(self, url: str | None, open_board: Callable[[], Board]) -> None:
        self._url = url
        self._open_board = open_board
        self._closed = threading.Event()
        self._server: HookServer | None = None
        self._thread = threading.Thread(target=self._run, name="mcp-hooks", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Take no further events; wait for the one that is being taken."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join(_LOOK_SECONDS)
        if self._server is not None:
            self._server.close()

    def _run(self) -> None:
        pause = _START_SECONDS
        while not self._closed.wait(pause):
            pause = _LOOK_SECONDS
            # Without the socket, or with a board that cannot be used now, hooks use the inbox.
            with suppress(PunchlistError, OSError):
                self._listen()

    def _listen(self) -> None:
        from punchlist.store import store_path
        from punchlist_hook import inbox_path

        path = os.path.realpath(store_path(self._url))
        if not os.path.exists(path) and not os.path.exists(inbox_path(path)):
            return  # there is no board yet, and nothing for it
        from punchlist.hosts.back_channel import BackChannel
        from punchlist.hosts.inbox import ingest
        from punchlist.hosts.sockets import serve_hooks

        board = self._open_board()
        if self._server is None and not self._closed.is_set():
            host = os.getppid()
            self._server = serve_hooks(board, host, channel=BackChannel(board, host))
        ingest(board)
