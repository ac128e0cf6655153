"""Select by the settings what to watch, find the logs of agents on this machine, and wait until they change.

Only regular files below the folder of an agent are looked at. Links in it are not followed: the folder itself may be
one, because people keep their settings elsewhere.
"""

from __future__ import annotations

import ctypes
import os
import re
import select
import stat
import struct
import sys
import time
from collections.abc import Container, Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, NamedTuple, cast

from msgspec import Struct

from punchlist.core.programs import PROGRAMS
from punchlist.errors import PunchlistError
from punchlist.logs.programs import find_logs
from punchlist.settings.table import load_settings, read_age
from punchlist.transcripts.decoding import LARGEST, name, record
from punchlist.transcripts.decoding import path as folder_path
from punchlist.transcripts.formats import LOGS
from punchlist.transcripts.log_files import open_plain, read_first
from punchlist.transcripts.values import MAIN

COMPRESSED: Final = ".zst"
_LOG: Final = ".jsonl"
_LONGEST_PATH: Final = 4096
_DEEPEST: Final = 12
"""Folders in folders that are looked at; the deepest logs, of subagents of workflows, lie five deep."""


class WatchScope(Struct, frozen=True):
    """Agents by name, and folders as they are on the disk; no folders are all."""

    agents: tuple[str, ...]
    folders: tuple[str, ...] = ()

    def has_folder(self, folder: str) -> bool:
        """True if sessions that work in a folder are watched."""
        if not self.folders:
            return True
        found = os.path.realpath(folder)
        return any(found == one or found.startswith(one.rstrip(os.sep) + os.sep) for one in self.folders)


def load_scope() -> WatchScope:
    """Return what the settings say is watched."""
    watch = load_settings().watch
    return WatchScope(watch.agents, tuple(os.path.realpath(os.path.expanduser(one)) for one in watch.folders))


def find_beginning(now: datetime) -> datetime:
    """Return the time from which on logs are read, by the settings."""
    return now - read_age(load_settings().watch.since)


# Logs, and whose each one is.


class LogFile(NamedTuple):
    """A log of one agent. `agent` is `MAIN`, or the id of a subagent whose start it is then told with.

    `cwd` is the folder of the session, where a file beside the log tells it.
    """

    path: str
    host: str
    session: str
    agent: str = MAIN
    cwd: str | None = None


class FoundFile(NamedTuple):
    """A file as it lies in a folder: its device and inode, its size and when it was last written."""

    path: str
    file: str
    size: int
    changed: float


def list_roots(agents: Container[str]) -> dict[str, str]:
    """Return the folders in which these agents keep their logs here, each with its agent."""
    roots: dict[str, str] = {}
    for host in (one for one in PROGRAMS if one in agents and PROGRAMS[one].logs):
        folder = os.path.realpath(find_logs(host))
        if os.path.isdir(folder):
            roots[folder] = host
    return roots


def list_folders(root: str) -> Iterator[str]:
    """Yield a folder and all folders in it."""
    for folder, inner, _ in os.walk(root):
        if folder.count(os.sep) - root.count(os.sep) >= _DEEPEST:
            inner.clear()
        yield folder


def list_files(root: str) -> Iterator[FoundFile]:
    """Yield the logs in a folder and the folders in it."""
    for folder in list_folders(root):
        try:
            with os.scandir(folder) as entries:
                yield from [found for entry in entries if (found := find_file(entry.path)) is not None]
        except OSError:
            continue  # it was deleted meanwhile


def find_file(path: str) -> FoundFile | None:
    """Return a log as it is now; None if it is none, or no regular file."""
    if not path.endswith((_LOG, _LOG + COMPRESSED)):
        return None
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return FoundFile(path, f"{found.st_dev}:{found.st_ino}", found.st_size, found.st_mtime)


def describe_log(host: str, root: str, path: str) -> LogFile | None:
    """Return whose log a file is; None if it is none, or does not tell yet."""
    form, inside = LOGS[host], os.path.relpath(path, root)
    found = next((match for pattern in form.logs if (match := re.fullmatch(pattern, inside)) is not None), None)
    if found is None:
        return None
    told = found.groupdict()
    session, agent = told.get("session"), told.get("agent", MAIN)
    if form.read_owner is not None:
        owner = form.read_owner(_read_first(path) or {})
        session, agent = (owner.session, owner.agent) if session is None else (session, owner.session)
    if name(session) is None or name(agent) is None:
        return None
    cwd = None
    if form.folder_file:
        cwd = _read_text(os.path.join(root, inside.split(os.sep)[0], form.folder_file))
    return LogFile(path, host, cast("str", session), cast("str", agent), cwd)


def find_unread(read: Container[str], since: datetime) -> Iterator[LogFile]:
    """Yield the logs of sessions that were written since a time, and are not among those `read` in part at least."""
    scope = load_scope()
    roots = {} if scope.folders else list_roots(scope.agents)  # in which folder a session works, only its log tells
    for root, host in roots.items():
        for file in list_files(root):
            if file.path in read or file.changed < since.timestamp():
                continue
            with suppress(OSError, PunchlistError):
                log = describe_log(host, root, file.path)
                if log is not None and log.agent == MAIN:
                    yield log


def _read_text(path: str) -> str | None:
    try:
        handle = open_plain(path)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        return folder_path(file.read(_LONGEST_PATH).decode("utf-8", "replace").strip())


def _read_first(path: str) -> dict[str, Any] | None:
    """Return the first record of a log; None as long as its first line has no end."""
    if path.endswith(COMPRESSED):
        return next(iter(read_first(path, 1)), None)
    handle = open_plain(path)
    try:
        line, size = b"", 1 << 16
        while b"\n" not in line and len(line) < LARGEST:
            more = os.pread(handle, size, len(line))
            if not more:
                return None
            line += more
    finally:
        os.close(handle)
    return record(line.partition(b"\n")[0])


# Changes: by inotify on Linux, elsewhere by looking at the files every second.

_POLL_SECONDS: Final = 1.0
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
                self._next = now + _POLL_SECONDS
                if changed or now >= ends:
                    return changed
            elif now >= ends:
                return set()
            time.sleep(max(0.0, min(ends, self._next) - now))

    def close(self) -> None: ...


Changes = Inotify | Polling
