"""Report tool calls: CPU per report, 50 agents at 500 reports a second, and what a watched agent's list write costs."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import count, cycle
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import work
from benchmarks.measure import interleaved, paired, percentile, seconds_each
from benchmarks.report import Must, Row
from benchmarks.scale import Scale
from punchlist import Agent, Board

NOTE = (
    "On disk, durability full; each report is a transaction of its own that survives `kill -9`. 50 agents in ten "
    "threads send 500 reports a second in all, on a fixed schedule, and each writes its list after every tenth call; "
    "the time of a report counts from when it was due. The follower is a thread of the same process."
)
_RESULT = "The file was changed.\n" * 8
_CALLS_PER_ITEM = 10
_THREADS, _AGENTS_PER_THREAD = 10, 5
_REPORTS_PER_SECOND = 500


class Reporter:
    """An agent that edits one file after the other."""

    def __init__(self, board: Board, name: str) -> None:
        self.agent: Agent = board.agent("main", session=name, dialect="claude-code")
        self.agent.call("TodoWrite", {"todos": work.claude_code()[1]})
        self._numbers = count()
        self._lists = cycle(work.claude_code()[2:])

    def write_list(self) -> None:
        self.agent.call("TodoWrite", {"todos": next(self._lists)})

    def report_call(self) -> None:
        """Report the start and the end of one call."""
        number = next(self._numbers)
        self.agent.tool_started(f"toolu_{number:020}", "Edit", _arguments(number))
        self.agent.tool_finished(f"toolu_{number:020}", result=_RESULT)


def run(scale: Scale) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as name:
        folder = Path(name)
        yield from _one_caller(scale, folder)
        yield from _many_agents(scale, folder)
        yield _list_write(scale)


def _one_caller(scale: Scale, folder: Path) -> Iterator[Row]:
    calls = scale.count(2000, least=4)
    with Board.open(folder / "ours.db") as board:
        reporter = Reporter(board, "one")
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(calls):
            reporter.report_call()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    yield Row("reports of one agent, one caller", f"{2 * calls / wall:,.0f}/s")
    yield Row("CPU of one report", f"{cpu / (2 * calls) * 1e6:.0f} µs")


def _many_agents(scale: Scale, folder: Path) -> Iterator[Row]:
    calls = scale.count(100, least=2)
    with Board.open(folder / "many.db") as board:
        teams = [[Reporter(board, f"s{team}-{one}") for one in range(_AGENTS_PER_THREAD)] for team in range(_THREADS)]
        first, total = board.store.last_seq(), 2 * _THREADS * _AGENTS_PER_THREAD * calls
        seen, taken = list[float](), list[float]()
        follower = threading.Thread(target=_follow, args=(board, first, total, seen))
        reporting = [threading.Thread(target=_keep_pace, args=(team, calls, taken)) for team in teams]
        follower.start()
        start = time.perf_counter()
        for thread in reporting:
            thread.start()
        for thread in reporting:
            thread.join()
        end = time.perf_counter()
        follower.join()
    rate, agents = total / (end - start), _THREADS * _AGENTS_PER_THREAD
    slowest = percentile(taken, 99) * 1e3
    what = f"reports of {agents} agents, asked for {_REPORTS_PER_SECOND}/s"
    # The schedule leaves no room above the rate asked for; 2 % is left for the last thread to finish.
    yield Row(what, f"{rate:,.0f}/s", must=Must("≥", 0.98 * _REPORTS_PER_SECOND, "/s"), value=rate)
    yield Row("p99 of one report among them", f"{slowest:.1f} ms", must=Must("≤", 20, "ms"), value=slowest)
    lag = (seen[0] - end) * 1e3 if seen else float("inf")
    yield Row("the follower's lag behind the last report", f"{lag:.0f} ms", must=Must("≤", 1000, "ms"), value=lag)


def _keep_pace(team: list[Reporter], calls: int, taken: list[float]) -> None:
    """Report calls on a schedule, so that a slow report delays the next ones and shows in their times."""
    pause = 2 * _THREADS / _REPORTS_PER_SECOND
    due = time.perf_counter()
    for number in range(1, calls + 1):
        for reporter in team:
            due += pause
            time.sleep(max(0.0, due - time.perf_counter()))
            reporter.report_call()
            taken.append((time.perf_counter() - due) / 2)
            if number % _CALLS_PER_ITEM == 0:
                reporter.write_list()


def _follow(board: Board, after: int, total: int, seen: list[float]) -> None:
    found = 0
    for event in board.follow(after, timeout=30):
        found += event.kind in ("tool.started", "tool.finished")
        if found == total:
            seen.append(time.perf_counter())
            return


def _list_write(scale: Scale) -> Row:
    """Compare a list write of an agent whose tool calls are reported with one of an agent without reports."""
    rounds, each = scale.count(60, least=3), scale.count(60, least=4)
    lists = work.claude_code()
    with Board.open("memory:") as board:
        plain = board.agent("main", session="plain", dialect="claude-code")
        reporter = Reporter(board, "watched")
        reporter.report_call()
        numbers = {"watched": count(), "plain": count()}

        def write(agent: Agent, who: str) -> None:
            agent.call("TodoWrite", {"todos": lists[next(numbers[who]) % len(lists)]})

        taken = interleaved(
            rounds,
            {
                "watched": lambda: seconds_each(lambda: write(reporter.agent, "watched"), each),
                "plain": lambda: seconds_each(lambda: write(plain, "plain"), each),
            },
        )
    ours, theirs = (median(taken[who]) * 1e6 for who in ("watched", "plain"))
    ratio = paired(taken["watched"], taken["plain"])
    return Row("a list write of a watched agent", f"{ours:.0f} µs", f"not watched: {theirs:.0f} µs", ratio)


def _arguments(number: int) -> dict[str, Any]:
    return {
        "file_path": "/home/ada/project/src/app/components/login.py",
        "old_string": "def login(user):\n    return None",
        "new_string": "def login(user):\n    return session(user)",
        "replace_all": False,
        "line": number,
    }
