"""Reports that come thick and fast are committed together, a few milliseconds later.

A transaction of its own costs a report more than all that is thought about it. So where reports follow each other
closely, their events go into a spool, which a kill does not touch, and are acknowledged; the next transaction of the
process, whatever it is for, begins by putting them in.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from punchlist.errors import StoreError
from punchlist.store import codec
from punchlist.store.contract import LeftEvent, TakeIn
from punchlist.store.log import ReportRow
from punchlist.store.pulse import Pulse

if TYPE_CHECKING:
    from punchlist.store.spool import Leftover, Spool
    from punchlist.store.transaction import Rows

WITHIN = 0.010
"""Seconds after which the next report commits those that wait. When none comes, a thread does, after twice as many."""

MOST = 256
"""Reports that wait at most."""

BRISK = 0.005
"""Seconds from one report to the next that count as close."""

_IDLE = 50
"""Looks at an empty backlog before its thread ends."""

_A_MOMENT = 0.002
_OTHERS = 0.25
"""Seconds that others get to commit what waits in theirs, which takes them less unless they were stopped."""


Waiting = tuple[Callable[[Any], object], Sequence[ReportRow]]
"""A report that was acknowledged: how to decide it anew, and what it came to."""


class Backlog:
    """What this process acknowledged and has still to commit. `commit` does so, from any thread.

    All but `is_open` is for who holds the write lock. `is_outdated`: another process has written since what waits was
    decided. `is_stuck`: it could not be committed, and nothing more is taken until it could.
    """

    def __init__(self, folder: str, pulse: Pulse, commit: Callable[[], None]) -> None:
        self.waiting: list[Waiting] = []
        self.is_outdated = False
        self.is_stuck = False
        self._folder = folder
        self._pulse = pulse
        self._commit = commit
        self._spool: Spool | None = None
        self._alone_at: bytes | None = None
        self._last = self._since = float("-inf")
        self._thread: threading.Thread | None = None
        self._closed = False
        _alive.add(self)

    def is_open(self) -> bool:
        """Whether a report may wait that comes now: soon after the last one, and nobody else has written since."""
        now = monotonic()
        last, self._last = self._last, now
        return now - last < BRISK and not self._closed and not self.is_stuck and self._pulse.is_ours()

    @property
    def events(self) -> list[ReportRow]:
        return [event for _, events in self.waiting for event in events]

    def keep(self, work: Callable[[Any], object], events: Sequence[ReportRow]) -> bool:
        """Takes a report in; False if it had better be committed at once, with those that wait."""
        waiting = self.waiting
        if waiting and (len(waiting) >= MOST or self._last - self._since >= WITHIN):
            return False
        try:
            if self._spool is None:
                from punchlist.store.spool import Spool  # only for those who report

                self._spool = Spool(self._folder)
                self._pulse.spool_made()
            if not self._spool.add(events):
                return False
        except OSError:
            return False  # no room, or no such file system: the transaction will say what is the matter
        self._pulse.spools = True
        if not waiting:
            self._since = self._last
        waiting.append((work, events))
        if self._thread is None:
            self._begin()
        return True

    def has(self, work: Callable[[Any], object]) -> bool:
        """Whether this is the report that was taken in last."""
        return bool(self.waiting) and self.waiting[-1][0] is work

    def committed(self) -> None:
        """All that waited is committed; to be called after each transaction."""
        if not self._closed:
            self._pulse.beat()
        if self.waiting:
            self.waiting.clear()
            self.is_outdated = self.is_stuck = False
            if self._spool is not None:
                self._spool.clear()

    def _begin(self) -> None:
        thread = threading.Thread(target=self._run, name="punchlist-reports", daemon=True)
        with suppress(RuntimeError):  # no more threads to be had: the next report tries again
            thread.start()
            self._thread = thread

    def _run(self) -> None:
        """Commits what is left when reports have ceased to come; they do it themselves as long as they come."""
        idle = 0
        try:
            while idle < _IDLE and not self._closed:
                sleep(WITHIN)
                idle = 0 if self.waiting else idle + 1
                if self.waiting and monotonic() - self._since >= 2 * WITHIN and not self.settle():
                    sleep(1)
        finally:
            self._thread = None  # first, so that a report that comes now begins another; then a last look
            if self.waiting and not self._closed:
                self._begin()

    def settle(self) -> bool:
        """Commits what waits, if anything does; False, with a warning, if that cannot be done now."""
        try:
            if self.waiting and not self._closed:
                self._commit()
        except StoreError as error:
            if not self._closed:
                _warn("reports wait to be committed: %s", error)
                return False
        return True

    @property
    def has_others(self) -> bool:
        """Whether other processes may have something to commit; costs next to nothing where they have not."""
        if self._closed or not self._pulse.spools:
            return False
        made = self._pulse.made
        if made != self._alone_at:
            from punchlist.store.spool import others

            self._alone_at = None if others(self._folder, self._own) else made
        return self._alone_at is None

    def wait_for_others(self) -> None:
        """Until what other processes acknowledged before is committed, if that takes them no longer than it should."""
        if not os.path.isdir(self._folder):
            self._pulse.spools = False
            return
        from punchlist.store.spool import in_use, waiting_in

        ends = monotonic() + _OTHERS
        for path, number in in_use(self._folder, self._own).items():
            while waiting_in(path) == number and monotonic() < ends:
                sleep(_A_MOMENT)

    @property
    def _own(self) -> str:
        return "" if self._spool is None else self._spool.path

    def close(self) -> None:
        self.leave(remove=not self.waiting)

    def leave(self, *, remove: bool = False) -> None:
        """Lets go of its files. In a child of a fork, what waits is the parent's to commit."""
        self._closed = True
        if self._spool is not None:
            self._spool.close(remove=remove)
            self._spool = None
        self._pulse.close()


