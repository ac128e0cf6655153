"""Taking times so that noise hits all contenders alike: they take turns, round by round."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent


def seconds_each(call: Callable[[], object], count: int) -> float:
    """Wall-clock seconds of one call, over `count` of them in a row."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def interleaved(rounds: int, contenders: Mapping[str, Callable[[], float]]) -> dict[str, list[float]]:
    """What each contender returned, round by round. The order is turned round every time."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for _ in range(rounds):
        for name in names:
            taken[name].append(contenders[name]())
        names.reverse()
    return taken


def paired(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios within each round, which a slow stretch of the machine moves little."""
    return median(mine / other for mine, other in zip(ours, theirs, strict=True))


def percentile(values: Sequence[float], percent: int) -> float:
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, len(ranked) * percent // 100)]


def child_environment() -> dict[str, str]:
    """The caller's, without what would change how Python or Punchlist starts."""
    unwanted = ("PUNCHLIST_", "PYTHON", "COV_")
    return {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}


def child_cpu(command: Sequence[str], folder: str | Path, given: str | Path = os.devnull) -> float:
    """CPU seconds, user and system, of one run of a program; raises `ChildProcessError` when it fails.

    `given` is the file on its standard input.
    """
    with (
        open(given, "rb") as stdin,
        subprocess.Popen(
            command,
            cwd=folder,
            env=child_environment(),
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as child,
    ):
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise ChildProcessError(f"`{Path(command[0]).name} {command[1]}` ended with code {child.returncode}")
    return usage.ru_utime + usage.ru_stime
