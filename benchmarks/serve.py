"""How soon an event of another process is at the readers of the live feed, one or five hundred of them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import ROOT, child_environment, percentile
from benchmarks.report import Must, Row
from benchmarks.scale import Scale
from punchlist import Board

NOTE = (
    "From the time of the event, which is before its commit, to the bytes in the reader's hands. Writer, server and "
    "readers are a process each; the server is one process on one core."
)
_MUST = Must("≤", 250, "ms")
_PER_SECOND = 50


def run(scale: Scale) -> Iterator[Row]:
    yield _measure("one reader", 1, scale.count(200, least=20))
    yield _measure("500 readers, 50 events a second", scale.count(500, least=20), scale.count(1000, least=50))


def _measure(what: str, readers: int, events: int) -> Row:
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as name:
        waits = measure(Path(name) / "board.db", readers, events)
    half, most = percentile(waits, 50), percentile(waits, 99)
    words = f"{half:.1f} and {most:.1f} ms"
    return Row(f"at {what}, p50 and p99", words, must=_MUST, value=most)


def measure(path: Path, readers: int, events: int) -> list[float]:
    """Return the milliseconds from each event to each reader."""
    with Board.open(path) as board, _start("-m", "punchlist", "--db", str(path), "serve", "--no-watch") as server:
        assert server.stdout is not None
        found = re.search(r":(\d+)/\?token=(\S+)", server.stdout.readline())
        assert found is not None
        port, token = found.groups()
        agent = board.agent(session="writer", project="/")
        agent.tool_started("first", "Bash", {"command": "true"})
        with _start("-m", "benchmarks.feed_readers", port, token, str(readers), str(events)) as crowd:
            assert crowd.stdout is not None
            assert crowd.stdout.readline() == "ready\n"
            before = board.store.last_seq()
            began = time.monotonic()
            for number in range(events):
                time.sleep(max(0.0, began + number / _PER_SECOND - time.monotonic()))
                agent.tool_started(f"call{number}", "Bash", {"command": f"echo {number}"})
            seen: dict[str, list[int]] = json.loads(crowd.stdout.readline())
        server.terminate()
        times = {event.seq: event.at.timestamp() * 1_000_000 for event in board.events(before)}
    return [(at - times[int(seq)]) / 1000 for seq, each in seen.items() for at in each]


def _start(*words: str) -> subprocess.Popen[str]:
    command = [sys.executable, *words]
    return subprocess.Popen(command, cwd=ROOT, env=child_environment(), stdout=subprocess.PIPE, text=True)
