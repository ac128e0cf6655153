"""The lock beside the database: one writer at a time over all processes, in the order in which they came.

SQLite's own waiting starves writers, and before 3.51.3 several processes that write and checkpoint at once can
damage a WAL file. Whoever writes, checkpoints, opens or closes holds this lock.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from threading import get_ident
from time import sleep
from types import ModuleType

from punchlist.errors import StoreBusy

try:
    import fcntl as _fcntl
except ImportError:  # not a POSIX system: SQLite's own lock has to do
    _fcntl = None

fcntl: ModuleType | None = _fcntl

_TRY = 0 if fcntl is None else fcntl.LOCK_EX | fcntl.LOCK_NB
_MOST_IN_A_ROW = 2
"""So many times a process may take the lock just after it let go of it, before it looks whether others wait."""

_POLITE_SECONDS = 0.001


class SidecarLock:
    """A lock file, held by one thread of one process at a time.

    The kernel ties the lock to an open handle, so threads that share this object are kept apart by a lock of
    their own.
    """

    def __init__(self, path: str, *, timeout: float = 30.0) -> None:
        self.path = path
        self.timeout = timeout
        self._threads = threading.RLock()
        self._owner = 0
        self._in_a_row = 0
        self._handle = self._open()

    def _open(self) -> int:
        return os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)

    def acquire(self, *, wait: bool = True) -> bool:
        """Takes the lock, then True; False if this thread holds it already, or if it is taken and not to wait for.

        Raises `StoreBusy` when waiting took too long.
        """
        me = get_ident()
        if self._owner == me:
            return False
        if not self._threads.acquire(False) and not self._threads.acquire(timeout=self.timeout if wait else 0):
            if wait:
                raise self._busy()
            return False
        self._owner = me
        if fcntl is None:
            return True
        try:
            self._in_a_row += 1
            if self._in_a_row > _MOST_IN_A_ROW:
                self._let_others_in()
            fcntl.flock(self._handle, _TRY)
        except BlockingIOError:
            if not wait:
                self.release()
                return False
            self._wait()
        except BaseException:
            self.release()
            raise
        return True

    def _wait(self) -> None:
        """Queues in the kernel, in a thread of its own, so that a stopped holder cannot stop us for ever."""
        turn = _Turn(self._handle)
        try:
            self._say_that_we_wait(True)
            turn.start()
            if not turn.came(self.timeout):
                raise self._busy()
            self._in_a_row = 0
            self._say_that_we_wait(False)
        except BaseException:
            if turn.give_up():
                self._handle = self._open()
            self.release()
            raise

    def _say_that_we_wait(self, waits: bool) -> None:
        """A shared lock on the first byte, of the other kind that Linux has: a hint, which may get lost."""
        if fcntl is not None and sys.platform == "linux":
            with suppress(OSError):
                fcntl.lockf(self._handle, fcntl.LOCK_SH | fcntl.LOCK_NB if waits else fcntl.LOCK_UN, 1)

    def _let_others_in(self) -> None:
        """The kernel wakes those who wait, but does not hand the lock to them: who is awake already comes first."""
        self._in_a_row = 0
        if fcntl is None or sys.platform != "linux":
            return
        try:
            fcntl.lockf(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)
            fcntl.lockf(self._handle, fcntl.LOCK_UN, 1)
        except OSError:
            sleep(_POLITE_SECONDS)

    def _busy(self) -> StoreBusy:
        return StoreBusy(path=self.path.removesuffix(".lock"), seconds=f"{self.timeout:g}")

    def release(self) -> None:
        """Lets go, if this thread holds the lock, or was interrupted on the way to it."""
        if self._owner == get_ident():
            if fcntl is not None:
                fcntl.flock(self._handle, fcntl.LOCK_UN)
            self._owner = 0
        try:
            self._threads.release()
        except RuntimeError:
            return

    @contextmanager
    def held(self) -> Generator[None]:
        taken = self.acquire()
        try:
            yield
        finally:
            if taken:
                self.release()

    def reopen_after_fork(self) -> None:
        """In a child, which would otherwise share its parent's lock, and keep it when the parent is killed."""
        os.close(self._handle)
        self._threads = threading.RLock()
        self._owner = 0
        self._handle = self._open()

    def close(self) -> None:
        os.close(self._handle)


class _Turn:
    """A place in the kernel's queue for the lock, kept by a thread that can be left behind."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._decided = threading.Lock()
        self._given_up = False
        self._came = threading.Event()
        self._error: OSError | None = None

    def start(self) -> None:
        threading.Thread(target=self._queue, name="punchlist-lock", daemon=True).start()

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
        fcntl.flock(self._handle, fcntl.LOCK_UN)  # said aloud: a forked child may hold the handle too
        os.close(self._handle)

    def came(self, timeout: float) -> bool:
        came = self._came.wait(timeout)
        if self._error is not None:
            raise self._error
        return came

    def give_up(self) -> bool:
        """True if the handle is the thread's to close now; False if the lock came at the last moment."""
        with self._decided:
            self._given_up = not self._came.is_set()
            return self._given_up
