"""What processes hear of each other: that something was committed.

Who waits is woken in this process by a condition, in others by the bell.
"""

from __future__ import annotations

import threading
from time import monotonic

from punchlist.store.bell import Bell, Listener
from punchlist.store.commit import GroupCommit
from punchlist.store.reads import Reads
from punchlist.store.transaction import Rows

_LOOK_AGAIN = 1.0
"""Seconds after which a follower looks by itself, should the bell have been deleted or never rung."""


class Followed(Reads):
    """A store that says when there is something new."""

    _file: str
    _closed: bool
    _bell: Bell | None
    _listener: Listener | None
    _rung: threading.Condition
    _rings: int
    _waiting: int
    _commits: GroupCommit

    def _announce(self) -> None:
        if self._bell is not None:
            self._bell.ring()
        self._ring()

    def _ring(self) -> None:
        self._rings += 1
        if self._waiting:
            with self._rung:
                self._rung.notify_all()

    def wait(self, after: int, timeout: float | None) -> bool:
        ends = None if timeout is None else monotonic() + timeout
        while True:
            with self._rung:
                if self._file and self._listener is None and not self._closed:
                    self._listener = Listener(f"{self._file}.bell", self._ring)
                rings = self._rings
            if self._closed or self.read(_last_seq) > after:
                return not self._closed
            left = _LOOK_AGAIN if ends is None else min(_LOOK_AGAIN, ends - monotonic())
            if left <= 0:
                return False
            with self._rung:
                self._waiting += 1  # first, so that whoever rings from now on calls; then a last look
                try:
                    self._rung.wait_for(lambda rings=rings: self._rings != rings or self._closed, left)
                finally:
                    self._waiting -= 1


def _last_seq(rows: Rows) -> int:
    return rows.last_seq()
