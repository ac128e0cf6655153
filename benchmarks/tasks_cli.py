"""`punchlist tasks ready` and `tasks add` among 10,000 tasks, start to end, beside other trackers of tasks."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import task_trackers
from benchmarks.measure import ROOT, child_cpu, interleaved
from benchmarks.report import Must, Row, not_measured
from benchmarks.scale import Scale
from benchmarks.task_trackers import Blockers
from punchlist import Board
from punchlist.store import Transaction

NOTE = (
    "CPU time, user and system, of the whole process with all that it starts, best of the rounds, the contenders in "
    "turns. Each task waits for two earlier ones; the first 10 wait for nobody. `ready` shows the first 20. Peers are "
    "measured when they are found on the PATH: taskwarrior (`apt-get install taskwarrior`) and Backlog.md "
    "(`npm install -g backlog.md`)."
)
_PYTHON, _PUNCHLIST = ROOT / ".venv/bin/python", ROOT / ".venv/bin/punchlist"
_TASKWARRIOR, _BACKLOG = Must("≤", 1 / 4), Must("≤", 1 / 40)
_FREE = 10
_INSTALL = {
    "taskwarrior": "not on the PATH: `apt-get install taskwarrior`",
    "Backlog.md": "not on the PATH: `npm install -g backlog.md`",
}


def run(scale: Scale) -> Iterator[Row]:
    if not _PUNCHLIST.exists():
        yield not_measured("punchlist tasks ready, add", "no .venv: `make setup`", _TASKWARRIOR)
        return
    count = scale.count(10_000, least=20)
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as name:
        yield from _compared(scale, Path(name).resolve(), _blockers(count), f"{count:,} tasks")


def _blockers(count: int) -> Blockers:
    """For each task the places of those that it waits for."""
    chance = random.Random(1)
    return [tuple({chance.randrange(place) for _ in range(2)}) if place >= _FREE else () for place in range(count)]


def _compared(scale: Scale, folder: Path, blockers: Blockers, size: str) -> Iterator[Row]:
    found = {
        "taskwarrior": task_trackers.taskwarrior(folder, blockers),
        "Backlog.md": task_trackers.backlog(folder, blockers),
    }
    ours = _ours(folder, blockers)
    bare = [str(_PYTHON), "-I", "-c", "pass"]
    contenders: dict[str, Callable[[], float]] = {"bare": lambda: child_cpu(bare, folder)}
    for name, commands in {"ours": ours, **found}.items():
        for verb, (words, place) in (commands or {}).items():
            contenders[f"{name} {verb}"] = lambda words=words, place=place: child_cpu(words, place)
    taken = interleaved(scale.count(5, least=1), contenders)
    best = {name: min(seconds) for name, seconds in taken.items()}
    for verb in ours:
        mine = best[f"ours {verb}"]
        said = f"{mine * 1e3:.1f} ms"
        what = f"punchlist tasks {verb}, {size}"
        yield Row(what, said, f"bare Python start: {best['bare'] * 1e3:.1f} ms", mine / best["bare"])
        for name, must in (("taskwarrior", _TASKWARRIOR), ("Backlog.md", _BACKLOG)):
            if f"{name} {verb}" in best:
                theirs = best[f"{name} {verb}"]
                yield Row(what, said, f"{name}: {theirs * 1e3:.1f} ms", mine / theirs, must)
            else:
                yield not_measured(f"{what} beside {name}", _INSTALL[name], must)


def _ours(folder: Path, blockers: Blockers) -> task_trackers.Commands:
    path = folder / "board.db"
    with Board.open(path, durability="normal") as board:
        tasks = board.tasks(project=folder)
        for first in range(0, len(blockers), 500):
            part = list(enumerate(blockers))[first : first + 500]

            def fill(tx: Transaction, part: list[tuple[int, tuple[int, ...]]] = part) -> None:
                work = tasks.within(tx)
                for place, before in part:
                    work.create(f"task {place}", blocked_by=[str(each + 1) for each in before])

            board.store.transact(fill)
    command = [str(_PUNCHLIST), "--db", str(path), "tasks"]
    return {"ready": ([*command, "ready"], folder), "add": ([*command, "add", "one more"], folder)}
