"""Threads of the async board: one lane per agent, and one watch for all followers."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from punchlist.store import Store

T = TypeVar("T")


def _settle(future: Future[T], work: Callable[[], T]) -> None:
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)


def start_thread(work: Callable[[], T]) -> Future[T]:
    future: Future[T] = Future()
    threading.Thread(target=_settle, args=(future, work), name="punchlist").start()
    return future


class Lane:
    """Run work one piece after the other, in order, on the threads of a pool."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        # Guards `_waiting` and `_runs` together: work added as the lane ends would otherwise never run.
        self._lock = threading.Lock()
        self._waiting: deque[Callable[[], None]] = deque()
        self._runs = False

    def submit(self, work: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        with self._lock:
            if not self._runs:
                self._pool.submit(self._run)
            self._runs = True
            self._waiting.append(lambda: _settle(future, work))
        return future

    def _run(self) -> None:
        """Run one piece of work. The rest queues behind other lanes, or runs here once the pool has closed."""
        while True:
            with self._lock:
                settle = self._waiting.popleft()
            settle()
            with self._lock:
                if not self._waiting:
                    self._runs = False
                    return
            with suppress(RuntimeError):
                self._pool.submit(self._run)
                return


class EventWatch:
    """One thread that waits for new events for all followers of a board. Ends with the board or its last follower."""

    def __init__(self, store: Store) -> None:
        self.fault: Exception | None = None
        self._store = store
        # Guards `_followers` and `_runs` together: a follower that joins as the thread ends starts a new one.
        self._lock = threading.Lock()
        self._runs = False
        self._followers: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}

    def join(self, wake: asyncio.Event) -> None:
        """Set the event whenever there may be something new, and when the watch ends."""
        with self._lock:
            self._followers[wake] = asyncio.get_running_loop()
            if not self._runs:
                self._runs, self.fault = True, None
                threading.Thread(target=self._run, name="punchlist-follow", daemon=True).start()

    def leave(self, wake: asyncio.Event) -> None:
        with self._lock:
            self._followers.pop(wake, None)

    def _run(self) -> None:
        fault: Exception | None = None
        try:
            cursor = self._store.last_seq()
            # Wake followers before waiting: an event between a follower's read and our cursor would be missed.
            while self._wake_followers() and self._store.wait(cursor, None):
                cursor = self._store.last_seq()
        except Exception as error:
            fault = error
        self._wake_followers(ended=True, fault=fault)

    def _wake_followers(self, *, ended: bool = False, fault: Exception | None = None) -> bool:
        """Wake all followers; True if there are any."""
        with self._lock:
            for wake, loop in list(self._followers.items()):
                try:
                    loop.call_soon_threadsafe(wake.set)
                except RuntimeError:  # that loop is closed
                    del self._followers[wake]
            if ended:
                self._runs, self.fault = False, fault
            return bool(self._followers)
