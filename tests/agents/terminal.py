"""A terminal under tmux, for programs that draw: send keys, wait for text, read the screen."""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from shlex import join
from types import TracebackType
from typing import Self

from tests.agents.model_api import PATIENCE

_numbers = count()
_TRIES = 6
_FIELDS = ("❯", "›")
"""The marks of Claude Code and Codex before what is typed. What was sent stands above, with the same mark."""


def _find_field(screen: str) -> tuple[int, str]:
    """Return the lowest line with the mark of a field, with its number; an empty one if there is none."""
    lines = [(number, line) for number, line in enumerate(screen.splitlines()) if line.lstrip().startswith(_FIELDS)]
    return lines[-1] if lines else (0, "")


class Terminal:
    """One tmux server of its own with one window. Use it as a context manager; leaving it ends the program."""

    def __init__(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], cols: int = 120, rows: int = 40
    ) -> None:
        self._argv = argv
        self._cwd = cwd
        self._env = dict(env)
        self._size = (cols, rows)
        # A socket in the program's own folder: no other tmux of the machine is met, and two tests never share one.
        self._socket = str(Path(env["TMPDIR"]) / f"tmux-{next(_numbers)}")

    def __enter__(self) -> Self:
        cols, rows = self._size
        command = ["new-session", "-d", "-x", str(cols), "-y", str(rows), "-c", str(self._cwd), join(self._argv)]
        # The window stays when its program ends, so that the last screen can still be read.
        self._tmux("start-server", ";", "set", "-g", "remain-on-exit", "on", ";", *command)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is not None:
            error.add_note(f"The terminal showed:\n{self.screen()}")
        self._tmux("kill-server")

    @property
    def pid(self) -> int:
        """The process that the terminal runs."""
        return int(self._tmux("display-message", "-p", "#{pane_pid}"))

    @property
    def is_running(self) -> bool:
        return self._tmux("display-message", "-p", "#{pane_dead}").strip() != "1"

    def screen(self, *, colours: bool = False) -> str:
        """Return what the terminal shows now, without trailing blanks; with colours as escape sequences if asked."""
        options = ["-e"] if colours else []
        lines = self._tmux("capture-pane", "-p", *options).splitlines()
        return "\n".join(line.rstrip() for line in lines).rstrip()

    def send(self, *keys: str) -> None:
        """Press keys by tmux's names: `Enter`, `Escape`, `Down`, `C-c`, or a character."""
        self._tmux("send-keys", *keys)

    def submit(self, text: str) -> None:
        """Type a text until it stands on the screen, and press Enter until the field is left: agents drop keys."""
        start = text[:40]
        before = self.screen().count(start)
        # Enter in the same burst as the text would be taken as part of a paste.
        typed = self.fill(text, lambda screen: screen.count(start) > before)
        begun, field = _find_field(typed)

        def is_sent(screen: str) -> bool:
            number, line = _find_field(screen)
            has_moved = start in field and number != begun  # a dialog may have taken the place of the field
            return screen != typed and (start not in line or has_moved)

        self.press("Enter", is_sent)

    def fill(self, text: str, shown: str | Callable[[str], object]) -> str:
        """Type a text until its effect shows, each time anew."""

        def type_again(tried: int) -> None:
            if tried:  # a part of it may have come
                self._tmux("send-keys", "-N", str(len(text)), "BSpace")
            self._tmux("send-keys", "-l", "--", text)

        return self._try_until(shown, type_again, f"{text!r}, typed,")

    def press(self, key: str, shown: str | Callable[[str], object]) -> str:
        """Press a key until its effect shows: agents drop keys that come right after a change of a dialog."""
        return self._try_until(shown, lambda _: self.send(key), f"the key {key}")

    def _try_until(self, shown: str | Callable[[str], object], act: Callable[[int], None], what: str) -> str:
        is_met: Callable[[str], object] = (lambda screen: shown in screen) if isinstance(shown, str) else shown
        for tried in range(_TRIES):
            if not self.is_running:
                raise RuntimeError(f"The program ended before it showed {shown!r}")
            act(tried)
            with suppress(TimeoutError):
                return self.wait_for(is_met, timeout=10)
        raise TimeoutError(f"After {_TRIES} tries {what} did not show {shown!r}")

    def wait_for(self, is_met: Callable[[str], object], timeout: float = PATIENCE) -> str:
        """Wait until the screen meets a condition and return it; raise TimeoutError otherwise."""
        deadline = time.monotonic() + timeout
        while not is_met(screen := self.screen()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"The screen did not meet the condition within {timeout} s")
            time.sleep(0.05)
        return screen

    def wait_for_text(self, text: str, timeout: float = PATIENCE) -> str:
        """Wait until a text stands on the screen and return the screen."""
        return self.wait_for(lambda screen: text in screen, timeout)

    def _tmux(self, *words: str) -> str:
        # `-f /dev/null`: no settings of the person whose machine this is.
        command = ["tmux", "-S", self._socket, "-f", "/dev/null", *words]
        done = subprocess.run(command, env=self._env, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"tmux {words[0]}: {done.stderr.strip()}")
        return done.stdout
