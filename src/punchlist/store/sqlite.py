"""SQLite, on disk or in memory. One writer at a time over all processes; readers never wait for it."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from typing import TypeVar

from punchlist.errors import StoreClosed, StoreError
from punchlist.store.bell import Bell, Listener
from punchlist.store.commit import GroupCommit
from punchlist.store.contract import Durability
from punchlist.store.faults import fault, faults, os_fault
from punchlist.store.forks import follow_forks, never_close
from punchlist.store.format import connect, make_private_file
from punchlist.store.lock import SidecarLock
from punchlist.store.syncing import Syncing
from punchlist.store.transaction import Rows
from punchlist.store.writing import Writing

T = TypeVar("T")


class SqliteStore(Writing):
    """A board in one file, or in memory when the path is empty."""

    def __init__(self, path: str, *, durability: Durability = "full", lock_timeout: float = 30.0) -> None:
        self.path = path or "memory:"
        self.durable = bool(path)
        self._file = os.path.realpath(path) if path else ""  # a link and its target need the same lock
        self._durability: Durability = durability
        self._timeout = lock_timeout
        self._closed = False
        self._lock: SidecarLock | None = None
        self._bell: Bell | None = None
        self._syncing = Syncing(f"{self._file}-wal") if path and durability == "full" else None
        self._listener: Listener | None = None
        self._writer: Rows | None = None
        self._reader: Rows | None = None
        self._rings = 0
        self._waiting = 0
        self._inside = False
        self._make_locks()
        with faults(self.path), ExitStack() as undo:
            if path:
                make_private_file(self._file)
                self._lock = SidecarLock(f"{self._file}.lock", timeout=lock_timeout)
                undo.callback(self._lock.close)
                self._bell = Bell(f"{self._file}.bell")
                undo.callback(self._bell.close)
            with self._exclusive():
                self._writer = self._open()
            undo.pop_all()
        follow_forks(self)

    def _make_locks(self) -> None:
        """Whoever needs both takes the one for writing first."""
        self._rung = threading.Condition()
        self._write_lock = threading.RLock()
        self._read_lock = threading.RLock() if self._file else self._write_lock
        self._commits = GroupCommit(self._commit, syncs=self._syncing is not None)

    def _open(self, *, writes: bool = True) -> Rows:
        connection = connect(self._file, durability=self._durability, timeout=self._timeout)
        return Rows(connection, keeps=writes, shared=bool(self._file))

    def _exclusive(self) -> AbstractContextManager[None]:
        """Alone among all processes."""
        return nullcontext() if self._lock is None else self._lock.held()

    # Reading.

    def read(self, what: Callable[[Rows], T]) -> T:
        with self._read_lock:
            if self._closed:
                raise StoreClosed(path=self.path)
            try:
                return what(self._reading())
            except sqlite3.Error as error:
                raise fault(error, self.path, seconds=self._timeout) from error
            except OSError as error:
                raise os_fault(error, self.path) from error

    def _reading(self) -> Rows:
        """Only the first connection of a process, which may have to recover the file, needs to be alone with it."""
        rows = self._reader if self._file else self._writer
        if rows is None:
            with self._exclusive() if self._writer is None else nullcontext():
                rows = self._reader = self._open(writes=False)
        return rows

    # The end.

    def close(self) -> None:
        with self._rung:
            if self._closed:
                return
            self._closed = True
            self._rung.notify_all()
        if self._listener is not None:
            self._listener.stop()
        with self._write_lock, self._read_lock:
            if self._syncing is not None:
                self._syncing.settle()
            self._disconnect(wait=True)
            for part in (self._lock, self._bell):
                if part is not None:
                    part.close()

    def _disconnect(self, *, wait: bool) -> None:
        """Closes the connections. Whoever is the last to do so checkpoints, hence the lock.

        Without it, if it is not to be had: then another process is at work, and we are not the last.
        """
        taken = False
        with suppress(StoreError, OSError):
            taken = self._lock is not None and self._lock.acquire(wait=wait)
        for rows in (self._reader, self._writer):
            if rows is not None:
                with suppress(sqlite3.Error):
                    rows.connection.close()
        self._reader = self._writer = None
        if taken and self._lock is not None:
            self._lock.release()

    # Forks.

    def before_fork(self) -> None:
        self._write_lock.acquire()
        self._read_lock.acquire()
        self._inside = self._writer is not None and self._writer.connection.in_transaction
        if self._file and not self._closed and not self._inside:
            self._disconnect(wait=False)

    def after_fork(self, *, child: bool) -> None:
        if not child:
            self._read_lock.release()
            self._write_lock.release()
            return
        self._listener = None
        self._waiting = 0
        if self._syncing is not None:
            self._syncing = Syncing(f"{self._file}-wal")  # its thread stayed with the parent
        self._make_locks()
        if self._lock is not None and not self._closed:
            self._lock.reopen_after_fork()
        if self._file and self._inside:
            never_close(*(rows.connection for rows in (self._writer, self._reader) if rows is not None))
            self._reader = self._writer = None
            self._closed = True
