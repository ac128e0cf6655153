"""SQLite, on disk or in memory. One writer at a time over all processes; readers never wait for it."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from time import monotonic
from typing import TypeVar

from punchlist.core.events import Event
from punchlist.core.todo import TodoList
from punchlist.errors import StoreClosed, StoreError
from punchlist.store.bell import Bell, Listener
from punchlist.store.commit import GroupCommit, Request, parted
from punchlist.store.contract import AgentRow, Durability, ListRow, SessionRow, Transaction
from punchlist.store.faults import RowDamaged, fault, faults, os_fault
from punchlist.store.forks import follow_forks
from punchlist.store.format import connect, make_private_file
from punchlist.store.lock import SidecarLock
from punchlist.store.syncing import Syncing
from punchlist.store.transaction import Rows

T = TypeVar("T")
_LOOK_AGAIN = 1.0
"""Seconds after which a follower looks by itself, should the bell have been deleted or never rung."""

_HARMLESS = (
    sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.DataError, RowDamaged,
)  # fmt: skip
"""Faults of a statement or a row, not of the disk: the connection is as good as before."""


class SqliteStore:
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

    # Writing.

    def transact(self, work: Callable[[Transaction], T], *, lasting: bool = True, lane: str = "") -> T:
        return self._commits.submit(work, lasting=lasting, lane=lane)

    def _commit(self, batch: list[Request]) -> None:
        """Settles each request. What it raises is an interruption of this thread."""
        with self._write_lock:
            try:
                if self._closed:
                    raise StoreClosed(path=self.path)
                if self._lock is not None:
                    self._lock.acquire()
                parts = [batch] if self._syncing is None or len(batch) == 1 else parted(batch)
                for part in parts:
                    if not self._run(part):
                        for request in part:
                            self._run([request])
                    if part is not parts[-1]:  # these need not wait for the disk
                        for request in part:
                            request.wake()
            except (StoreError, OSError) as error:
                for request in batch:
                    if not request.settled:
                        request.error = _ours(error, self.path)
                        request.settled = True
            finally:
                late: BaseException | None = None
                while self._lock is not None:
                    try:
                        self._lock.release()
                        break
                    except BaseException as error:  # one more Ctrl-C, just here: first let go, then obey
                        late = error
                if late is not None:
                    raise late
        self._announce()

    def _run(self, batch: list[Request]) -> bool:
        """Commits these works together; False if that did not go and each is to be tried by itself."""
        rows, committing = self._writer, False
        try:
            if rows is None:
                rows = self._writer = self._open()
            connection = rows.connection
            lasting = any([request.lasting for request in batch])  # noqa: C419 - quicker than a generator
            if self._syncing is not None:
                rows.sync(lasting)
            connection.execute("BEGIN IMMEDIATE")
            rows.begin()
            alone = len(batch) == 1
            for request in batch:
                changes = 0 if alone else connection.total_changes + rows.put_off
                try:
                    request.result = request.work(rows)
                    request.error = None
                except Exception as error:
                    wrote = alone or connection.total_changes + rows.put_off != changes
                    if wrote or isinstance(error, sqlite3.Error):
                        raise
                    request.error = error
            rows.flush()
            committing = True
            connection.execute("COMMIT")
            if self._syncing is not None:
                self._syncing.paid() if lasting else self._syncing.owe()
        except BaseException as error:
            committed = committing and rows is not None and not rows.connection.in_transaction
            if committed and not isinstance(error, Exception):
                _settle(batch)
                raise
            self._take_back(error)
            if not isinstance(error, Exception):
                raise
            if len(batch) > 1:
                return False
            known = isinstance(error, sqlite3.Error)
            batch[0].error = fault(error, self.path, seconds=self._timeout) if known else error
        _settle(batch)
        return True

    def _take_back(self, error: BaseException) -> None:
        """Rolls back. After a fault of the disk the next call gets a new connection."""
        rows = self._writer
        if rows is None:
            return
        rows.forget()
        broken = isinstance(error, sqlite3.Error) and not isinstance(error, _HARMLESS)
        try:
            if rows.connection.in_transaction:
                rows.connection.execute("ROLLBACK")
        except sqlite3.Error:
            broken = True
        if broken and self._file:
            self._writer = None
            with suppress(sqlite3.Error):
                rows.connection.close()

    # Followers.

    def _announce(self) -> None:
        if self._bell is not None:
            self._bell.ring()
        self._ring()

    def _ring(self) -> None:
        self._rings += 1
        if self._waiting:
            with self._rung:
                self._rung.notify_all()

    def wait(self, after: int, timeout: float | None) -> bool:
        ends = None if timeout is None else monotonic() + timeout
        while True:
            with self._rung:
                if self._file and self._listener is None and not self._closed:
                    self._listener = Listener(f"{self._file}.bell", self._ring)
                rings = self._rings
            if self._closed or self.last_seq() > after:
                return not self._closed
            left = _LOOK_AGAIN if ends is None else min(_LOOK_AGAIN, ends - monotonic())
            if left <= 0:
                return False
            with self._rung:
                self._waiting += 1  # first, so that whoever rings from now on calls; then a last look
                try:
                    self._rung.wait_for(lambda rings=rings: self._rings != rings or self._closed, left)
                finally:
                    self._waiting -= 1

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

    def agent(self, session: str, name: str) -> AgentRow | None:
        return self.read(lambda rows: rows.agent(session, name))

    def list_at(self, number: int, revision: int) -> TodoList | None:
        return self.read(lambda rows: rows.list_at(number, revision))

    def lists(self, *, project: str | None = None, session: str | None = None, limit: int = 20) -> Sequence[ListRow]:
        return self.read(lambda rows: rows.lists(project=project, session=session, limit=limit))

    def sessions(self, *, project: str | None = None, limit: int = 50) -> Sequence[SessionRow]:
        return self.read(lambda rows: rows.sessions(project=project, limit=limit))

    def events_after(self, after: int, limit: int = 1000) -> Sequence[Event]:
        return self.read(lambda rows: rows.events_after(after, limit))

    def last_events(self, limit: int) -> Sequence[Event]:
        return self.read(lambda rows: rows.last_events(limit))

    def last_seq(self) -> int:
        return self.read(lambda rows: rows.last_seq())

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
            _never_close(self._writer, self._reader)
            self._reader = self._writer = None
            self._closed = True


def _settle(batch: list[Request]) -> None:
    for request in batch:
        request.settled = True


def _ours(error: StoreError | OSError, path: str) -> StoreError:
    """An error of its own for each request: threads must not raise the same object."""
    ours = os_fault(error, path) if isinstance(error, OSError) else type(error)(**error.data)
    ours.__cause__ = error
    return ours


def _never_close(*inherited: Rows | None) -> None:
    """Keeps connections of the parent's from being closed in a child, not even at its end: that would write."""
    import ctypes

    for rows in inherited:
        if rows is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(rows.connection))
