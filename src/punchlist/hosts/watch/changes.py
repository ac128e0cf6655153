"""Wait until files in some folders change: by inotify on Linux, elsewhere by looking at them every second."""

from __future__ import annotations

import ctypes
import os
import select
import struct
import sys
import time
from contextlib import suppress
from typing import Final

from punchlist.hosts.watch.logs import list_files, list_folders

POLL_SECONDS: Final = 1.0
_MODIFY, _MOVED_TO, _CREATE = 0x2, 0x80, 0x100
_ONLY_FOLDERS, _NO_LINKS = 0x0100_0000, 0x0200_0000
_OVERFLOW, _IS_FOLDER = 0x4000, 0x4000_0000
_HEAD: Final = struct.Struct("iIII")
_BUFFER: Final = 1 << 16


def open_changes(*, native: bool = True) -> Changes:
    """Return what tells of changes in folders: the kernel where it can, else a look at them."""
    if native and sys.platform == "linux":
        with suppress(OSError):  # the user has too many already
            return Inotify()
    return Polling()


class Inotify:
    """Asks the kernel. A folder for which it has no room is looked at instead, with all the others."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._handle: int = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._handle < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        self._folders: dict[int, str] = {}
        self._polling: Polling | None = None
        self._roots: list[str] = []
        self._poll = select.poll()
        self._poll.register(self._handle, select.POLLIN)

    def add(self, root: str) -> None:
        """Watch a folder and all folders in it."""
        self._roots.append(root)
        self._add_folders(root)
        if self._polling is not None:
            self._polling.add(root)

    def _add_folders(self, top: str) -> None:
        mask = _MODIFY | _MOVED_TO | _CREATE | _ONLY_FOLDERS | _NO_LINKS
        for folder in list_folders(top):
            number: int = self._libc.inotify_add_watch(self._handle, os.fsencode(folder), mask)
            if number >= 0:
                self._folders[number] = folder
            elif os.path.isdir(folder) and self._polling is None:
                self._polling = Polling()
                for root in self._roots:
                    self._polling.add(root)

    def wait(self, seconds: float) -> set[str] | None:
        """Return paths that changed, perhaps of no logs; empty when the time is up, None if any may have changed."""
        if self._polling is not None:
            return self._polling.wait(seconds)
        if not self._poll.poll(max(0, round(seconds * 1000))):
            return set()
        data = os.read(self._handle, _BUFFER)
        found: set[str] = set()
        place = 0
        while place < len(data):
            number, mask, _, size = _HEAD.unpack_from(data, place)
            name = data[place + _HEAD.size : place + _HEAD.size + size].rstrip(b"\0")
            place += _HEAD.size + size
            if mask & _OVERFLOW:
                return None
            if number not in self._folders or not name:
                continue
            path = os.path.join(self._folders[number], os.fsdecode(name))
            if mask & _IS_FOLDER:
                self._add_folders(path)
                found.update(file.path for file in list_files(path))  # written before it was watched
            else:
                found.add(path)
        return found

    def close(self) -> None:
        os.close(self._handle)


class Polling:
    """Looks at all files every second."""

    def __init__(self) -> None:
        self._roots: list[str] = []
        self._known: dict[str, tuple[str, int, float]] = {}
        self._next = 0.0

    def add(self, root: str) -> None:
        self._roots.append(root)
        self._look()

    def _look(self) -> set[str]:
        now = {file.path: file[1:] for root in self._roots for file in list_files(root)}
        changed = {path for path, seen in now.items() if self._known.get(path) != seen}
        self._known = now
        return changed

    def wait(self, seconds: float) -> set[str] | None:
        ends = time.monotonic() + seconds
        while True:
            now = time.monotonic()
            if now >= self._next:
                changed = self._look()
                self._next = now + POLL_SECONDS
                if changed or now >= ends:
                    return changed
            elif now >= ends:
                return set()
            time.sleep(max(0.0, min(ends, self._next) - now))

    def close(self) -> None: ...


Changes = Inotify | Polling
