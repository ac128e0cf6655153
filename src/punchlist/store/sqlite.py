"""SQLite, on disk or in memory. One writer at a time over all processes; readers never wait for it."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from time import sleep
from typing import TypeVar

from punchlist.errors import StoreClosed, StoreError
from punchlist.store.backlog import Backlog
from punchlist.store.bell import Bell, Listener
from punchlist.store.commit import GroupCommit, Request, parted
from punchlist.store.contract import Durability, TakeIn, Transaction
from punchlist.store.faults import RowDamaged, fault, faults, os_fault
from punchlist.store.followed import Followed
from punchlist.store.forks import follow_forks, never_close
from punchlist.store.format import connect, make_private_file
from punchlist.store.lock import SidecarLock
from punchlist.store.pulse import Pulse
from punchlist.store.syncing import Syncing
from punchlist.store.transaction import Rows

T = TypeVar("T")
_TRIES, _A_MOMENT = 50, 0.001
"""How often, and in which steps of seconds, a reader tries to commit what waits."""

_HARMLESS = (
    sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.DataError, RowDamaged,
)  # fmt: skip
"""Faults of a statement or a row, not of the disk: the connection is as good as before."""


class _Outdated(BaseException):
    """Another process has written since, so that work which was begun without a transaction is to be done again."""


class SqliteStore(Followed):
    """A board in one file, or in memory when the path is empty."""

    def __init__(self, path: str, *, durability: Durability = "full", lock_timeout: float = 30.0) -> None:
        self.path = path or "memory:"
        self.durable = bool(path)
        self._file = os.path.realpath(path) if path else ""  # a link and its target need the same lock
        self._spools = f"{self._file}.reports"
        self._durability: Durability = durability
        self._timeout = lock_timeout
        self._closed = False
        self._lock: SidecarLock | None = None
        self._bell: Bell | None = None
        self._syncing = Syncing(f"{self._file}-wal") if path and durability == "full" else None
        self._backlog: Backlog | None = None
        self._take_in: TakeIn | None = None
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
                self._backlog = self._make_backlog()
                if self._backlog is not None:
                    undo.callback(self._backlog.close)
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

    def transact(
        self, work: Callable[[Transaction], T], *, lasting: bool = True, lane: str = "", soon: bool = False
    ) -> T:
        if soon and self._backlog is not None and self._backlog.is_open():
            return self._commits.submit_soon(work, lane=lane)
        return self._commits.submit(work, lasting=lasting, lane=lane)

    def _make_backlog(self) -> Backlog | None:
        """None where the system lacks what it takes: then each report is committed by itself."""
        with suppress(OSError, AttributeError):
            return Backlog(self._spools, Pulse(f"{self._file}.pulse"), self._settle_backlog)
        return None

    def _settle_backlog(self) -> None:
        """Commits what waits there: every transaction does."""
        self._commits.submit(_nothing, lasting=False)

    def _settle_for_reading(self) -> None:
        """The same if it can be had at once: who reads waits for nobody, and whoever is in the way may be stopped."""
        lock = self._lock
        with self._write_lock:
            try:
                for _ in range(_TRIES):
                    if lock is None or self._closed or lock.acquire(wait=False):
                        break
                    sleep(_A_MOMENT)
                else:
                    return
                self._commit([Request(_nothing, lasting=False)])
            finally:
                if lock is not None and not self._closed:
                    lock.release()  # if it was taken, and nobody let go of it

    def _commit(self, batch: list[Request]) -> None:
        """Settles each request. What it raises is an interruption of this thread."""
        with self._write_lock:
            try:
                if self._closed:
                    raise StoreClosed(path=self.path)
                parts = [batch] if self._syncing is None or len(batch) == 1 else parted(batch)
                for part in parts:
                    rest = part
                    if self._writer is not None and all([request.soon for request in part]):  # noqa: C419
                        rest = [request for request in part if not self._run([request], soon=True)]
                    if rest and self._lock is not None:
                        self._lock.acquire()
                    if rest and not self._run(rest):
                        for request in rest:
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
                    except OSError:
                        break  # its handle is closed, and the lock gone with it
                    except BaseException as error:  # one more Ctrl-C, just here: first let go, then obey
                        late = error
                if late is not None:
                    raise late
                if self._backlog is None or not self._backlog.waiting:
                    self._announce()

    def _begin(self, rows: Rows, *, lasting: bool, within: bool = False) -> bool:
        """Begins a transaction with what waits in the backlog. Whether another process has written meanwhile."""
        if self._syncing is not None:
            rows.sync(lasting)
        rows.connection.execute("BEGIN IMMEDIATE")
        changed, backlog = rows.begin(), self._backlog
        if backlog is not None and backlog.waiting:
            backlog.is_outdated = changed = changed or backlog.is_outdated
            if not changed:
                rows.put_in(backlog.events)
            elif not within:
                self._decide_anew(rows, backlog)
        return changed

    def _decide_anew(self, rows: Rows, backlog: Backlog) -> None:
        """Another process has written since: what waits is decided on what is there now."""
        rows.take_back()  # nothing of it has happened yet
        try:
            rows.is_anew = True
            for one in backlog.waiting:
                one.work(rows)
        except Exception:  # acknowledged is acknowledged: then it is as it was decided
            rows.take_back()
            rows.connection.execute("ROLLBACK")
            rows.connection.execute("BEGIN IMMEDIATE")
            rows.put_in(backlog.events)
        finally:
            rows.is_anew = False

    def _begin_within(self) -> None:
        """Begins the transaction of work that was begun without one."""
        if self._lock is not None:
            self._lock.acquire()
        if self._writer is not None and self._begin(self._writer, lasting=False, within=True):
            raise _Outdated

    def _run(self, batch: list[Request], *, soon: bool = False) -> bool:
        """Commits these works together; False if that did not go and each is to be tried by itself.

        What may come `soon` needs no transaction as long as it only adds events, which then wait in the backlog.
        """
        rows, committing = self._writer, False
        try:
            if rows is None:
                rows = self._writer = self._open()
            connection = rows.connection
            lasting = any([request.lasting for request in batch])  # noqa: C419 - quicker than a generator
            if soon:
                rows.opens = self._begin_within
            else:
                self._begin(rows, lasting=lasting)
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
            if rows.opens is None or not self._waits(rows, batch[0]):
                rows.flush()
                committing = True
                connection.execute("COMMIT")
                self._committed(lasting=lasting)
            rows.opens = None
        except BaseException as error:
            committed = committing and rows is not None and not rows.connection.in_transaction
            if committed and not isinstance(error, Exception):
                self._committed(lasting=any(request.lasting for request in batch))  # once more, if it was begun
                _settle(batch)
                raise
            self._take_back(error)
            if isinstance(error, _Outdated):
                return False
            if not isinstance(error, Exception):
                raise
            if len(batch) > 1:
                return False
            known = isinstance(error, sqlite3.Error)
            batch[0].error = fault(error, self.path, seconds=self._timeout) if known else error
        _settle(batch)
        return True

    def _waits(self, rows: Rows, request: Request) -> bool:
        """Whether all that work came to, done without a transaction, is in the backlog now."""
        events = rows.drawn() if rows.is_light else None
        if events is None or self._backlog is None:
            return False
        if not events or self._backlog.keep(request.work, events):
            return True
        rows.put_back(events)
        return False

    def _committed(self, *, lasting: bool) -> None:
        if self._backlog is not None:
            self._backlog.committed()
        if self._syncing is not None:
            self._syncing.paid() if lasting else self._syncing.owe()

    def _take_back(self, error: BaseException) -> None:
        """Rolls back. After a fault of the disk the next call gets a new connection."""
        rows = self._writer
        if rows is None:
            return
        rows.opens = None
        rows.take_back()
        if self._backlog is not None and self._backlog.waiting and isinstance(error, sqlite3.Error):
            self._backlog.is_stuck = True
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

    # Reading.

    def read(self, what: Callable[[Rows], T], *, settled: bool = True) -> T:
        if settled and self._backlog is not None and self._backlog.waiting and not self._commits.is_mine:
            self._commits.lead_within(self._settle_for_reading, timeout=_TRIES * _A_MOMENT)
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
        if self._backlog is not None and self._backlog.waiting and not self._closed:
            with suppress(StoreError):  # the next to open the board takes it over
                self._settle_backlog()
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
            for part in (self._backlog, self._lock, self._bell):
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
        if self._backlog is not None:
            self._backlog.leave()
            self._backlog = None if self._closed else self._make_backlog()
        if self._syncing is not None:
            self._syncing = Syncing(f"{self._file}-wal")  # its thread stayed with the parent
        self._make_locks()
        if self._lock is not None and not self._closed:
            self._lock.reopen_after_fork()
        if self._file and self._inside:
            never_close(*(rows.connection for rows in (self._writer, self._reader) if rows is not None))
            self._reader = self._writer = None
            self._closed = True


def _nothing(_: Rows) -> None:
    """The work of who only wants to have committed what waits."""


def _settle(batch: list[Request]) -> None:
    for request in batch:
        request.settled = True


def _ours(error: StoreError | OSError, path: str) -> StoreError:
    """An error of its own for each request: threads must not raise the same object."""
    ours = os_fault(error, path) if isinstance(error, OSError) else type(error)(**error.data)
    ours.__cause__ = error
    return ours
