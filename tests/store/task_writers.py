"""What tests of tasks run in processes of their own."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import Any

from punchlist import Board, Task, Tasks
from punchlist.errors import FenceStale

LIST = "storm"
PROJECT = "/projects/storm"


def storm_list(board: Board, *, by: str = "", lease: float | None = None) -> Tasks:
    return board.tasks(LIST, project=PROJECT, by=by, lease=lease)


def warm() -> None:
    """Everything is imported and every statement was prepared once."""
    with Board.open("memory:") as board:
        tasks = storm_list(board)
        tasks.create("one")
        task = tasks.claim("w")
        assert task is not None
        tasks.complete(task.id, fence=task.fence)


def claim_some(path: str, name: str, pipe: Any) -> None:
    """Claims and completes until nothing is left; sends the ids that it had, or the error that reached it."""
    had: list[str] = []
    try:
        warm()
        with Board.open(path, durability="normal") as board:
            tasks = storm_list(board)
            pipe.send("ready")
            assert pipe.recv() == "go"
            while (task := tasks.claim(name)) is not None:
                tasks.complete(task.id, fence=task.fence, result=name)
                had.append(task.id)
    except Exception as error:
        pipe.send(repr(error))
    else:
        pipe.send(had)


def create_some(path: str, name: str, count: int, pipe: Any) -> None:
    """Creates so many tasks and deletes every third; sends the ids that it was given, or the error."""
    given: list[str] = []
    try:
        warm()
        with Board.open(path, durability="normal") as board:
            tasks = storm_list(board)
            pipe.send("ready")
            assert pipe.recv() == "go"
            for number in range(count):
                task = tasks.create(f"{name} {number}")
                given.append(task.id)
                if number % 3 == 2:
                    tasks.delete(task.id)
    except Exception as error:
        pipe.send(repr(error))
    else:
        pipe.send(given)


def claim_on(path: str, name: str, first: int, pipe: Any) -> None:
    """Claims and completes under operation ids, and says `claimed` and `done` with each once it is acknowledged.

    Never ends: with nothing left to do it makes a new task.
    """
    with Board.open(path) as board:
        tasks = storm_list(board, by=name)
        number = first
        while True:
            task = tasks.claim(name, call_id=f"{name}c{number}")
            if task is None:
                tasks.create(f"{name}t{number}", call_id=f"{name}t{number}")
                continue
            _say(pipe, f"claimed {number} {task.id} {task.fence}")
            with suppress(FenceStale):
                tasks.complete(task.id, fence=task.fence, result=[name, number], call_id=f"{name}d{number}")
                _say(pipe, f"done {number} {task.id} {task.fence}")
            number += 1


def _say(pipe: Any, line: str) -> None:
    os.write(pipe.fileno(), f"{line}\n".encode())


def zombie(path: str, pipe: Any) -> None:
    """Claims, stops itself as if frozen, and when it wakes up does everything that a worker may do with its fence."""
    with Board.open(path) as board:
        tasks = storm_list(board, by="zombie", lease=0.05)
        task = tasks.claim("zombie")
        assert task is not None
        pipe.send((task.id, task.fence))
        os.kill(os.getpid(), signal.SIGSTOP)
        pipe.send(_everything_that_it_may_try(tasks, task))


def _everything_that_it_may_try(tasks: Tasks, task: Task) -> list[str]:
    """The names of the writes that were accepted."""
    accepted: list[str] = []
    for name, write in (
        ("heartbeat", lambda: tasks.heartbeat(task.id, fence=task.fence)),
        ("update", lambda: tasks.update(task.id, state={"zombie": True}, fence=task.fence)),
        ("wait", lambda: tasks.wait(task.id, fence=task.fence)),
        ("fail", lambda: tasks.fail(task.id, "no", fence=task.fence)),
        ("release", lambda: tasks.release(task.id, fence=task.fence)),
        ("cancel", lambda: tasks.cancel(task.id, fence=task.fence)),
        ("complete", lambda: tasks.complete(task.id, fence=task.fence, result="from the grave")),
        ("delete", lambda: tasks.delete(task.id, fence=task.fence)),
    ):
        with suppress(FenceStale):
            write()
            accepted.append(name)
    return accepted
