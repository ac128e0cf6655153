"""Run transactions and reads on a board, whichever database holds it: what the stores of both engines share.

One thread of a process writes at a time (`_lock`), and within `joined` it runs savepoints of one transaction.
"""

from __future__ import annotations

import os
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from time import monotonic
from typing import Any, TypeVar

from punchlist.core.events import Event
from punchlist.core.todo import TodoList
from punchlist.errors import StoreBusy, StoreFailed, StoreUnavailable, StoreUncertain
from punchlist.store.current_work import write_lines
from punchlist.store.files import SCHEMA, UPGRADE
from punchlist.store.records import AgentRow, ListRow
from punchlist.store.sidecars import Notifier, SidecarLock
from punchlist.store.transaction import Transaction

T = TypeVar("T")
_NESTED = "A transaction was started inside another one; use the one that is open."
_ROLLED_BACK = "a fault rolled back the transaction"
_LOOK_AGAIN = 1.0
"""Seconds after which a follower looks by itself, in case no message of a commit reaches it."""


def run_surely(run: Callable[[], T], *, is_known: bool) -> T:
    """Run a call; once more if its outcome is uncertain and the board would know it again, by its id or fence."""
    try:
        return run()
    except StoreUncertain as uncertain:
        if not is_known:
            raise
        try:
            return run()
        except (StoreBusy, StoreUnavailable):  # they say that nothing was changed: the first try may have
            raise uncertain from None


