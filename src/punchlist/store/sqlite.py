"""Store a board in SQLite, on disk or in memory. One writer at a time over all processes; readers never wait for it.

After a commit the store holds nothing that is not in the database: connections, the lock and the notifier.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from datetime import datetime
from functools import partial
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from punchlist.core.events import Event
from punchlist.core.todo import TodoList
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
from punchlist.store.current_work import write_lines
from punchlist.store.files import (
    SCHEMA,
    UPGRADE,
    check_board,
    connect_reader,
    connect_writer,
    create_private_file,
    has_shared_memory,
    quote,
    read_schema_version,
    store_path,
)
from punchlist.store.migrate import migrate
from punchlist.store.records import AgentRow, ListRow, RowDamaged, SessionRow, microseconds
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
_NESTED = "A transaction was started inside another one; use the one that is open."
_LOOK_AGAIN = 1.0
"""Seconds after which a follower looks by itself, in case the notify file was deleted."""

_CLOSING = 1.0
"""Seconds that closing waits for the lock. Another process that holds it for longer has the board open itself."""

_HARMLESS = (
    sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.DataError, RowDamaged,
)  # fmt: skip
"""Faults of a statement or a row, not of the disk: the connection is as good as before."""


def open_store(url: str | os.PathLike[str] | None = None, *, durability: Durability = "full") -> SqliteStore:
    """Open the board of that name, creating it if it does not exist."""
    return SqliteStore(store_path(url), durability=durability)


def _identify(path: str) -> tuple[int, int] | None:
    """Return the device and inode of a file; None if there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


