"""The bell: a small file beside the database, written after each commit, that wakes followers in other processes.

On Linux the kernel tells us of the write (inotify); elsewhere the file is looked at now and then.
"""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Callable

POLL_SECONDS = 0.02
_IN_MODIFY = 0x2


class Bell:
    """Rings for everybody who listens to the same file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)

    def ring(self) -> None:
        """Never fails: a bell that cannot be rung delays followers, it does not fail a write that is committed."""
        try:
            os.pwrite(self._handle, b"!", 0)
        except OSError:
            return

    def close(self) -> None:
        os.close(self._handle)


class Listener:
    """A thread that calls back whenever the bell rang, until it is stopped."""

    def __init__(self, path: str, callback: Callable[[], None]) -> None:
        self._path = path
        self._callback = callback
        self._stopped = threading.Event()
        self._wake_read, self._wake_write = os.pipe()
        self._thread = threading.Thread(target=self._run, name="punchlist-bell", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        if not self._stopped.is_set():
            self._stopped.set()
            os.write(self._wake_write, b"!")
            self._thread.join(timeout=5)
            os.close(self._wake_read)
            os.close(self._wake_write)

    def _run(self) -> None:
        watch = _inotify(self._path) if sys.platform == "linux" else None
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
