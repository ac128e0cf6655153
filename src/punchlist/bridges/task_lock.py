"""The lock of a folder of task files, as Claude Code takes it: a folder `.lock.lock` beside the file `.lock`.

Whoever can make that folder has the lock; one that was not touched for ten seconds belongs to a program that ended.
Programs that lock the file `.lock` itself (`flock`) are kept out, and waited for, besides. We do both, and write into
`.lock` which folder is ours: so one of ours that was killed is known at once, and nobody waits for it.

Whoever holds a folder may wait for the store; nobody who is within a transaction may wait for a folder. So the two
are always taken in that order.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress

from punchlist.errors import ListFileRefused

STALE = 10.0
"""Seconds."""

_PAUSE = 0.01
HELD = ".lock.lock"
_FILE = ".lock"
_guard = threading.Lock()
_queues: dict[str, threading.Lock] = {}
_rests: dict[str, float] = {}
"""Until when a folder is left to others, after this process had it: on the monotonic clock."""

_LONGEST_REST = 0.1
_own = threading.local()


def is_held(folder: str) -> bool:
    """Whether this thread has the folder to itself."""
    return folder in _held_here()


def _held_here() -> set[str]:
    return _own.__dict__.setdefault("folders", set[str]())


@contextmanager
def held(folder: str, *, patience: float = 2.0) -> Generator[None]:
    """As `locked`, for one thread of this process after the other. A thread that has it already goes on.

    After each time the folder is free for half as long: Claude Code only tries some thirty times.
    """
    mine = _held_here()
    if folder in mine:
        yield
        return
    with _guard:
        queue = _queues.setdefault(folder, threading.Lock())
    deadline = time.monotonic() + patience
    if not queue.acquire(timeout=patience):
        raise ListFileRefused(path=folder, problem="others of this process are at it all the time")
    try:
        time.sleep(max(0.0, _rests.get(folder, 0.0) - time.monotonic()))
        with locked(folder, patience=max(0.0, deadline - time.monotonic())):
            began = time.monotonic()
            mine.add(folder)
            try:
                yield
            finally:
                mine.discard(folder)
        ended = time.monotonic()
        _rests[folder] = ended + min((ended - began) / 2, _LONGEST_REST)
    finally:
        queue.release()


@contextmanager
def locked(folder: str, *, patience: float = 2.0) -> Generator[None]:
    """The folder, which has to be there, to ourselves. Raises `ListFileRefused` after so many seconds."""
    deadline = time.monotonic() + patience
    path = os.path.join(folder, _FILE)
    taken = os.path.join(folder, HELD)
    try:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        file = os.open(path, flags, 0o600)
    except OSError as error:
        raise ListFileRefused(path=path, problem=error.strerror or str(error)) from error
    try:
        while (alone := _flock(file)) is False:
            _wait(path, deadline)
        if alone and (left := _mark(taken)) is not None and left == _written(file):
            with suppress(OSError):
                os.rmdir(taken)
        while not _make(taken):
            _wait(taken, deadline)
        touch = _Touch(taken, file)
        try:
            yield
        finally:
            touch.end()
    finally:
        os.close(file)


class _Touch:
    """Touches the folder of a lock that is ours now and then, as a wait for the store may be long, and ends it.

    Whoever was stopped for so long that others took the lock for stale finds it in other hands, and leaves it there.
    """

    def __init__(self, path: str, file: int) -> None:
        self._path = path
        self._file = file
        self._mark = self._noted()
        self._turn = threading.Lock()
        self._over = threading.Event()
        threading.Thread(target=self._run, name="punchlist-folder", daemon=True).start()

    def _noted(self) -> bytes | None:
        """What tells the folder from another of its name, written down for those who come after us."""
        found = _mark(self._path)
        with suppress(OSError):
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, found or b"", 0)
        return found

    def _run(self) -> None:
        while not self._over.wait(STALE / 3):
            with self._turn:
                if self._over.is_set() or _mark(self._path) != self._mark:
                    return
                with suppress(OSError):
                    os.utime(self._path)
                self._mark = self._noted()

    def end(self) -> None:
        with self._turn:
            self._over.set()
            if _mark(self._path) == self._mark:
                with suppress(OSError):
                    os.rmdir(self._path)
            with suppress(OSError):
                os.ftruncate(self._file, 0)


def _mark(path: str) -> bytes | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return f"punchlist {found.st_ino} {found.st_mtime_ns}".encode()


def _written(file: int) -> bytes:
    try:
        return os.pread(file, 100, 0)
    except OSError:
        return b""


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


def _flock(file: int) -> bool | None:
    """Whether nobody else has the file locked; None where nobody can tell."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    except OSError:
        return None  # a file system without locks
