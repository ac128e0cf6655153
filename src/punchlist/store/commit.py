"""Group commit: whoever comes first leads, and commits for all who came while the last commit was under way."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from threading import get_ident
from typing import Any, TypeVar

T = TypeVar("T")
MOST = 64
"""The most pieces of work in one commit."""

_INSIDE = "A transaction was started inside another one; use the one that is open."
_PATIENCE = 1.0
"""Seconds after which a waiting thread looks itself whether it can lead, should nobody have called it."""

_ONE_COMES, _ALL_COME = 0.000_040, 0.000_320
"""Seconds to wait for one of the last batch to come again, and for all of them: no longer than an fsync takes."""


class Request:
    """One piece of work, and what became of it."""

    __slots__ = ("error", "gate", "lane", "lasting", "result", "settled", "work")

    def __init__(self, work: Callable[[Any], Any], *, lasting: bool = True, lane: str = "") -> None:
        self.work = work
        self.lasting = lasting
        self.lane = lane
        self.result: Any = None
        self.error: Exception | None = None
        self.settled = False
        self.gate: threading.Lock | None = None

    def wait(self) -> None:
        """Until it was called, or for a while: to be called by the thread whose request it is."""
        gate = self.gate
        if gate is None:
            gate = threading.Lock()
            gate.acquire()
            self.gate = gate  # from now on a call opens it; one that came before is seen by a last look
            return
        gate.acquire(timeout=_PATIENCE)

    def wake(self) -> None:
        if self.gate is not None:
            _open(self.gate)

    def outcome(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.result


def _open(gate: threading.Lock) -> None:
    try:
        gate.release()
    except RuntimeError:
        return  # it was open: whoever is called has been called before, and has not come yet


def _first(queue: deque[Request]) -> list[Request]:
    """Those at its head. Others may come just now, between the look at the queue and the first step along it."""
    while True:
        try:
            return list(islice(queue, MOST))
        except RuntimeError:
            continue


def _leave(queue: deque[Request], request: Request) -> None:
    try:
        queue.remove(request)
    except ValueError:
        return  # its thread was interrupted, and has taken it out itself


def parted(batch: list[Request]) -> list[list[Request]]:
    """The batch in up to two parts: first what need not wait for the disk, then the rest.

    Nobody overtakes work of the same lane, nor work whose lane nobody knows.
    """
    first: list[Request] = []
    rest: list[Request] = []
    taken: set[str] = set()
    for request in batch:
        if request.lasting or not request.lane or request.lane in taken or "" in taken:
            rest.append(request)
            taken.add(request.lane)
        else:
            first.append(request)
    return [part for part in (first, rest) if part]


class GroupCommit:
    """Hands batches of requests, one batch at a time, to `run`, which settles each of them.

    `syncs`: a lasting commit waits for the disk, and it pays to let those who had to wait go with those who come again.
    Where a commit is quick, a batch only stays as large as it was.

    What `run` raises is meant for the thread in which it runs (the user pressed Ctrl-C, say): requests of others
    that are not settled then were taken back, and wait for the next leader.
    """

    def __init__(self, run: Callable[[list[Request]], None], *, syncs: bool = True) -> None:
        self._run = run
        self._syncs = syncs
        self._queue: deque[Request] = deque()
        self._turn = threading.RLock()
        self._leader = 0
        self._expected = 0
        self._wanted = 0
        self._all_here = threading.Lock()

    def submit(self, work: Callable[[Any], T], *, lasting: bool = True, lane: str = "") -> T:
        """Returns the work's result once it is committed, or raises its error once it is taken back."""
        if self._leader == get_ident():
            raise RuntimeError(_INSIDE)
        return self._queued(Request(work, lasting=lasting, lane=lane))

    def _queued(self, request: Request) -> Any:
        self._queue.append(request)
        if 0 < self._wanted <= len(self._queue):
            _open(self._all_here)
        try:
            while not request.settled:
                if self._turn.acquire(blocking=False):
                    if not request.settled:
                        if self._expected > 1:
                            self._linger(self._expected)
                        self._lead(request)
                    self._let_go()
                else:
                    request.wait()
        except BaseException:
            self._step_down(request)
            raise
        return request.outcome()

    def _linger(self, expected: int) -> None:
        """Lets those of the last batch come again; they are under way, or away."""
        self._all_here.acquire(blocking=False)
        self._wanted = expected  # first, so that whoever comes from now on counts; then a last look
        if len(self._queue) < expected:
            self._all_here.acquire(timeout=min(expected * _ONE_COMES, _ALL_COME))
        self._wanted = 0

    def _lead(self, own: Request) -> None:
        queue = self._queue
        self._leader = get_ident()
        batch: list[Request] = []
        try:
            batch.extend(_first(queue))  # before they leave it, so that an interruption loses none of them
            for request in batch:
                _leave(queue, request)
            self._run(batch)
            self._expected = self._coming(batch, own)
        except BaseException:
            left = [request for request in batch if request is not own and not request.settled]
            queue.extendleft(request for request in reversed(left) if request not in queue)
            raise
        finally:
            self._leader = 0
            for request in batch:
                if request.settled and request is not own:
                    request.wake()

    def _coming(self, batch: list[Request], own: Request) -> int:
        """How many are worth waiting for next time: those who came, and those who wait already for the disk."""
        if not own.lasting or not self._syncs:
            return len(batch)
        return sum([request.lasting for request in (*batch, *_first(self._queue))])

    def _let_go(self) -> None:
        self._leader = 0
        self._turn.release()
        if self._queue:
            self._call_next()

    def _call_next(self) -> None:
        """Somebody may have come too late for the batch, and waits to lead the next."""
        with suppress(IndexError):
            self._queue[0].wake()

    def _step_down(self, request: Request) -> None:
        """After an interruption, wherever it struck: lets go of the lead, and of work that nobody has begun."""
        self._leader = 0 if self._leader == get_ident() else self._leader
        with suppress(RuntimeError):
            self._turn.release()
        with suppress(ValueError):
            self._queue.remove(request)
        self._call_next()
