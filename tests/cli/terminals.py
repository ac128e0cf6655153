"""The command in a real terminal, and what that shows."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

PATIENCE = 120
"""Seconds after which something that a test waits for will not come, on however busy a machine."""

_FRAME = re.compile(rb"\x1b\[\?2026h(.*?)\x1b\[\?2026l", re.DOTALL)
_LINE = re.compile(r"\x1b\[(\d+);1H(.*?)\x1b\[K", re.DOTALL)
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A terminal with a program in it, and all that it has shown."""

    def __init__(self, control: int, terminal: int, program: "subprocess.Popen[bytes]", before: list[Any]) -> None:
        self.control = control
        self.terminal = terminal
        self.program = program
        self.before = before
        """The terminal's settings before the program started."""
        self.shown = b""
        self.picture = ""
        """The picture at hand. Pictures are taken one by one: none is missed, however late we read."""
        self._taken = 0
        self._lines: dict[int, str] = {}

    @property
    def settings(self) -> list[Any]:
        return termios.tcgetattr(self.terminal)

    def press(self, keys: str) -> None:
        os.write(self.control, keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.program.send_signal(signal.SIGWINCH)  # the kernel tells only programs that it started from this terminal

    def wait_for(self, text: str) -> str:
        """Take pictures until one holds a text; return that picture."""
        return self.wait_until(lambda: text in self.picture, text)

    def wait_until(self, is_true: Callable[[], bool], what: str = "it") -> str:
        ends = time.monotonic() + PATIENCE
        while not is_true():
            if not self._take_picture():
                assert time.monotonic() < ends, f"{what!r} was never shown; the last picture was:\n{self.picture}"
                self.read(1.0)
        return self.picture

    def wait_for_end(self) -> int:
        """Return the exit code. What is shown is read meanwhile: a program waits for a terminal that is full."""
        ends = time.monotonic() + PATIENCE
        while (code := self.program.poll()) is None:
            assert time.monotonic() < ends, f"the program never ended; the last picture was:\n{self.picture}"
            self.read(0.05)
        return code

    def read(self, seconds: float) -> None:
        """Take what is shown, if anything comes in this time."""
        if select.select([self.control], [], [], seconds)[0]:
            with suppress(OSError):  # the program has ended
                self.shown += os.read(self.control, 65_536)

    def _take_picture(self) -> bool:
        """Take the next whole picture that was read, if there is one. It may be only the lines that changed."""
        found = _FRAME.search(self.shown, self._taken)
        if found is None:
            return False
        self._taken = found.end()
        frame = found[1].decode(errors="replace")
        if frame.startswith("\x1b[2J"):
            self._lines = {}
        for place, line in _LINE.findall(frame):
            self._lines[int(place)] = line
        whole = "\n".join(self._lines[place] for place in sorted(self._lines)) if self._lines else frame
        self.picture = _ESCAPE.sub("", whole)
        return True


@contextmanager
def open_terminal(columns: int, rows: int, *arguments: str, **environment: str) -> Generator[Terminal]:
    """Run the command in a terminal of this size."""
    control, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    before = termios.tcgetattr(terminal)
    program = subprocess.Popen(
        [sys.executable, "-m", "punchlist", *arguments],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", **environment},
    )
    try:
        yield Terminal(control, terminal, program, before)
    finally:
        program.kill()
        program.wait()
        os.close(control)
        os.close(terminal)
