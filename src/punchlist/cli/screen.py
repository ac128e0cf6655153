"""A picture that is drawn again in place, at the bottom of the terminal's own text."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from punchlist.cli.terminal import colours, glyphs, painted
from punchlist.surfaces.spans import Line, Look

_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
"""Around a picture: terminals that know it show the new one at once, others ignore it."""


class Screen:
    """Use it as a context: the cursor and the keyboard's echo come back however it ends."""

    def __init__(self) -> None:
        self._drawn = 0
        self._size = (0, 0)
        self._keyboard: list[Any] | None = None
        self._colour = colours()
        self._glyphs = glyphs(sys.stdout)

    @property
    def look(self) -> Look:
        """One column is left free: a character in the last one makes some terminals wrap."""
        return Look(self._glyphs, max(20, self._now().columns - 1))

    @property
    def height(self) -> int:
        return max(4, self._now().lines - 1)

    def _now(self) -> os.terminal_size:
        with suppress(OSError, ValueError):
            found = os.get_terminal_size(sys.stdout.fileno())
            if found.columns and found.lines:
                return found
        return os.terminal_size((80, 24))

    def draw(self, lines: Sequence[Line]) -> None:
        size = self._now()
        start = f"\x1b[{self._drawn}A\r" if self._drawn else ""
        if self._drawn and (size.columns, size.lines) != self._size:
            start = "\x1b[H\x1b[2J"  # the old picture was folded: nobody knows where it begins
        body = "".join(f"{painted(line, colour=self._colour)}\x1b[K\n" for line in lines)
        sys.stdout.write(f"{_BEGIN}{start}{body}\x1b[J{_END}")
        sys.stdout.flush()
        self._drawn, self._size = len(lines), (size.columns, size.lines)

    def __enter__(self) -> Self:
        self._keyboard = _echo_off()
        sys.stdout.write(_HIDE)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError, ValueError):
            sys.stdout.write(_SHOW)
            sys.stdout.flush()
        if self._keyboard is not None:
            import termios

            with suppress(termios.error, OSError):
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, self._keyboard)


def _echo_off() -> list[Any] | None:
    """Keys that are pressed do not appear in the picture. What to restore, or None where there is no keyboard."""
    try:
        import termios
    except ImportError:
        return None
    try:
        handle = sys.stdin.fileno()
        before = termios.tcgetattr(handle)
        after = termios.tcgetattr(handle)
        after[3] &= ~termios.ECHO
        termios.tcsetattr(handle, termios.TCSANOW, after)
    except (OSError, ValueError, termios.error):
        return None
    return before
