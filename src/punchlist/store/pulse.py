"""A number that goes up with each commit, in memory that all processes share.

So each of them knows, without a system call, whether another one has written since it last did itself. It is a hint
for those who would otherwise have to ask SQLite: within a transaction SQLite's own word counts. Like SQLite's `-shm`
the file must not be made shorter while a process has it open.
"""

from __future__ import annotations

import mmap
import os

_NUMBER, _SPOOLS, _SIZE = slice(0, 8), 8, 16
"""Where the number is, and where it says whether there may be spools."""


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

    def close(self) -> None:
        self._bytes.close()
