"""A number that goes up with each commit, in memory that all processes share.

So each of them knows, without a system call, whether another one has written since it last did itself. It is a hint
for those who would otherwise have to ask SQLite: within a transaction SQLite's own word counts. Like SQLite's `-shm`
the file must not be made shorter while a process has it open.
"""

from __future__ import annotations

import mmap
import os

_NUMBER, _SPOOLS, _MADE, _SIZE = slice(0, 8), 8, slice(9, 16), 16
"""Where the number is, where it says whether there may be spools, and how many were ever made."""


class Pulse:
    """Raises `OSError` where a file cannot be shared as memory."""

    def __init__(self, path: str) -> None:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(handle, 0, _SIZE)
            self._bytes = mmap.mmap(handle, _SIZE)
        finally:
            os.close(handle)
        self._known = self._bytes[_NUMBER]

    def is_ours(self) -> bool:
        """Whether nobody but this process has written since it last did."""
        return self._bytes[_NUMBER] == self._known

    def beat(self) -> None:
        """This process has committed; to be called by who holds the lock."""
        number = int.from_bytes(self._bytes[_NUMBER], "little") + 1
        self._known = (number % 2**64).to_bytes(8, "little")
        self._bytes[_NUMBER] = self._known

    @property
    def spools(self) -> bool:
        """Whether some process has, or had when it was killed, something to commit. Who has says so again and again."""
        return self._bytes[_SPOOLS] != 0

    @spools.setter
    def spools(self, there: bool) -> None:
        self._bytes[_SPOOLS] = there

    @property
    def made(self) -> bytes:
        """What is another once some process has made a spool."""
        return self._bytes[_MADE]

    def spool_made(self) -> None:
        """To be called once the spool is there: who looks at `made` first, and then for spools, misses none."""
        self._bytes[_MADE] = ((int.from_bytes(self.made, "little") + 1) % 2**56).to_bytes(7, "little")

    def close(self) -> None:
        self._bytes.close()
