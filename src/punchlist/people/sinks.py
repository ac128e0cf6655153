"""Deliver messages to a webhook or a command of the user's, from a bounded queue on a thread of its own.

Handing over a message never blocks and never raises. A message that cannot be delivered is logged and dropped, not
tried again, as nobody knows how far it got; so is one that arrives while the queue is full. Of an address only the
host is logged: the rest may hold secrets.
"""

from __future__ import annotations

import logging
import os
import queue
import re
import signal
import subprocess
import threading
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, Protocol
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import msgspec

from punchlist.errors import ConfigInvalid

logger = logging.getLogger(__name__)


# Addresses of webhooks.


_KEPT: Final = "/%:@!$&'()*+,;=~"
"""Characters of a path that stay as they are; in a query also `?`."""

_UNFIT: Final = re.compile(r"[^A-Za-z0-9._:%-]")
"""Characters that no host has."""

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LINE: Final = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")
"""Names and values of headers that HTTP can have."""

_HIDDEN: Final = "http…"
_NOWHERE: Final = "there can be no such host or port"


class WebAddress(NamedTuple):
    """The address of a webhook. `place` is the part that may be shown; the rest may hold secrets."""

    url: str
    place: str
    headers: Mapping[str, str]


def web_address(url: str) -> WebAddress:
    """Make an address ready to send to. Raises `ConfigInvalid` for one that nothing can be sent to."""
    try:
        parts = urlsplit(url)
        port = parts.port
        host = parts.hostname or ""
        host = host.encode("ascii" if ":" in host else "idna").decode()  # an IPv6 address is no name
    except ValueError:  # a bad host in brackets, port or name
        raise _refuse(_HIDDEN, _NOWHERE) from None
    place = f"{parts.scheme}://{host}"[:80]
    if parts.scheme not in {"http", "https"} or not host:
        raise _refuse(place, "use an address with http:// or https://")
    if port == 0 or _UNFIT.search(host):
        raise _refuse(_HIDDEN, _NOWHERE)
    shown = f"[{host}]" if ":" in host else host
    where = shown if port is None else f"{shown}:{port}"
    path, query = quote(parts.path, safe=_KEPT), quote(parts.query, safe=f"{_KEPT}?")
    headers: dict[str, str] = {}
    if parts.username or parts.password:
        login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {b64encode(login.encode()).decode()}"
    return WebAddress(urlunsplit((parts.scheme, where, path, query, "")), place, headers)


def _refuse(place: str, problem: str) -> ConfigInvalid:
    return ConfigInvalid(name="webhook", value=place, problem=problem)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


SECONDS: Final = 10.0
LENGTH: Final = 256


class Sink(Protocol):
    """Delivers one message, or raises `OSError`."""

    @property
    def name(self) -> str: ...
    def deliver(self, body: bytes) -> None: ...


