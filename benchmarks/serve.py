"""The server with 200 agents and a million events: the first paint, an event on the page, and the live feed."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from benchmarks.boards import copy_calls
from benchmarks.measure import ROOT, child_environment, percentile
from benchmarks.report import Must, Row, not_measured
from benchmarks.scale import Scale
from punchlist import Agent, Board
from punchlist.server.run_files import load_secret

NOTE = (
    "Writer, server, readers and Chromium are a process each; the server is one process on one core. An event is timed "
    "from before its write to the bytes in a reader's hands, and to the frame that shows it. The first paint is "
    "Chromium's own figure (first contentful paint) with an empty cache; the bytes are all that the page loads."
)
_SOON = Must("≤", 250, "ms")
_PAINT, _BYTES = Must("≤", 300, "ms"), Must("≤", 150, "kB")
_PER_SECOND = 50
_CHROMIUM = Path("/usr/bin/chromium")
_PYTHON = str(ROOT / ".venv/bin/python")


def run(scale: Scale) -> Iterator[Row]:
    agents, events = scale.count(200, least=3), scale.count(1_000_000, least=1000)
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as name:
        path = Path(name) / "board.db"
        _make_board(path, agents, events)
        with Board.open(path) as board, serve(path, Path(name)) as (link, _):
            size = f"{agents} agents, {board.store.last_seq():,} events"
            yield from _measure_page(board, link, size, scale)
            yield _measure_feed(board, link, "one reader", 1, scale.count(200, least=20))
            yield _measure_feed(
                board,
                link,
                f"500 readers, {_PER_SECOND} a second",
                scale.count(500, least=20),
                scale.count(1000, least=50),
            )


def _make_board(path: Path, agents: int, events: int) -> None:
    """Make agents that are at work, each with a list and the same number of tool calls, of two events each."""
    with Board.open(path, durability="normal") as board:
        known = [_start(board, number) for number in range(agents)]
        for number in range(events // agents // 2):
            known[0].tool_started(f"call-{number}", "Bash", {"command": f"pytest -q tests/test_{number}.py"})
            known[0].tool_finished(f"call-{number}", "3 passed in 0.12s", exit_code=0)
    copy_calls(path, "s-0")


def _start(board: Board, number: int) -> Agent:
    agent = board.agent("main", session=f"s-{number}", project=f"/projects/project{number % 20}")
    agent.call("todo", {"set": [f"Write part {part} of the program" for part in range(8)], "start": "1"})
    return agent


# The page.


def _measure_page(board: Board, link: str, size: str, scale: Scale) -> Iterator[Row]:
    if not _CHROMIUM.exists():
        yield not_measured(f"the first paint, {size}", "Chromium", _PAINT)
        return
    paints, events = scale.count(20, least=2), scale.count(200, least=3)
    with _start_python("-m", "benchmarks.browser", link, str(paints)) as browser:
        lines, to = _pipes(browser)
        taken: dict[str, list[float]] = json.loads(lines.readline())
        half, most = percentile(taken["paint"], 50), percentile(taken["paint"], 95)
        kilobytes = max(taken["bytes"]) / 1000
        yield Row(f"the first paint, {size}, p50 and p95", f"{half:.0f} and {most:.0f} ms", must=_PAINT, value=most)
        yield Row("what it loads", f"{kilobytes:.1f} kB", must=_BYTES, value=kilobytes)
        assert lines.readline() == "ready\n"
        agent = board.agent("main", session="s-0")
        agent.tool_started("now", "Bash", {"command": "true"})  # it is at work, so its row is shown
        waits: list[float] = []
        for number in range(events):
            text = f"Part {number} again"
            print(text, file=to, flush=True)
            time.sleep(0.1 + number % 10 / 100)
            began = time.time()
            agent.edit({"op": "reword", "item": "1", "text": text}, by="main")
            waits.append(float(lines.readline()) - 1000 * began)
        to.close()
    half, most = percentile(waits, 50), percentile(waits, 95)
    yield Row(
        "an event of another process on the page, p50 and p95", f"{half:.0f} and {most:.0f} ms", must=_SOON, value=most
    )


# The feed.


def _measure_feed(board: Board, link: str, what: str, readers: int, events: int) -> Row:
    found = re.search(r":(\d+)/\?token=(\S+)", link)
    assert found is not None
    agent = board.agent("main", session="s-1")
    with _start_python("-m", "benchmarks.feed_readers", *found.groups(), str(readers), str(events)) as crowd:
        lines, _ = _pipes(crowd)
        assert lines.readline() == "ready\n"
        before = board.store.last_seq()
        began = time.monotonic()
        for number in range(events):
            time.sleep(max(0.0, began + number / _PER_SECOND - time.monotonic()))
            agent.tool_started(f"{readers}-{number}", "Bash", {"command": f"echo {number}"})
        seen: dict[str, list[int]] = json.loads(lines.readline())
    times = {event.seq: event.at.timestamp() * 1_000_000 for event in board.events(before)}
    waits = [(at - times[int(seq)]) / 1000 for seq, each in seen.items() for at in each]
    half, most = percentile(waits, 50), percentile(waits, 99)
    shown = f"{half:.1f} and {most:.1f} ms"
    return Row(f"an event of another process at {what}, p50 and p99", shown, must=_SOON, value=most)


# Processes.


@contextmanager
def serve(path: Path, home: Path) -> Generator[tuple[str, int]]:
    """Run the server in a home without agents, and yield its link and its process."""
    with _start_python("-m", "punchlist", "--db", str(path), "serve", "--port", "0", HOME=str(home)) as server:
        try:
            address = _pipes(server)[0].readline().split()[-1]
            yield f"{address}?token={load_secret(str(path))}", server.pid  # without a terminal it is not printed
        finally:
            server.terminate()


def _start_python(*words: str, **variables: str) -> subprocess.Popen[str]:
    """Start Python with what the server and the browser need, which the environment of the peers lacks."""
    env, pipe = child_environment() | variables, subprocess.PIPE
    return subprocess.Popen([_PYTHON, *words], cwd=ROOT, env=env, text=True, stdin=pipe, stdout=pipe)


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    assert process.stdout is not None
    assert process.stdin is not None
    return process.stdout, process.stdin
