"""The files of a server next to its board: the secret of its link, the record of the running one, and its log.

Without any web framework, so that a server is asked for and stopped at once.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final, Self

import msgspec

from punchlist.errors import InvalidInput
from punchlist.store.files import open_own_file

_LONGEST_LOG: Final = 1_000_000
_LONGEST_SECRET: Final = 200
_CLAIM_SECONDS: Final = 0.3
"""`find_running` holds the lock for a moment: one failure does not say that a server has it."""
_START_SECONDS: Final = 20.0
_STOP_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.05


def load_secret(board: str) -> str:
    """Return the secret of the link to a board's server, made at the first start; a new one for a board in memory.

    It lies next to the board, readable by its owner alone, so that the link stays the same. A server reads it when it
    starts: deleting the file and starting again ends all sign-ins by the link.
    """
    if not board:
        return secrets.token_urlsafe(32)
    handle = open_own_file(_secret_path(board), os.O_RDWR)
    with open(handle, "r+", encoding="ascii", errors="replace") as file:
        fcntl.flock(handle, fcntl.LOCK_EX)  # two servers that start at once use the same
        os.fchmod(handle, 0o600)  # a copied file may have another mode
        found = file.read(_LONGEST_SECRET).strip()
        if not _is_secret(found):
            found = secrets.token_urlsafe(32)
            file.seek(0)
            file.truncate()
            file.write(f"{found}\n")
    return found


def read_secret(board: str) -> str | None:
    """Return the secret of the link; None if its file is gone. Makes none: a running server would not know it."""
    path = _secret_path(board)
    if not os.path.lexists(path):
        return None
    with open(open_own_file(path, os.O_RDONLY), encoding="ascii", errors="replace") as file:
        found = file.read(_LONGEST_SECRET).strip()
    return found if _is_secret(found) else None


def _secret_path(board: str) -> str:
    return f"{os.path.realpath(board)}.token"


def _is_secret(text: str) -> bool:
    return len(text) >= 32 and text.isascii() and text.replace("-", "").replace("_", "").isalnum()


class RunningServer(msgspec.Struct, frozen=True):
    """The server that runs for a board."""

    pid: int
    origin: str
    has_link: bool
    """True if the token of the link counts: only on addresses of this machine."""
    started_at: datetime

    def make_link(self, board: str) -> str:
        """Return the address that signs a browser in; without a token if there is none that counts."""
        secret = read_secret(board) if self.has_link else None
        return f"{self.origin}/" if secret is None else f"{self.origin}/?token={secret}"


class ServerRecord:
    """The file that names the server of a board. Its lock is held while that runs, so it is never out of date."""

    def __init__(self, board: str) -> None:
        self._handle = open_own_file(_record_path(board), os.O_RDWR)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)

    def claim(self) -> bool:
        """Take the lock until this process ends, or the record is closed; False if another server has it."""
        ends = time.monotonic() + _CLAIM_SECONDS
        while True:
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > ends:
                    return False
            time.sleep(_CLAIM_SECONDS / 20)
        os.ftruncate(self._handle, 0)
        return True

    def write(self, server: RunningServer) -> None:
        os.pwrite(self._handle, msgspec.json.encode(server), 0)


def find_running(board: str) -> RunningServer | None:
    """Return the server that runs for a board; None if there is none, or it has not begun to listen."""
    path = _record_path(board)
    if not os.path.lexists(path):
        return None
    handle = open_own_file(path, os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        try:
            return msgspec.json.decode(os.pread(handle, 10_000, 0), type=RunningServer)
        except msgspec.MsgspecError:
            return None
    finally:
        os.close(handle)
    return None


def _record_path(board: str) -> str:
    return f"{os.path.realpath(board)}.serve"


def log_path(board: str) -> str:
    return f"{os.path.realpath(board)}.serve.log"


def cut_log(board: str, handle: int = 2) -> None:
    """Empty the log of a server once it is too long: by default, if standard error writes it, at its end."""
    with suppress(OSError):  # no log, or no standard error
        found = os.fstat(handle)
        if found.st_size > _LONGEST_LOG and os.path.samestat(found, os.stat(log_path(board))):
            os.ftruncate(handle, 0)


def start_in_background(board: str, arguments: Sequence[str]) -> RunningServer:
    """Start a server that outlives this process, and return it once it listens. Raise `InvalidInput` if it fails."""
    os.makedirs(os.path.dirname(log_path(board)), mode=0o700, exist_ok=True)
    log = open_own_file(log_path(board), os.O_WRONLY | os.O_APPEND)
    cut_log(board, log)
    begun = os.fstat(log).st_size
    # The link is not among the arguments, and `--no-link` keeps it out of the log.
    command = [sys.executable, "-m", "punchlist", "--db", board, "serve", "--no-link", *arguments]
    streams = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), *((os.POSIX_SPAWN_DUP2, log, to) for to in (1, 2))]
    child = os.posix_spawn(sys.executable, command, os.environ, file_actions=streams, setsid=True)
    os.close(log)
    ends = time.monotonic() + _START_SECONDS
    while time.monotonic() < ends:
        running = find_running(board)
        if running is not None and running.pid == child:
            return running
        if os.waitpid(child, os.WNOHANG)[0]:
            break
        time.sleep(_LOOK_SECONDS)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with open(log_path(board), "rb") as file:
        file.seek(begun)
        said = file.read().decode(errors="replace").strip().splitlines()
    problem = said[-1].removeprefix("punchlist: ") if said else "The server did not start in time."
    raise InvalidInput(problem=problem)


def stop_running(board: str) -> RunningServer | None:
    """Stop the server of a board and return it once it has ended; None if there is none."""
    running = find_running(board)
    if running is None:
        return None
    with suppress(ProcessLookupError):
        os.kill(running.pid, signal.SIGTERM)
    ends = time.monotonic() + _STOP_SECONDS
    while find_running(board) == running:
        if time.monotonic() > ends:
            raise InvalidInput(problem=f"The server (process {running.pid}) does not stop; end it with `kill -9`.")
        time.sleep(_LOOK_SECONDS)
    return running


def describe_unit(board: str, arguments: Sequence[str]) -> str:
    words = [sys.executable, "-m", "punchlist", "--db", os.path.realpath(board), "serve", "--no-link", *arguments]
    command = " ".join(_quote_for_systemd(word) for word in words)
    return (
        "# punchlist serve --systemd > ~/.config/systemd/user/punchlist.service\n"
        "# systemctl --user enable --now punchlist    and then: punchlist serve --status\n"
        "[Unit]\n"
        "Description=Punchlist: the page and the API of a board\n\n"
        "[Service]\n"
        f"ExecStart={command}\n"
        "Restart=on-failure\n\n"
        "[Install]\n"
        "WantedBy=default.target\n"
    )


def _quote_for_systemd(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return escaped if escaped == word and word.isprintable() and " " not in word else f'"{escaped}"'
