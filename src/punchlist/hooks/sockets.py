"""Serve hooks: a unix socket on which a running `punchlist mcp` takes the events of its agent, or `serve` of all."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Protocol, Self

from punchlist.board import Board
from punchlist.errors import StoreTooNew
from punchlist.hooks.inbox import answer_line
from punchlist_hook import LONGEST_LINE, MONITOR_LINE, is_private_folder, log_error, socket_folder

OnEvent = Callable[[Mapping[str, Any]], None]
"""Called after an event is committed, with the line of the hook."""

_LINE_SECONDS: Final = 2.0
"""Seconds in which a hook has to send its line."""

_BACKLOG: Final = 16


class MonitorChannel(Protocol):
    """Sends lines to the monitor that connected last, until it is closed."""

    def take_monitor(self, monitor: socket.socket) -> None: ...
    def close(self) -> None: ...


class HookServer:
    """A socket and the thread that answers it, one hook after the other: an agent's events are taken in order.

    With `ANY_HOST` as `host_pid` it serves the hooks of every agent that no server of its own answers. Monitors connect
    to the server of their own agent only: it has a `channel` for them.
    """

    def __init__(
        self, board: Board, host_pid: int, on_event: OnEvent | None = None, *, channel: MonitorChannel | None = None
    ) -> None:
        self._board = board
        self._channel = channel
        self._on_event = on_event
        self._file = os.path.realpath(board.store.path)
        self.path = os.path.join(_make_folder(self._file), f"{host_pid}.{os.getpid()}.sock")
        with suppress(FileNotFoundError):  # of a process that had our id and was killed
            os.unlink(self.path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.bind(self.path)
        except FileNotFoundError:  # the last server before us has just removed the folder
            _make_folder(self._file)
            self._socket.bind(self.path)
        os.chmod(self.path, 0o600)  # nobody else can enter the folder, before and after
        self._socket.listen(_BACKLOG)
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="punchlist-hooks", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Take no further events; wait for the one that is being taken."""
        self._withdraw()
        self._thread.join(_LINE_SECONDS)

    def _withdraw(self) -> None:
        """Close the socket: hooks look for the next server, and else use the inbox."""
        self._closed = True
        if self._channel is not None:
            self._channel.close()
        with suppress(OSError):
            os.unlink(self.path)
            os.rmdir(os.path.dirname(self.path))  # fails while another server has its socket there
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._socket.close()

    def _serve(self) -> None:
        while not self._closed:
            try:
                hook, _ = self._socket.accept()
            except OSError:
                return
            with hook:
                try:
                    self._answer(hook)
                except StoreTooNew as error:  # no later hook can be answered either: said once, left to the inbox
                    log_error(self._file, f"hooks wait in the inbox: {error}", once=True)
                    self._withdraw()
                    return
                except Exception as error:  # the hook gets no reply; its line is in the inbox
                    if not self._closed:
                        log_error(self._file, f"a hook was not answered: {type(error).__name__}: {error}")

    def _answer(self, hook: socket.socket) -> None:
        hook.settimeout(_LINE_SECONDS)
        line = bytearray()
        while not line.endswith(b"\n"):
            part = hook.recv(65_536)
            if not part or len(line) > LONGEST_LINE:
                raise ValueError("its line is cut off or too long")
            line += part
        if bytes(line) == MONITOR_LINE:  # it stays, and is sent a line whenever there is news
            if self._channel is not None:
                self._channel.take_monitor(hook.dup())
            return
        answer = answer_line(self._board, bytes(line))
        with suppress(OSError):  # the hook has given up
            hook.sendall(json.dumps(answer).encode() + b"\n")
        if self._on_event is not None:
            self._on_event(json.loads(line))


def serve_hooks(
    board: Board, host_pid: int, on_event: OnEvent | None = None, *, channel: MonitorChannel | None = None
) -> HookServer | None:
    """Serve the hooks of the agent with this process id; None for a board in memory.

    Raise `OSError` where the socket cannot be made: hooks then use the inbox.
    """
    return HookServer(board, host_pid, on_event, channel=channel) if board.store.durable else None


def _make_folder(board: str) -> str:
    folder = socket_folder(board)
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    if not is_private_folder(folder):
        raise OSError(f"`{folder}` is not a private folder of our own")
    return folder
