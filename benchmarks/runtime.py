"""Reports on tool calls: what one costs, what one process takes from 100 agents, and what others pay for it."""

from __future__ import annotations

import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import count, cycle
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import work
from benchmarks.measure import interleaved, paired, seconds_each
from benchmarks.report import Must, Row
from benchmarks.scale import Scale
from punchlist import Agent, Board

NOTE = (
    "Events a second on disk, durability full. A report is acknowledged by itself, once a kill cannot take it; those "
    "that come thick and fast are committed some at a time, within milliseconds, and written out within a second. The "
    "bare rate is that of one insert of an event as long as ours a transaction, at `synchronous=NORMAL`: no "
    "attribution, no tally, no hash, no redaction, no detection. The 100 agents share ten threads, and each writes its "
    "list after every tenth call; the follower is a thread of the same process, and its lag is from the last report to "
    "the last event in its hands."
)
_RESULT = "The file was changed.\n" * 8
_CALLS_AN_ITEM = 10
"""Tool calls between two writes of the list: an item is begun, worked on and done."""

_EVENT = 420
"""Bytes of the data of such an event, on average."""


class Reporter:
    """An agent that edits one file after the other."""

    def __init__(self, board: Board, name: str) -> None:
        self.agent: Agent = board.agent("main", session=name, dialect="claude-code")
        self.agent.call("TodoWrite", {"todos": work.claude_code()[1]})
        self._numbers = count()
        self._lists = cycle(work.claude_code()[2:])
        self.writes = 0

    def go_on(self) -> None:
        """One write of the list: an item is done, or the next is begun."""
        self.agent.call("TodoWrite", {"todos": next(self._lists)})
        self.writes += 1

    def call(self) -> None:
        """Two events."""
        number = next(self._numbers)
        self.agent.tool_started(f"toolu_{number:020}", "Edit", _arguments(number))
        self.agent.tool_finished(f"toolu_{number:020}", result=_RESULT)


class Bare:
    """The least that an event can be."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(
            "CREATE TABLE events (seq INTEGER PRIMARY KEY, at INTEGER, kind TEXT, author TEXT, agent INT, data BLOB)"
        )
        self._connection.execute("CREATE INDEX events_of_agent ON events (agent)")
        self._data = b"x" * _EVENT

    def insert(self) -> None:
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        execute(
            "INSERT INTO events (at, kind, author, agent, data) VALUES (1, 'tool.started', 'main', 1, ?)", (self._data,)
        )
        execute("COMMIT")

    def close(self) -> None:
        self._connection.close()


def run(scale: Scale) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as name:
        folder = Path(name)
        yield from _ingest(scale, folder)
        yield from _together(scale, folder)
        yield _beside(scale)


def _ingest(scale: Scale, folder: Path) -> Iterator[Row]:
    rounds, each = scale.count(40, least=2), scale.count(100, least=4)
    with Board.open(folder / "ours.db") as board:
        ours, bare = Reporter(board, "one"), Bare(folder / "bare.db")
        taken = interleaved(
            rounds,
            {
                "ours": lambda: 2 / seconds_each(ours.call, each),
                "bare": lambda: 1 / seconds_each(bare.insert, 2 * each),
            },
        )
        start = time.process_time()
        for _ in range(each):
            ours.call()
        spent = (time.process_time() - start) / (2 * each) * 1e6
        bare.close()
    peer = f"bare sqlite3: {median(taken['bare']):,.0f}/s"
    rate = f"{median(taken['ours']):,.0f}/s"
    yield Row("reports of one agent, one caller", rate, peer, paired(taken["ours"], taken["bare"]), Must("≥", 0.5))
    yield Row("CPU time of one of them", f"{spent:.0f} µs")


def _together(scale: Scale, folder: Path) -> Iterator[Row]:
    threads, agents, calls = 10, 10, scale.count(100, least=2)
    with Board.open(folder / "many.db") as board:
        teams = [[Reporter(board, f"s{team}-{one}") for one in range(agents)] for team in range(threads)]
        first, total = board.store.last_seq(), 2 * threads * agents * calls
        seen = list[float]()
        follower = threading.Thread(target=_follow, args=(board, first, total, seen))
        reporting = [threading.Thread(target=_report, args=(team, calls)) for team in teams]
        follower.start()
        start = time.perf_counter()
        for thread in reporting:
            thread.start()
        for thread in reporting:
            thread.join()
        end = time.perf_counter()
        follower.join()
        writes = sum(one.writes for team in teams for one in team)
    rate = total / (end - start)
    yield Row(
        f"reports of {threads * agents} agents, {writes:,} list writes between",
        f"{rate:,.0f}/s",
        must=Must("≥", 5000, "/s"),
        value=rate,
    )
    lag = (seen[0] - end) * 1e3 if seen else float("inf")
    yield Row("the follower's lag behind the last of them", f"{lag:.0f} ms", must=Must("≤", 1000, "ms"), value=lag)


def _report(team: list[Reporter], calls: int) -> None:
    for number in range(1, calls + 1):
        for reporter in team:
            reporter.call()
            if number % _CALLS_AN_ITEM == 0:
                reporter.go_on()


def _follow(board: Board, after: int, total: int, seen: list[float]) -> None:
    found = 0
    for event in board.follow(after, timeout=30):
        found += event.kind.startswith("tool.")
        if found == total:
            seen.append(time.perf_counter())
            return


def _beside(scale: Scale) -> Row:
    """A call of the todo tool by an agent whose tools are reported, beside one of whom nothing is."""
    rounds, each = scale.count(60, least=3), scale.count(60, least=4)
    lists = work.claude_code()
    with Board.open("memory:") as board:
        plain = board.agent("main", session="plain", dialect="claude-code")
        reporter = Reporter(board, "watched")
        reporter.call()
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
