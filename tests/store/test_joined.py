"""`joined`: several steps in one transaction, each rolled back alone."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.errors import StoreFailed
from punchlist.store import Store, Transaction, open_store


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "board.db" if request.param == "file" else "memory:")
    yield store
    store.close()


def _mark(name: str, value: int = 1) -> Callable[[Transaction], None]:
    return lambda tx: tx.log.save_mark(name, value)


def _read(name: str) -> Callable[[Transaction], int]:
    return lambda tx: tx.log.mark(name)


def test_steps_are_committed_together(store: Store) -> None:
    def work(tx: Transaction) -> None:
        store.transact(_mark("a"))
        store.transact(_mark("b"), durable=False, wait=0.0)
        tx.log.save_mark("c", 3)

    store.joined(work)
    assert [store.read(_read(name)) for name in "abc"] == [1, 1, 3]


def test_an_exception_rolls_back_all_steps(store: Store) -> None:
    def work(_: Transaction) -> None:
        store.transact(_mark("a"))
        raise ValueError

    with pytest.raises(ValueError):
        store.joined(work)
    assert store.read(_read("a")) == 0
    store.transact(_mark("a"))
    assert store.read(_read("a")) == 1


def test_a_step_that_raises_is_rolled_back_alone(store: Store) -> None:
    def broken(tx: Transaction) -> None:
        tx.log.save_mark("broken", 1)
        tx.connection.execute("INSERT INTO nowhere VALUES (1)")

    def work(tx: Transaction) -> None:
        store.transact(_mark("before"))
        with pytest.raises(Exception, match="nowhere"):
            store.transact(broken)
        store.transact(_mark("after"))

    store.joined(work)
    assert [store.read(_read(name)) for name in ("before", "broken", "after")] == [1, 0, 1]


def test_a_read_within_sees_the_steps_so_far_and_one_of_another_thread_does_not(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        store, seen = board.store, list[int]()

        def work(_: Transaction) -> None:
            store.transact(_mark("a", 7))
            seen.append(store.read(_read("a")))
            other = threading.Thread(target=lambda: seen.append(store.read(_read("a"))))
            other.start()
            other.join()

        store.joined(work)
        assert seen == [7, 0]


def test_a_transaction_inside_a_step_is_refused(store: Store) -> None:
    def work(_: Transaction) -> None:
        with pytest.raises(RuntimeError):
            store.transact(lambda _: store.transact(_mark("a")))
        with pytest.raises(RuntimeError):
            store.transact(lambda _: store.joined(_mark("a")))

    store.joined(work)
    assert store.read(_read("a")) == 0


@pytest.mark.sqlite
def test_a_transaction_that_sqlite_rolled_back_is_an_error_and_runs_no_further_step(store: Store) -> None:
    def roll_back(tx: Transaction) -> None:
        tx.connection.execute("ROLLBACK")  # as SQLite does by itself after some faults of the disk
        raise sqlite3.OperationalError("disk I/O error")

    def work(_: Transaction) -> None:
        store.transact(_mark("a"))
        with pytest.raises(StoreFailed):
            store.transact(roll_back)
        with pytest.raises(StoreFailed):
            store.transact(_mark("b"))

    with pytest.raises(StoreFailed):
        store.joined(work)
    assert [store.read(_read(name)) for name in "ab"] == [0, 0]


def test_an_agents_handle_works_within(store: Store) -> None:
    with Board(store) as board:
        agent = board.agent("main", session="s", project="/")

        def work(_: Transaction) -> None:
            agent.call("todo", {"set": ["A"]}, call_id="1")
            agent.tool_started("2", "Bash", {"command": "pytest"})
            agent.tool_finished("2", "1 passed in 0.1s", exit_code=0)
            assert agent.todos.items

        store.joined(work)
        assert [item.content for item in agent.todos.items] == ["A"]
