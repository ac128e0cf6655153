"""Tell whether a process still runs, and those of a conversation: by id and start, since ids are used again."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final, cast

from punchlist.core.presence import GONE_SHOWN, ProcessLook
from punchlist.store import Transaction
from punchlist.store.hosts import Conversation
from punchlist_hook import mark_process
from punchlist_statusline import ENDED, find_process

_TOLERANCE = timedelta(seconds=5)
"""The boot time is known to the second, and a clock may have been set since."""

_MAIN: Final = "main"
_LOOKS: Final[tuple[ProcessLook, ...]] = ("runs", "elsewhere", "unreachable", "ended")
"""The results of looks at several processes of one agent, the one that counts first."""


def look_up_process(tx: Transaction, one: Conversation, now: datetime) -> ProcessLook:
    """Look for the processes of a conversation; it lives as long as one of them does.

    Those of another machine are known by its heartbeats.
    """
    if one.machine:
        return look_up_elsewhere(tx, one, now)
    return join_looks(find_processes(tx, one, now).values())


def find_processes(tx: Transaction, one: Conversation, now: datetime) -> dict[str, ProcessLook]:
    """Look for the processes of a conversation, which may be open in two windows; return each by its mark.

    They are that of its last event, and the one that was noted with its agent, unless it is another conversation's.
    """
    if not one.process:
        return {}
    marks = [one.process]
    row = tx.agent(one.session, _MAIN) if now - one.seen_at < GONE_SHOWN else None
    noted = "" if row is None else tx.memory.load(row.number).process
    if noted not in ("", ENDED) and not _is_of_another(tx, noted, one):
        marks.append(noted)
    return {mark: cast("ProcessLook", find_process(mark)) for mark in marks}


def _is_of_another(tx: Transaction, process: str, one: Conversation) -> bool:
    return any(other.process == process for other in tx.hosts.conversations(one.session) if other.id != one.id)


def look_up_elsewhere(tx: Transaction, one: Conversation, now: datetime) -> ProcessLook:
    machine = tx.machines.find(one.machine)
    if machine is None:
        return "none"
    if not machine.reaches(now):
        return "unreachable"
    living: list[dict[str, Any]] = json.loads(machine.agents)
    is_living = any((each["host"], each["conversation"]) == (one.host, one.id) for each in living)
    # One that began since the heartbeat is not in it yet.
    return "runs" if is_living else "none" if machine.heard_at <= one.since else "ended"


def join_looks(looks: Collection[str]) -> ProcessLook:
    """Return what looks at several processes of one agent say of it."""
    for look in _LOOKS:
        if look in looks:
            return look
    return "none"


def is_running(pid: int, *, ticks: str = "", before: datetime | None = None) -> bool:
    """True if a process runs and is the one that is meant, as far as the system tells.

    `ticks` is its start as the kernel counts it. Without that, it has to have started `before` it was seen.
    """
    mark = mark_process(pid)
    if find_process(mark) != "runs":
        return False
    start = mark.split(" ")[1]
    if ticks and start.isdigit():
        return start == ticks
    started = _started_at(start)
    return before is None or started is None or started <= before + _TOLERANCE


def find_place() -> str:
    """Return the boot and the pid namespace in which processes can be looked up from here."""
    return mark_process(os.getpid()).split(" ", 2)[-1]


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
    mark = mark_process(pid)
    return _started_at(mark.split(" ")[1]) if mark else None


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
