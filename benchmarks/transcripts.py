"""Lists from long transcripts: the last one from the end, none at all, and every one of them in order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from benchmarks.make_transcript import write_transcript
from benchmarks.measure import child_environment, interleaved
from benchmarks.report import Must, Row
from benchmarks.scale import Scale
from punchlist import Board

NOTE = (
    "Transcripts as Claude Code writes them, made by `benchmarks/make_transcript.py`; the page cache is warm. Peers: "
    "`json.loads` line by line over the whole file, `grep -c` for the tool's name. A restore is into a new board in "
    "memory, an import onto a board on disk, committed. The median of the rounds, taken in turns; memory is the most "
    "that the whole program `punchlist restore` takes."
)
_GIGABYTE, _SMALL = 1 << 30, 2 << 20


_START = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""Runs a program and prints its largest size in kilobytes."""


def run(scale: Scale) -> Iterator[Row]:
    size = scale.count(_GIGABYTE, least=4 << 20)
    rounds = scale.count(5, least=1)
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as folder:
        large, small, without = (Path(folder) / f"{name}.jsonl" for name in ("large", "small", "without"))
        write_transcript(large, size)
        write_transcript(small, _SMALL)
        yield from _restore(large, small, folder, rounds)
        yield from _import(large, folder, rounds)
        large.unlink()
        write_transcript(without, size, lists=False)
        yield _nothing(without, rounds)


def _restore(large: Path, small: Path, folder: str, rounds: int) -> Iterator[Row]:
    size = _size(large)
    taken = interleaved(rounds, {"forwards": lambda: _seconds(lambda: _read(large))})
    ours = interleaved(
        4 * rounds + 1,
        {"large": lambda: _seconds(lambda: _restored(large)), "small": lambda: _seconds(lambda: _restored(small))},
    )
    peer, mine, other = median(taken["forwards"]), median(ours["large"]), median(ours["small"])
    what = f"restore from {size}, last write 1 MB before the end"
    yield Row(what, f"{mine * 1e3:.1f} ms", f"json.loads: {peer * 1e3:.0f} ms", peer / mine, Must("≥", 100))
    said = f"{_size(small)}: {other * 1e3:.1f} ms"
    yield Row("the same beside a small file", f"{mine * 1e3:.1f} ms", said, mine / other, Must("≤", 1.5))
    memory = _memory(large, folder)
    yield Row("the same, memory", f"{memory:.0f} MB", "", None, Must("<", 50, "MB"), memory)


def _nothing(without: Path, rounds: int) -> Row:
    def grep() -> None:
        subprocess.run(["grep", "-c", '"TodoWrite"', str(without)], stdout=subprocess.PIPE, check=False)

    taken = interleaved(
        rounds + 2, {"ours": lambda: _seconds(lambda: _restored(without)), "grep": lambda: _seconds(grep)}
    )
    mine, peer = median(taken["ours"]), median(taken["grep"])
    what = f"restore from {_size(without)} without any list"
    return Row(what, f"{mine * 1e3:.0f} ms", f"grep -c: {peer * 1e3:.0f} ms", mine / peer)


def _import(large: Path, folder: str, rounds: int) -> Iterator[Row]:
    path = Path(folder) / "board.db"
    counts: list[int] = []

    def whole() -> None:
        with Board.open(path) as board:
            counts.append(board.agent(session=os.urandom(4).hex(), dialect="claude-code").import_history(large))

    taken = interleaved(rounds, {"ours": lambda: _seconds(whole), "json": lambda: _seconds(lambda: _read(large))})
    mine, peer = median(taken["ours"]), median(taken["json"])
    what = f"import of all {counts[0]:,} writes in {_size(large)}"
    yield Row(what, f"{mine * 1e3:.0f} ms", f"json.loads: {peer * 1e3:.0f} ms", peer / mine)


def _restored(path: Path) -> None:
    with Board.open("memory:") as board:
        board.agent(session="restored", dialect="claude-code").restore(path)


def _read(path: Path) -> None:
    with path.open("rb") as file:
        for line in file:
            json.loads(line)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _memory(path: Path, folder: str) -> float:
    """The largest size in megabytes of a program that restores from the file.

    It is started by a small program of its own: a child's size is never less than that of who started it.
    """
    command = [sys.executable, "-m", "punchlist", "--db", f"{folder}/memory.db", "restore", str(path)]
    small = [sys.executable, "-I", "-c", _START, *command]
    child = subprocess.run(small, cwd=folder, env=child_environment(), capture_output=True, text=True, check=False)
    if child.returncode:
        raise ChildProcessError(f"`punchlist restore` ended with code {child.returncode}")
    return int(child.stdout) / 1024


def _size(path: Path) -> str:
    size = path.stat().st_size
    return f"{size / _GIGABYTE:.0f} GB" if size >= _GIGABYTE else f"{size >> 20} MB"
