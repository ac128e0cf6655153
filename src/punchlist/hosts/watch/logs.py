"""Find the logs of agents on this machine, and tell whose each one is.

Only regular files below the folder of an agent are looked at. Links in it are not followed: the folder itself may be
one, because people keep their settings elsewhere.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Final, NamedTuple

from punchlist.bridges.homes import find_home
from punchlist.transcripts import claude_code, codex, zst
from punchlist.transcripts.activity import SubagentStart
from punchlist.transcripts.decoding import LARGEST, call_key, name, record
from punchlist.transcripts.values import MAIN

HOSTS: Final = ("claude-code", "codex")
"""Agents whose logs tell of their tool calls."""

COMPRESSED: Final = ".zst"
_LOG: Final = ".jsonl"
_DEEPEST: Final = 12
"""Folders in folders that are looked at; the deepest logs, of subagents of workflows, lie five deep."""


class LogFile(NamedTuple):
    """A log of one agent. `agent` is `MAIN`, or the id of a subagent whose start it is then told with."""

    path: str
    host: str
    session: str
    agent: str = MAIN


class FoundFile(NamedTuple):
    """A file as it lies in a folder: its device and inode, its size and when it was last written."""

    path: str
    file: str
    size: int
    changed: float


def list_roots() -> dict[str, str]:
    """Return the folders in which agents keep their logs here, each with its agent."""
    roots: dict[str, str] = {}
    for host in HOSTS:
        folder = os.path.realpath(find_home(host))
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


def open_log(path: str) -> int:
    """Open a log to read it, if it is a regular file and no link."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"`{path}` is no file")
    return handle


def describe_log(host: str, root: str, path: str) -> LogFile | None:
    """Return whose log a file is; None if it is none, or does not tell yet."""
    if host == "codex":
        return _describe_rollout(path)
    parts = os.path.relpath(path, root).split(os.sep)
    stem = parts[-1].removesuffix(_LOG)
    own = stem.removeprefix("agent-")
    if len(parts) == 2 and stem == own and name(stem) is not None:
        return LogFile(path, host, stem)
    if len(parts) >= 4 and parts[2] == "subagents" and own != stem and name(own) and name(parts[1]):
        return LogFile(path, host, parts[1], own)
    return None


def _describe_rollout(path: str) -> LogFile | None:
    if not os.path.basename(path).startswith("rollout-"):
        return None
    first = _read_first(path)
    if first is None or first.get("type") != "session_meta":
        return None
    head = codex.read_head([first], (), path).origin
    return None if head.session is None else LogFile(path, "codex", head.session, head.agent)


def describe_start(log: LogFile) -> SubagentStart:
    """Return the start of the subagent whose log it is, with its type and the call that started it, if told."""
    if log.host == "codex":
        return SubagentStart(agent=log.agent, name=codex.read_nickname(_read_first(log.path)))
    if os.path.islink(f"{log.path.removesuffix(_LOG)}.meta.json"):
        return SubagentStart(agent=log.agent)
    meta = claude_code.read_meta(log.path)
    call_id = call_key(meta.get("toolUseId"))
    return SubagentStart(agent=log.agent, call_id=call_id, name=name(meta.get("agentType")))


def _read_first(path: str) -> dict[str, object] | None:
    """Return the first record of a log; None as long as its first line has no end."""
    if path.endswith(COMPRESSED):
        return next(iter(zst.read_first(path, 1)), None)
    handle = open_log(path)
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
