"""Durable tasks: workers that claim and complete beside bare `sqlite3`, and what a large list costs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median

from benchmarks.measure import interleaved, paired, seconds_each
from benchmarks.report import Must, Row
from benchmarks.scale import Scale
from benchmarks.task_workers import fill, together
from punchlist import Board, Tasks
from punchlist.errors import CycleRefused
from punchlist.tasks import Work

NOTE = (
    "Workers are processes on one list at full durability; the peer is plain `sqlite3` that makes the same two updates "
    "of the same rows, with an event each, under the same lock. `share` is the least that a worker got of what each "
    "would get if all were served alike. In the large list every task has two blockers on average; times are the best "
    "of many turns, small and large list by turns."
)
_RATE, _FAIR, _FLAT, _CYCLE = Must("≥", 0.4), Must("≥", 0.5, "share"), Must("≤", 2), Must("≤", 100, "ms")
_WORKERS = 4
_GROUP = 12


def run(scale: Scale) -> Iterator[Row]:
    yield from _workers(scale)
    yield from _large(scale)
    yield from _cycles(scale)


def _workers(scale: Scale) -> Iterator[Row]:
    rounds, count = scale.count(6, least=1), scale.count(2000, least=8)
    rates: dict[str, list[float]] = {"ours": [], "bare": []}
    shares: list[float] = []
    kinds = list(rates)
    for _ in range(rounds):
        for kind in kinds:
            with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as folder:
                path = Path(folder) / "board.db"
                fill(path, count)
                seconds, done = together(kind, path, _WORKERS)
            rates[kind].append(count / seconds)
            if kind == "ours":
                shares.append(min(done) * _WORKERS / count)
        kinds.reverse()
    ours, bare = median(rates["ours"]), median(rates["bare"])
    ratio = paired(rates["ours"], rates["bare"])
    what = f"claim + complete, {_WORKERS} processes"
    yield Row(what, f"{ours:,.0f} tasks/s", f"bare sqlite3, same lock: {bare:,.0f}/s", ratio, _RATE)
    share = min(shares)
    yield Row(f"{what}: the worker that got least", f"{share:.2f}", f"of {len(shares)} rounds", None, _FAIR, share)


def _large(scale: Scale) -> Iterator[Row]:
    small, large = 1000 // _GROUP * _GROUP, scale.count(100_000, least=120) // _GROUP * _GROUP
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as folder:
        paths = Path(folder) / "small.db", Path(folder) / "large.db"
        for path, count in zip(paths, (small, large), strict=True):
            _groups(path, count)
        with Board.open(paths[0], durability="normal") as one, Board.open(paths[1], durability="normal") as two:
            lists = {"small": one.tasks("large"), "large": two.tasks("large")}
            edges = len(lists["large"].graph().edges)
            each, rounds = scale.count(20, least=2), scale.count(40, least=2)
            taken = interleaved(
                rounds,
                {
                    name: lambda tasks=tasks: seconds_each(lambda: tasks.ready(10), each)
                    for name, tasks in lists.items()
                },
            )
            sizes = f"{large:,} tasks, {edges:,} edges"
            yield _flat(f"ready, first 10, {sizes}", taken, small)
            roots = {name: iter([task.id for task in tasks.ready(rounds + 1)]) for name, tasks in lists.items()}
            rounds = min(rounds, small // _GROUP - 1, large // _GROUP - 1)
            taken = interleaved(
                rounds,
                {
                    name: lambda name=name, tasks=tasks: seconds_each(lambda: tasks.complete(next(roots[name])), 1)
                    for name, tasks in lists.items()
                },
            )
            yield _flat(f"completing one that unblocks 10, {sizes}", taken, small)


def _flat(what: str, taken: dict[str, list[float]], small: int) -> Row:
    few, many = min(taken["small"]), min(taken["large"])
    return Row(what, f"{many * 1e6:.0f} µs", f"{small:,} tasks: {few * 1e6:.0f} µs", many / few, _FLAT)


def _groups(path: Path, count: int) -> None:
    """Groups of a root that is ready, a helper that is done, and ten that wait for both."""
    with Board.open(path, durability="normal") as board:
        tasks = board.tasks("large")
        slices = range(0, count, 100 * _GROUP)
        for first in slices:
            last = min(count, first + 100 * _GROUP)
            board.store.transact(lambda tx, first=first, last=last: _some_groups(tasks.within(tx), first, last))


def _some_groups(work: Work, first: int, last: int) -> None:
    for base in range(first, last, _GROUP):
        helpers = [str(place) for place in (base - _GROUP + 1, base - 2 * _GROUP + 1) if place > 0]
        helper = work.create(f"helper {base}").id
        work.complete(helper)
        root = work.create(f"root {base}", blocked_by=helpers).id
        for index in range(_GROUP - 2):
            work.create(f"leaf {base + index}", blocked_by=[root, helper, *helpers[: int(index < 2)]])


def _cycles(scale: Scale) -> Iterator[Row]:
    length, rounds = scale.count(50_000, least=500), scale.count(20, least=2)
    with Board.open("memory:") as board:
        short, long = board.tasks("short"), board.tasks("long")
        for tasks, size in ((short, 100), (long, length)):
            board.store.transact(lambda tx, tasks=tasks, size=size: _chain(tasks.within(tx), size))
        worst = min(seconds_each(lambda: _close(long, length), 1) for _ in range(rounds)) * 1e3
        yield Row(f"refusing the edge that closes a cycle of {length:,}", f"{worst:.1f} ms", "", None, _CYCLE, worst)
        lists = {"small": (short, 100), "large": (long, length)}
        edges = {name: lambda which=which: seconds_each(lambda: _forward(*which), 1) for name, which in lists.items()}
        taken = interleaved(10 * rounds, edges)
        yield _flat(f"an edge forward in a chain of {length:,}, added and taken away", taken, 100)


def _chain(work: Work, size: int) -> None:
    work.create("first")
    for number in range(1, size):
        work.create("next", blocked_by=[str(number)])


def _close(tasks: Tasks, length: int) -> None:
    with suppress(CycleRefused):
        tasks.update("1", add_blocked_by=[str(length)])


def _forward(tasks: Tasks, length: int) -> None:
    tasks.update(str(length), add_blocked_by=["2"])
    tasks.update(str(length), remove_blocked_by=["2"])
