"""What every store has to keep about tasks, as tests. A store's own test class inherits them and says how to make one.

class TestMyTasks(TaskContract):
    def make_store(self) -> Store:
        return MyStore(…)
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from punchlist.board import Board
from punchlist.core.task import Task, TaskStatus, encode_task
from punchlist.errors import CycleRefused, FenceStale, PunchlistError, TaskUnknown
from punchlist.store import Store, Transaction, open_store
from punchlist.tasks import Tasks
from punchlist.testing import FakeClock
from tests.store.contracts.checks import in_threads, raises

PROJECT = "/projects/contract"


class TaskContract:
    """The tests. `histories` is how many random ones are played; each test makes its own store and closes it."""

    histories = 100

    def make_store(self) -> Store:
        """A new, empty store."""
        raise NotImplementedError

    @contextmanager
    def list(self) -> Generator[tuple[Tasks, FakeClock]]:
        clock = FakeClock()
        with Board(self.make_store(), clock=clock) as board:
            yield board.tasks("contract", project=PROJECT), clock

    def test_one_task_has_one_worker_however_many_claim_at_once(self) -> None:
        with self.list() as (tasks, _):
            for number in range(60):
                tasks.create(f"task {number}", priority=number % 5)
            taken: list[Task] = []

            def work(number: int) -> None:
                while (task := tasks.claim(f"w{number}")) is not None:
                    taken.append(task)
                    tasks.complete(task.id, fence=task.fence)

            in_threads(6, work)
            assert sorted(int(task.id) for task in taken) == list(range(1, 61))
            assert {task.status for task in tasks.list()} == {TaskStatus.COMPLETED}
            assert all(task.attempts == 1 for task in tasks.list())

    def test_ids_are_given_once_however_many_create_at_once(self) -> None:
        with self.list() as (tasks, _):
            made: list[str] = []

            def create(number: int) -> None:
                for index in range(15):
                    task = tasks.create(f"{number}/{index}", call_id=f"{number}/{index}")
                    made.append(task.id)
                    if index % 5 == 4:
                        tasks.delete(task.id)

            in_threads(6, create)
            assert sorted(map(int, made)) == list(range(1, 91))
            assert tasks.create("next").id == "91"

    def test_an_exception_takes_everything_back(self) -> None:
        with self.list() as (tasks, clock):
            tasks.create("kept")
            before = [encode_task(task) for task in tasks.list()], list(tasks.board.store.events_after(0))

            def work(tx: Transaction) -> None:
                inside = tasks.within(tx)
                inside.create("lost", blocked_by=["1"], call_id="c1")
                inside.claim("w")
                inside.signal("t", "c", 1, keep=True)
                raise ArithmeticError

            raises(ArithmeticError, lambda: tasks.board.store.transact(work))
            assert ([encode_task(task) for task in tasks.list()], list(tasks.board.store.events_after(0))) == before
            assert tasks.create("next", call_id="c1").subject == "next"
            assert tasks.wait("1", topic="t", correlation_id="c").status is TaskStatus.WAITING
            assert clock() == tasks.board.now()

    def test_priorities_labels_and_ids_decide_what_is_next(self) -> None:
        with self.list() as (tasks, _):
            rng = random.Random(1)
            for number in range(40):
                tasks.create(
                    f"task {number}", priority=rng.randrange(5), labels=rng.sample(["a", "b"], rng.randrange(3))
                )
            everything = sorted(tasks.list(), key=lambda task: (task.priority, int(task.id)))
            for label in (None, "a", "b", "c"):
                expected = [task.id for task in everything if label is None or label in task.labels]
                assert [task.id for task in tasks.ready(100, label=label)] == expected
                assert [task.id for task in tasks.ready(3, label=label)] == expected[:3]
            for task in everything:
                claimed = tasks.claim("w")
                assert claimed is not None
                assert claimed.id == task.id

    def test_edges_hold_tasks_back_and_circles_are_refused_on_random_graphs(self) -> None:
        with self.list() as (tasks, _):
            rng, size = random.Random(2), 25
            for number in range(size):
                tasks.create(f"task {number}")
            for _ in range(120):
                blocker, task = (str(number) for number in rng.sample(range(1, size + 1), 2))
                try:
                    tasks.update(task, add_blocked_by=[blocker])
                except CycleRefused:
                    assert _waits_for(tasks, blocker, task)
            done: set[str] = set()
            while (claimed := tasks.claim("w")) is not None:
                assert set(claimed.blocked_by) <= done
                tasks.complete(claimed.id, fence=claimed.fence)
                done.add(claimed.id)
            assert len(done) == size

    def test_leases_timers_and_rests_end_when_somebody_looks(self) -> None:
        with self.list() as (tasks, clock):
            for number in range(3):
                tasks.create(f"task {number}", max_attempts=5, backoff=30)
            first = tasks.claim("w", lease=30)
            assert first is not None
            tasks.wait("2", until=timedelta(seconds=30))
            third = tasks.claim("w", id="3")
            assert third is not None
            tasks.fail("3", fence=third.fence)
            assert tasks.ready() == ()
            clock.advance(30)
            assert [task.id for task in tasks.ready()] == ["1", "2", "3"]
            again = tasks.claim("v")
            assert again is not None
            raises(FenceStale, lambda: tasks.complete("1", fence=first.fence, result="late"))
            assert tasks.complete("1", fence=again.fence).late_results[0].result == "late"

    def test_the_history_of_a_task_is_its_own_and_in_order(self) -> None:
        with self.list() as (tasks, _):
            for number in range(5):
                tasks.create(f"task {number}")
            for _ in range(3):
                for task in tasks.claim("w", limit=5):
                    tasks.release(task.id, fence=task.fence)
            for task in tasks.list():
                events = tasks.history(task.id)
                assert {event.data["id"] for event in events} == {task.id}
                assert [event.seq for event in events] == sorted(event.seq for event in events)
                assert Counter(event.kind for event in events)["task.released"] == 3
            raises(TaskUnknown, lambda: tasks.history("9"))

    def test_random_histories_of_tasks_end_alike_in_memory_and_here(self) -> None:
        first = int(os.environ.get("PUNCHLIST_SEED", "0"))
        clocks = FakeClock(), FakeClock()
        with Board(open_store("memory:"), clock=clocks[0]) as known, Board(self.make_store(), clock=clocks[1]) as here:
            for seed in range(first, first + self.histories):
                pairs = ((known, clocks[0]), (here, clocks[1]))
                outcomes = [_play(board.tasks(f"h{seed}", project=PROJECT), clock, seed) for board, clock in pairs]
                assert outcomes[0] == outcomes[1], f"replay with PUNCHLIST_SEED={seed}"
            assert [_told(event) for event in known.events()] == [_told(event) for event in here.events()]


def _told(event: Any) -> tuple[Any, ...]:
    return event.at, event.kind, event.by, event.project, event.data


def _waits_for(tasks: Tasks, task: str, other: str) -> bool:
    return any(blocker == other or _waits_for(tasks, blocker, other) for blocker in tasks.get(task).blocked_by)


def _play(tasks: Tasks, clock: FakeClock, seed: int) -> list[Any]:
    """What came of each of some random steps; an error counts by its code."""
    rng = random.Random(seed)
    outcomes: list[Any] = []
    fences: list[tuple[str, int]] = [("1", 0)]
    for step in range(25):
        clock.advance(rng.choice((0, 1, 40)))
        try:
            outcomes.append(_step(tasks, rng, fences, f"call {step % 20}"))
        except PunchlistError as error:
            outcomes.append(error.code)
    outcomes.append([encode_task(task) for task in tasks.list()])
    outcomes.append([task.id for task in tasks.ready()])
    outcomes.append(tasks.graph().edges)
    return outcomes


def _step(tasks: Tasks, rng: random.Random, fences: list[tuple[str, int]], call_id: str) -> Any:
    task = str(rng.randrange(1, 7))
    other = str(rng.randrange(1, 7))
    mine, fence = rng.choice(fences)
    match rng.randrange(12):
        case 0 | 1 | 2:
            return encode_task(tasks.create("task", priority=rng.randrange(5), labels=["a"] * rng.randrange(2)))
        case 3 | 4:
            taken = tasks.claim("w", lease=60, call_id=call_id)
            if taken is not None:
                fences.append((taken.id, taken.fence))
            return None if taken is None else encode_task(taken)
        case 5:
            return encode_task(tasks.complete(mine, fence=fence, result=[fence]))
        case 6:
            return encode_task(tasks.update(task, add_blocked_by=[other]))
        case 7:
            return encode_task(tasks.update(task, remove_blocked_by=[other], priority=rng.randrange(5)))
        case 8:
            return encode_task(tasks.wait(task, until=timedelta(seconds=50)))
        case 9:
            return encode_task(tasks.fail(mine, "why", fence=fence))
        case 10:
            return encode_task(tasks.retry(task))
        case _:
            return encode_task(tasks.delete(task))
