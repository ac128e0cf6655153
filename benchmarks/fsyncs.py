"""Counts the fsyncs of a writing process with strace, where there is one."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import ROOT, child_environment

_TOTAL = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+).*\b(?:fsync|fdatasync)$", re.MULTILINE)


def fsyncs_per_write(worker: str, writes: int, *, each: int, last: int) -> float | str:
    """How many one of `writes` takes, opening and closing not counted; or why that is not known.

    The worker of that name is told to write `each` times, and then not at all; `last` is its other argument.
    """
    strace = shutil.which("strace")
    if strace is None:
        return "strace is not installed"
    try:
        with_writes, without = (_count(strace, worker, count, last) for count in (each, 0))
    except (subprocess.SubprocessError, OSError):
        return "strace may not trace here"
    return (with_writes - without) / writes


def _count(strace: str, worker: str, each: int, last: int) -> int:
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as folder:
        summary = Path(folder) / "summary"
        tracing = [strace, "-f", "-c", "--seccomp-bpf", "-e", "trace=fsync,fdatasync", "-o", str(summary)]
        words = [sys.executable, "-m", "benchmarks.workers", worker, f"{folder}/board.db", str(each), str(last)]
        subprocess.run(
            [*tracing, *words], cwd=ROOT, env=child_environment(), check=True, capture_output=True, timeout=120
        )
        return sum(int(count) for count in _TOTAL.findall(summary.read_text(encoding="utf-8")))
