"""Workers on one list of tasks, in processes of their own: `python -m benchmarks.task_workers ours|bare PATH`."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, cast

from benchmarks.measure import ROOT, child_environment
from punchlist import Board
from punchlist.store.sidecars import SidecarLock

LIST = "bench"
_EVENT = b'{"list":"bench","id":"1234","subject":"task 1234","set":{"status":"in_progress"}}'.ljust(200, b" ")
_LEASE = 900_000_000
_CLAIM = """
UPDATE tasks SET status = 'in_progress', owner = :owner, fence = fence + 1, attempts = attempts + 1, lease = :lease,
  due_at = :until, started_at = :now, updated_at = :now, revision = revision + 1
WHERE number IN (
  SELECT number FROM tasks
  WHERE list = :list AND status = 'pending' AND owner IS NULL AND open_blockers = 0 AND due_at IS NULL
    AND cancel_requested = 0
  ORDER BY priority, id LIMIT 1)
RETURNING number, list, id
"""


def fill(path: Path | str, count: int) -> None:
    """A board with so many tasks that are ready."""
    with Board.open(path, durability="normal") as board:
        tasks = board.tasks(LIST)
        for first in range(0, count, 2000):
            size = min(2000, count - first)
            board.store.transact(
                lambda tx, size=size: [tasks.within(tx).create(f"task {index}") for index in range(size)]
            )


def together(
    kind: str, path: Path | str, processes: int, module: str = "benchmarks.task_workers"
) -> tuple[float, list[int]]:
    """Seconds until the list is done, and how many tasks each of so many workers did."""
    command = [sys.executable, "-m", module, kind, str(path)]
    running = [
        subprocess.Popen(
            command, cwd=ROOT, env=child_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(processes)
    ]
    for worker in running:
        assert cast("IO[str]", worker.stdout).readline() == "ready\n"
    start = time.perf_counter()
    for worker in running:
        cast("IO[str]", worker.stdin).write("go\n")
        cast("IO[str]", worker.stdin).flush()
    done = [int(json.loads(cast("IO[str]", worker.stdout).readline())) for worker in running]
    taken = time.perf_counter() - start
    for worker in running:
        worker.communicate()
    return taken, done


def ours(path: str) -> int:
    """Claims and completes until there is nothing left."""
    done = 0
    with Board.open(path) as board:
        tasks = board.tasks(LIST)
        tasks.ready(1)
        wait_for_the_start()
        while (task := tasks.claim("worker")) is not None:
            tasks.complete(task.id, fence=task.fence)
            done += 1
    return done


def bare(path: str) -> int:
    """The same two updates of the same rows, each with an event, in plain `sqlite3` under the same lock."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = FULL")
    lock = SidecarLock(f"{path}.lock")
    complete = "UPDATE tasks SET status = 'completed', due_at = NULL, finished_at = ?, revision = 2 WHERE number = ?"
    event = "INSERT INTO events (at, kind, author, data, task_list, task) VALUES (?, 'task.claimed', 'worker', ?, 1, ?)"
    execute = connection.execute
    done = 0
    wait_for_the_start()
    while True:
        now = time.time_ns() // 1000
        values = {"list": 1, "owner": "worker", "now": now, "until": now + _LEASE, "lease": _LEASE}
        with lock.hold():
            execute("BEGIN IMMEDIATE")
            rows: Sequence[tuple[int]] = execute(_CLAIM, values).fetchall()
            if rows:
                execute(event, (now, _EVENT, rows[0][2]))
            execute("COMMIT")
        if not rows:
            break
        with lock.hold():
            execute("BEGIN IMMEDIATE")
            execute(complete, (now, rows[0][0]))
            execute(event, (now, _EVENT, rows[0][2]))
            execute("COMMIT")
        done += 1
    connection.close()
    return done


def wait_for_the_start() -> None:
    """Say that this worker is ready, and wait until all are."""
    print("ready", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    print(json.dumps({"ours": ours, "bare": bare}[sys.argv[1]](sys.argv[2])), flush=True)
