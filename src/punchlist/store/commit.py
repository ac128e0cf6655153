"""Group commit: whoever comes first leads, and commits for all who came while the last commit was under way."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
MOST = 64
"""The most pieces of work in one commit."""


class Request:
    """One piece of work, and what became of it."""

    __slots__ = ("error", "gate", "result", "settled", "work")

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.work = work
        self.result: Any = None
        self.error: BaseException | None = None
        self.settled = False
        self.gate = threading.Lock()
        self.gate.acquire()

    def settle(self) -> None:
        self.settled = True

    def outcome(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.result


class GroupCommit:
    """Hands batches of requests, one batch at a time, to `run`, which settles each of them."""

    def __init__(self, run: Callable[[list[Request]], None]) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._queue: deque[Request] = deque()
        self._led = False

    def submit(self, work: Callable[[Any], T]) -> T:
        """Returns the work's result once it is committed, or raises its error once it is taken back."""
        request = Request(work)
        with self._lock:
            self._queue.append(request)
            follows = self._led
            self._led = True
        if follows:
            request.gate.acquire()
            if request.settled:
                return request.outcome()
        self._lead()
        return request.outcome()

    def _lead(self) -> None:
        with self._lock:
            batch = [self._queue.popleft() for _ in range(min(MOST, len(self._queue)))]
        try:
            self._run(batch)
        except BaseException as error:
            for request in batch:
                request.error = request.error or error
        finally:
            for request in batch:
                request.settle()
            with self._lock:
                self._led = bool(self._queue)
                heir = self._queue[0] if self._queue else None
            for request in batch:
                request.gate.release()
            if heir is not None:
                heir.gate.release()
