"""Tell followers that something was committed: threads of this process by a condition, other processes by a file.

Each commit writes one byte to the notify file. On Linux the kernel reports that write (inotify); elsewhere listeners
check the file's time now and then. A listener holds a shared lock on the file. Without a listener nothing is
written, because a write to a file costs as much as one to the list.
"""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from time import sleep

from punchlist.store.files import open_own_file
from punchlist.store.lock import fcntl

POLL_SECONDS = 0.02
_IN_MODIFY = 0x2
_TRIES = 50
"""A listener tries so often, a millisecond apart, to lock the file: a notifier holds it for microseconds only."""


class Notifier:
    """Counts commits, of this process and of others, and wakes those who wait for the next one.

    It does not refer to its store, so that a listener's thread does not keep a dropped store alive.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._handle = open_own_file(path, os.O_RDWR) if path else None
        self._listener: Listener | None = None
        self._changed = threading.Condition()
        self._count = 0
        self._waiting = 0
        self._closed = False

    def announce(self) -> None:
        """Tell everybody that something was committed. Never fails: the commit stands, a follower looks by itself."""
        with suppress(OSError):
            if self._handle is not None and not self._is_unheard(self._handle):
                os.pwrite(self._handle, b"!", 0)
        self._count_change()

    def _is_unheard(self, handle: int) -> bool:
        """True without a listener. A listener that starts just now reads the board after it has locked the file."""
        if fcntl is None:  # not a POSIX system: the file is written at each commit
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        fcntl.flock(handle, fcntl.LOCK_UN)
        return True

    def _count_change(self) -> None:
        self._count += 1
        if self._waiting:
            with self._changed:
                self._changed.notify_all()

    def listen(self) -> int:
        """Start to listen to other processes, unless that was done; return the count to hand to `wait`."""
        with self._changed:
            if self._path and self._listener is None and not self._closed:
                self._listener = Listener(self._path, self._count_change)
            return self._count

    def wait(self, seen: int, seconds: float) -> None:
        """Return once the count is no longer `seen`, or the store is closed, or the time is up."""
        with self._changed:
            self._waiting += 1  # before the count is compared: a commit after that notifies us
            try:
                self._changed.wait_for(lambda: self._count != seen or self._closed, seconds)
            finally:
                self._waiting -= 1

    def reopen_after_fork(self) -> None:
        """Start again in a child: threads that wait and the listener's thread stayed with the parent."""
        self._listener = None
        self._changed = threading.Condition()
        self._waiting = 0

    def stop(self, *, wait: bool = True) -> None:
        """Wake those who wait, and end the listener; `wait` until its thread has ended."""
        self._closed = True
        if wait:
            with self._changed:
                self._changed.notify_all()
        if self._listener is not None:
            self._listener.stop(wait=wait)

    def close(self) -> None:
        """Close the file. No thread may announce meanwhile: another file may get its handle's number."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


class Listener:
    """A thread that calls back whenever the notify file was written, until it is stopped."""

    def __init__(self, path: str, callback: Callable[[], None]) -> None:
        self._path = path
        self._callback = callback
        self._stopped = threading.Event()
        self._handle = open_own_file(path, os.O_RDONLY)
        self._lock_shared()
        self._watch = _watch_writes(path) if sys.platform == "linux" else None
        self._wake_read, self._wake_write = os.pipe()
        self._thread = threading.Thread(target=self._run, name="punchlist-notify", daemon=True)
        self._thread.start()

    def _lock_shared(self) -> None:
        """Say that there is a listener. A notifier is out of the way at once, unless its process was stopped."""
        if fcntl is None:
            return
        for _ in range(_TRIES):
            try:
                fcntl.flock(self._handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return
            except OSError:
                sleep(0.001)

    def stop(self, *, wait: bool = True) -> None:
        if not self._stopped.is_set():
            os.write(self._wake_write, b"!")  # first: once it is stopped, the thread closes this pipe
            self._stopped.set()
            if wait:
                self._thread.join(timeout=5)

    def _run(self) -> None:
        try:
            if self._watch is None:
                self._poll()
            else:
                self._read_watch(self._watch)
        finally:
            for handle in (self._watch, self._wake_read, self._wake_write, self._handle):
                if handle is not None:
                    os.close(handle)

    def _read_watch(self, watch: int) -> None:
        waiting = select.poll()
        waiting.register(watch, select.POLLIN)
        waiting.register(self._wake_read, select.POLLIN)
        while not self._stopped.is_set():
            if any(handle == watch for handle, _ in waiting.poll()):
                os.read(watch, 4096)
                self._callback()

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


def _watch_writes(path: str) -> int | None:
    """Return a handle that becomes readable when the file is written; None where the system has none to give."""
    import ctypes  # only followers pay for it

    libc = ctypes.CDLL(None, use_errno=True)
    handle: int = libc.inotify_init1(os.O_CLOEXEC)
    if handle < 0:
        return None
    if libc.inotify_add_watch(handle, os.fsencode(path), _IN_MODIFY) < 0:
        os.close(handle)
        return None
    return handle
