"""Reports that come thick and fast are committed together, a few milliseconds later.

A transaction of its own costs a report more than all that is thought about it. So where reports follow each other
closely, their events go into a spool, which a kill does not touch, and are acknowledged; the next transaction of the
process, whatever it is for, begins by putting them in.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING

from punchlist.errors import StoreError
from punchlist.store.log import EventRow, LogRows
from punchlist.store.pulse import Pulse

if TYPE_CHECKING:
    from punchlist.store.spool import Spool

WITHIN = 0.010
"""Seconds after which the next report commits those that wait. When none comes, a thread does, after twice as many."""

MOST = 256
"""Events that wait at most."""

BRISK = 0.005
"""Seconds from one report to the next that count as close."""

_IDLE = 50
"""Looks at an empty backlog before its thread ends."""


class Backlog:
    """What this process acknowledged and has still to commit. All but `is_open` is for who holds the write lock.

    `commit` commits what waits, from any thread.
    """

    def __init__(self, folder: str, pulse: Pulse, commit: Callable[[], None]) -> None:
        self.waiting: list[EventRow] = []
        self._folder = folder
        self._pulse = pulse
        self._commit = commit
        self._spool: Spool | None = None
        self._last = self._since = float("-inf")
        self._thread: threading.Thread | None = None

    def is_open(self) -> bool:
        """Whether a report may wait that comes now: soon after the last one, and nobody else has written since."""
        now = monotonic()
        last, self._last = self._last, now
        return now - last < BRISK and self._pulse.is_ours()

    def keep(self, events: Sequence[EventRow]) -> bool:
        """Takes these in; False if they had better be committed at once, with those that wait."""
        waiting = self.waiting
        if waiting and (len(waiting) >= MOST or self._last - self._since >= WITHIN):
            return False
        try:
            if self._spool is None:
                from punchlist.store.spool import Spool  # only for those who report

                self._spool = Spool(self._folder)
            if not self._spool.add(events):
                return False
        except OSError:
            return False  # no room, or no such file system: the transaction will say what is the matter
        if not waiting:
            self._since = self._last
        waiting.extend(events)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="punchlist-reports", daemon=True)
            self._thread.start()
        return True

    def committed(self) -> None:
        """All that waited is committed; to be called after each transaction."""
        self._pulse.beat()
        if self.waiting:
            self.waiting.clear()
            if self._spool is not None:
                self._spool.clear()

    def _run(self) -> None:
        """Commits what is left when reports have ceased to come; they do it themselves as long as they come."""
        idle = 0
        while idle < _IDLE:
            sleep(WITHIN)
            idle = 0 if self.waiting else idle + 1
            if self.waiting and monotonic() - self._since >= 2 * WITHIN:
                try:
                    self._commit()
                except StoreError as error:
                    _warn("reports wait to be committed: %s", error)
                    sleep(1)
            if idle == _IDLE:
                self._thread = None  # first, so that a report that comes now begins another; then a last look
                if self.waiting:
                    self._thread, idle = threading.current_thread(), 0

    def close(self) -> None:
        if self._spool is not None:
            self._spool.close(remove=not self.waiting)
            self._spool = None
        self._pulse.close()

    def leave(self) -> None:
        """In a child of a fork: what waits is the parent's to commit."""
        if self._spool is not None:
            self._spool.close(remove=False)
            self._spool = None
        self._pulse.close()


def take_over(folder: str, transact: Callable[[Callable[[LogRows], object]], object]) -> None:
    """Commits what processes had acknowledged that were killed before they could."""
    if not os.path.isdir(folder):
        return  # as nearly always: nobody left anything
    from punchlist.store.spool import leftovers

    found = leftovers(folder)
    try:
        if found:
            transact(lambda rows: [rows.add_left(event) for left in found for event in left.rows()])
            for left in found:
                left.remove()
    except (StoreError, OSError) as error:
        _warn("what another process had still to commit is not in yet: %s", error)
    finally:
        for left in found:
            left.close()
    with suppress(OSError):
        os.rmdir(folder)


def _warn(text: str, error: Exception) -> None:
    import logging  # not for those who only look at a list

    logging.getLogger("punchlist.store").warning(text, error)
