"""One request to a web server, that is over in time whatever the server does.

The timeouts of sockets are for each read and write: a server that sends a byte now and then holds them up for ever. So
the request has a thread of its own, which is left alone when the time is up.
"""

from __future__ import annotations

import socket
import threading
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.error import HTTPError


class Post(threading.Thread):
    """Begins at once. Redirects are not followed."""

    def __init__(self, request: urllib.request.Request, seconds: float) -> None:
        super().__init__(name="punchlist-post", daemon=True)
        self._request = request
        self._seconds = seconds
        self._connections: list[HTTPConnection] = []
        self._error: Exception | None = None
        self.start()

    def is_over(self) -> bool:
        """Waits, and says whether the answer came in time; raises what went wrong, or `HTTPError` if it is no 2xx."""
        self.join(self._seconds)
        if self.is_alive():
            self._leave()
            return False
        if self._error is not None:
            raise self._error
        return True

    def run(self) -> None:
        keep = self._connections.append
        opener = urllib.request.build_opener(_NoRedirects, _Plain(keep), _Secure(keep))
        try:
            opener.open(self._request, timeout=self._seconds).close()
        except HTTPError as error:
            self._error = error
            error.close()
        except Exception as error:
            self._error = error

    def _leave(self) -> None:
        """Hangs up, so that the thread comes to its end."""
        for connection in self._connections:
            with suppress(OSError, AttributeError):
                connection.sock.shutdown(socket.SHUT_RDWR)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class _Kept(urllib.request.AbstractHTTPHandler):
    """Hands out the connections that it makes."""

    def __init__(self, keep: Callable[[HTTPConnection], None]) -> None:
        super().__init__()
        self._keep = keep

    def do_open(self, http_class: Any, req: urllib.request.Request, **http_conn_args: Any) -> HTTPResponse:
        def made(*args: Any, **options: Any) -> HTTPConnection:
            connection: HTTPConnection = http_class(*args, **options)
            self._keep(connection)
            return connection

        return super().do_open(made, req, **http_conn_args)


class _Plain(_Kept, urllib.request.HTTPHandler):
    pass


class _Secure(_Kept, urllib.request.HTTPSHandler):
    pass
