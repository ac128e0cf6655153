"""Store a board in SQLite, on disk or in memory. One writer at a time over all processes; readers never wait for it.

After a commit the store holds nothing that is not in the database: connections, the lock and the notifier.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from typing import Any, NamedTuple, TypeVar

from punchlist.errors import (
    InvalidInput,
    PunchlistError,
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreFailed,
    StoreFull,
    StoreReplaced,
    StoreUnavailable,
)
from punchlist.settings.table import Durability
from punchlist.store.base import Store, stores
from punchlist.store.files import (
    SCHEMA,
    check_board,
    connect_reader,
    connect_writer,
    create_private_file,
    has_shared_memory,
    quote,
    read_schema_version,
)
from punchlist.store.migrate import migrate
from punchlist.store.records import RowDamaged
from punchlist.store.sidecars import Notifier, SidecarLock
from punchlist.store.transaction import Transaction

_FAULTS = (sqlite3.Error, UnicodeEncodeError)
"""Errors of a transaction that become ours; the second is about a text that no board can hold."""

_PRIMARY = 0xFF
_MISSING = ("no such table", "no such column", "malformed database schema")
_UNREADABLE = "Could not decode to UTF-8"


def fault(error: sqlite3.Error | UnicodeEncodeError, path: str, *, seconds: float = 30) -> PunchlistError:
    """Return the error to raise instead of one of SQLite's. `seconds` is the time that a lock was waited for."""
    if isinstance(error, UnicodeEncodeError):
        return InvalidInput(problem=f"{ascii(error.object)[:80]} holds a lone surrogate, which is no character.")
    code: int | None = getattr(error, "sqlite_errorcode", None)
    problem = str(error)
    if isinstance(error, RowDamaged) or _UNREADABLE in problem:
        return StoreDamaged(path=path, problem=problem)
    match (code & _PRIMARY) if code is not None else None:
        case sqlite3.SQLITE_FULL:
            return StoreFull(path=path)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED | sqlite3.SQLITE_PROTOCOL:
            return StoreBusy(path=path, seconds=f"{seconds:g}")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_FORMAT:
            return StoreDamaged(path=path, problem=problem)
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return StoreUnavailable(path=path, problem=problem)
        case None if "closed database" in problem:
            return StoreClosed(path=path)
        case sqlite3.SQLITE_ERROR if any(said in problem for said in _MISSING):
            return StoreDamaged(path=path, problem=problem)
        case _:
            return StoreFailed(path=path, problem=problem)


def os_fault(error: OSError, path: str) -> StoreError:
    """Return the error to raise instead of one of the system's, about a file of the board."""
    problem = error.strerror or str(error)
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return StoreFull(path=path)
        case errno.EIO:
            return StoreFailed(path=path, problem=problem)
        case _:
            return StoreUnavailable(path=path, problem=problem)


@contextmanager
def faults(path: str) -> Generator[None]:
    """Raise our errors for SQLite's and for those of the system."""
    try:
        yield
    except sqlite3.Error as error:
        raise fault(error, path) from error
    except UnicodeDecodeError as error:  # in SQLite's own message about the schema, which quotes it
        raise StoreDamaged(path=path, problem="its schema is not readable") from error
    except OSError as error:
        raise os_fault(error, path) from error


T = TypeVar("T")
_CLOSING = 1.0
"""Seconds that closing waits for the lock. Another process that holds it for longer has the board open itself."""

_HARMLESS = (
    sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.DataError, RowDamaged,
)  # fmt: skip
"""Faults of a statement or a row, not of the disk: the connection is as good as before."""


