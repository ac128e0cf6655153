"""Servers that do what a network or a hostile peer does: cut after a request, answer without an end, lead elsewhere."""

import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

Answer = Callable[[socket.socket, bytes], None]
"""Gets the connection and the request, and answers it or not."""


@contextmanager
def serve(answer: Answer) -> Generator[str]:
    """Serve one answer to each request, on a connection of its own each; yield the address."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                if request := read_request(connection):
                    answer(connection, request)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(60)
        assert not thread.is_alive()


def read_request(connection: socket.socket) -> bytes:
    """Return a request with its body; empty once the other side has closed."""
    found = b""
    while b"\r\n\r\n" not in found:
        if not (piece := connection.recv(65_536)):
            return b""
        found += piece
    head, _, body = found.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body


def forward(url: str, request: bytes) -> bytes:
    """Send a request to the real server, and return its whole answer."""
    place = urlsplit(url)
    closing = request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
    with socket.create_connection((place.hostname, place.port)) as upstream:
        upstream.sendall(closing)
        found = b""
        while piece := upstream.recv(65_536):
            found += piece
    return found
