"""Pictures on the reader's terminal, redrawn in place; over the whole of it with keys, until they are left.

Whatever ends the program, the terminal is as it was: an error, a signal, Ctrl-C, Ctrl-Z.
"""

import codecs
import os
import re
import select
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final, Self

from msgspec import Struct

from punchlist.cli.terminal import glyphs, has_colours, paint
from punchlist.terminal.spans import Display, Line

_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
"""Around a picture: terminals that know it show the new one at once, others ignore it."""


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
        return self._fit_display(_terminal_size())

    def _fit_display(self, size: os.terminal_size) -> Display:
        # One column is left free: a character in the last one makes some terminals wrap.
        return Display(self._glyphs, max(20, size.columns - 1))

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
        self._keyboard = _switch_keyboard()
        sys.stdout.write(_HIDE_CURSOR)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError, ValueError):
            sys.stdout.write(_SHOW_CURSOR)
            sys.stdout.flush()
        _restore_keyboard(self._keyboard)


def _terminal_size() -> os.terminal_size:
    with suppress(OSError, ValueError):
        found = os.get_terminal_size(sys.stdout.fileno())
        if found.columns and found.lines:
            return found
    return os.terminal_size((80, 24))


def _restore_keyboard(before: list[Any] | None) -> None:
    if before is not None:
        import termios

        with suppress(termios.error, OSError):
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, before)


def _switch_keyboard(*, reads_keys: bool = False) -> list[Any] | None:
    """Keep keys that are pressed out of the picture. Return what to restore, None where there is no keyboard.

    With `reads_keys` each key can be read as it is pressed; Ctrl-C and Ctrl-Z stay signals.
    """
    try:
        import termios
    except ImportError:
        return None
    try:
        handle = sys.stdin.fileno()
        before, after = termios.tcgetattr(handle), termios.tcgetattr(handle)
        after[3] &= ~termios.ECHO
        if reads_keys:
            after[0] &= ~(termios.IXON | termios.ICRNL)
            after[3] &= ~termios.ICANON
            after[6][termios.VMIN], after[6][termios.VTIME] = 1, 0
        termios.tcsetattr(handle, termios.TCSADRAIN if reads_keys else termios.TCSANOW, after)
    except (OSError, ValueError, termios.error):
        return None
    return before


