"""Tell whether a process still runs: by its id and by when it started, since ids are used again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache

from punchlist_hook import mark_process

_TOLERANCE = timedelta(seconds=5)
"""The boot time is known to the second, and a clock may have been set since."""

_START = 19
"""Place of the start time after the name in `/proc/<pid>/stat`; the first one there is the state."""


def is_running(pid: int, *, ticks: str = "", before: datetime | None = None) -> bool:
    """True if a process runs and is the one that is meant, as far as the system tells.

    `ticks` is its start as the kernel counts it. Without that, it has to have started `before` it was seen.
    """
    if not 0 < pid < 2**31:
        return False
    fields = _read_stat(pid)
    if fields is None:
        return not can_list_files() and _answers(pid)
    if fields[0] in ("Z", "X"):
        return False
    if ticks:
        return fields[_START] == ticks
    started = _started_at(fields[_START])
    return before is None or started is None or started <= before + _TOLERANCE


def find_place() -> str:
    """Return the boot and the pid namespace in which processes can be looked up from here."""
    return mark_process(os.getpid()).split(" ", 2)[-1]


def find_start_ticks(pid: int) -> str:
    """Return when a process started, as the kernel counts it; empty where the system does not tell."""
    fields = _read_stat(pid)
    return "" if fields is None else fields[_START]


def _read_stat(pid: int) -> list[str] | None:
    """Return the fields after the name, which may hold anything, of a process; None if there is none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read(4096).rpartition(")")[2].split()
    except OSError:
        return None
    return fields if len(fields) > _START else None


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


@cache
def can_list_files() -> bool:
    """True if the system shows processes, and which files each has open."""
    return os.path.exists("/proc/self/stat")


@cache
def _find_boot() -> int:
    try:
        with open("/proc/stat", encoding="ascii") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("btime ")), 0)
    except (OSError, ValueError):
        return 0


def _started_at(ticks: str) -> datetime | None:
    boot = _find_boot()
    return (
        datetime.fromtimestamp(boot + int(ticks) / os.sysconf("SC_CLK_TCK"), UTC) if boot and ticks.isdigit() else None
    )


def find_start(pid: int) -> datetime | None:
    """Return when a process was started; None if there is none, or the system does not tell."""
    fields = _read_stat(pid)
    return None if fields is None else _started_at(fields[_START])


def find_folder(pid: int) -> str:
    """Return the folder in which a process works; empty if there is none, or the system does not tell."""
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


def list_processes(program: str) -> Iterator[int]:
    """Yield the processes of a program, by the name that the system knows it by."""
    try:
        pids = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return
    for pid in pids:
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                if file.read(64).strip() == program:
                    yield int(pid)
        except OSError:
            continue  # it ended meanwhile


def read_arguments(pid: int) -> list[str]:
    """Return the words that a process was started with; none if there is none, or it is another user's."""
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read(65_536).split("\0")
    except OSError:
        return []


def find_open_files(program: str, folder: str) -> Iterator[tuple[str, int]]:
    """Yield the files below a folder that processes of this program have open, each with the process."""
    for pid in list_processes(program):
        try:
            handles = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue  # it ended meanwhile, or is another user's
        for handle in handles:
            try:
                target = os.readlink(f"/proc/{pid}/fd/{handle}")
            except OSError:
                continue
            if target.startswith(folder):
                yield target, pid