class SqliteStore:
    """A board in one file, or in memory when the path is empty. Safe to use from many threads."""

    def __init__(self, path: str, *, durability: Durability = "full", lock_timeout: float = 30.0) -> None:
        self.path = path or "memory:"
        self.durable = bool(path)
        self.restart = ""
        self._file = os.path.realpath(path) if path else ""  # a link and its target need the same lock
        self._durability: Durability = durability
        self._timeout = lock_timeout
        self._closed = False
        self._snapshot_open = False
        self._inside = False  # True while the process forks inside a transaction of ours
        self._joined: Transaction | None = None  # that of `joined`, for the thread that holds the lock
        self._step: Transaction | None = None  # that of a savepoint of it
        self._key = b""
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
        _stores.add(self)

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

    @property
    def key(self) -> bytes:
        """The key of the hashes on this board: random, made with the board. It never changes, so it is read once."""
        if not self._key:
            self._key = self.read(lambda tx: tx.board_key())
        return self._key

    # Writing.

    def transact(self, work: Callable[[Transaction], T], *, durable: bool = True, wait: float | None = None) -> T:
        """Run the work in a transaction and return its result once that is committed. An exception rolls it back.

        A commit that is `durable` survives power loss; any other survives a crash of the program, and reaches the disk
        with the next durable one. Reports on what happens at runtime need not be durable; lists, plans and tasks are.

        Raise `StoreBusy` if another thread or process was writing for `wait` seconds, by default those of the store.
        A function and no context manager: so a Ctrl-C cannot strike between taking the lock and the `try` around it.
        """
        if self._lock.is_mine:
            if self._joined is None or self._step is not None:
                raise RuntimeError(_NESTED)
            return self._run_step(self._joined, work)
        interrupted: BaseException | None = None
        try:
            with faults(self.path):
                self._lock.acquire(wait)
            tx = self._begin(durable)
            result = work(tx)
            self._finish(tx)
            tx.connection.execute("COMMIT")
            self._notifier.announce()  # with the lock held: `close` must not close the notify file meanwhile
        except BaseException as error:
            newer = self._find_newer(error)
            self._roll_back(error)
            if newer is not None:
                raise newer from error
            if isinstance(error, _FAULTS):
                raise fault(error, self.path, seconds=self._timeout) from error
            raise
        finally:
            while True:  # a Ctrl-C on the way in must not leave the lock held: release first, then obey
                try:
                    self._lock.release()
                    break
                except OSError:
                    break  # the board was closed meanwhile, and the lock went with its handle
                except BaseException as error:
                    interrupted = error
            if interrupted is not None:
                raise interrupted
        return result

    def joined(self, work: Callable[[Transaction], T], *, durable: bool = True, wait: float | None = None) -> T:
        """Run the work in one transaction of which every `transact` within it is a savepoint, and every `read` a part.

        So several steps are committed together, or not at all. A step that raises is rolled back alone: the work may
        catch that and go on. `durable` and `wait` are those of the whole. It holds the lock: keep it short.
        """

        def run(tx: Transaction) -> T:
            self._joined = tx
            try:
                result = work(tx)
            finally:
                self._joined = None
            if not tx.connection.in_transaction:  # SQLite rolled back all of it, and the work caught the error
                raise StoreFailed(path=self.path, problem="a fault rolled back the transaction")
            return result

        return self.transact(run, durable=durable, wait=wait)

    def _run_step(self, whole: Transaction, work: Callable[[Transaction], T]) -> T:
        """Run work as a savepoint of the transaction that is open."""
        connection = whole.connection
        if not connection.in_transaction:
            raise StoreFailed(path=self.path, problem="a fault rolled back the transaction")
        whole.forget()
        self._step = tx = Transaction(connection)
        try:
            connection.execute("SAVEPOINT step")
            tx.watched = whole.watched
            result = work(tx)
            tx.flush()
            connection.execute("RELEASE step")
            whole.marked.update(tx.marked)  # lines are written once, for all steps
        except BaseException as error:
            self._roll_back_step(connection)
            if isinstance(error, _FAULTS):
                raise fault(error, self.path, seconds=self._timeout) from error
            raise
        finally:
            self._step = None
        return result

    def _roll_back_step(self, connection: sqlite3.Connection) -> None:
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK TO step")
                connection.execute("RELEASE step")
        except sqlite3.Error:  # then nothing of the whole may be committed
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")

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

    def _finish(self, tx: Transaction) -> None:
        """Write all that waits. Raise if a newer program has migrated the board since it was opened."""
        write_lines(tx)
        tx.flush()
        if tx.header.version != SCHEMA:
            self._check_schema(tx.connection)

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

    def _check_schema(self, connection: sqlite3.Connection) -> None:
        """Raise if a newer program has migrated the board since it was opened."""
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        if found != SCHEMA:
            read_schema_version(connection, self.path, self._advice)

    @property
    def _advice(self) -> str:
        """The advice for a board that is too new: it was when it was opened, or it has become so since."""
        return f"a newer Punchlist has upgraded it, so restart {self.restart}" if self.restart else UPGRADE

    def _roll_back(self, error: BaseException) -> None:
        """Roll back. After a fault of the disk the next call gets a new connection."""
        connection = self._writer
        if connection is None or not self._lock.is_mine:
            return
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

    # Reading.

    def read(self, what: Callable[[Transaction], T]) -> T:
        """Run a piece of work that only reads, on one snapshot of what was committed. Waits for no writer.

        Within `joined` it sees what was written there so far.
        """
        if self._joined is not None and self._lock.is_mine:
            try:
                (self._step or self._joined).flush()
                return what(Transaction(self._joined.connection))
            except _FAULTS as error:
                raise fault(error, self.path, seconds=self._timeout) from error
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

    def agent(self, session: str, name: str) -> AgentRow | None:
        return self.read(lambda tx: tx.agent(session, name))

    def list_at(self, number: int, revision: int) -> TodoList | None:
        return self.read(lambda tx: tx.history.at(number, revision))

    def lists(self, *, project: str | None = None, session: str | None = None, limit: int = 20) -> Sequence[ListRow]:
        return self.read(lambda tx: tx.lists(project=project, session=session, limit=limit))

    def sessions(self, *, project: str | None = None, limit: int = 50) -> Sequence[SessionRow]:
        return self.read(lambda tx: tx.sessions(project=project, limit=limit))

    def events_after(self, after: int, limit: int = 1000) -> Sequence[Event]:
        return self.read(lambda tx: tx.events_after(after, limit))

    def last_events(self, limit: int) -> Sequence[Event]:
        return self.read(lambda tx: tx.last_events(limit))

    def last_seq(self) -> int:
        return self.read(lambda tx: tx.last_seq())

    def wait(self, after: int, timeout: float | None) -> bool:
        """Block until there may be events after `after`; False when the time is up or the store closes."""
        ends = None if timeout is None else monotonic() + timeout
        while True:
            with faults(self.path):
                seen = self._notifier.listen()  # before the look: a commit during it is not missed
            if self._closed or self.last_seq() > after:
                return not self._closed
            left = _LOOK_AGAIN if ends is None else min(_LOOK_AGAIN, ends - monotonic())
            if left <= 0:
                return False
            self._notifier.wait(seen, left)

    # The end.

    def close(self) -> None:
        """Close the board. Threads that are inside a transaction finish it first; all later calls are refused."""
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

    # Forks.

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


# Forks of the process. SQLite keeps what it knows of a file's locks for the whole process, and a child inherits that
# knowledge without the locks: it would write to a file that others take for unused. So every connection is closed
# before a fork, and both sides open their own again when they need them.

_stores: weakref.WeakSet[SqliteStore] = weakref.WeakSet()
_paused: list[SqliteStore] = []


def _pause() -> None:
    _paused[:] = _stores
    for store in _paused:
        store.before_fork()


def _resume(*, child: bool) -> None:
    paused = _paused[::-1]
    _paused.clear()
    for store in paused:
        store.after_fork(child=child)


os.register_at_fork(
    before=_pause, after_in_parent=partial(_resume, child=False), after_in_child=partial(_resume, child=True)
)


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


def count_old_agents(path: str, before: datetime) -> int:
    """Count the agents of sessions without a write since then."""
    statement = (
        "SELECT count(*) FROM agents WHERE session IN "
        "(SELECT session FROM agents GROUP BY session HAVING max(updated_at) < ?)"
    )
    with _reading(path) as connection:
        return connection.execute(statement, (microseconds(before),)).fetchone()[0]


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
