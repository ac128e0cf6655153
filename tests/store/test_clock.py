"""Clocks that jump: events keep their order, nothing ends before it began, and time goes on."""

import os
import random
from datetime import timedelta
from pathlib import Path

from punchlist import Board
from punchlist.testing import FakeClock
from tests.sizes import size


def test_a_clock_that_jumps_does_not_disturb_the_order_of_events(tmp_path: Path) -> None:
    seed = int(os.environ.get("PUNCHLIST_SEED", "1"))
    rng, clock = random.Random(seed), FakeClock()
    with Board.open(tmp_path / "board.db", durability="normal", clock=clock) as board:
        agent = board.agent("main", session="s1", project="/projects/clock")
        for _ in range(size(200, 100_000) // 10):
            agent.edit({"op": "init", "items": ["one", "two", "three"]}, by="ada")
            for step in range(9):
                clock.advance(rng.choice((0, 0, 1, -1, 3600, -3600, 1e-6, 86_400 * 365, -86_400 * 365)))
                verb = ("start", "done", "reopen")[step % 3]
                agent.edit({"op": verb, "item": ("one", "two", "three")[step // 3]}, by="ada")
            for item in agent.todos.items:
                assert item.finished_at is None or item.started_at is None or item.started_at <= item.finished_at
        events = list(board.events())
        assert [event.seq for event in events] == list(range(1, len(events) + 1)), f"seed {seed}"


def test_a_clock_that_is_set_back_a_little_is_waited_for() -> None:
    clock = FakeClock()
    with Board.open("memory:", clock=clock) as board:
        agent = board.agent("main", session="s1")
        for step in (0, -1, 0.5, -30, 5, 20, -45, 60):
            clock.advance(step)
            agent.edit({"op": "append", "items": "one more"}, by="ada")
        moments = [event.at for event in board.events()]
        assert moments == sorted(moments)
        assert moments[-1] == clock()


def test_after_a_clock_that_ran_ahead_is_set_right_leases_end_and_timers_are_over() -> None:
    clock = FakeClock()
    with Board.open("memory:", clock=clock) as board:
        tasks = board.tasks("l")
        tasks.create("claimed")
        tasks.create("waiting")
        clock.advance(86_400 * 365)
        tasks.get("1")
        clock.advance(-86_400 * 365)
        tasks.claim("dead", lease=60)
        tasks.wait("2", until=timedelta(minutes=5))
        clock.advance(3600)
        assert [task.status.value for task in tasks.ready()] == ["pending", "pending"]
        taken = tasks.claim("worker")
        assert taken is not None
        assert taken.id == "1"


def test_a_lease_that_was_given_by_a_clock_ahead_of_its_time_ends_all_the_same() -> None:
    clock = FakeClock()
    with Board.open("memory:", clock=clock) as board:
        tasks = board.tasks("l")
        tasks.create("claimed")
        clock.advance(86_400 * 365)
        tasks.claim("dead", lease=60)
        clock.advance(-86_400 * 365)
        assert tasks.claim("worker") is None
        clock.advance(61)
        taken = tasks.claim("worker")
        assert taken is not None
        assert taken.started_at is not None
        assert taken.created_at is not None
        assert taken.created_at <= taken.started_at


def test_two_processes_whose_clocks_differ_share_one_order(tmp_path: Path) -> None:
    ahead, behind = FakeClock(), FakeClock()
    behind.advance(-7200)
    path = tmp_path / "board.db"
    with Board.open(path, clock=ahead) as first, Board.open(path, clock=behind) as second:
        for number in range(10):
            for board in (first, second):
                board.agent("main", session="s1").edit({"op": "append", "items": f"item {number}"}, by="ada")
        assert [event.seq for event in first.events()] == [event.seq for event in second.events()]
        assert first.agent("main", session="s1").todos.revision == 20
        assert [row.session for row in first.lists()] == ["s1"]


def test_a_clock_set_back_prunes_nothing_that_is_in_use(tmp_path: Path) -> None:
    clock = FakeClock()
    with Board.open(tmp_path / "board.db", clock=clock) as board:
        board.agent("main", session="s1").edit({"op": "append", "items": "one"}, by="ada")
        clock.advance(-86_400 * 30)
        board.agent("main", session="s1").edit({"op": "append", "items": "two"}, by="ada")
        assert board.prune(board.now() - timedelta(days=1)) == 0