class Webhook:
    """Posts each message as JSON. Any answer but a 2xx is a failure; redirects are not followed.

    The body of the answer is not read. Name and password in the address become the Authorization header.
    """

    def __init__(self, url: str, *, headers: Mapping[str, str] | None = None, seconds: float = SECONDS) -> None:
        address = web_address(url)
        self.name = address.place
        self._url = address.url
        self._headers = {"Content-Type": "application/json", **address.headers, **_check_headers(headers or {})}
        self._seconds = _check_seconds(seconds)

    def deliver(self, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Post a message; `headers` are those of this one alone."""
        every = {**self._headers, **_check_headers(headers or {})}
        request = urllib.request.Request(self._url, data=body, headers=every, method="POST")
        try:
            urllib.request.build_opener(_NoRedirects).open(request, timeout=self._seconds).close()
        except HTTPError as error:
            error.close()
            raise


class Command:
    """Runs a command for each message, which it gets as JSON on standard input. Only exit code 0 is a success.

    A list of words is run as it is, a string by the shell; the message is never part of the line.
    """

    def __init__(self, command: str | Sequence[str], *, seconds: float = SECONDS) -> None:
        if not command:
            raise ConfigInvalid(name="command", value=command, problem="name a program")
        words = command.split() if isinstance(command, str) else command
        program = next((word for word in words if "=" not in word), "command")  # no variable, which may be secret
        self.name = os.path.basename(program)
        self._command = command
        self._seconds = _check_seconds(seconds)

    def deliver(self, body: bytes, environment: Mapping[str, str] | None = None) -> None:
        """Run the command; `environment` are variables for this message, next to our own."""
        with subprocess.Popen(
            self._command,
            env=None if environment is None else {**os.environ, **environment},
            shell=isinstance(self._command, str),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as child:
            try:
                child.communicate(body, timeout=self._seconds)
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(child.pid, signal.SIGKILL)  # with everything that it started
                raise TimeoutError(f"no end after {self._seconds:g} seconds") from None
        if child.returncode:
            raise OSError(f"exit code {child.returncode}")


class Outbox:
    """A queue in front of a sink. Close it, or use it as a context, to wait for what is still in it.

    `on_drop` is called, on any thread, with why a message was dropped; without it that is logged.
    """

    def __init__(self, sink: Sink, *, length: int = LENGTH, on_drop: Callable[[str], object] | None = None) -> None:
        self.sink = sink
        self._on_drop = on_drop
        self.delivered = 0
        self.dropped = 0
        self._waiting: queue.Queue[bytes | None] = queue.Queue(max(1, length))
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="punchlist-sink", daemon=True)
        self._thread.start()

    def put(self, message: Any) -> bool:
        """Hand over a message, a mapping or a record; True if there was room for it."""
        try:
            fields = message._asdict() if hasattr(message, "_asdict") else message
            body = msgspec.json.encode(fields, enc_hook=str)
            if self._is_closed:
                raise queue.Full
            self._waiting.put_nowait(body)
        except queue.Full:
            self._drop("there are too many messages, or it is closed")
            return False
        except Exception as error:
            self._drop(f"the message cannot be written as JSON: {error}")
            return False
        return True

    def close(self, seconds: float = SECONDS) -> bool:
        """Deliver what is left, for so many seconds; True if all of it went out."""
        if not self._is_closed:
            self._is_closed = True
            with suppress(queue.Full):
                self._waiting.put(None, timeout=seconds)
        self._thread.join(seconds)
        return not self._thread.is_alive() and not self.dropped

    def __enter__(self) -> Outbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        while (body := self._waiting.get()) is not None:
            try:
                self.sink.deliver(body)
                self.delivered += 1
            except Exception as error:
                self._drop(f"not delivered, {describe_failure(error)}")

    def _drop(self, why: str) -> None:
        self.dropped += 1
        if self._on_drop is not None:
            self._on_drop(f"{self.sink.name}: {why}")
        elif self.dropped == 1 or self.dropped % 100 == 0:
            logger.warning("a message for `%s` was dropped (%d so far): %s", self.sink.name, self.dropped, why)


def describe_failure(error: Exception) -> str:
    """Return why a delivery failed, without the address and without words of the other side."""
    if isinstance(error, HTTPError):
        return f"HTTP {error.code}"
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, OSError):
        return reason.strerror or str(reason) or type(reason).__name__
    return type(error).__name__


def _check_headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Refuse headers that cannot be sent, without showing their values."""
    for name, value in headers.items():
        if not (_TOKEN.fullmatch(name) and _LINE.fullmatch(value)):
            raise ConfigInvalid(name="webhook", value=name[:80], problem="its headers are no names and lines of text")
    return headers


def _check_seconds(seconds: float) -> float:
    if not 0 < seconds <= 60:
        raise ConfigInvalid(name="seconds", value=seconds, problem="a delivery has more than 0 and at most 60 seconds")
    return seconds
