"""Test doubles for what is built on Punchlist: a clock to set, and a store that fails when told to."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from punchlist.errors import StoreFailed
from punchlist.store import Store, Transaction
from punchlist.store.sqlite import SqliteStore

__all__ = ["FakeClock", "Fault", "FaultyStore"]

T = TypeVar("T")
Fault = Literal["fail_before", "fail_after", "delay"]
_Base = SqliteStore if TYPE_CHECKING else object  # it has all names of a store, from the one that it wraps

_START = datetime(2025, 1, 1, 9, 0, tzinfo=UTC)


class FakeClock:
    """Give it to `Board.open(clock=…)`. It can be set back, as real clocks sometimes are."""

    def __init__(self, start: datetime = _START) -> None:
        self._now = start

    def __call__(self) -> datetime:
        return self._now

    def advance(self, seconds: float) -> datetime:
        """Move the clock, back if the number is negative; return the new time."""
        self._now += timedelta(seconds=seconds)
        return self._now

    def set(self, now: datetime) -> datetime:
        """Set the clock; return the new time."""
        self._now = now
        return self._now


class FaultyStore(_Base):
    """Wraps any store. Reads go through; a write may meet a fault.

    `fail_before`: nothing is written and the caller is told so. `fail_after`: it is committed, and the caller is
    told that it failed, as when an acknowledgement is lost. `delay`: it is written after `seconds`.

    Faults are planned call by call, or come by chance: `FaultyStore(store, seed=7, fail_after=0.1)`. `met` lists what
    happened, a fault or None for each call, so that a run can be told and repeated.
    """

    def __init__(
        self,
        store: Store,
        *,
        seed: int = 0,
        fail_before: float = 0.0,
        fail_after: float = 0.0,
        delay: float = 0.0,
        seconds: float = 0.001,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.store = store
        self.met: list[Fault | None] = []
        self._planned: dict[int, Fault] = {}
        self._chances: dict[Fault, float] = {"fail_before": fail_before, "fail_after": fail_after, "delay": delay}
        self._rng = random.Random(seed)
        self._seconds = seconds
        self._sleep = sleep

    def plan(self, fault: Fault, *, at: int = 1) -> None:
        """The `at`-th write from now on meets this fault; 1 is the next."""
        self._planned[len(self.met) + at] = fault

    def _next(self) -> Fault | None:
        fault = self._planned.pop(len(self.met) + 1, None)
        if fault is None:
            chance = self._rng.random()
            for kind, share in self._chances.items():
                if chance < share:
                    fault = kind
                    break
                chance -= share
        self.met.append(fault)
        return fault

    def transact(self, work: Callable[[Transaction], T], *, durable: bool = True, wait: float | None = None) -> T:
        fault = self._next()
        if fault == "fail_before":
            raise StoreFailed(path=self.path, problem="a planned fault before the write")
        if fault == "delay":
            self._sleep(self._seconds)
        result = self.store.transact(work, durable=durable, wait=wait)
        if fault == "fail_after":
            raise StoreFailed(path=self.path, problem="a planned fault after the write")
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)
