"""Tasks and many processes: claimed once, kept through kills, fenced off from the dead, numbered without a gap."""

import os
import random
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from punchlist import Board, TaskStatus
from punchlist.testing import FakeClock
from tests.sizes import size
from tests.store.task_writers import claim_on, claim_some, create_some, storm_list, zombie
from tests.store.writers import PATIENCE, Killable, start, two_way


def _together(target: Callable[..., None], path: Path, processes: int, *args: Any) -> list[Any]:
    """What so many processes sent that began at the same time."""
    pipes = [two_way() for _ in range(processes)]
    running = [start(target, str(path), f"p{number}", *args, there) for number, (_, there) in enumerate(pipes)]
    for here, _ in pipes:
        assert here.recv() == "ready"
    for here, _ in pipes:
        here.send("go")
    results = [here.recv() for here, _ in pipes]
    for process in running:
        process.join(PATIENCE)
    assert [result for result in results if isinstance(result, str)] == []
    return results


def test_processes_that_claim_from_one_list_have_each_task_once(tmp_path: Path) -> None:
    path, processes, count = tmp_path / "board.db", size(16, 64), size(16 * 25, 6_400)
    with Board.open(path, durability="normal") as board:
        made = storm_list(board)
        board.store.transact(lambda tx: [made.within(tx).create(f"task {number}") for number in range(count)])
    had = _together(claim_some, path, processes)
    print(f"{processes} processes, {count} tasks: each had {sorted(map(len, had))}")
    assert sorted(int(task) for each in had for task in each) == list(range(1, count + 1))
    with Board.open(path) as board:
        tasks = storm_list(board).list()
        kinds = Counter(event.kind for event in board.events())
    assert {(task.status, task.attempts, task.fence) for task in tasks} == {(TaskStatus.COMPLETED, 1, 1)}
    assert {task.id: task.result for task in tasks} == {task: f"p{n}" for n, each in enumerate(had) for task in each}
    assert kinds == {"task.created": count, "task.claimed": count, "task.completed": count}


def test_processes_that_create_get_each_number_once(tmp_path: Path) -> None:
    path, processes, each = tmp_path / "board.db", size(8, 64), size(15, 100)
    Board.open(path).close()
    given = _together(create_some, path, processes, each)
    assert sorted(int(task) for ids in given for task in ids) == list(range(1, processes * each + 1))
    with Board.open(path) as board:
        assert storm_list(board).create("next").id == str(processes * each + 1)


class Storm:
    """Workers on one list. Whoever is killed is followed by another who repeats what was not acknowledged."""

    def __init__(self, path: Path, seed: int, workers: int) -> None:
        self.path = str(path)
        self.rng = random.Random(seed)
        self.next = [0] * workers
        self.claimed: dict[tuple[str, int], str] = {}
        self.done: dict[tuple[str, int], str] = {}
        self.workers = [self._worker(slot) for slot in range(workers)]

    def _worker(self, slot: int) -> Killable:
        return Killable(claim_on, self.path, f"w{slot}", self.next[slot])

    def _heard(self, slot: int, lines: list[str]) -> None:
        for line in lines:
            verb, number, task, fence = line.split()
            known = self.claimed if verb == "claimed" else self.done
            operation = f"w{slot}n{number}"
            assert known.setdefault((task, int(fence)), operation) == operation, "one claim, two workers"
            self.next[slot] = int(number) + (verb == "done")

    def kill_one(self) -> None:
        for _ in range(self.rng.randrange(1, 6)):
            ready = wait([worker.fileno() for worker in self.workers], timeout=PATIENCE)
            assert ready, "no worker gets on"
            for slot, worker in enumerate(self.workers):
                if worker.fileno() in ready:
                    self._heard(slot, worker.said())
                    assert not worker.ended, "a worker ended by itself"
        slot = self.rng.randrange(len(self.workers))
        self._heard(slot, self.workers[slot].kill())
        self.workers[slot] = self._worker(slot)

    def end(self) -> None:
        for slot, worker in enumerate(self.workers):
            self._heard(slot, worker.kill())


