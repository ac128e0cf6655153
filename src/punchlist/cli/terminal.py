"""The reader's terminal: its abilities, printing to it, and a picture redrawn in place."""

from __future__ import annotations

import os
import re
import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import Any, Self, TextIO

import msgspec

from punchlist.surfaces.spans import ASCII, UNICODE, Display, Glyphs, Line, Span, Style, plain
from punchlist_statusline import shows_colours, shows_unicode

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
_HIDDEN = "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
"""Characters that a terminal could obey, or that do not show."""

_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
"""Around a picture: terminals that know it show the new one at once, others ignore it."""


def replace_unprintable() -> None:
    """Let a character that the terminal's encoding lacks print as `?` instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def detect_display() -> Display:
    """Return what standard output can show."""
    return Display(glyphs(sys.stdout), columns(sys.stdout))


def glyphs(stream: TextIO) -> Glyphs:
    """Return Unicode signs if the encoding has them and neither the locale nor the terminal says otherwise."""
    return UNICODE if shows_unicode(getattr(stream, "encoding", None)) else ASCII


def columns(stream: TextIO) -> int | None:
    """Return the width to cut lines to; None into a pipe or a file, unless $COLUMNS names one."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and int(given) > 0:
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns or None if stream.isatty() else None
    except (OSError, ValueError):
        return None


def has_colours() -> bool:
    """True if standard output shows colours."""
    return shows_colours(sys.stdout.isatty())


def paint(line: Line, *, colour: bool) -> str:
    if not colour:
        return plain(line).rstrip()
    return "".join(_paint_span(span) for span in line)


def _paint_span(span: Span) -> str:
    if span.style not in _SGR or not span.text:
        return span.text
    return f"\x1b[{_SGR[span.style]}m{span.text}\x1b[0m"


def show(lines: Iterable[Line]) -> None:
    colour = has_colours()
    for line in lines:
        print(paint(line, colour=colour))


def show_json(value: Any, *, indent: int = 2) -> None:
    print(json_text(value, indent=indent), flush=not indent)


def tell(options: Namespace, value: Any, text: str) -> None:
    """Print the outcome of a command: with `--json` its value, else the text."""
    if options.json:
        show_json(value)
    else:
        print(text)


def json_text(value: Any, *, indent: int = 2) -> str:
    """Return JSON that is safe to look at: a character that a terminal could obey is written as its escape."""
    body = msgspec.json.encode(value)
    text = (msgspec.json.format(body, indent=indent) if indent else body).decode()
    return re.sub(_HIDDEN, lambda found: _escape(found[0]), text)


def _escape(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2))


class Screen:
    """A picture below the terminal's own text. As a context, it restores cursor and echo however it ends."""

    def __init__(self) -> None:
        self._height = 0
        self._size: os.terminal_size | None = None
        self._keyboard: list[Any] | None = None
        self._colour = has_colours()
        self._glyphs = glyphs(sys.stdout)

    @property
    def display(self) -> Display:
        # One column is left free: a character in the last one makes some terminals wrap.
        return Display(self._glyphs, max(20, _terminal_size().columns - 1))

    @property
    def height(self) -> int:
        return max(4, _terminal_size().lines - 1)

    def draw(self, lines: Sequence[Line]) -> None:
        size = _terminal_size()
        start = f"\x1b[{self._height}A\r" if self._height else ""
        if self._height and size != self._size:
            start = "\x1b[H\x1b[2J"  # the old picture was folded: its first line cannot be known
        body = "".join(f"{paint(line, colour=self._colour)}\x1b[K\n" for line in lines)
        sys.stdout.write(f"{_BEGIN}{start}{body}\x1b[J{_END}")
        sys.stdout.flush()
        self._height, self._size = len(lines), size

    def __enter__(self) -> Self:
        self._keyboard = _switch_echo_off()
        sys.stdout.write(_HIDE_CURSOR)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError, ValueError):
            sys.stdout.write(_SHOW_CURSOR)
            sys.stdout.flush()
        if self._keyboard is not None:
            import termios

            with suppress(termios.error, OSError):
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, self._keyboard)


def _terminal_size() -> os.terminal_size:
    with suppress(OSError, ValueError):
        found = os.get_terminal_size(sys.stdout.fileno())
        if found.columns and found.lines:
            return found
    return os.terminal_size((80, 24))


def _switch_echo_off() -> list[Any] | None:
    """Keep keys that are pressed out of the picture. Return what to restore, None where there is no keyboard."""
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