def _identify(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


class SqliteStore(Store):
    """A board in one file, or in memory when the path is empty. Safe to use from many threads."""

    def __init__(self, path: str, *, durability: Durability = "full", lock_timeout: float = 30.0) -> None:
        super().__init__(path or "memory:", lock_timeout)
        self.durable = bool(path)
        self._file = os.path.realpath(path) if path else ""  # a link and its target need the same lock
        self._durability: Durability = durability
        self._snapshot_open = False
        self._inside = False  # True while the process forks inside a transaction of ours
        self._syncs = True  # what the writer does at a commit
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        with faults(self.path), ExitStack() as undo:
            if path:
                check_board(self._file)
                create_private_file(self._file)
            self._lock = SidecarLock(f"{self._file}.lock" if path else "", timeout=lock_timeout)
            undo.callback(self._lock.close)
            self._notifier = Notifier(f"{self._file}.notify" if path else "")
            undo.callback(self._notifier.close)
            self._make_read_lock()
            self._open()
            undo.callback(self._disconnect, 0.0)
            self._identity = _identify(self._file) if path else None
            self.restart = "this program"
            undo.pop_all()
        stores.add(self)

    @property
    def files(self) -> str:
        return self._file

    def _make_read_lock(self) -> None:
        """Keep apart the threads that share the reader. In memory the one connection both reads and writes.

        A thread that needs both locks takes the one for writing first.
        """
        self._read_lock = threading.RLock() if self._file else self._lock.threads

    def _open(self) -> None:
        """Check that the file is a board, or make it one."""
        if self._file and has_shared_memory(self._file):
            self._reader = connect_reader(self._file, timeout=self._timeout)
            if read_schema_version(self._reader, self._file) == SCHEMA:
                return
            self._reader.close()  # of an older schema, or a process was killed while it created the board
            self._reader = None
        with self._lock.hold():
            self._writer = self._connect_writer()

    def _connect_writer(self) -> sqlite3.Connection:
        connection = connect_writer(self._file, durability=self._durability, timeout=self._timeout, advice=self._advice)
        try:
            migrate(connection, self._file)
        except BaseException:
            connection.close()
            raise
        self._syncs = True
        return connection

    # Writing.

    def _end_step(self, connection: sqlite3.Connection) -> None:
        connection.execute("RELEASE step")

    def _roll_back_step(self, connection: sqlite3.Connection, error: BaseException) -> None:
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK TO step")
                connection.execute("RELEASE step")
        except sqlite3.Error:  # then nothing of the whole may be committed
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")

    def _acquire(self, wait: float | None) -> None:
        with faults(self.path):
            self._lock.acquire(wait)

    def _begin(self, durable: bool) -> Transaction:
        if self._closed:
            raise StoreClosed(path=self.path)
        self.check_file()
        if self._writer is None:
            with faults(self.path):
                self._writer = self._connect_writer()
        connection = self._writer
        if connection.in_transaction:
            connection.execute("ROLLBACK")  # a second Ctrl-C struck while the last transaction was rolled back
        if self._file and self._durability == "full" and durable != self._syncs:
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._syncs = durable
        connection.execute("BEGIN IMMEDIATE")
        return Transaction(connection)

    def _commit(self, tx: Transaction) -> None:
        tx.connection.execute("COMMIT")

    def _find_newer(self, error: BaseException) -> StoreError | None:
        """Return the error that a newer program has migrated the board, if that is why a statement failed."""
        if isinstance(error, sqlite3.Error) and self._writer is not None and self._lock.is_mine:
            try:
                self._check_schema(self._writer)
            except StoreError as newer:
                return newer
            except sqlite3.Error:
                return None
        return None

    def check_file(self) -> None:
        """Raise if the path is another file by now: what is written to a deleted one is gone when we close it.

        The lock and the notify file went with it, most likely; so this store stays unusable for writing.
        """
        if self._file:
            with faults(self.path):
                if _identify(self._file) != self._identity:
                    raise StoreReplaced(path=self.path)

    def compact(self) -> bool:
        with faults(self.path), self._lock.hold():
            if self._closed:
                raise StoreClosed(path=self.path)
            self.check_file()
            if self._writer is None:
                self._writer = self._connect_writer()
            self._writer.execute("VACUUM")  # deleted text is in free pages, and in free room of others
            is_busy, *_ = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not is_busy

    def _check_schema(self, connection: sqlite3.Connection) -> None:
        """Raise if a newer program has migrated the board since it was opened."""
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        if found != SCHEMA:
            read_schema_version(connection, self.path, self._advice)

    def _find_fault(self, error: BaseException) -> BaseException | None:
        if isinstance(error, _FAULTS):
            return fault(error, self.path, seconds=self._timeout)
        return None

    def _roll_back(self, error: BaseException) -> BaseException | None:
        """Roll back. After a fault of the disk the next call gets a new connection."""
        ours = self._find_newer(error) or self._find_fault(error)
        connection = self._writer
        if connection is None or not self._lock.is_mine:
            return ours
        broken = isinstance(error, sqlite3.Error) and not isinstance(error, _HARMLESS)
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            broken = True
        if broken and self._file:
            self._writer = None
            with suppress(sqlite3.Error):
                connection.close()
        return ours

    # Reading.

    def _read(self, what: Callable[[Transaction], T]) -> T:
        with self._read_lock:
            if self._closed:
                raise StoreClosed(path=self.path)
            with faults(self.path):
                connection = self._reading()
            is_nested = self._snapshot_open
            try:
                if self._file and not is_nested:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")  # a Ctrl-C struck while the last snapshot was closed
                    connection.execute("BEGIN")
                    self._snapshot_open = True
                    self._check_schema(connection)
                return what(Transaction(connection))
            except _FAULTS as error:
                raise fault(error, self.path, seconds=self._timeout) from error
            finally:
                if self._file and not is_nested:
                    self._snapshot_open = False
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")

    def _reading(self) -> sqlite3.Connection:
        if not self._file:
            assert self._writer is not None
            return self._writer
        if self._reader is None:
            # Without shared memory SQLite makes it, and may have to recover the file: then no process may write.
            with nullcontext() if has_shared_memory(self._file) else self._lock.hold():
                self._reader = connect_reader(self._file, timeout=self._timeout, advice=self._advice)
        return self._reader

    def _listen(self) -> int:
        with faults(self.path):
            return super()._listen()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._notifier.stop()
        with self._lock.threads, self._read_lock:
            self._disconnect(_CLOSING)
            self._notifier.close()
            self._lock.close()

    def __del__(self) -> None:
        """Release the handles of a board that was dropped without `close`. No other thread can use it any more."""
        with suppress(Exception):  # the interpreter may be half gone, or the board was never open
            if not self._closed:
                self._closed = True
                self._notifier.stop(wait=False)
                self._disconnect(0.0)
                self._notifier.close()
                self._lock.close()

    def _disconnect(self, seconds: float) -> None:
        """Close the connections. The last writer to close checkpoints, hence the lock.

        If the lock is not to be had, another process is at work, so that we are not the last.
        """
        taken = False
        if self._writer is not None:  # a reader never checkpoints
            with suppress(StoreError, OSError):
                taken = self._lock.acquire(seconds)
        for connection in (self._reader, self._writer):
            if connection is not None:
                with suppress(sqlite3.Error):
                    connection.close()
        if self._file:
            self._reader = self._writer = None
        if taken:
            self._lock.release()

    def before_fork(self) -> None:
        self._lock.threads.acquire()
        self._read_lock.acquire()
        self._inside = not self._closed and self._writer is not None and self._writer.in_transaction
        if self._file and not self._closed and not self._inside:
            self._disconnect(0.0)

    def after_fork(self, *, child: bool) -> None:
        if not child:
            self._read_lock.release()
            self._lock.threads.release()
            return
        self._notifier.reopen_after_fork()
        if not self._closed:
            self._lock.reopen_after_fork()
        self._make_read_lock()
        if self._file and self._inside:
            # The transaction belongs to the parent. To close the inherited connections would write to its file.
            _never_close(*(connection for connection in (self._writer, self._reader) if connection is not None))
            self._reader = self._writer = None
            self._closed = True


def _never_close(*inherited: object) -> None:
    """Keep a parent's connections from being closed in a child, even at its end: closing one writes to the file."""
    import ctypes

    for connection in inherited:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


# Looking at a board's file from outside, for `doctor`: read-only, and never holding up a writer. The file itself is not
# opened here: closing it again would drop the locks of this process's connections.

_LOCK_SECONDS = 5.0


class Inspection(NamedTuple):
    """Counts of a board's rows, and SQLite's own words about damage in `problems`; none if all is well."""

    format: int
    journal: str
    sessions: int
    agents: int
    events: int
    problems: tuple[str, ...]


def inspect(path: str) -> Inspection:
    """Count rows and check the pages. Raise a `StoreError` if the file cannot be read as a board."""
    with _reading(path) as connection:

        def one(statement: str) -> Any:
            return connection.execute(statement).fetchone()[0]

        said = [row[0] for row in connection.execute("PRAGMA quick_check(10)")]
        return Inspection(
            format=one("PRAGMA user_version"),
            journal=one("PRAGMA journal_mode"),
            sessions=one("SELECT count(*) FROM sessions"),
            agents=one("SELECT count(*) FROM agents"),
            events=one("SELECT count(*) FROM events"),
            problems=() if said == ["ok"] else tuple(said),
        )


@contextmanager
def _reading(path: str) -> Generator[sqlite3.Connection]:
    """Connect to a board that can only be read: by the lock only where SQLite may have to recover the file first."""
    uri = f"file:{quote(path)}?mode=ro"
    # Closing the connection needs no lock: one that only reads never checkpoints.
    with faults(path), closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=5)) as connection:
        with ExitStack() as stack:
            if not has_shared_memory(path):
                lock = stack.enter_context(closing(SidecarLock(f"{path}.lock", timeout=_LOCK_SECONDS)))
                stack.enter_context(lock.hold())
            connection.execute("PRAGMA schema_version").fetchone()  # only now SQLite opens the file
        yield connection
