"""A way to PostgreSQL that takes a while: `python -m benchmarks.delay_proxy SOCKET MILLISECONDS`; prints its port."""

from __future__ import annotations

import socket
import sys
import threading
import time
from contextlib import suppress
from queue import SimpleQueue


def _read(source: socket.socket, chunks: SimpleQueue[tuple[float, bytes]]) -> None:
    data = b"-"
    while data:
        try:
            data = source.recv(1 << 20)
        except OSError:
            data = b""
        chunks.put((time.monotonic(), data))


def _write(target: socket.socket, chunks: SimpleQueue[tuple[float, bytes]], seconds: float) -> None:
    """Hand each chunk on that long after it came: those that came together arrive together."""
    with suppress(OSError):
        while True:
            came, data = chunks.get()
            if not data:
                break
            time.sleep(max(0.0, came + seconds - time.monotonic()))
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)


def main(server: str, milliseconds: str) -> None:
    """Hand on what clients send after the delay, and answers at once: each round trip takes that much longer."""
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    while True:
        client, _ = listening.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        beyond = socket.socket(socket.AF_UNIX)
        beyond.connect(server)
        for source, target, seconds in ((client, beyond, float(milliseconds) / 1000), (beyond, client, 0)):
            chunks: SimpleQueue[tuple[float, bytes]] = SimpleQueue()
            threading.Thread(target=_read, args=(source, chunks), daemon=True).start()
            threading.Thread(target=_write, args=(target, chunks, seconds), daemon=True).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
