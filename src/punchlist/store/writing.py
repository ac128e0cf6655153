"""How works are committed: one by one or together, at once or, where they only report, a little later."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from time import sleep
from typing import TypeVar

from punchlist.errors import StoreClosed, StoreError
from punchlist.store.backlog import Backlog
from punchlist.store.commit import Request, parted
from punchlist.store.contract import Transaction
from punchlist.store.faults import RowDamaged, fault, os_fault
from punchlist.store.followed import Followed
from punchlist.store.lock import SidecarLock
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

    def transact(
        self, work: Callable[[Transaction], T], *, lasting: bool = True, lane: str = "", soon: bool = False
    ) -> T:
        if soon and self._backlog is not None and self._backlog.is_open():
            return self._commits.submit_soon(work, self._run_soon, lane=lane)
        return self._commits.submit(work, lasting=lasting, lane=lane)

    def _settle_backlog(self) -> None:
        """Commits what waits there: every transaction does."""
        self._commits.submit(_nothing, lasting=False)

    def _settle_to_read(self) -> None:
        """The same if it can be had at once: who reads waits for nobody, and whoever is in the way may be stopped."""
        if not self._commits.is_mine:
            self._commits.lead_within(self._settle_at_once, timeout=_TRIES * _A_MOMENT)

    def _settle_at_once(self) -> None:
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
        if self._backlog is None or not self._backlog.waiting:
            self._announce()

    def _run_soon(self, work: Callable[[Rows], T]) -> T:
        """Does work that will hardly do more than add events, which then wait in the backlog: it takes no other lock.

        What does more is committed at once, and done again if another process was quicker.
        """
        with self._write_lock:
            rows = self._writer
            request: Request | None = None
            try:
                if rows is not None and not self._closed:
                    rows.opens = self._begin_within
                    try:
                        result = work(rows)
                        if rows.opens is not None and self._waits(rows, work):
                            rows.opens = None
                            return result
                        request = Request(work, lasting=False, soon=True)
                        request.result, request.is_done = result, True
                    except _Outdated as error:
                        self._take_back(error)
                request = request or Request(work, lasting=False, soon=True)
                self._commit([request])
            except BaseException as error:  # also an interruption, wherever it strikes: nothing is left begun
                try:
                    self._take_back(error)
                finally:
                    self._unlock()
                if isinstance(error, sqlite3.Error):
                    raise fault(error, self.path, seconds=self._timeout) from error
                raise
        return request.outcome()

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
            for work, _ in backlog.waiting:
                work(rows)
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
            if soon and not batch[0].is_done:
                rows.opens = self._begin_within
            elif not soon:
                self._begin(rows, lasting=lasting)
            alone = len(batch) == 1
            for request in batch:
                if request.is_done:
                    continue
                changes = 0 if alone else connection.total_changes + rows.put_off
                try:
                    request.result = request.work(rows)
                    request.error = None
                except Exception as error:
                    wrote = alone or connection.total_changes + rows.put_off != changes
                    if wrote or isinstance(error, sqlite3.Error):
                        raise
                    request.error = error
            if rows.opens is None or batch[0].is_done or not self._waits(rows, batch[0].work):
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
            if soon and self._backlog is not None and self._backlog.has(batch[0].work):
                self._take_back(error)
                _settle(batch)  # it is acknowledged, whatever came then
                raise
            self._take_back(error)
            batch[0].is_done = False
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

    def _waits(self, rows: Rows, work: Callable[[Rows], object]) -> bool:
        """Whether all that work came to, done without a transaction, is in the backlog now."""
        events = rows.drawn()
        if events is None or self._backlog is None:
            return False
        if not events or self._backlog.keep(work, events):
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
