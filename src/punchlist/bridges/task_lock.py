"""The lock of a folder of task files, as Claude Code takes it: a folder `.lock.lock` beside the file `.lock`.

Whoever can make that folder has the lock; one that was not touched for ten seconds belongs to a program that ended.
Programs that lock the file `.lock` itself (`flock`) are kept out, and waited for, besides.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress

from punchlist.errors import ListFileRefused

STALE = 10.0
"""Seconds."""

_PAUSE = 0.01
HELD = ".lock.lock"
_FILE = ".lock"


@contextmanager
def locked(folder: str, *, patience: float = 2.0) -> Generator[None]:
    """The folder, which has to be there, to ourselves. Raises `ListFileRefused` after so many seconds."""
    deadline = time.monotonic() + patience
    path = os.path.join(folder, _FILE)
    held = os.path.join(folder, HELD)
    try:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        file = os.open(path, flags, 0o600)
    except OSError as error:
        raise ListFileRefused(path=path, problem=error.strerror or str(error)) from error
    try:
        while not _flock(file):
            _wait(path, deadline)
        while not _make(held):
            _wait(held, deadline)
        try:
            yield
        finally:
            with suppress(OSError):
                os.rmdir(held)
    finally:
        os.close(file)


def _wait(path: str, deadline: float) -> None:
    if time.monotonic() >= deadline:
        raise ListFileRefused(path=path, problem="another program holds the lock of its folder")
    time.sleep(_PAUSE)


def _make(held: str) -> bool:
    """Whether the folder of the lock is ours now. A stale one is taken away, for the next try."""
    try:
        os.mkdir(held, 0o700)
        return True
    except FileExistsError:
        with suppress(OSError):
            if time.time() - os.lstat(held).st_mtime > STALE:
                os.rmdir(held)
        return False
    except OSError as error:
        raise ListFileRefused(path=held, problem=error.strerror or str(error)) from error


def _flock(file: int) -> bool:
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks
