"""The lock beside the database: one writer at a time over all processes, in the order in which they came.

SQLite's own waiting starves writers, and before 3.51.3 several processes that write and checkpoint at once can
damage a WAL file. Whoever writes, checkpoints, opens or closes holds this lock.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import ModuleType

from punchlist.errors import StoreBusy

try:
    import fcntl as _fcntl
except ImportError:  # not a POSIX system: SQLite's own lock has to do
    _fcntl = None

fcntl: ModuleType | None = _fcntl


class SidecarLock:
    """A lock file. Not reentrant; the caller keeps its own threads apart."""

    def __init__(self, path: str, *, timeout: float = 30.0) -> None:
        self.path = path
        self.timeout = timeout
        self._handle = self._open()

    def _open(self) -> int:
        return os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)

    def acquire(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._wait()

    def _wait(self) -> None:
        """Queues in the kernel, in a thread of its own, so that a stopped holder cannot stop us for ever."""
        assert fcntl is not None
        flock, exclusive, unlock = fcntl.flock, fcntl.LOCK_EX, fcntl.LOCK_UN
        handle = self._handle
        outcome = threading.Lock()
        state = {"gave_up": False}
        held = threading.Event()

        def queue() -> None:
            flock(handle, exclusive)
            with outcome:
                if state["gave_up"]:
                    flock(handle, unlock)
                    os.close(handle)
                else:
                    held.set()

        threading.Thread(target=queue, daemon=True).start()
        if held.wait(self.timeout):
            return
        with outcome:
            if held.is_set():
                return
            state["gave_up"] = True
        self._handle = self._open()
        raise StoreBusy(path=self.path, seconds=int(self.timeout))

    def release(self) -> None:
        if fcntl is not None:
            fcntl.flock(self._handle, fcntl.LOCK_UN)

    @contextmanager
    def held(self) -> Generator[None]:
        self.acquire()
        try:
            yield
        finally:
            self.release()

    def reopen_after_fork(self) -> None:
        """A child shares its parent's lock until it has a handle of its own."""
        os.close(self._handle)
        self._handle = self._open()

    def close(self) -> None:
        os.close(self._handle)
