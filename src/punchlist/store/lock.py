"""Lock the file next to the database: one writer at a time over all threads and processes.

SQLite's own waiting starves writers, and before 3.51.3 several processes that write and checkpoint at once can
damage a WAL file. So this lock is held by everything that writes, checkpoints, or opens or closes a connection that
can write.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from math import inf
from threading import get_ident
from time import monotonic, sleep
from types import ModuleType
from typing import NamedTuple

from punchlist.errors import StoreBusy
from punchlist.store.files import open_own_file

try:
    import fcntl as _fcntl
except ImportError:  # not a POSIX system: SQLite's own lock has to do
    _fcntl = None

fcntl: ModuleType | None = _fcntl

_TRY = 0 if fcntl is None else fcntl.LOCK_EX | fcntl.LOCK_NB
_MOST_IN_A_ROW = 2
"""A process may retake the lock so many times just after it released it, before it looks for waiting processes."""

_POLITE_SECONDS = 0.001


class _WaitLimit(NamedTuple):
    seconds: float
    """The longest wait for the lock."""
    ends: float
    """When every wait ends, on the monotonic clock."""


_NO_LIMIT = _WaitLimit(inf, inf)
_limit: ContextVar[_WaitLimit] = ContextVar("punchlist_lock_limit", default=_NO_LIMIT)


@contextmanager
def limit_wait(seconds: float, *, in_all: bool = False) -> Generator[None]:
    """Let nothing in this context wait longer for the lock; with `in_all`, all its waits together.

    A server limits a whole request by it, and threads that run a part of the request with its context.
    """
    outer = _limit.get()
    ends = monotonic() + seconds if in_all else inf
    token = _limit.set(_WaitLimit(min(seconds, outer.seconds), min(ends, outer.ends)))
    try:
        yield
    finally:
        _limit.reset(token)


class SidecarLock:
    """A lock file, held by one thread of one process at a time; with an empty path it only serialises threads.

    The kernel ties a `flock` to an open handle, which all threads of this process share: `threads` keeps them apart.
    """

    def __init__(self, path: str, *, timeout: float = 30.0) -> None:
        self.path = path
        self.timeout = timeout
        self.threads = threading.RLock()
        self._owner = 0
        self._in_a_row = 0
        self._handle = self._open()

    def _open(self) -> int | None:
        return None if fcntl is None or not self.path else open_own_file(self.path, os.O_RDWR)

    @property
    def is_mine(self) -> bool:
        """True if the calling thread holds the lock."""
        return self._owner == get_ident()

    def acquire(self, timeout: float | None = None) -> bool:
        """Take the lock and return True; False if this thread holds it already.

        Raise `StoreBusy` if it could not be had within `timeout` seconds, by default those of this lock, or within
        the limit of this context.
        """
        if self.is_mine:
            return False
        limit = _limit.get()
        timeout = min(self.timeout if timeout is None else timeout, limit.seconds)
        ends = min(monotonic() + timeout, limit.ends)
        if not self.threads.acquire(timeout=max(0.0, ends - monotonic())):
            raise self._busy(timeout)
        self._owner = get_ident()
        if self._handle is None or fcntl is None:
            return True
        try:
            self._in_a_row += 1
            if self._in_a_row > _MOST_IN_A_ROW:
                self._let_others_in()
            fcntl.flock(self._handle, _TRY)
        except BlockingIOError:
            self._wait(self._handle, ends, timeout)
        except BaseException:
            self.release()
            raise
        return True

    def _wait(self, handle: int, ends: float, timeout: float) -> None:
        """Queue in the kernel, which is fair, in a thread of its own: a stopped holder must not stop us for ever."""
        turn = _Turn(handle)
        try:
            if monotonic() >= ends:
                raise self._busy(timeout)
            self._hint_that_we_wait(handle, True)
            turn.start()
            if not turn.wait(ends - monotonic()):
                raise self._busy(timeout)
            self._in_a_row = 0
            self._hint_that_we_wait(handle, False)
        except BaseException:
            if turn.give_up():
                self._handle = self._open()  # the old handle belongs to the thread, which may get the lock yet
            self.release()
            raise

    def _hint_that_we_wait(self, handle: int, waits: bool) -> None:
        """Take a shared lock on the first byte, of Linux's other kind of lock; a hint may get lost."""
        if fcntl is not None and sys.platform == "linux":
            with suppress(OSError):
                fcntl.lockf(handle, fcntl.LOCK_SH | fcntl.LOCK_NB if waits else fcntl.LOCK_UN, 1)

    def _let_others_in(self) -> None:
        """Pause if another process waits: the kernel wakes it, but a process that is awake takes the lock first."""
        self._in_a_row = 0
        if fcntl is None or self._handle is None or sys.platform != "linux":
            return
        try:
            fcntl.lockf(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)
            fcntl.lockf(self._handle, fcntl.LOCK_UN, 1)
        except OSError:
            sleep(_POLITE_SECONDS)

    def _busy(self, timeout: float) -> StoreBusy:
        return StoreBusy(path=self.path.removesuffix(".lock"), seconds=f"{round(timeout, 2):g}")

    def release(self) -> None:
        """Release the lock if this thread holds it, or was interrupted on the way to it. Can be repeated."""
        if self.is_mine:
            if fcntl is not None and self._handle is not None:
                fcntl.flock(self._handle, fcntl.LOCK_UN)
            self._owner = 0
        with suppress(RuntimeError):  # it was not held
            self.threads.release()

    @contextmanager
    def hold(self, timeout: float | None = None) -> Generator[None]:
        taken = self.acquire(timeout)
        try:
            yield
        finally:
            if taken:
                self.release()

    def reopen_after_fork(self) -> None:
        """Open a handle of the child's own: it would share its parent's lock, and keep it when the parent is killed."""
        self.close()
        self.threads = threading.RLock()
        self._owner = 0
        self._handle = self._open()

    def close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


class _Turn:
    """A place in the kernel's queue for the lock, held by a thread that can be abandoned."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._decided = threading.Lock()
        self._started = False
        self._given_up = False
        self._came = threading.Event()
        self._error: OSError | None = None

    def start(self) -> None:
        thread = threading.Thread(target=self._queue, name="punchlist-lock", daemon=True)
        self._started = True  # first: an interruption from now on leaves the handle to the thread
        thread.start()

    def _queue(self) -> None:
        assert fcntl is not None
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX)
        except OSError as error:
            self._error = error
        with self._decided:
            if not self._given_up:
                self._came.set()
                return
        fcntl.flock(self._handle, fcntl.LOCK_UN)  # explicitly: a forked child may hold the handle too
        os.close(self._handle)

    def wait(self, timeout: float) -> bool:
        """Wait until the lock is ours; False when the time is up."""
        came = self._came.wait(timeout)
        if self._error is not None:
            raise self._error
        return came

    def give_up(self) -> bool:
        """Return True if the thread has to close the handle now; False if it never ran, or the lock came after all."""
        with self._decided:
            self._given_up = self._started and not self._came.is_set()
            return self._given_up
