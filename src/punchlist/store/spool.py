"""A file beside the board that keeps what its process has acknowledged and not committed yet.

It is mapped into memory, so that to write to it is to copy some bytes: they belong to the kernel at once, and outlive
the process. Who has the file open holds a lock on it. A file that nobody holds was left behind by a process that
was killed; whoever opens the board next takes it in.
"""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from struct import Struct
from types import ModuleType
from typing import Any
from zlib import crc32

import msgspec

try:
    import fcntl as _fcntl
except ImportError:  # not a POSIX system: nothing is spooled there
    _fcntl = None

fcntl: ModuleType | None = _fcntl

SIZE = 1 << 18
_HEAD = Struct("<III")
"""The length of a record, its checksum, and how often the file was begun anew when it was written."""

_END = b"\0\0\0\0"
_ASIDE = ".unread"
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[tuple[int, int, str, str, int, int, bytes, bytes]]).decode
_decode_old = msgspec.msgpack.Decoder(list[tuple[int, int, str, str, int, None, int, bytes, bytes]]).decode


class Spool:
    """One process's file, made on first use."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.path = os.path.join(folder, f"{os.getpid()}-{os.urandom(4).hex()}")
        self._handle = self._make()
        try:
            if fcntl is not None:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.fstat(self._handle).st_nlink:
                raise FileNotFoundError("somebody took the new spool for one that was left behind")
            os.posix_fallocate(self._handle, 0, SIZE)  # or a full disk would be met while copying, as a signal
            self._bytes = mmap.mmap(self._handle, SIZE)
        except BaseException:
            os.close(self._handle)
            with suppress(OSError):
                os.unlink(self.path)
            raise
        self._used = 0
        self._round = 1

    def _make(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        for _ in range(3):
            with suppress(FileExistsError):
                os.mkdir(self._folder, 0o700)
            with suppress(FileNotFoundError):  # its last user has just removed the folder
                return os.open(self.path, flags, 0o600)
        return os.open(self.path, flags, 0o600)

    def add(self, rows: Sequence[tuple[Any, ...]]) -> bool:
        """Keeps some rows; False if there is no room for them."""
        body = _encode(rows)
        start = self._used + _HEAD.size
        end = start + len(body)
        if end + len(_END) > SIZE:
            return False
        at = self._used
        self._bytes[end : end + len(_END)] = _END
        self._bytes[start:end] = body
        self._bytes[at:start] = _HEAD.pack(len(body), crc32(body, self._round), self._round)
        self._used = end
        return True

    def clear(self) -> None:
        """All of it is committed."""
        self._bytes[: len(_END)] = _END
        self._used = 0
        self._round = self._round % (2**32 - 1) + 1

    def close(self, *, remove: bool) -> None:
        """With `remove` nothing in it is needed any more."""
        if remove:
            with suppress(OSError):
                os.unlink(self.path)
        self._bytes.close()
        os.close(self._handle)
        with suppress(OSError):  # others have theirs in it
            os.rmdir(self._folder)


class Leftover:
    """A spool whose process is gone; this one holds it now."""

    def __init__(self, path: str, handle: int) -> None:
        self.is_read = True
        self.path = path
        self._handle = handle

    def rows(self) -> list[tuple[Any, ...]]:
        """What is in it, in order, as far as it can be read; `is_read` says whether that is to its end."""
        content = os.pread(self._handle, SIZE, 0)
        found: list[tuple[Any, ...]] = []
        start, first = 0, None
        while start + _HEAD.size <= len(content):
            length, total, number = _HEAD.unpack_from(content, start)
            first = number if first is None else first
            body = content[start + _HEAD.size : start + _HEAD.size + length]
            if not length:
                break
            try:
                if number != first or len(body) != length or crc32(body, number) != total:
                    raise ValueError("a record is not what was written")
                found.extend(_rows_in(body))
            except (ValueError, msgspec.MsgspecError):  # or it is by a later version of this program
                self.is_read = False
                break
            start += _HEAD.size + length
        return found

    def remove(self) -> str:
        """All that could be read is committed. Where the rest is now, if there is a rest."""
        with suppress(OSError):
            if not self.is_read:
                os.rename(self.path, self.path + _ASIDE)
                return self.path + _ASIDE
            os.unlink(self.path)
        return ""

    def close(self) -> None:
        os.close(self._handle)


def _rows_in(body: bytes) -> list[tuple[Any, ...]]:
    try:
        return list(_decode(body))
    except msgspec.ValidationError:  # as they were before: with a revision that none of them has
        return [(*row[:5], *row[6:]) for row in _decode_old(body)]


def leftovers(folder: str) -> list[Leftover]:
    """The spools of processes that are gone, held from now on until each is closed."""
    return [held for path in _spools(folder) if (held := _held(path)) is not None]


def _spools(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if not name.endswith(_ASIDE)]


def _held(path: str) -> Leftover | None:
    """The file with its lock, unless its process lives."""
    if fcntl is None:
        return None
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("this is no spool")
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return Leftover(path, handle)


def in_use(folder: str, own: str) -> dict[str, int]:
    """The spools but one's own in which something waits, and how often each was begun anew."""
    return {path: number for path in others(folder, own) if (number := waiting_in(path))}


def others(folder: str, own: str) -> list[str]:
    """The spools but one's own."""
    return [path for path in _spools(folder) if path != own]


def waiting_in(path: str) -> int:
    """How often a spool was begun anew in which something waits; 0 if nothing does."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return 0
    try:
        head = os.read(handle, _HEAD.size)
    except OSError:
        return 0
    finally:
        os.close(handle)
    length, _, number = _HEAD.unpack(head) if len(head) == _HEAD.size else (0, 0, 0)
    return number if length else 0
