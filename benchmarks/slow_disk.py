"""A disk as slow as one likes: the system's fsync, and a nap after it. Needs a C compiler and a dynamic loader."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import ROOT, child_environment

_SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
static int slowly(const char *name, int file) {
    int (*real)(int) = (int (*)(int)) dlsym(RTLD_NEXT, name);
    const char *said = getenv("BENCH_FSYNC_MICROSECONDS");
    long wanted = said ? atol(said) : 0;
    struct timespec nap = {wanted / 1000000, wanted % 1000000 * 1000};
    int result = real(file);
    nanosleep(&nap, 0);
    return result;
}
int fsync(int file) { return slowly("fsync", file); }
int fdatasync(int file) { return slowly("fdatasync", file); }
"""


def rates_on_slow_disk(microseconds: float, divisor: int) -> dict[str, list[float]] | str:
    """The rates of `durable_rates` where each fsync takes that much longer; or why that is not known."""
    compiler = shutil.which("cc")
    if compiler is None:
        return "no C compiler to slow the disk with"
    try:
        with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as folder:
            source, library = Path(folder) / "slow.c", Path(folder) / "slow.so"
            source.write_text(_SOURCE, encoding="utf-8")
            subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True, timeout=60)
            slow = {"LD_PRELOAD": str(library), "BENCH_FSYNC_MICROSECONDS": f"{microseconds:.0f}"}
            words = [sys.executable, "-m", "benchmarks.durable_rates", str(divisor)]
            child = subprocess.run(
                words, cwd=ROOT, env=child_environment() | slow, check=True, capture_output=True, timeout=300
            )
            return json.loads(child.stdout)
    except (subprocess.SubprocessError, OSError):
        return "the disk cannot be slowed here"
