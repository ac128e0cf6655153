"""Find the logs of agents on this machine, and tell whose each one is.

Only regular files below the folder of an agent are looked at. Links in it are not followed: the folder itself may be
one, because people keep their settings elsewhere.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Container, Iterator
from typing import Any, Final, NamedTuple, cast

from punchlist.bridges.programs import find_logs
from punchlist.core.programs import PROGRAMS
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


def _read_text(path: str) -> str | None:
    """Return the folder that a small file names."""
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
