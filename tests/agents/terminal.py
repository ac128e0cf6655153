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

_numbers = count()


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

    def type(self, text: str) -> None:
        """Type a text as it is, without Enter."""
        self._tmux("send-keys", "-l", "--", text)

    def submit(self, text: str) -> None:
        """Type a text, wait until it stands on the screen, and press Enter."""
        start = text[:40]
        before = self.screen().count(start)
        self.type(text)
        # Enter in the same burst as the text would be taken as part of a paste.
        self.wait_for(lambda screen: screen.count(start) > before)
        self.send("Enter")

    def press(self, key: str, shown: str) -> None:
        """Press a key until its effect shows: agents drop keys that come right after a change of a dialog."""
        for _ in range(6):
            if not self.is_running:
                raise RuntimeError(f"The program ended before it showed {shown!r}")
            self.send(key)
            with suppress(TimeoutError):
                self.wait_for_text(shown, timeout=10)
                return
        raise TimeoutError(f"The key {key} was pressed 6 times, and {shown!r} did not show")

    def wait_for(self, is_met: Callable[[str], object], timeout: float = 60) -> str:
        """Wait until the screen meets a condition and return it; raise TimeoutError otherwise."""
        deadline = time.monotonic() + timeout
        while not is_met(screen := self.screen()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"The screen did not meet the condition within {timeout} s")
            time.sleep(0.05)
        return screen

    def wait_for_text(self, text: str, timeout: float = 60) -> str:
        """Wait until a text stands on the screen and return the screen."""
        return self.wait_for(lambda screen: text in screen, timeout)

    def _tmux(self, *words: str) -> str:
        # `-f /dev/null`: no settings of the person whose machine this is.
        command = ["tmux", "-S", self._socket, "-f", "/dev/null", *words]
        done = subprocess.run(command, env=self._env, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"tmux {words[0]}: {done.stderr.strip()}")
        return done.stdout
