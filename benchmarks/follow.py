"""How soon a follower sees a write, and what ten followers cost when nothing happens."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import ROOT, child_environment, percentile
from benchmarks.report import Must, Row
from benchmarks.scale import Scale
from punchlist import Board

NOTE = (
    "From just before the write is asked for, so with the write itself, to the event in the follower's hands. "
    "The CPU is that of ten processes in `board.follow`, measured by themselves once they had settled."
)
_WAKE, _IDLE = Must("≤", 50, "ms"), Must("<", 0.5, "%")
PAUSE = 0.01


def run(scale: Scale) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as name:
        writes = scale.count(200, least=3)
        yield _row("a write by another process", wake_from_another_process(Path(name) / "wake.db", writes))
        yield _row("a write by another thread", _from_another_thread(Path(name) / "thread.db", writes))
        yield _idle(scale, Path(name) / "idle.db")


def _row(what: str, milliseconds: list[float]) -> Row:
    half, most = percentile(milliseconds, 50), percentile(milliseconds, 95)
    return Row(f"woken by {what}, p50 and p95", f"{half:.1f} and {most:.1f} ms", must=_WAKE, value=most)


def wake_from_another_process(path: Path | str, writes: int) -> list[float]:
    """Return the milliseconds from before each write to its event in the hands of a follower here."""
    with Board.open(path) as board, start_worker("notes", path, writes, PAUSE) as writer:
        seen = _follow(board, writes)
        said, _ = writer.communicate()
    began: dict[str, int] = json.loads(said)
    return _latencies(seen, {int(revision): at for revision, at in began.items()})


def _from_another_thread(path: Path, writes: int) -> list[float]:
    began: dict[int, int] = {}

    def write() -> None:
        agent = board.agent(session="writer")
        for index in range(writes):
            time.sleep(PAUSE)
            start = time.monotonic_ns()
            agent.call("todo", {"add": [f"step {index}"]})
            began[index + 1] = start

    with Board.open(path) as board:
        writer = threading.Thread(target=write)
        writer.start()
        seen = _follow(board, writes)
        writer.join()
    return _latencies(seen, began)


def _follow(board: Board, writes: int) -> dict[int, int]:
    """When the first event of each revision was seen."""
    seen: dict[int, int] = {}
    for event in board.follow(timeout=30):
        now = time.monotonic_ns()
        revision = event.data.get("revision")
        if revision is not None:
            seen.setdefault(revision, now)
        if len(seen) == writes:
            break
    return seen


def _latencies(seen: dict[int, int], began: dict[int, int]) -> list[float]:
    """Milliseconds; the first write is left out, since both sides still warm up."""
    return [(seen[revision] - at) / 1e6 for revision, at in sorted(began.items())[1:]]


def _idle(scale: Scale, path: Path) -> Row:
    followers, seconds = scale.count(10, least=2), min(4, scale.count(4000) / 100)
    with Board.open(path) as board:
        board.agent(session="idle").call("todo", {"add": ["one"]})
    settle = min(2.0, seconds)
    children = [start_worker("idle", path, settle, seconds) for _ in range(followers)]
    used = sum(float(child.communicate()[0]) for child in children)
    share = 100 * used / seconds
    what = f"CPU of {followers} idle followers over {seconds:g} s"
    return Row(what, f"{share:.3f} % of a core", must=_IDLE, value=share)


def start_worker(*words: object) -> subprocess.Popen[str]:
    """Start a program of `benchmarks/workers.py`."""
    command = [sys.executable, "-m", "benchmarks.workers", *map(str, words)]
    return subprocess.Popen(command, cwd=ROOT, env=child_environment(), stdout=subprocess.PIPE, text=True)
