"""A gate that is a command: run in a group of its own, for so many seconds, and heard for so many bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Any, NamedTuple

MOST_OUTPUT = 256 * 1024
"""Bytes of each of its outputs that are kept: the first ones. The rest is read, so that it can go on, and forgotten."""

_CHUNK = 64 * 1024
_LAST_WORDS = 1.0
"""Seconds in which what a command printed must have come through after its end: others may hold its pipes open."""


class Answer(NamedTuple):
    """How a command ended, and what it printed as far as it is kept. `cut`: on stdout there was more."""

    code: int
    out: bytes
    err: bytes
    cut: bool


class _Output:
    """Keeps the beginning of what comes through a pipe, on a thread of its own, until its end or until it is `over`."""

    def __init__(self, pipe: IO[bytes] | None, over: threading.Event) -> None:
        self.kept = bytearray()
        self.cut = False
        assert pipe is not None  # it is asked for
        self._pipe = pipe
        self._over = over
        self.thread = _thread(self._read)

    def _read(self) -> None:
        with suppress(OSError, ValueError), self._pipe:
            while not self._over.is_set() and (chunk := os.read(self._pipe.fileno(), _CHUNK)):
                room = MOST_OUTPUT - len(self.kept)
                self.kept += chunk[:room]
                self.cut |= len(chunk) > room


def run(command: str | Sequence[str], given: bytes, seconds: float) -> Answer | None:
    """What a command answers to what it is given; None if it does not in time. Raises `OSError` if there is none.

    A string is run by the shell. A command that does not end in time is ended with everything that it started; so is
    what still holds its outputs after it has ended.
    """
    deadline = time.monotonic() + seconds
    child = subprocess.Popen(
        command,
        shell=isinstance(command, str),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    over, ended = threading.Event(), False
    out, err = _Output(child.stdout, over), _Output(child.stderr, over)
    _thread(_feed, child.stdin, given)
    try:
        code = child.wait(seconds)
        patience = min(deadline, time.monotonic() + _LAST_WORDS)
        for each in (out, err):
            each.thread.join(max(0.0, patience - time.monotonic()))
        ended = not out.thread.is_alive() and not err.thread.is_alive()
        return Answer(code, bytes(out.kept), bytes(err.kept), out.cut)
    except subprocess.TimeoutExpired:
        return None
    finally:
        over.set()
        if not ended:
            _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends the command with everything that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        child.wait(1)


def _feed(pipe: IO[bytes], given: bytes) -> None:
    """A command that does not read is none of our concern."""
    with suppress(OSError, ValueError), pipe:
        pipe.write(given)


def _thread(work: Callable[..., None], *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, name="punchlist-gate", daemon=True)
    thread.start()
    return thread
