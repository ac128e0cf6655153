"""What was committed without fsync is written out within a second, by a thread that sleeps when nothing is owed."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from time import sleep

WITHIN = 0.5
"""Seconds after the first commit that owes one until the fsync."""


class Syncing:
    """Writes a log file out, a little after it was told that this is owed. Nothing here takes a lock of the store.

    SQLite holds no POSIX locks on its log, only on the database and its index: so it may be opened and closed here.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._owed = False
        self._mutex = threading.Lock()
        self._thread: threading.Thread | None = None

    def owe(self) -> None:
        """There is something in the log that no fsync has covered yet."""
        if self._owed:
            return
        with self._mutex:
            self._owed = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="punchlist-sync", daemon=True)
                self._thread.start()

    def paid(self) -> None:
        """A commit with an fsync covered all that was before it."""
        self._owed = False

    def settle(self) -> None:
        """Writes the log out now, if that is owed."""
        if not self._owed:
            return
        self._owed = False
        with suppress(OSError):  # the log goes away when the last connection closes, and then nothing is owed
            file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(file)
            finally:
                os.close(file)

    def _run(self) -> None:
        while True:
            sleep(WITHIN)
            with self._mutex:
                if not self._owed:
                    self._thread = None
                    return
            self.settle()
