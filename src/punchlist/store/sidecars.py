"""Keep two files next to the database: the lock, for one writer at a time, and the notify file, which wakes followers.

SQLite's own waiting starves writers, and before 3.51.3 several processes that write and checkpoint at once can damage a
WAL file. So the lock is held by everything that writes, checkpoints, or opens or closes a connection that can write.

Each commit writes one byte to the notify file. On Linux the kernel reports that write (inotify); elsewhere listeners
check the file's time now and then. A listener holds a shared lock on the file. Without a listener nothing is written,
because a write to a file costs as much as one to the list.
"""

from __future__ import annotations

import os
import select
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from math import inf
from threading import get_ident
from time import monotonic, sleep
from typing import NamedTuple

from punchlist.errors import StoreBusy
from punchlist.store.files import open_own_file

try:
    import fcntl
except ImportError as error:
    raise ImportError("Punchlist runs on Linux and macOS; on Windows, use WSL.") from error

_TRY = fcntl.LOCK_EX | fcntl.LOCK_NB
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


def find_deadline(timeout: float) -> tuple[float, float]:
    """Return the seconds to wait within the limit of this context, and when they end on the monotonic clock."""
    limit = _limit.get()
    seconds = min(timeout, limit.seconds)
    return seconds, min(monotonic() + seconds, limit.ends)


class SidecarLock:
    """A lock file, held by one thread of one process at a time; with an empty path it only serialises threads.

    The kernel ties a `flock` to an open handle, which all threads of this process share: `threads` keeps them apart.
    """

    def __init__(self, path: str, *, timeout: float = 30.0, board: str = "") -> None:
        self.path = path
        self.timeout = timeout
        self.ends = inf
        """When the time is up that the holder would have waited for, on the monotonic clock."""
        self._board = board or path.removesuffix(".lock")
        self.threads = threading.RLock()
        self._owner = 0
        self._in_a_row = 0
        self._handle = self._open()

    def _open(self) -> int | None:
        return None if not self.path else open_own_file(self.path, os.O_RDWR)

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
        timeout, ends = find_deadline(self.timeout if timeout is None else timeout)
        if not self.threads.acquire(timeout=max(0.0, ends - monotonic())):
            raise self._busy(timeout)
        self._owner = get_ident()
        self.ends = ends
        if self._handle is None:
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
        if sys.platform == "linux":
            with suppress(OSError):
                fcntl.lockf(handle, fcntl.LOCK_SH | fcntl.LOCK_NB if waits else fcntl.LOCK_UN, 1)

    def _let_others_in(self) -> None:
        """Pause if another process waits: the kernel wakes it, but a process that is awake takes the lock first."""
        self._in_a_row = 0
        if self._handle is None or sys.platform != "linux":
            return
        try:
            fcntl.lockf(self._handle, _TRY, 1)
            fcntl.lockf(self._handle, fcntl.LOCK_UN, 1)
        except OSError:
            sleep(_POLITE_SECONDS)

    def _busy(self, timeout: float) -> StoreBusy:
        return StoreBusy(path=self._board, seconds=f"{round(timeout, 2):g}")

    def release(self) -> None:
        """Release the lock if this thread holds it, or was interrupted on the way to it. Can be repeated."""
        if self.is_mine:
            if self._handle is not None:
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


POLL_SECONDS = 0.02
_IN_MODIFY = 0x2
_TRIES = 50
"""A listener tries so often, a millisecond apart, to lock the file: a notifier holds it for microseconds only."""


class Listening(ABC):
    """A thread that calls back at each commit of another process, until it is stopped."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback
        self._stopped = threading.Event()
        self._wake_read, self._wake_write = os.pipe()
        self._thread = threading.Thread(target=self._run, name="punchlist-notify", daemon=True)
        self._thread.start()

    @abstractmethod
    def _listen(self) -> None:
        """Call back at each commit, until this is stopped or the pipe can be read."""

    def _run(self) -> None:
        try:
            self._listen()
        finally:
            os.close(self._wake_read)
            os.close(self._wake_write)

    def stop(self, *, wait: bool = True) -> None:
        if not self._stopped.is_set():
            os.write(self._wake_write, b"!")  # first: once it is stopped, the thread closes this pipe
            self._stopped.set()
            if wait:
                self._thread.join(timeout=5)


class Notifier:
    """Counts commits, of this process and of others, and wakes those who wait for the next one.

    It does not refer to its store, so that a listener's thread does not keep a dropped store alive.
    """

    def __init__(self, path: str, start: Callable[[Callable[[], None]], Listening] | None = None) -> None:
        self._handle = open_own_file(path, os.O_RDWR) if path else None
        self._start = partial(Listener, path) if path else start
        self._listener: Listening | None = None
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
        try:
            fcntl.flock(handle, _TRY)
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
            if self._start is not None and self._listener is None and not self._closed:
                self._listener = self._start(self._count_change)
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


class Listener(Listening):
    """A thread that calls back whenever the notify file was written, until it is stopped."""

    def __init__(self, path: str, callback: Callable[[], None]) -> None:
        self._path = path
        self._handle = open_own_file(path, os.O_RDONLY)
        self._lock_shared()
        self._watch = _watch_writes(path) if sys.platform == "linux" else None
        super().__init__(callback)

    def _lock_shared(self) -> None:
        """Say that there is a listener. A notifier is out of the way at once, unless its process was stopped."""
        for _ in range(_TRIES):
            try:
                fcntl.flock(self._handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return
            except OSError:
                sleep(0.001)

    def _listen(self) -> None:
        try:
            if self._watch is None:
                self._poll()
            else:
                self._read_watch(self._watch)
        finally:
            os.close(self._handle)
            if self._watch is not None:
                os.close(self._watch)

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
