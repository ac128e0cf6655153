"""Where messages go: a webhook or a command of the user's, from a bounded queue on a thread of its own.

Handing over a message never blocks and never raises. What cannot be delivered is logged and dropped, not tried again,
for nobody knows how far it got; so is what comes while the queue is full. Of an address only the host is logged: the
rest may hold secrets.
"""

from __future__ import annotations

import logging
import os
import queue
import signal
import subprocess
import threading
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol

import msgspec

from punchlist.bridges.posts import Post
from punchlist.bridges.web_addresses import is_sendable, web_address
from punchlist.errors import ConfigInvalid

logger = logging.getLogger(__name__)
SECONDS: Final = 10.0
LENGTH: Final = 256
_MOST_LEFT: Final = 8


class Sink(Protocol):
    """Delivers one message, or raises `OSError`."""

    @property
    def name(self) -> str: ...
    def deliver(self, body: bytes) -> None: ...


class Webhook:
    """Posts each message as JSON. An answer that is no 2xx is a failure; redirects are not followed.

    What the answer says beside that is not read. A name and a password in the address are sent as HTTP has them.
    """

    def __init__(self, url: str, *, headers: Mapping[str, str] | None = None, seconds: float = SECONDS) -> None:
        address = web_address(url)
        self.name = address.place
        self._url = address.url
        self._headers = {"Content-Type": "application/json", **address.headers, **_checked(headers or {})}
        self._seconds = _seconds(seconds)
        self._left: list[Post] = []

    def deliver(self, body: bytes) -> None:
        self._left = [post for post in self._left if post.is_alive()]
        if len(self._left) >= _MOST_LEFT:
            raise TimeoutError("deliveries before this one have no end")
        request = urllib.request.Request(self._url, data=body, headers=self._headers, method="POST")
        post = Post(request, self._seconds)
        if not post.is_over():
            self._left.append(post)
            raise TimeoutError(f"no answer after {self._seconds:g} seconds")


class Command:
    """Runs a command for each message, which it gets as JSON on its standard input. Only exit code 0 is a success.

    A list of words is run as it is, a string by the shell; the message is never part of the line.
    """

    def __init__(self, command: str | Sequence[str], *, seconds: float = SECONDS) -> None:
        if not command:
            raise ConfigInvalid(name="command", value=command, problem="name a program")
        words = command.split() if isinstance(command, str) else command
        program = next((word for word in words if "=" not in word), "command")  # not a variable, which may be secret
        self.name = os.path.basename(program)
        self._command = command
        self._seconds = _seconds(seconds)

    def deliver(self, body: bytes) -> None:
        with subprocess.Popen(
            self._command,
            shell=isinstance(self._command, str),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as child:
            try:
                child.communicate(body, timeout=self._seconds)
            except subprocess.TimeoutExpired:
                _end(child)
                raise TimeoutError(f"no end after {self._seconds:g} seconds") from None
        if child.returncode:
            raise OSError(f"exit code {child.returncode}")


class Outbox:
    """A queue before a sink. Close it, or use it as a context, to wait for what is still in it."""

    def __init__(self, sink: Sink, *, length: int = LENGTH) -> None:
        self.sink = sink
        self.delivered = 0
        self.dropped = 0
        self._waiting: queue.Queue[bytes | None] = queue.Queue(max(1, length))
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="punchlist-sink", daemon=True)
        self._thread.start()

    def put(self, message: Any) -> bool:
        """Hands a message over, a mapping or a record; whether there was room for it."""
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
        """Delivers what is left, for so long; whether all of it went out."""
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
                self._drop(f"{type(error).__name__}, not delivered")

    def _drop(self, why: str) -> None:
        self.dropped += 1
        if self.dropped == 1 or self.dropped % 100 == 0:
            logger.warning("a message for `%s` was dropped (%d so far): %s", self.sink.name, self.dropped, why)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends the command with everything that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def _checked(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Headers that can be sent; a secret in one that cannot is not shown."""
    for name, value in headers.items():
        if not is_sendable(name, value):
            raise ConfigInvalid(name="webhook", value=name[:80], problem="its headers are no names and lines of text")
    return headers


def _seconds(seconds: float) -> float:
    if not 0 < seconds <= 60:
        raise ConfigInvalid(name="seconds", value=seconds, problem="a delivery has more than 0 and at most 60 seconds")
    return seconds
