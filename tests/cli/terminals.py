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

PATIENCE = 60


class Terminal:
    """A terminal with a program in it, and all that it has shown."""

    def __init__(self, control: int, terminal: int, program: "subprocess.Popen[bytes]") -> None:
        self.control = control
        self.terminal = terminal
        self.program = program
        self.shown = b""

    @property
    def settings(self) -> list[Any]:
        return termios.tcgetattr(self.terminal)

    @property
    def picture(self) -> str:
        """The last whole picture. A read may end in the middle of one; a picture may be the lines that changed."""
        frames = re.findall(r"\x1b\[\?2026h(.*?)\x1b\[\?2026l", self.shown.decode(errors="replace"), re.DOTALL)
        lines: dict[int, str] = {}
        for frame in frames:
            lines = {} if frame.startswith("\x1b[2J") else lines
            for place, line in re.findall(r"\x1b\[(\d+);1H(.*?)\x1b\[K", frame, re.DOTALL):
                lines[int(place)] = line
        whole = "\n".join(lines[place] for place in sorted(lines)) if lines else "".join(frames[-1:])
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", whole)

    def press(self, keys: str) -> None:
        os.write(self.control, keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.program.send_signal(signal.SIGWINCH)  # the kernel tells only programs that it started from this terminal

    def wait_for(self, text: str) -> str:
        """Read until a whole picture holds a text; return that picture."""
        return self.wait_until(lambda: text in self.picture, text)

    def wait_until(self, is_true: Callable[[], bool], what: str = "it") -> str:
        ends = time.monotonic() + PATIENCE
        while not is_true():
            left = ends - time.monotonic()
            assert left > 0, f"{what!r} was never shown; the last picture was:\n{self.picture}"
            self.read(min(left, 1.0))
        return self.picture

    def read(self, seconds: float) -> None:
        """Take what is shown, if anything comes in this time."""
        if select.select([self.control], [], [], seconds)[0]:
            with suppress(OSError):  # the program has ended
                self.shown += os.read(self.control, 65_536)


@contextmanager
def open_terminal(columns: int, rows: int, *arguments: str, **environment: str) -> Generator[Terminal]:
    """Run the command in a terminal of this size."""
    control, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    program = subprocess.Popen(
        [sys.executable, "-m", "punchlist", *arguments],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", **environment},
    )
    try:
        yield Terminal(control, terminal, program)
    finally:
        program.kill()
        program.wait()
        os.close(control)
        os.close(terminal)