def take_over(folder: str, transact: Callable[[Callable[[Rows], None]], object], take_in: TakeIn) -> None:
    """Commits what processes had acknowledged that were killed before they could."""
    if not os.path.isdir(folder):
        return  # as nearly always: nobody left anything
    from punchlist.store.spool import leftovers

    found = leftovers(folder)
    try:
        for left in found:
            _take_over(left, transact, take_in)
    finally:
        for left in found:
            left.close()
    with suppress(OSError):
        os.rmdir(folder)


def _take_over(left: Leftover, transact: Callable[[Callable[[Rows], None]], object], take_in: TakeIn) -> None:
    try:
        transact(lambda rows: take_in(rows, _events(rows, left)))
    except (StoreError, OSError) as error:
        _warn("what another process had still to commit is not in yet: %s", error)
        return
    except Exception:  # what this program does not understand must not keep the board shut
        left.is_read = False
    if aside := left.remove():
        _warn("what another process had still to commit cannot be read, and is in `%s`", aside)


def _events(rows: Rows, left: Leftover) -> list[LeftEvent]:
    """What is in a spool and not in the log, unless its agent is gone."""
    missing: list[LeftEvent] = []
    for seq, at, kind, by, number, _, data, hint in left.rows():
        found_agent = rows.one("lacks_event", {"agent": number, "at": at, "seq": seq, "kind": kind, "data": data})
        if found_agent is not None:
            session, agent = found_agent
            facts = codec.decode_data(data)
            missing.append(LeftEvent(session, agent, codec.moment(at), kind, by, facts, codec.unsealed(hint) or b""))
    return missing


def _warn(text: str, what: object) -> None:
    import logging  # not for those who only look at a list

    logging.getLogger("punchlist.store").warning(text, what)


def _settle_all() -> None:
    """At the end of the process, for those who do not close their board."""
    for backlog in list(_alive):
        backlog.settle()
        backlog.close()


_alive: weakref.WeakSet[Backlog] = weakref.WeakSet()
atexit.register(_settle_all)
