"""What the live screen costs: while nothing happens, while much happens, and from a key to its picture."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measure import child_environment, percentile
from benchmarks.report import Must, Row
from benchmarks.scale import Scale
from punchlist import Board
from punchlist.agent import Agent

NOTE = (
    "`punchlist top` in a terminal of 120 × 40, with a home in which no other agent runs; the CPU is user and system "
    "time of its process. A key is timed from its write to the end of the picture that shows it."
)
_IDLE, _BUSY, _KEY = Must("≤", 1, "%"), Must("≤", 20, "%"), Must("≤", 100, "ms")
_END = b"\x1b[?2026l"


def run(scale: Scale) -> Iterator[Row]:
    agents, seconds = scale.count(200, least=3), max(0.5, scale.count(1000) / 100)
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as name:
        home = Path(name)
        path = home / "board.db"
        with Board.open(path, durability="normal") as board:
            known = [_start(board, home, number) for number in range(agents)]
            yield from _measure_quiet(path, home, f"{agents} agents at work", seconds)
            yield from _measure_keys(path, home, agents, scale.count(200, least=5))
            yield from _measure_events(path, home, known, seconds)
            for agent in known:
                agent.user_turn()
                agent.about_to_stop(last_text="Shall I go on?")
            yield from _measure_quiet(path, home, f"{agents} agents at rest", seconds)


def _start(board: Board, folder: Path, number: int) -> Agent:
    agent = board.agent(f"agent{number}", session=f"s-{number}", project=folder)
    agent.call("todo", {"set": [f"Write part {part} of the program" for part in range(8)], "start": "1"})
    return agent


def _measure_quiet(path: Path, home: Path, what: str, seconds: float) -> Iterator[Row]:
    with _open_top(path, home) as (control, pid):
        _read_until(control, seconds)
        share = _measure_cpu(control, pid, seconds)
    yield Row(f"CPU with {what}", f"{share:.2f} % of a core", must=_IDLE, value=share)


def _measure_events(path: Path, home: Path, agents: list[Agent], seconds: float) -> Iterator[Row]:
    ends = threading.Event()
    count = 0

    def write() -> None:
        nonlocal count
        due = time.monotonic()
        while not ends.is_set():
            agent = agents[count % len(agents)]
            # Half of what an agent does is a call, which is two events.
            agent.tool_started(f"call-{count}", "Bash", {"command": "ls"})
            agent.tool_finished(f"call-{count}", "ok", exit_code=0)
            count += 1
            due += 0.02
            ends.wait(max(0.0, due - time.monotonic()))

    writer = threading.Thread(target=write)
    with _open_top(path, home) as (control, pid):
        writer.start()
        try:
            _read_until(control, seconds / 2)
            began, before = time.monotonic(), count
            share = _measure_cpu(control, pid, seconds)
            rate = 2 * (count - before) / (time.monotonic() - began)
        finally:
            ends.set()
            writer.join()
    yield Row(f"CPU at {rate:.0f} events a second", f"{share:.1f} % of a core", must=_BUSY, value=share)


def _measure_keys(path: Path, home: Path, agents: int, presses: int) -> Iterator[Row]:
    taken: list[float] = []
    with _open_top(path, home) as (control, _):
        _read_until(control, 1.0)
        for number in range(presses):
            began = time.perf_counter()
            os.write(control, b"j" if number % agents < agents - 1 else b"g")
            _read_until(control, 5.0, _END)
            taken.append(1000 * (time.perf_counter() - began))
            _read_until(control, 0.03)  # what a spinner draws meanwhile is no answer to a key
    half, most = percentile(taken, 50), max(taken)
    yield Row(
        f"a key to its picture, {agents} agents at work, p50 and longest",
        f"{half:.1f} and {most:.1f} ms",
        must=_KEY,
        value=most,
    )


@contextmanager
def _open_top(path: Path, home: Path) -> Generator[tuple[int, int]]:
    control, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    environment = child_environment() | {"HOME": str(home), "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        environment.pop(name, None)
    program = subprocess.Popen(
        [sys.executable, "-m", "punchlist", "--db", str(path), "top"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=environment,
    )
    try:
        _read_until(control, 30.0, _END)
        yield control, program.pid
    finally:
        program.terminate()
        _read_until(control, 0.2)
        program.wait()
        os.close(control)
        os.close(terminal)


def _read_until(control: int, seconds: float, text: bytes | None = None) -> None:
    """Take what is shown, until a text comes or the time is over."""
    ends = time.monotonic() + seconds
    while (left := ends - time.monotonic()) > 0:
        if select.select([control], [], [], left)[0] and text is not None and text in os.read(control, 65_536):
            return
        if text is None and select.select([control], [], [], 0)[0]:
            os.read(control, 65_536)


def _measure_cpu(control: int, pid: int, seconds: float) -> float:
    """Return the share of a core, in percent, that a process takes in so many seconds."""
    before, began = _cpu_seconds(pid), time.monotonic()
    _read_until(control, seconds)
    return 100 * (_cpu_seconds(pid) - before) / (time.monotonic() - began)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
