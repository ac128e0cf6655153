"""Clocks that jump: events keep their order, and no time runs backwards on a board."""

import os
import random
from datetime import timedelta
from pathlib import Path

from punchlist import Board
from punchlist.store.records import SteadyClock
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
        moments = [event.at for event in events]
        assert [event.seq for event in events] == list(range(1, len(events) + 1)), f"seed {seed}"
        assert moments == sorted(moments), f"seed {seed}"


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


def test_a_clock_that_is_set_back_goes_on_at_its_pace() -> None:
    wall, steady = FakeClock(), FakeClock()
    clock = SteadyClock(wall, lambda: steady().timestamp())
    with Board.open("memory:", clock=clock) as board:
        tasks = board.tasks("l")
        tasks.create("claimed")
        tasks.create("waiting")
        wall.advance(86_400 * 365)
        tasks.get("1")
        wall.advance(-86_400 * 365)
        tasks.claim("dead", lease=60)
        tasks.wait("2", until=timedelta(minutes=5))
        assert not tasks.ready()
        wall.advance(3600)
        steady.advance(3600)
        assert len(tasks.ready()) == 2


def test_a_clock_that_is_set_back_and_right_again_ends_no_lease_early() -> None:
    wall, steady = FakeClock(), FakeClock()
    clock = SteadyClock(wall, lambda: steady().timestamp())
    with Board.open("memory:", clock=clock) as board:
        tasks = board.tasks("l")
        tasks.create("claimed")
        tasks.claim("living", lease=60)
        for step in (-3600, 3600, -3600, 3600):
            wall.advance(step)
            assert not tasks.ready()
