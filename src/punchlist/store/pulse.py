"""A number that goes up with each commit, in memory that all processes share.

So each of them knows, without a system call, whether another one has written since it last did itself. It is a hint
for those who would otherwise have to ask SQLite: within a transaction SQLite's own word counts. Like SQLite's `-shm`
the file must not be made shorter while a process has it open.
"""

from __future__ import annotations

import mmap
import os

_SIZE = 8


class Pulse:
    """Raises `OSError` where a file cannot be shared as memory."""

    def __init__(self, path: str) -> None:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(handle, 0, _SIZE)
            self._bytes = mmap.mmap(handle, _SIZE)
        finally:
            os.close(handle)
        self._known = self._bytes[:]

    def is_ours(self) -> bool:
        """Whether nobody but this process has written since it last did."""
        return self._bytes[:] == self._known

    def beat(self) -> None:
        """This process has committed; to be called by who holds the lock."""
        number = int.from_bytes(self._bytes[:], "little") + 1
        self._known = (number % 2**64).to_bytes(_SIZE, "little")
        self._bytes[:] = self._known

    def close(self) -> None:
        self._bytes.close()