def can_draw() -> bool:
    """True if standard output is a terminal on which a picture can be redrawn."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


# The whole terminal, with keys.

_ENTER: Final = "\x1b[?1049h\x1b[?2004h\x1b[?25l"
_LEAVE: Final = "\x1b[?2004l\x1b[?25h\x1b[?1049l"
"""Begin and end the alternate screen, marks around pasted text, and a hidden cursor."""

_ESCAPE_SECONDS: Final = 0.05
"""The bytes of one key come together; an escape that nothing follows for so long is the key of that name."""

_PASTE, _PASTE_END = "\x1b[200~", "\x1b[201~"
_JOINER: Final = "\u200d"
"""Joins pictures to one, such as those of a family."""

_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.)")
_NAMES: Final = {
    "\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down",
    "\x1b[5~": "page up", "\x1b[6~": "page down",
    "\x1b[H": "home", "\x1bOH": "home", "\x1b[1~": "home", "\x1b[F": "end", "\x1bOF": "end", "\x1b[4~": "end",
    "\r": "enter", "\n": "enter", "\x7f": "backspace", "\x08": "backspace", "\x15": "clear", "\x1b": "escape",
    "\t": "tab", "\x0c": "redraw", "\x04": "end of file", "\x14": "ctrl+t",
}  # fmt: skip


class Key(Struct, frozen=True):
    """A key by its name, or the text that was typed or pasted: `name` is then `text` or `paste`."""

    name: str
    text: str = ""


class FullScreen(Screen):
    """The whole terminal: draws pictures and reads keys. As a context, it restores the terminal however it ends.

    It belongs to the main thread; other threads may call `wake`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._typed = ""
        # Never closed: another thread may still call `wake`, and would write to a file of the same number.
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._waker, False)
        os.set_blocking(self._woken, False)
        self._handlers: dict[int, Any] = {}
        self._is_ended = False
        self._is_stopping = False
        self._drawn: list[str] = []
        """The lines that the terminal shows; none if it has to be drawn again."""

    def measure(self) -> tuple[Display, int]:
        """Return what the terminal can show, and its height, at one moment. If they changed, all is drawn again."""
        size = _terminal_size()
        if size != self._size:
            self._size = size
            self.redraw()
        return self._fit_display(size), max(4, size.lines)

    def write(self, escapes: str) -> None:
        """Send escapes that show nothing, such as a notification."""
        sys.stdout.write(escapes)
        sys.stdout.flush()

    def redraw(self) -> None:
        """Draw the next picture in full, whatever the terminal shows."""
        self._drawn = []

    def draw(self, lines: Sequence[Line]) -> None:
        """Draw a picture of the size that was measured; only the lines that changed are written."""
        painted = [paint(line, colour=self._colour) for line in lines]
        start = "" if self._drawn else "\x1b[2J"
        known = [*self._drawn, *[""] * len(painted)]
        changed = [
            f"\x1b[{place + 1};1H{line}\x1b[K" for place, line in enumerate(painted) if start or line != known[place]
        ]
        self._drawn = painted
        if changed:
            sys.stdout.write(f"{_BEGIN}{start}{''.join(changed)}{_END}")
            sys.stdout.flush()

    # Keys.

    def wake(self, *_: object) -> None:
        """End a wait for keys, from whichever thread; also a handler of signals."""
        with suppress(BlockingIOError):  # full: it wakes anyhow
            os.write(self._waker, b".")

    def read_keys(self, seconds: float) -> list[Key]:
        """Wait for keys, a call of `wake` or a change of size; return the keys, if there were any.

        Raises `EOFError` if the terminal is gone.
        """
        keyboard = sys.stdin.fileno()
        ready = select.select([keyboard, self._woken], [], [], seconds)[0]
        if self._woken in ready:
            with suppress(BlockingIOError):
                os.read(self._woken, 4096)
        if self._is_stopping:
            self._stop()
        if keyboard in ready:
            self._read_typed(keyboard)
            while self._typed.endswith("\x1b") and select.select([keyboard], [], [], _ESCAPE_SECONDS)[0]:
                self._read_typed(keyboard)
        return list(self._split_keys())

    def _read_typed(self, keyboard: int) -> None:
        found = os.read(keyboard, 4096)
        if not found:
            raise EOFError
        self._typed += self._decode(found)

    def _split_keys(self) -> Iterator[Key]:
        """Yield the keys that were typed whole; the beginning of a paste waits for its end."""
        while self._typed:
            if self._typed.startswith(_PASTE):
                text, end, rest = self._typed.removeprefix(_PASTE).partition(_PASTE_END)
                if not end:
                    return
                self._typed = rest
                yield Key("paste", text)
                continue
            sequence = _SEQUENCE.match(self._typed)
            typed = self._typed[0] if sequence is None else sequence[0]
            self._typed = self._typed[len(typed) :]
            if typed in _NAMES:
                yield Key(_NAMES[typed])
            elif typed.isprintable() or typed == _JOINER:
                yield Key("text", typed)

    # The terminal as it was.

    def __enter__(self) -> Self:
        self._begin()
        for number, handler in (
            (signal.SIGWINCH, self.wake),
            (signal.SIGTSTP, self._on_stop),
            (signal.SIGTERM, self._on_end),
            (signal.SIGHUP, self._on_end),
        ):
            self._handlers[number] = signal.signal(number, handler)
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    @contextmanager
    def left(self) -> Generator[None]:
        """Give the terminal to another program, and take it again. Ctrl-C and Ctrl-Z are that program's meanwhile."""
        self._leave()
        # Ours does nothing; SIG_IGN would be inherited by that program, and a handler is not.
        wanted: dict[int, Callable[[int, FrameType | None], None] | signal.Handlers] = {
            signal.SIGINT: lambda _number, _frame: None,
            signal.SIGTSTP: signal.SIG_DFL,
        }
        before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            self._begin()

    def _begin(self) -> None:
        self._keyboard = _switch_keyboard(reads_keys=True)
        self.redraw()
        sys.stdout.write(_ENTER)
        sys.stdout.flush()

    def _leave(self) -> None:
        with suppress(OSError, ValueError):
            sys.stdout.write(_LEAVE)
            sys.stdout.flush()
        _restore_keyboard(self._keyboard)

    def _on_end(self, number: int, _: FrameType | None) -> None:
        if not self._is_ended:  # a second signal must not end the way out
            self._is_ended = True
            raise SystemExit(128 + number)

    def _on_stop(self, *_: object) -> None:
        # Not here: a picture that is half drawn would be taken for the one that the terminal shows.
        self._is_stopping = True
        self.wake()

    def _stop(self) -> None:
        """Leave the terminal to the shell, and take it again when that continues us."""
        self._is_stopping = False
        self._leave()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._on_stop)
        self._begin()