class Store(ABC):
    """A board's state, on either engine. Calls come from any thread; `transact` runs one piece of work at a time."""

    _lock: SidecarLock
    _notifier: Notifier

    def __init__(self, path: str, lock_timeout: float) -> None:
        self.path = path
        self.restart = ""
        """The program to restart when a newer one has upgraded the board: this one, or the agent that started it."""
        self.durable = True
        self._timeout = lock_timeout
        self._closed = False
        self._joined: Transaction | None = None  # that of `joined`, for the thread that holds the lock
        self._is_checked = True
        self._is_in_step = False
        self._key = b""

    @property
    def key(self) -> bytes:
        """The key of the hashes on this board: random, made with the board. It never changes, so it is read once."""
        if not self._key:
            self._key = self.read(lambda tx: tx.board_key())
        return self._key

    @property
    def _advice(self) -> str:
        """The advice for a board that is too new: it was when it was opened, or it has become so since."""
        return f"a newer Punchlist has upgraded it, so restart {self.restart}" if self.restart else UPGRADE

    # The engine's own part.

    @property
    @abstractmethod
    def files(self) -> str:
        """The path with which the names of side files begin; empty for a board in memory."""

    @abstractmethod
    def check_file(self) -> None: ...

    @abstractmethod
    def compact(self) -> bool:
        """Rewrite the board without what was deleted; False if a reader keeps older text in the WAL for now."""

    @abstractmethod
    def close(self) -> None:
        """Close the board. Threads that are inside a transaction finish it first; all later calls are refused."""

    def _acquire(self, wait: float | None) -> None:
        """Keep other threads of this process from writing, and other processes where the engine does not."""
        self._lock.acquire(wait)

    @abstractmethod
    def _begin(self, durable: bool) -> Transaction:
        """Begin a transaction that may write. This thread holds the lock."""

    @abstractmethod
    def _commit(self, tx: Transaction) -> None: ...

    @abstractmethod
    def _roll_back(self, error: BaseException) -> BaseException | None:
        """Roll back, and return the error to raise instead; None if it is none of the engine's."""

    @abstractmethod
    def _find_fault(self, error: BaseException) -> BaseException | None:
        """Return the error to raise instead of one of the engine's."""

    @abstractmethod
    def _end_step(self, connection: Any) -> None:
        """Release the savepoint of a step, once it is sure that its statements succeeded."""

    @abstractmethod
    def _roll_back_step(self, connection: Any, error: BaseException) -> None: ...

    @abstractmethod
    def _check_schema(self, connection: Any) -> None:
        """Raise if a newer program has migrated the board since it was opened."""

    @abstractmethod
    def before_fork(self) -> None: ...

    @abstractmethod
    def after_fork(self, *, child: bool) -> None: ...

    @abstractmethod
    def _read(self, what: Callable[[Transaction], T]) -> T:
        """Run a piece of work on a snapshot of what was committed."""

    # Writing.

    def transact(self, work: Callable[[Transaction], T], *, durable: bool = True, wait: float | None = None) -> T:
        """Run the work in a transaction and return its result once that is committed. An exception rolls it back.

        A commit that is `durable` survives power loss; any other survives a crash of the program, and reaches the disk
        with the next durable one. Reports on what happens at runtime need not be durable; lists, plans and tasks are.

        Raise `StoreBusy` if another thread or process was writing for `wait` seconds, by default those of the store.
        A function and no context manager: so a Ctrl-C cannot strike between taking the lock and the `try` around it.
        """
        if self._lock.is_mine:
            if self._joined is None or self._is_in_step:
                raise RuntimeError(_NESTED)
            return self._run_step(self._joined, work)
        interrupted: BaseException | None = None
        try:
            self._acquire(wait)
            tx = self._begin(durable)
            result = work(tx)
            write_lines(tx)
            tx.flush()
            if tx.header.version != SCHEMA:
                self._check_schema(tx.connection)
            self._commit(tx)
            self._notifier.announce()  # with the lock held: `close` must not close the notify file meanwhile
        except BaseException as error:
            ours = self._roll_back(error)
            if ours is not None:
                raise ours from error
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

    def joined(
        self,
        work: Callable[[Transaction], T],
        *,
        durable: bool = True,
        wait: float | None = None,
        checked: bool = True,
    ) -> T:
        """Run the work in one transaction of which every `transact` within it is a savepoint, and every `read` a part.

        So several steps are committed together, or not at all. They share what was read. A step that raises is rolled
        back alone: the work may catch that and go on. Where steps are not `checked`, an error of a database elsewhere
        ends the whole instead: no step waits for it. `durable` and `wait` are those of the whole. It holds the lock:
        keep it short.
        """

        def run(tx: Transaction) -> T:
            self._joined, self._is_checked = tx, checked
            try:
                result = work(tx)
            finally:
                self._joined = None
            if not tx.connection.in_transaction:  # the engine rolled back all of it, and the work caught the error
                raise StoreFailed(path=self.path, problem=_ROLLED_BACK)
            return result

        return self.transact(run, durable=durable, wait=wait)

    def _run_step(self, whole: Transaction, work: Callable[[Transaction], T]) -> T:
        connection = whole.connection
        if not connection.in_transaction:
            raise StoreFailed(path=self.path, problem=_ROLLED_BACK)
        whole.flush()  # it belongs to the steps before
        watched, marked = whole.watched, dict(whole.marked)
        self._is_in_step = True
        try:
            connection.execute("SAVEPOINT step")
            result = work(whole)
            whole.flush()
            self._end_step(connection)
        except BaseException as error:
            whole.discard()
            whole.marked = marked
            self._roll_back_step(connection, error)
            ours = self._find_fault(error)
            if ours is not None:
                raise ours from error
            raise
        finally:
            self._is_in_step = False
            whole.watched = watched
        return result

    # Reading.

    def read(self, what: Callable[[Transaction], T]) -> T:
        """Run a piece of work that only reads, on one snapshot of what was committed. Waits for no writer.

        Within `joined` it sees what was written there so far.
        """
        if self._joined is None or not self._lock.is_mine:
            return self._read(what)
        try:
            return what(self._joined)
        except Exception as error:
            ours = self._find_fault(error)
            if ours is not None:
                raise ours from error
            raise

    def agent(self, session: str, name: str) -> AgentRow | None:
        return self.read(lambda tx: tx.agent(session, name))

    def lists(self, *, project: str | None = None, session: str | None = None, limit: int = 20) -> Sequence[ListRow]:
        return self.read(lambda tx: tx.lists(project=project, session=session, limit=limit))

    def list_at(self, number: int, revision: int) -> TodoList | None:
        return self.read(lambda tx: tx.history.at(number, revision))

    def events_after(self, after: int, limit: int = 1000) -> Sequence[Event]:
        return self.read(lambda tx: tx.events_after(after, limit))

    def last_seq(self) -> int:
        return self.read(lambda tx: tx.last_seq())

    def wait(self, after: int, timeout: float | None) -> bool:
        """Block until there may be events after `after`; False when the time is up or the store closes.

        Also until the last number goes back: a crash of the server lost the last reports, and their numbers come again.
        """
        last = 0

        def is_news(tx: Transaction) -> bool:
            nonlocal last
            before, last = last, tx.last_seq()
            return last > after or last < before

        return self.wait_until(is_news, timeout)

    def wait_until(self, is_true: Callable[[Transaction], bool], timeout: float | None) -> bool:
        """Look at the board after each commit until something is true; False when the time is up."""
        ends = inf if timeout is None else monotonic() + timeout
        while True:
            seen = self._listen()  # before the look: a commit during it is not missed
            if self._closed or self.read(is_true):
                return not self._closed
            left = min(_LOOK_AGAIN, ends - monotonic())
            if left <= 0:
                return False
            self._notifier.wait(seen, left)

    def _listen(self) -> int:
        return self._notifier.listen()


# Forks of the process. SQLite keeps what it knows of a file's locks for the whole process, and a child inherits that
# knowledge without the locks: it would write to a file that others take for unused. So every connection is closed
# before a fork, and both sides open their own again when they need them. A child may not speak on its parent's
# connections to a server either.

stores: weakref.WeakSet[Store] = weakref.WeakSet()
_paused: list[Store] = []


def _pause() -> None:
    _paused[:] = stores
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
