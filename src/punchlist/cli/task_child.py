"""A command at work on one task: started with it, watched, told to end, and what it said last."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

import msgspec

from punchlist.text import clean, cut, repair

MOST_OUTPUT = 256 * 1024
"""Bytes of what a command prints that are kept: the last ones."""

_LONGEST_LINE = 4_000
_CHUNK = 64 * 1024
_LAST_WORDS = 2.0
"""Seconds in which what a command printed must have come through after its end: others may hold its pipes open."""


class Child:
    """One run of a command, in a process group of its own. `ended` is called from another thread when it is over."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        given: bytes | None,
        *,
        ended: Callable[[], None],
        aside: bool = False,
    ) -> None:
        """`given` is its standard input. With `aside` what it prints goes to our stderr. Raises `OSError`."""
        self.code: int | None = None
        self._ended = ended
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        )
        self._printed, self._complained = bytearray(), bytearray()
        out, err = self._process.stdout, self._process.stderr
        self._readers = [
            _thread(_pass_on, out, sys.stderr.buffer if aside else sys.stdout.buffer, self._printed),
            _thread(_pass_on, err, sys.stderr.buffer, self._complained),
        ]
        if given is not None:
            _thread(_feed, self._process.stdin, given)
        _thread(self._watch)

    def _watch(self) -> None:
        code = self._process.wait()
        for reader in self._readers:
            reader.join(_LAST_WORDS)
        self.code = code
        self._ended()

    def tell(self, number: int = signal.SIGTERM) -> None:
        """Tells the command, and all that it started, to end."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def kill(self) -> None:
        self.tell(signal.SIGKILL)

    @property
    def result(self) -> Any:
        """What it printed, if that is JSON as a whole; else its last line, as JSON if it is; None for nothing."""
        text = bytes(self._printed).decode(errors="replace")
        lines = text.split("\n") if len(self._printed) < MOST_OUTPUT else text.split("\n")[1:] or [text]
        last = next((line for line in reversed(lines) if line.strip()), None)
        if last is None:
            return None
        for said in ("\n".join(lines), last):
            with suppress(msgspec.DecodeError, RecursionError):
                return msgspec.json.decode(said)
        return _line(last)

    @property
    def problem(self) -> str:
        """Why it failed, by its exit code and the last line that it printed on stderr, else on stdout."""
        code = self.code or 0
        how = f"exit code {code}" if code >= 0 else f"ended by {_signal_name(-code)}"
        for kept in (self._complained, self._printed):
            lines = bytes(kept).decode(errors="replace").splitlines()
            last = next((line for line in reversed(lines) if line.strip()), None)
            if last is not None:
                return f"{how}: {_line(last)}"
        return how


def _line(text: str) -> str:
    return cut(clean(repair(text), lines=False).text.strip(), _LONGEST_LINE)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _thread(work: Callable[..., None], *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    thread.start()
    return thread


def _feed(pipe: IO[bytes], given: bytes) -> None:
    """A command that does not read is none of our concern."""
    with suppress(OSError), pipe:
        pipe.write(given)


def _pass_on(pipe: IO[bytes], to: IO[bytes], kept: bytearray) -> None:
    """Shows what comes through a pipe as it comes, and keeps the end of it."""
    with pipe:
        while chunk := os.read(pipe.fileno(), _CHUNK):
            kept += chunk
            del kept[:-MOST_OUTPUT]
            with suppress(OSError, ValueError):  # whoever read us may be gone; the work goes on
                to.write(chunk)
                to.flush()
