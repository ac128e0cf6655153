"""Serve hooks: a unix socket on which a running `punchlist mcp` takes the events of its agent, or `serve` of all."""

from __future__ import annotations

import json
import os
import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Final, Protocol, Self

from punchlist.board import Board
from punchlist.errors import StoreTooNew
from punchlist.hooks.inbox import answer_line
from punchlist_hook import LONGEST_LINE, MONITOR_LINE, is_private_folder, log_error, socket_folder

_LINE_SECONDS: Final = 2.0
"""Seconds in which a hook has to send its line."""

_BACKLOG: Final = 16
_WAKE: Final = b'{"wake":'


class MonitorChannel(Protocol):
    """Sends lines to the monitor that connected last, until it is closed."""

    def take_monitor(self, monitor: socket.socket) -> None: ...
    def send_line(self, line: str) -> bool: ...
    def close(self) -> None: ...


class HookServer:
    """A socket and the thread that answers it, one hook after the other: an agent's events are taken in order.

    With `ANY_HOST` as `host_pid` it serves the hooks of every agent that no server of its own answers. Monitors connect
    to the server of their own agent only: it has a `channel` for them. Raise `OSError` where the socket cannot be made:
    hooks then use the inbox.
    """

    def __init__(self, board: Board, host_pid: int, *, channel: MonitorChannel | None = None) -> None:
        self._board = board
        self._channel = channel
        self._file = board.store.files
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
        if line.startswith(_WAKE):  # from the relay of this machine, for the monitor of this agent
            text = str(json.loads(line)["wake"])
            answer = {"sent": self._channel is not None and self._channel.send_line(text)}
        else:
            answer = answer_line(self._board, bytes(line))
        with suppress(OSError):  # the hook has given up
            hook.sendall(json.dumps(answer).encode() + b"\n")


def _make_folder(board: str) -> str:
    folder = socket_folder(board)
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    if not is_private_folder(folder):
        raise OSError(f"`{folder}` is not a private folder of our own")
    return folder
