"""One kept connection to a server: requests that are applied once, bounded replies, errors by their codes."""

from __future__ import annotations

import io
import os
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPResponse, HTTPSConnection
from time import monotonic, sleep
from typing import Any, Final, cast
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from msgspec import Struct

from punchlist.errors import (
    CallReused,
    InvalidInput,
    PunchlistError,
    ServerRefused,
    ServerUnreachable,
    StoreBusy,
    StoreClosed,
    find_error,
)
from punchlist.settings.servers import check_server
from punchlist.text import clean, cut

PREFIX: Final = "/api/v1"
TYPED: Final = "Punchlist-Typed"
"""The header by which our command says that a person types it, as far as it can tell."""

MOST_BYTES: Final = 64_000_000
"""Bytes of one reply: a list of 10,000 tasks has 20 MB."""

_CONNECT_SECONDS: Final = 5.0
_SECONDS: Final = 30.0
"""Seconds that a request may take, from its first byte to the last one of its reply."""

_PAUSES: Final = (0.0, 0.2, 0.6)
"""Seconds before a request is sent again: at once where a kept connection was closed, then as a server restarts."""

_AWAY_SECONDS: Final = 2.0
"""Seconds after which a server that could not be reached is asked again."""

_LONGEST_DETAIL: Final = 2_000
"""Characters of the sentence of an error: agents hear it, and terminals show it."""

_OF_OTHER_VERSIONS: Final = ("not_found", "path_unknown", "method_not_allowed")
"""Codes of an address that a server of another version does not have: nothing is wrong with what was sent there."""

_ENDED: Final = "it closed the connection"


class _Problem(Struct):
    """A problem document, as far as an error is made of it."""

    code: str
    detail: str


class _TimedReader(io.RawIOBase):
    """Reads a socket until a moment, however slowly its bytes come: each wait ends there, and none begins anew."""

    def __init__(self, sock: socket.socket, ends: float) -> None:
        self._sock = sock
        self._ends = ends

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        left = self._ends - monotonic()
        if left <= 0:
            raise TimeoutError(f"no whole answer within {_SECONDS:g} s")
        self._sock.settimeout(left)
        return self._sock.recv_into(buffer)


class _TimedSocket:
    """Gives a response its reader."""

    def __init__(self, sock: socket.socket, ends: float) -> None:
        self._reader = _TimedReader(sock, ends)

    def makefile(self, *_: object, **__: object) -> io.BufferedReader:
        return io.BufferedReader(self._reader)


def _make_response(ends: float, sock: socket.socket, *args: Any, **options: Any) -> HTTPResponse:
    timed: Any = _TimedSocket(sock, ends)
    return HTTPResponse(timed, *args, **options)


