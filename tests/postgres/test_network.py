"""A worker that loses its network while it has a task, or in the middle of a claim."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from punchlist import Board
from punchlist.store.sidecars import limit_wait

pytestmark = [pytest.mark.needs("root"), pytest.mark.needs("ip"), pytest.mark.needs("unshare")]


class Worker:
    """A worker in a network of its own: `ask` sends it a command and returns what it says."""

    def __init__(self, postgres: str, url: str) -> None:
        words = ["unshare", "--net", sys.executable, "-m", "tests.postgres.cut_off_worker", postgres, url]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, command: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        return self.read()

    def read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def worker(postgres: str, url: str, board: Board) -> Iterator[Worker]:
    worker = Worker(postgres, url)
    yield worker
    worker.close()


def test_the_lease_of_a_worker_that_is_cut_off_ends_and_its_fence_refuses_it(board: Board, worker: Worker) -> None:
    tasks = board.tasks("default", project="/p")
    tasks.create("Paint")
    assert worker.ask("claim") == "1 1"
    assert worker.ask("down") == "down"
    assert worker.ask("complete 1 1") == "store_unavailable"
    while (task := tasks.claim("two")) is None:
        board.store.wait(board.store.last_seq(), 0.2)
    assert (task.id, task.fence) == ("1", 2)
    assert worker.ask("up") == "up"
    assert worker.ask("complete 1 1") == "fence_stale"
    tasks.complete("1", fence=2)
    assert [event.by for event in board.events() if event.kind == "task.completed"] == ["two"]


def test_a_claim_whose_commit_never_arrives_is_undone_and_another_gets_the_task(board: Board, worker: Worker) -> None:
    tasks = board.tasks("default", project="/p")
    tasks.create("Paint")
    assert worker.ask("claim and leave") == "1 1"
    assert worker.read() == "store_uncertain"
    with limit_wait(11):
        task = tasks.claim("two")
    assert task is not None
    assert worker.ask("up") == "up"
    assert worker.ask("claim") == "nothing"
    assert [event.by for event in board.events() if event.kind == "task.claimed"] == ["two"]