def test_killed_workers_lose_no_completion_and_have_no_claim_twice(tmp_path: Path) -> None:
    seed, kills = int(os.environ.get("PUNCHLIST_SEED", "1")), size(15, 2_000)
    path = tmp_path / "board.db"
    Board.open(path).close()
    storm = Storm(path, seed, workers=6)
    try:
        for _ in range(kills):
            storm.kill_one()
    finally:
        storm.end()
    with Board.open(path) as board:
        tasks = {task.id: task for task in storm_list(board).list()}
        events = list(board.events())
    print(f"seed {seed}: {kills} kills, {len(storm.claimed)} claims and {len(storm.done)} completions acknowledged")
    for task, fence in storm.done:
        assert (tasks[task].status, tasks[task].fence) == (TaskStatus.COMPLETED, fence)
    fences = Counter((event.data["id"], event.data["set"]["fence"]) for event in events if event.kind == "task.claimed")
    assert storm.claimed.keys() <= fences.keys()
    assert max(fences.values()) == 1
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert all(count == 1 for count in Counter(e.data["id"] for e in events if e.kind == "task.completed").values())
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


def test_a_worker_that_was_frozen_past_its_lease_can_write_nothing(tmp_path: Path) -> None:
    for round_ in range(size(2, 100)):
        path = tmp_path / f"board-{round_}.db"
        clock = FakeClock()
        with Board.open(path) as board:
            storm_list(board).create("one")
        here, there = two_way()
        process = start(zombie, str(path), there)
        task, fence = here.recv()
        assert process.pid is not None
        _stopped(process.pid)
        clock.set(datetime.now(UTC) + timedelta(hours=1))
        with Board.open(path, clock=clock) as board:
            taken = storm_list(board).claim("living")
            assert taken is not None
            assert (taken.id, taken.fence) == (task, fence + 1)
            os.kill(process.pid, signal.SIGCONT)
            assert here.recv() == []
            process.join(PATIENCE)
            kept = storm_list(board).get(task)
            assert (kept.status, kept.owner, kept.state) == (TaskStatus.IN_PROGRESS, "living", {})
            assert [late.result for late in kept.late_results] == ["from the grave"]
            assert storm_list(board).complete(task, fence=taken.fence).status is TaskStatus.COMPLETED


def _stopped(pid: int) -> None:
    """Waits until the process is stopped: it is not our child, so the kernel's own word is looked at."""
    stat = Path(f"/proc/{pid}/stat")
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in {"T", "t"}:
        os.sched_yield()


def test_clocks_that_jump_end_no_lease_early_and_keep_the_order(tmp_path: Path) -> None:
    seed = int(os.environ.get("PUNCHLIST_SEED", "1"))
    rng, clock = random.Random(seed), FakeClock()
    with Board.open(tmp_path / "board.db", durability="normal", clock=clock) as board:
        tasks = storm_list(board)
        ends: dict[str, float] = {}
        elapsed, highest = 0.0, clock()
        for number in range(1, size(60, 1_000)):
            tasks.create(f"task {number}")
            taken = tasks.claim("w", id=str(number), lease=100)
            assert taken is not None
            ends[str(number)] = elapsed + 100
            step = rng.choice((0, 0, 1, -1, 50, -50, 3600, -3600, 1e-6))
            now = clock.advance(step)
            elapsed += max(0.0, (now - highest).total_seconds())
            highest = max(highest, now)
            ready = {task.id for task in tasks.ready(10_000)}
            assert ready == {task for task, end in ends.items() if end <= elapsed}, f"seed {seed}"
        for task in tasks.list():
            assert task.started_at is None or task.created_at is None or task.created_at <= task.started_at
        events = list(board.events())
        assert [event.at for event in events] == sorted(event.at for event in events)
