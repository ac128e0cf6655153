"""The bell: a small file beside the database, written after each commit, that wakes followers in other processes.

On Linux the kernel tells us of the write (inotify); elsewhere the file is looked at now and then. Who listens holds a
shared lock on the file: where nobody does, nothing is written, for a write to a file costs as much as one to the list.
"""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Callable
from time import sleep
from types import ModuleType

try:
    import fcntl as _fcntl
except ImportError:  # not a POSIX system: the bell is always rung
    _fcntl = None

fcntl: ModuleType | None = _fcntl

_TRY, _LET_GO = (0, 0) if fcntl is None else (fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_UN)
POLL_SECONDS = 0.02
_IN_MODIFY = 0x2
_TRIES = 50


class Bell:
    """Rings for everybody who listens to the same file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)

    def ring(self) -> None:
        """Never fails: a bell that cannot be rung delays followers, it does not fail a write that is committed."""
        try:
            if not self._unheard():
                os.pwrite(self._handle, b"!", 0)
        except OSError:
            return

    def _unheard(self) -> bool:
        """Whether nobody listens. Whoever begins to just now looks at the board once he does."""
        if fcntl is None:
            return False
        flock = fcntl.flock
        try:
            flock(self._handle, _TRY)
        except OSError:
            return False
        flock(self._handle, _LET_GO)
        return True

    def close(self) -> None:
        os.close(self._handle)


class Listener:
    """A thread that calls back whenever the bell rang, until it is stopped."""

    def __init__(self, path: str, callback: Callable[[], None]) -> None:
        self._path = path
        self._callback = callback
        self._stopped = threading.Event()
        self._ear = os.open(path, os.O_RDONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        self._listen()
        self._watch = _inotify(path) if sys.platform == "linux" else None
        self._wake_read, self._wake_write = os.pipe()
        self._thread = threading.Thread(target=self._run, name="punchlist-bell", daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        """Says that there is a listener. Whoever rings just now is out of the way at once, unless it was stopped."""
        if fcntl is None:
            return
        for _ in range(_TRIES):
            try:
                fcntl.flock(self._ear, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return
            except OSError:
                sleep(0.001)

    def stop(self) -> None:
        if not self._stopped.is_set():
            self._stopped.set()
            os.write(self._wake_write, b"!")
            self._thread.join(timeout=5)
            for handle in (self._wake_read, self._wake_write, self._ear):
                os.close(handle)

    def _run(self) -> None:
        watch = self._watch
        if watch is None:
            self._poll()
            return
        waiting = select.poll()
        waiting.register(watch, select.POLLIN)
        waiting.register(self._wake_read, select.POLLIN)
        try:
            while not self._stopped.is_set():
                if any(handle == watch for handle, _ in waiting.poll()):
                    os.read(watch, 4096)
                    self._callback()
        finally:
            os.close(watch)

    def _poll(self) -> None:
        before = -1
        while not self._stopped.wait(POLL_SECONDS):
            try:
                now = os.stat(self._path).st_mtime_ns
            except OSError:
                continue
            if now != before:
                before = now
                self._callback()


def _inotify(path: str) -> int | None:
    """A handle that becomes readable when the file is written; None where the system has no such thing to give."""
    import ctypes  # only followers pay for it

    libc = ctypes.CDLL(None, use_errno=True)
    handle: int = libc.inotify_init1(os.O_CLOEXEC)
    if handle < 0:
        return None
    if libc.inotify_add_watch(handle, os.fsencode(path), _IN_MODIFY) < 0:
        os.close(handle)
        return None
    return handle
