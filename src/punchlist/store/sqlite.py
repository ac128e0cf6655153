"""SQLite, on disk or in memory. One writer at a time over all processes; readers never wait for it."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

from punchlist.core.events import Event
from punchlist.core.todo import TodoList
from punchlist.errors import StoreClosed, StoreDamaged, StoreError, StoreTooNew, StoreUnavailable
from punchlist.store.bell import Bell, Listener
from punchlist.store.commit import GroupCommit, Request
from punchlist.store.contract import AgentRow, Durability, ListRow, SessionRow, Transaction
from punchlist.store.faults import fault, faults
from punchlist.store.lock import SidecarLock
from punchlist.store.queries import migrations, statements
from punchlist.store.transaction import Rows

T = TypeVar("T")
APPLICATION_ID = 0x50554E43
"""'PUNC' in the file's header says that the file is a board."""

_kept_after_fork: list[object] = []
"""Connections that a child inherited: never used and never closed, since closing would touch the parent's files."""


class SqliteStore:
    """A board in one file, or in memory when the path is empty."""

    def __init__(self, path: str, *, durability: Durability = "full", lock_timeout: float = 30.0) -> None:
        self.path = path or "memory:"
        self.durable = bool(path)
        self._file = path
        self._durability = durability
        self._closed = False
        self._rung = threading.Condition()
        self._rings = 0
        self._listener: Listener | None = None
        self._lock: SidecarLock | None = None
        self._bell: Bell | None = None
        self._writer: Rows | None = None
        self._reader: Rows | None = None
        self._write_lock = threading.RLock()
        self._read_lock = threading.RLock() if path else self._write_lock
        self._commits = GroupCommit(self._commit)
        if path:
            try:
                _make_private_file(path)
                self._lock = SidecarLock(f"{path}.lock", timeout=lock_timeout)
                self._bell = Bell(f"{path}.bell")
            except OSError as error:
                raise StoreUnavailable(path=path, problem=error.strerror or str(error)) from error
        with faults(self.path), self._exclusive():
            self._writer = self._connect()
            _migrate(self._writer.connection, self.path)
        if path:
            _follow_forks(self)

    def _connect(self) -> Rows:
        connection = sqlite3.connect(
            self._file or ":memory:", isolation_level=None, check_same_thread=False, timeout=30, cached_statements=64
        )
        try:
            if self._file:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute(f"PRAGMA synchronous = {'FULL' if self._durability == 'full' else 'NORMAL'}")
            else:
                connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA trusted_schema = OFF")
        except BaseException:
            connection.close()
            raise
        return Rows(connection)

    @contextmanager
    def _exclusive(self) -> Generator[None]:
        """Alone among all processes."""
        if self._lock is None:
            yield
            return
        with self._lock.held():
            yield

    # Writing.

    def transact(self, work: Callable[[Transaction], T]) -> T:
        return self._commits.submit(work)

    def _commit(self, batch: list[Request]) -> None:
        with self._write_lock:
            if self._closed:
                raise StoreClosed(path=self.path)
            try:
                with self._exclusive():
                    self._run_batch(batch)
            except sqlite3.Error as error:
                self._start_afresh()
                raise fault(error, self.path) from error
            except OSError as error:
                self._start_afresh()
                raise StoreUnavailable(path=self.path, problem=error.strerror or str(error)) from error
        self._announce()

    def _run_batch(self, batch: list[Request]) -> None:
        rows = self._writer
        if rows is None:
            rows = self._writer = self._connect()
        execute = rows.connection.execute
        execute("BEGIN IMMEDIATE")
        if len(batch) == 1:
            self._run_alone(batch[0], rows)
            return
        for request in batch:
            execute("SAVEPOINT work")
            try:
                request.result = request.work(rows)
            except sqlite3.Error:
                raise
            except BaseException as error:
                request.error = error
                execute("ROLLBACK TO work")
            execute("RELEASE work")
        execute("COMMIT")

    def _run_alone(self, request: Request, rows: Rows) -> None:
        try:
            request.result = request.work(rows)
        except sqlite3.Error:
            raise
        except BaseException as error:
            request.error = error
            rows.connection.execute("ROLLBACK")
        else:
            rows.connection.execute("COMMIT")

    def _start_afresh(self) -> None:
        """After a fault of the disk: roll back, and use a new connection for the next call."""
        rows = self._writer
        if rows is None:
            return
        with suppress(sqlite3.Error):
            if rows.connection.in_transaction:
                rows.connection.execute("ROLLBACK")
        if self._file:
            self._writer = None
            with suppress(sqlite3.Error, StoreError, OSError), self._exclusive():
                rows.connection.close()

    # Followers.

    def _announce(self) -> None:
        if self._bell is not None:
            self._bell.ring()
        self._ring()

    def _ring(self) -> None:
        with self._rung:
            self._rings += 1
            self._rung.notify_all()

    def wait(self, after: int, timeout: float | None) -> bool:
        if self._file and self._listener is None:
            with self._rung:
                if self._listener is None and not self._closed:
                    self._listener = Listener(f"{self._file}.bell", self._ring)
        with self._rung:
            rings = self._rings
        if self._closed or self.last_seq() > after:
            return not self._closed
        with self._rung:
            return self._rung.wait_for(lambda: self._rings != rings or self._closed, timeout) and not self._closed

    # Reading.

    @contextmanager
    def _reading(self) -> Generator[Rows]:
        with self._read_lock:
            if self._closed:
                raise StoreClosed(path=self.path)
            with faults(self.path):
                rows = self._writer if not self._file else self._reader
                if rows is None:
                    with self._exclusive():
                        rows = self._reader = self._connect()
                yield rows

    def agent(self, session: str, name: str) -> AgentRow | None:
        with self._reading() as rows:
            return rows.agent(session, name)

    def list_at(self, number: int, revision: int) -> TodoList | None:
        with self._reading() as rows:
            return rows.list_at(number, revision)

    def lists(self, *, project: str | None = None, session: str | None = None, limit: int = 20) -> Sequence[ListRow]:
        with self._reading() as rows:
            return rows.lists(project=project, session=session, limit=limit)

    def sessions(self, *, project: str | None = None, limit: int = 50) -> Sequence[SessionRow]:
        with self._reading() as rows:
            return rows.sessions(project=project, limit=limit)

    def events_after(self, after: int, limit: int = 1000) -> Sequence[Event]:
        with self._reading() as rows:
            return rows.events_after(after, limit)

    def last_events(self, limit: int) -> Sequence[Event]:
        with self._reading() as rows:
            return rows.last_events(limit)

    def last_seq(self) -> int:
        with self._reading() as rows:
            return rows.last_seq()

    # The end.

    def close(self) -> None:
        with self._rung:
            if self._closed:
                return
            self._closed = True
            self._rung.notify_all()
        if self._listener is not None:
            self._listener.stop()
        with self._read_lock, self._write_lock:
            with suppress(sqlite3.Error, StoreError), self._exclusive():
                for rows in (self._reader, self._writer):
                    if rows is not None:
                        rows.connection.close()
            self._reader = self._writer = None
            for part in (self._lock, self._bell):
                if part is not None:
                    part.close()

    def after_fork(self) -> None:
        """In a child: locks and connections of its own."""
        _kept_after_fork.extend(part for part in (self._reader, self._writer, self._listener) if part is not None)
        self._reader = self._writer = self._listener = None
        self._rung = threading.Condition()
        self._write_lock = threading.RLock()
        self._read_lock = threading.RLock()
        self._commits = GroupCommit(self._commit)
        if self._lock is not None and not self._closed:
            self._lock.reopen_after_fork()


