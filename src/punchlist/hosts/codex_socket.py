"""Ask Codex's daemon about its threads: JSON-RPC in a WebSocket over the unix socket in its home.

Only what that takes: text frames, one question at a time, answers of bounded size and within a deadline.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import stat
import struct
from time import monotonic
from typing import Any, Final, cast

_SOCKET: Final = ("app-server-control", "app-server-control.sock")
_LARGEST: Final = 8 * 1024 * 1024
"""Bytes of all that the daemon sends us in one look, or of one message."""

_NAME: Final = "codex_app_server_daemon"
"""The daemon takes the name of its first client as its own, in its logs and before its model's API, unless it is that
of its own probe. We only look, so nothing of that may change."""

_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10


class DaemonError(OSError):
    """The daemon closed the connection, was too slow, or said something that is no answer."""


class CodexDaemon:
    """A connection to the daemon, as a context. `pid` is the daemon's process, where the system tells."""

    def __init__(self, home: str, *, seconds: float) -> None:
        path = os.path.join(home, *_SOCKET)
        path = min(path, os.path.realpath(path), key=len)  # Codex links a long path to a short one; sockets need that
        found = os.stat(path)
        if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.getuid():
            raise DaemonError(f"{path} is no socket of this user")
        self._deadline = monotonic() + seconds
        self._buffer = bytearray()
        self._received = 0
        self._last_id = 0
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.settimeout(seconds)
            self._socket.connect(path)
            self.pid = _find_peer(self._socket)
            self._shake_hands()
            client = {"name": _NAME, "title": "Punchlist", "version": "0"}
            self.ask("initialize", {"clientInfo": client})
            self._send(_TEXT, json.dumps({"method": "initialized"}).encode())
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> CodexDaemon:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a request; what the daemon tells meanwhile is passed over."""
        self._last_id += 1
        self._send(_TEXT, json.dumps({"id": self._last_id, "method": method, "params": params}).encode())
        while True:
            answer: Any = _decode(self._receive_message())
            if isinstance(answer, dict) and cast("dict[str, Any]", answer).get("id") == self._last_id:
                result: Any = cast("dict[str, Any]", answer).get("result")
                if not isinstance(result, dict):
                    raise DaemonError(f"the daemon refused {method}")
                return cast("dict[str, Any]", result)

    def _shake_hands(self) -> None:
        key = base64.b64encode(os.urandom(16)).decode()
        lines = ("GET / HTTP/1.1", "Host: localhost", "Upgrade: websocket", "Connection: Upgrade")
        self._socket.sendall(
            "\r\n".join((*lines, f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", "", "")).encode()
        )
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            self._read_more()
        if not self._buffer.startswith(b"HTTP/1.1 101 "):
            raise DaemonError("the daemon speaks no WebSocket")
        del self._buffer[: end + 4]

    def _send(self, kind: int, body: bytes) -> None:
        """Send one frame. A client has to mask what it sends; the mask hides nothing."""
        mask = os.urandom(4)
        size = len(body)
        length = bytes([0x80 | size]) if size < 126 else struct.pack(">BH", 0xFE, size)  # we send short texts only
        masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(body))
        self._socket.sendall(bytes([0x80 | kind]) + length + mask + masked)

    def _receive_message(self) -> bytes:
        message = bytearray()
        while True:
            first, second = self._take(2)
            size = second & 0x7F
            if size == 126:
                (size,) = struct.unpack(">H", self._take(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", self._take(8))
            if size > _LARGEST:
                raise DaemonError("the daemon sent too much")
            body, kind = self._take(size), first & 0x0F
            if kind == _CLOSE:
                raise DaemonError("the daemon closed the connection")
            if kind == _PING:
                self._send(_PONG, body)
            elif kind != _PONG:
                message += body
                if first & 0x80:
                    return bytes(message)

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._read_more()
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _read_more(self) -> None:
        left = self._deadline - monotonic()
        if left <= 0:
            raise DaemonError("the daemon was too slow")
        self._socket.settimeout(left)
        received = self._socket.recv(65_536)
        self._received += len(received)
        if not received or self._received > _LARGEST:
            raise DaemonError("the daemon ended the answer, or sent too much")
        self._buffer += received


def _decode(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _find_peer(connected: socket.socket) -> int | None:
    """Return the process at the other end of a unix socket; None where the system does not tell."""
    option: int | None = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    pid, _, _ = struct.unpack("3i", connected.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
    return pid or None
