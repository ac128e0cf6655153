"""How works are committed: one by one or together."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from punchlist.errors import StoreClosed, StoreError
from punchlist.store.commit import Request, parted
from punchlist.store.contract import Transaction
from punchlist.store.faults import RowDamaged, fault, os_fault
from punchlist.store.followed import Followed
from punchlist.store.lock import SidecarLock
from punchlist.store.syncing import Syncing
from punchlist.store.transaction import Rows

T = TypeVar("T")
_HARMLESS = (
    sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.DataError, RowDamaged,
)  # fmt: skip
"""Faults of a statement or a row, not of the disk: the connection is as good as before."""


class Writing(Followed):
    """A store with a single writer, which is `_writer`. None: the next to write opens it."""

    path: str
    _timeout: float
    _lock: SidecarLock | None
    _write_lock: threading.RLock
    _syncing: Syncing | None
    _writer: Rows | None

    def _open(self) -> Rows:
        raise NotImplementedError

    def transact(self, work: Callable[[Transaction], T], *, lasting: bool = True, lane: str = "") -> T:
        return self._commits.submit(work, lasting=lasting, lane=lane)

    def _commit(self, batch: list[Request]) -> None:
        """Settles each request. What it raises is an interruption of this thread."""
        with self._write_lock:
            try:
                if self._closed:
                    raise StoreClosed(path=self.path)
                parts = [batch] if self._syncing is None or len(batch) == 1 else parted(batch)
                for part in parts:
                    if self._lock is not None:
                        self._lock.acquire()
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
            except BaseException as error:  # an interruption, wherever it struck
                self._take_back(error)
                raise
            finally:
                try:
                    self._unlock()
                except BaseException:  # a Ctrl-C on the way in: first let go, then obey
                    self._unlock()
                    raise

    def _unlock(self) -> None:
        """Lets the next process write, and tells those who follow of what was committed."""
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
        self._announce()

    def _run(self, batch: list[Request]) -> bool:
        """Commits these works together; False if that did not go and each is to be tried by itself."""
        rows, committing = self._writer, False
        lasting = any(request.lasting for request in batch)
        try:
            if rows is None:
                rows = self._writer = self._open()
            connection = rows.connection
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
            self._committed(lasting=lasting)
        except BaseException as error:
            committed = committing and rows is not None and not rows.connection.in_transaction
            if committed and not isinstance(error, Exception):
                self._committed(lasting=lasting)  # once more, if it was begun
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

    def _committed(self, *, lasting: bool) -> None:
        if self._syncing is not None:
            self._syncing.paid() if lasting else self._syncing.owe()

    def _take_back(self, error: BaseException) -> None:
        """Rolls back. After a fault of the disk the next call gets a new connection."""
        rows = self._writer
        if rows is None:
            return
        rows.take_back()
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


def _settle(batch: list[Request]) -> None:
    for request in batch:
        request.settled = True


def _ours(error: StoreError | OSError, path: str) -> StoreError:
    """An error of its own for each request: threads must not raise the same object."""
    ours = os_fault(error, path) if isinstance(error, OSError) else type(error)(**error.data)
    ours.__cause__ = error
    return ours
