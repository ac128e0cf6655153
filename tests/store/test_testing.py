"""The tools for tests: a clock to set, and a store that fails when told to."""

from datetime import UTC, datetime

import pytest

from punchlist import Board
from punchlist.errors import StoreFailed
from punchlist.store import open_store
from punchlist.testing import FakeClock, FaultyStore
from tests.store.writers import operation, operations_of


def test_a_fake_clock_stands_still_until_it_is_moved() -> None:
    clock = FakeClock(datetime(2025, 1, 1, tzinfo=UTC))
    assert clock() == clock() == datetime(2025, 1, 1, tzinfo=UTC)
    assert clock.advance(90) == datetime(2025, 1, 1, 0, 1, 30, tzinfo=UTC)
    assert clock.advance(-3600) < datetime(2025, 1, 1, tzinfo=UTC)
    assert clock.set(datetime(2030, 1, 1, tzinfo=UTC)) == clock()


def test_a_write_that_fails_before_changes_nothing_and_one_that_fails_after_is_kept() -> None:
    store = FaultyStore(open_store("memory:"))
    board = Board(store)
    store.plan("fail_before", at=2)
    store.plan("fail_after", at=3)
    operation(board, "one")
    for name in ("two", "three"):
        with pytest.raises(StoreFailed):
            operation(board, name)
    assert operations_of(list(board.events())) == ["one", "three"]
    assert store.met == [None, "fail_before", "fail_after"]
    board.close()


def test_a_late_write_waits_for_as_long_as_it_was_told() -> None:
    slept: list[float] = []
    store = FaultyStore(open_store("memory:"), seconds=12.5, sleep=slept.append)
    store.plan("delay")
    operation(Board(store), "one")
    assert slept == [12.5]
    store.close()


def test_faults_by_chance_are_the_same_for_the_same_seed() -> None:
    runs: list[list[str | None]] = []
    for _ in range(2):
        store = FaultyStore(open_store("memory:"), seed=5, fail_before=0.2, fail_after=0.2)
        board = Board(store)
        for number in range(50):
            while True:
                try:
                    operation(board, f"op{number}")
                    break
                except StoreFailed:
                    continue
        assert operations_of(list(board.events())) == [f"op{number}" for number in range(50)]
        runs.append(list(store.met))
        board.close()
    assert runs[0] == runs[1]
    assert {"fail_before", "fail_after", None} == set(runs[0])
