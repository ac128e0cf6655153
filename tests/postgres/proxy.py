"""A proxy before PostgreSQL: it counts round trips, swallows what is sent, or ends a connection at a word."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit


class Proxy:
    """Hands bytes on to a server and back. `breaks_at` is a word of a client after which its connection ends, once."""

    def __init__(self, postgres: str) -> None:
        folder = parse_qs(urlsplit(postgres).query)["host"][0]
        self._server = str(next(path for path in Path(folder).glob(".s.PGSQL.*") if path.suffix != ".lock"))
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._port: int = self._listening.getsockname()[1]
        self._ends: list[socket.socket] = []
        self.breaks_at: bytes | None = None
        self.breaks_always = False
        self.is_cut = False
        self.trips = 0
        """How often a client spoke after the server had."""
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def find_url(self, board: str) -> str:
        """Return the address of a board by way of this proxy."""
        schema = board.rpartition("%3D")[2]
        return f"postgresql://postgres@127.0.0.1:{self._port}/postgres?options=-csearch_path%3D{schema}"

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.socket(socket.AF_UNIX)
                self._ends += [client, server]
                server.connect(self._server)
                has_answered = [True]
                for source, target in ((client, server), (server, client)):
                    arguments = (source, target, source is client, has_answered)
                    threading.Thread(target=self._pump, args=arguments, daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, is_client: bool, has_answered: list[bool]) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 20):
                self.trips += is_client and has_answered[0]
                has_answered[0] = not is_client
                if self.is_cut:
                    continue
                breaks = self.breaks_at is not None and self.breaks_at in data
                if breaks:  # before the server can answer
                    self.breaks_at = self.breaks_at if self.breaks_always else None
                    source.shutdown(socket.SHUT_RDWR)
                target.sendall(data)
                if breaks:
                    break
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def refuse(self) -> None:
        """Take no new connections; those that stand go on."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._accepting.join(5)

    def end_connections(self) -> None:
        """End what was begun so far; new connections are taken."""
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.refuse()
        for end in (self._listening, *self._ends):
            end.close()
