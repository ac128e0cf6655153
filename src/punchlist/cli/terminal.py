"""The reader's terminal: its abilities, and printing to it."""

import os
import re
import sys
from argparse import Namespace
from collections.abc import Iterable
from io import TextIOWrapper
from typing import Any, TextIO

import msgspec

from punchlist.terminal.spans import ASCII, UNICODE, Display, Glyphs, Line, Style, plain, safe_line
from punchlist.text import for_terminal
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
    return shows_colours(sys.stdout.isatty())


def is_typed() -> bool:
    """True if standard input is a terminal."""
    try:
        return sys.stdin.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


def ask(question: str, *, default: bool = False) -> bool:
    """Return the person's answer to a yes-or-no question; False without a terminal."""
    if not is_typed():
        return False
    try:
        given = input(f"{question} [{'Y/n' if default else 'y/N'}] ").strip().lower()
    except EOFError:
        print()
        return False
    return given in ("y", "yes") if given else default


def warn(problem: str) -> None:
    """Print a problem to stderr, after which the command goes on."""
    print(f"punchlist: {for_terminal(problem)}", file=sys.stderr, flush=True)


def shorten_home(path: str) -> str:
    """Return a path with the user's home as `~`, safe to print."""
    home = os.path.expanduser("~")
    return safe_line(f"~{path.removeprefix(home)}" if path.startswith(home + os.sep) else path)


def paint(line: Line, *, colour: bool) -> str:
    """Return a line as a terminal shows it."""
    if not colour:
        return plain(line).rstrip()
    painted = ""
    for span in line:
        is_plain = span.style not in _SGR or not span.text
        painted += span.text if is_plain else f"\x1b[{_SGR[span.style]}m{span.text}\x1b[0m"
    return painted


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
    import json  # msgspec writes it; this is for the escapes alone

    body = msgspec.json.encode(value)
    text = (msgspec.json.format(body, indent=indent) if indent else body).decode()
    return re.sub(_HIDDEN, lambda found: json.dumps(found[0])[1:-1], text)