class Connection:
    """A connection to one server, opened when it is first needed. Safe to use from many threads, one at a time."""

    def __init__(
        self, url: str, token: str, *, is_typed: bool = False, seconds: float = _SECONDS, most: int = MOST_BYTES
    ) -> None:
        self.url = check_server(url)
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        if is_typed:
            self._headers[TYPED] = "terminal"
        if not token.isascii() or not token.isprintable():
            raise InvalidInput(problem="The token of a server is printable ASCII; copy it again.")
        self._seconds = seconds
        self._most = most
        self._streaming: socket.socket | None = None
        self._lock = threading.Lock()
        self._kept: HTTPConnection | None = None
        self._process = os.getpid()
        self._away_until = 0.0
        self._is_closed = False

    def close(self) -> None:
        """Close the connection for good, and end what another thread waits for."""
        self._is_closed = True
        for waiting in (self._streaming, self._kept and self._kept.sock):
            if waiting is not None:
                with suppress(OSError):
                    waiting.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._drop()

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        key: str = "",
        headers: Mapping[str, str] | None = None,
        prefix: str = PREFIX,
        repeats: bool = False,
        kind: Any = Any,
    ) -> Any:
        """Send a request and return its reply, of this `kind`; raise the error that it was answered with.

        A body is JSON, or bytes as they are. After a lost reply it is sent again if that does nothing twice: it only
        reads, has an idempotency `key`, or `repeats` says so.
        """
        fields = {name: _write_field(value) for name, value in (query or {}).items() if value is not None}
        target = f"{prefix}{path}?{urlencode(fields, doseq=True)}" if fields else f"{prefix}{path}"
        data = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        content = {} if data is None else {"Content-Type": "application/json"}
        sent = self._headers | content | ({"Idempotency-Key": key} if key else {}) | dict(headers or {})
        pauses = _PAUSES if key or repeats or method == "GET" else _PAUSES[:1]
        if monotonic() < self._away_until:  # an agent that goes on without it must not wait at each step
            raise ServerUnreachable(url=self.url, problem="it was away a moment ago")
        problem: Exception = ConnectionError(_ENDED)
        for pause in pauses:
            sleep(pause)
            try:
                return self._decode(self._try(method, target, data, sent), kind)
            except ssl.SSLCertVerificationError as error:
                raise ServerRefused(url=self.url, problem=error.verify_message, next="check its certificate") from error
            except (OSError, HTTPException, StoreBusy) as error:
                problem = error
                if self._is_closed:
                    raise StoreClosed(path=self.url) from error
                if repeats and isinstance(error, TimeoutError):  # an agent may wait: not three times as long
                    break
        if isinstance(problem, StoreBusy):
            raise problem
        self._away_until = monotonic() + _AWAY_SECONDS
        said = getattr(problem, "strerror", None) or str(problem) or _ENDED
        raise ServerUnreachable(url=self.url, problem=said) from problem

    def stream(self, path: str) -> Iterator[str]:
        """Yield each line of an answer that does not end, as it comes; end where nothing comes in time."""
        streaming = self._open()
        try:
            streaming.connect()
            self._streaming = cast("socket.socket", streaming.sock)
            self._streaming.settimeout(self._seconds)
            streaming.request("GET", f"{PREFIX}{path}", headers={**self._headers, "Accept": "text/event-stream"})
            response = streaming.getresponse()
            if response.status != 200:
                raise self._make_error(response.status, response.headers, response.read(self._most))
            while line := response.readline(self._most):
                if not line.endswith(b"\n"):
                    raise ServerRefused(
                        url=self.url, problem="a line of its stream is too long", next="check its address"
                    )
                yield line.decode(errors="replace").rstrip("\r\n")
        finally:
            streaming.close()

    def _try(self, method: str, target: str, data: bytes | None, headers: Mapping[str, str]) -> bytes:
        with self._lock:
            if self._is_closed:
                raise StoreClosed(path=self.url)
            try:
                status, found, body = self._exchange(method, target, data, headers)
            except BaseException:  # also a Ctrl-C: what is left of the reply must not be taken for the next one
                self._drop()
                raise
        if status < 300:
            return body
        raise self._make_error(status, found, body)

    def _decode(self, body: bytes, kind: Any) -> Any:
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.MsgspecError, RecursionError):
            problem = "its answer is not Punchlist's, or of another version"
            raise ServerRefused(url=self.url, problem=problem, next="check its address and its version") from None

    def _exchange(
        self, method: str, target: str, data: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, HTTPMessage, bytes]:
        ends = monotonic() + self._seconds
        kept = self._kept
        if self._process != os.getpid():  # a fork shares its parent's connection
            kept, self._process = None, os.getpid()
        if kept is None:
            kept = self._kept = self._open()
        if kept.sock is None:
            kept.connect()
        kept.sock.settimeout(self._seconds)  # pyright: ignore[reportOptionalMemberAccess] - `connect` has set it
        kept.response_class = partial(_make_response, ends)  # pyright: ignore[reportAttributeAccessIssue]
        kept.request(method, target, data, dict(headers))
        response = kept.getresponse()
        body = response.read(self._most + 1)
        if len(body) > self._most:
            problem = f"its answer has more than {self._most:,} bytes"
            raise ServerRefused(url=self.url, problem=problem, next="ask for less")
        return response.status, response.headers, body

    def _open(self) -> HTTPConnection:
        parts = urlsplit(self.url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        return kind(parts.netloc, timeout=min(_CONNECT_SECONDS, self._seconds))

    def _drop(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def _make_error(self, status: int, headers: HTTPMessage, body: bytes) -> PunchlistError:
        if 300 <= status < 400:
            where = clean(str(headers.get("location") or "another place")[:200], lines=False).text
            return ServerRefused(
                url=self.url, problem=f"it leads to {where}, which is not followed", next="name the server itself"
            )
        try:
            problem = msgspec.json.decode(body, type=_Problem)
        except msgspec.DecodeError:
            return ServerRefused(url=self.url, problem=f"it answered {status}", next="check that it is Punchlist's")
        problem.detail = cut(clean(problem.detail, lines=True).text, _LONGEST_DETAIL)
        if problem.code in ("store_busy", "bodies_too_large", "store_uncertain"):  # all are safe to repeat under a key
            return StoreBusy.from_text(problem.detail)
        if problem.code == "idempotency_key_reused":
            return CallReused.from_text(problem.detail)
        kind = find_error(problem.code)
        if kind is not None:
            return kind.from_text(problem.detail)
        if status in (401, 403, 421):
            return ServerRefused(url=self.url, problem=problem.detail.rstrip("."), next="check the token and its scope")
        if status >= 500 or problem.code in _OF_OTHER_VERSIONS:
            return ServerRefused(url=self.url, problem=problem.detail.rstrip("."), next="look at its log and version")
        return InvalidInput(problem=problem.detail)


def name_path(*parts: str) -> str:
    """Return a path of these parts; a slash within one is a part of its name."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def _write_field(value: Any) -> Any:
    if isinstance(value, list):
        return cast("list[str]", value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
