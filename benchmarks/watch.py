"""Watch the logs of agents: the backfill, the lock that it holds, how soon a new line is on the board, and idling."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measure import percentile
from benchmarks.report import Must, Row
from benchmarks.scale import Scale
from punchlist import Board
from punchlist.logs.watcher import Watcher

NOTE = (
    "Logs of Claude Code of forty calls with their results: one in eight is an edit, one a test run. One log of 1 GB "
    "is added after the backfill. The lock is held from the begin of a transaction to its commit. A line is on the "
    "board once the watcher that was waiting for it has committed it."
)
_CALLS = 40
_LARGE = 1 << 30
_LINE = 1 << 20
_BACKFILL, _LOCK = Must("≥", 2000, "/s"), Must("≤", 20, "ms")
_NEWS, _IDLE = Must("≤", 150, "ms"), Must("<", 1, "%")


def run(scale: Scale) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as name, _home(Path(name)) as folder:
        logs = [_write_log(folder, number) for number in range(scale.count(1000, least=2))]
        with (
            Board.open(Path(name) / "board.db") as board,
            _timed_lock(board) as held,
            closing(Watcher(board)) as watcher,
        ):
            began = time.process_time()
            _catch_up(watcher)
            yield _describe_backfill(len(logs), time.process_time() - began)
            most = max(held) * 1e3
            said = f"{percentile(held, 99) * 1e3:.1f} and {most:.1f} ms"
            yield Row("lock held at a time, p99 and most", said, must=_LOCK, value=most)
            large = _write_large(folder, scale.count(_LARGE, least=_LINE))
            watcher.wait(1)
            _catch_up(watcher)
            yield _measure_news(watcher, [large, *logs], scale.count(200, least=3))
            yield _measure_idle(watcher, min(5, scale.count(5000) / 100))


@contextmanager
def _home(home: Path) -> Generator[Path]:
    """Make a folder the user's home for a while; yields the one for logs."""
    names = ("HOME", "CLAUDE_CONFIG_DIR", "PUNCHLIST_CONFIG")
    before = {name: os.environ.pop(name, None) for name in names}
    os.environ["HOME"] = str(home)
    folder = home / ".claude" / "projects" / "-projects-shop"
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        del os.environ["HOME"]
        os.environ.update({name: value for name, value in before.items() if value is not None})


@contextmanager
def _timed_lock(board: Board) -> Generator[list[float]]:
    """Yield the seconds of each joined transaction of a board, as they come."""
    store: Any = board.store
    held: list[float] = []
    joined = store.joined

    def timed(work: Callable[[Any], Any], **options: Any) -> Any:
        begun: list[float] = []

        def begin(tx: Any) -> Any:
            begun.append(time.perf_counter())
            return work(tx)

        try:
            return joined(begin, **options)
        finally:
            if begun:
                held.append(time.perf_counter() - begun[0])

    store.joined = timed
    yield held
    del store.joined


def _catch_up(watcher: Watcher) -> None:
    while watcher.is_behind:
        watcher.take_slice()


def _describe_backfill(logs: int, seconds: float) -> Row:
    rate = logs * _CALLS / seconds
    return Row(f"backfill of {logs:,} logs: tool calls a CPU second", f"{rate:,.0f}/s", must=_BACKFILL, value=rate)


def _measure_news(watcher: Watcher, logs: list[Path], count: int) -> Row:
    taken: list[float] = []
    for number in range(count):
        path = logs[number % len(logs)]
        with path.open("a") as log:
            log.write("".join(_make_call(path.stem, 10_000 + number)))
        began, done = time.perf_counter(), 0
        while not done:
            watcher.wait(1)
            while watcher.is_behind:
                done += watcher.take_slice()
        taken.append((time.perf_counter() - began) * 1e3)
    half, most = percentile(taken, 50), percentile(taken, 95)
    return Row("a new line is on the board, p50 and p95", f"{half:.1f} and {most:.1f} ms", must=_NEWS, value=most)


def _measure_idle(watcher: Watcher, seconds: float) -> Row:
    began, ends = time.process_time(), time.monotonic() + seconds
    while (left := ends - time.monotonic()) > 0:
        watcher.wait(left)
    share = 100 * (time.process_time() - began) / seconds
    return Row(f"CPU while nothing happens, over {seconds:g} s", f"{share:.2f} % of a core", must=_IDLE, value=share)


# Logs.


def _write_log(folder: Path, number: int) -> Path:
    path = folder / f"9f1d6c1e-0000-4000-8000-{number:012}.jsonl"
    lines = [line for call in range(_CALLS) for line in _make_call(path.stem, call)]
    path.write_text("".join([*_make_list(path.stem), *lines]))
    return path


def _write_large(folder: Path, size: int) -> Path:
    path = folder / "9f1d6c1e-0000-4000-9000-000000000000.jsonl"
    line = _make_record(path.stem, "user", 0, "x" * _LINE)
    with path.open("w") as log:
        for _ in range(max(1, size // _LINE)):
            log.write(line)
    return path


def _make_list(session: str) -> list[str]:
    todos = [{"content": "Write the form", "status": "in_progress", "activeForm": "Writing the form"}]
    return _make_pair(session, "list", 0, "TodoWrite", {"todos": todos}, "Todos have been modified successfully.")


def _make_call(session: str, number: int) -> list[str]:
    call_id, at = f"toolu_{number:06}", number % 3000
    if number % 8 == 0:
        return _make_pair(session, call_id, at, "Edit", {"file_path": f"/projects/shop/src/a{number}.py"}, "Updated.")
    command = "pytest -q" if number % 8 == 5 else f"ls -la src/{number}"
    result = "3 passed in 0.1s" if number % 8 == 5 else "src\n" * 40
    return _make_pair(session, call_id, at, "Bash", {"command": command}, result)


def _make_pair(session: str, call_id: str, at: int, tool: str, given: dict[str, Any], result: str) -> list[str]:
    call = {"type": "tool_use", "id": call_id, "name": tool, "input": given}
    answer = {"type": "tool_result", "tool_use_id": call_id, "content": result, "is_error": False}
    return [_make_record(session, "assistant", at, [call]), _make_record(session, "user", at, [answer])]


def _make_record(session: str, kind: str, at: int, content: Any) -> str:
    head = {"type": kind, "sessionId": session, "cwd": "/projects/shop", "isSidechain": False}
    when = f"2026-03-01T{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}.000Z"
    return json.dumps({**head, "timestamp": when, "message": {"role": kind, "content": content}}) + "\n"