_open_stores: weakref.WeakSet[SqliteStore] = weakref.WeakSet()


def _follow_forks(store: SqliteStore) -> None:
    if not _open_stores and hasattr(os, "register_at_fork") and not _registered:
        _registered.append(True)
        os.register_at_fork(after_in_child=_after_fork)
    _open_stores.add(store)


_registered: list[bool] = []


def _after_fork() -> None:
    for store in list(_open_stores):
        store.after_fork()


def _make_private_file(path: str) -> None:
    """Makes the file, readable by its owner alone, in a folder of the same kind, if they are not there.

    An existing file is not opened here: closing it again would drop the locks of this process's connections.
    """
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        os.makedirs(folder, mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _migrate(connection: sqlite3.Connection, path: str) -> None:
    """Brings the file to the present format. The caller is alone with it."""
    steps = migrations()
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    if found > len(steps) and owner == APPLICATION_ID:
        raise StoreTooNew(path=path, found=found, known=len(steps))
    if owner not in (0, APPLICATION_ID) or (owner == 0 and _has_tables(connection)):
        raise StoreDamaged(path=path, problem="it is a database of another program")
    if found == len(steps):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in steps[found:]:
            for statement in statements(step):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(steps)}")
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        connection.close()
        raise


def _has_tables(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is not None
