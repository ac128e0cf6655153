"""The reader's terminal: its abilities, printing to it, and a picture redrawn in place."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from io import TextIOWrapper
from types import TracebackType
from typing import Any, Self, TextIO

from punchlist.surfaces.spans import ASCII, UNICODE, Display, Glyphs, Line, Style

_SGR: dict[Style, str] = {
    "dim": "2",
    "bold": "1",
    "focus": "1;36",
    "good": "32",
    "warning": "33",
    "bad": "31",
    "struck": "2;9",
    "accent": "35",
}


def speak_safely() -> None:
    """A character that the terminal's encoding lacks prints as `?` instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def detect_display(stream: TextIO | None = None) -> Display:
    """What can be shown on a stream, standard output by default."""
    chosen = stream or sys.stdout
    return Display(glyphs(chosen), columns(chosen))


def glyphs(stream: TextIO) -> Glyphs:
    """Unicode signs if the encoding has them and neither the locale nor the terminal says otherwise."""
    encoding = (getattr(stream, "encoding", None) or "").lower().replace("-", "").replace("_", "")
    if not encoding.startswith("utf") or os.environ.get("TERM") in ("dumb", "linux"):
        return ASCII
    environ = os.environ.get
    # Python itself sets LC_CTYPE to C.UTF-8 where the locale is C; then LANG is what the user said.
    spoken = environ("LC_ALL") or (environ("LC_CTYPE", "").replace("C.UTF-8", "")) or environ("LANG") or "utf-8"
    return UNICODE if "utf" in spoken.lower() else ASCII


def columns(stream: TextIO) -> int | None:
    """The width to cut lines to; None into a pipe or a file, unless $COLUMNS says one."""
    said = os.environ.get("COLUMNS", "")
    if said.isascii() and said.isdigit() and int(said) > 0:
        return int(said)
    try:
        return os.get_terminal_size(stream.fileno()).columns or None if stream.isatty() else None
    except (OSError, ValueError):
        return None


def colours(stream: TextIO | None = None) -> bool:
    """`NO_COLOR` first, then `FORCE_COLOR` and `CLICOLOR_FORCE`, then whether it is a terminal at all."""
    environ = os.environ.get
    if environ("NO_COLOR"):
        return False
    if any(environ(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return (stream or sys.stdout).isatty() and environ("TERM") != "dumb"


def painted(line: Line, *, colour: bool) -> str:
    if not colour:
        return "".join(span.text for span in line).rstrip()
    return "".join(f"\x1b[{_SGR[style]}m{text}\x1b[0m" if style in _SGR and text else text for text, style in line)


def show(lines: Iterable[Line]) -> None:
    colour = colours()
    for line in lines:
        print(painted(line, colour=colour))


def show_json(value: Any, *, indent: int = 2) -> None:
    print(json_text(value, indent=indent), flush=not indent)


def json_text(value: Any, *, indent: int = 2) -> str:
    """JSON that is safe to look at: what a terminal could obey is written as an escape, and means the same."""
    import re

    import msgspec

    body = msgspec.json.encode(value)
    text = (msgspec.json.format(body, indent=indent) if indent else body).decode()
    hidden = "\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff"
    return re.sub(f"[{hidden}]", lambda found: _escaped(found[0]), text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2))


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
    def display(self) -> Display:
        """One column is left free: a character in the last one makes some terminals wrap."""
        return Display(self._glyphs, max(20, self._now().columns - 1))

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
