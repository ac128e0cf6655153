"""Transactions: faults stay with the thread that made them, and an interruption stops nobody else."""

import signal
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from punchlist import Board
from punchlist.errors import StoreClosed, StoreFailed
from punchlist.store import Transaction
from punchlist.store.sqlite import SqliteStore
from tests.store.writers import PATIENCE, operation, operations_of, run


def test_errors_are_not_shared_between_threads(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "board.db"))
    errors: list[BaseException] = []

    def break_the_disk(_: Transaction) -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR
        raise error

    def work() -> None:
        for _ in range(10):
            with pytest.raises(StoreFailed) as caught:
                store.transact(break_the_disk)
            errors.append(caught.value)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len({id(error) for error in errors}) == 40
    board = Board(store)
    operation(board, "next")
    board.close()


def test_a_broken_statement_of_one_work_fails_that_one_alone(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db", durability="normal") as board:
        operation(board, "first")

        def twice(tx: Transaction) -> None:
            tx.move_session("storm", "moved")
            for _ in range(2):
                tx.add_agent("twice", "same name", project="/", at=board.now())

        def thread(number: int) -> None:
            for count in range(10):
                if number == 0:
                    with pytest.raises(StoreFailed):
                        board.store.transact(twice)
                else:
                    operation(board, f"t{number}n{count}")

        threads = [threading.Thread(target=thread, args=(number,)) for number in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(PATIENCE)
        assert len(operations_of(list(board.events()))) == 31
        assert [row.id for row in board.sessions()] == ["storm"]


def test_closing_while_threads_write_settles_every_call(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    done: list[str] = []
    refused: list[str] = []
    started = threading.Barrier(5)
    board = Board.open(path, durability="normal")

    def work(number: int) -> None:
        started.wait(PATIENCE)
        for count in range(2000):
            name = f"t{number}n{count}"
            try:
                operation(board, name)
            except StoreClosed:
                refused.append(name)
                return
            done.append(name)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    started.wait(PATIENCE)
    board.store.wait(20, PATIENCE)
    board.close()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert len(refused) == 4
    with Board.open(path) as again:
        assert sorted(operations_of(list(again.events()))) == sorted(done)


_INTERRUPTED = """
import os, signal, sys, threading
from punchlist import Board
from tests.sizes import size
from tests.store.writers import operation, operations_of

board = Board.open(sys.argv[1], durability="normal")
operation(board, "first")
done, lost = [], []

def beside(number):
    for count in range(60):
        operation(board, f"t{number}n{count}")

threads = [threading.Thread(target=beside, args=(number,)) for number in range(2)]
for thread in threads: thread.start()
stop = threading.Event()

def disturb():
    while not stop.wait(0.001):
        os.kill(os.getpid(), signal.SIGINT)

left = [0]  # so many interruptions may still strike: two for each write, and none in the loops of this script

def interrupt(*_):
    if left[0]:
        left[0] -= 1
        raise KeyboardInterrupt

def mine():
    for count in range(int(sys.argv[2])):
        try:
            left[0] = 2
            operation(board, f"m{count}")
            done.append(f"m{count}")
            left[0] = 0
        except KeyboardInterrupt:
            lost.append(count)

disturber = threading.Thread(target=disturb)
signal.signal(signal.SIGINT, interrupt)
disturber.start()
while True:
    try:
        mine()
        stop.set()
        disturber.join()
        break
    except KeyboardInterrupt:
        continue
signal.signal(signal.SIGINT, signal.SIG_IGN)
for thread in threads: thread.join()
operation(board, "last")
names = operations_of(list(board.events()))
assert len(names) == len(set(names)), "applied twice"
assert set(done) <= set(names), "lost"
assert len([name for name in names if name.startswith("t")]) == 120
board.close()
print("fine", len(lost))
"""


def test_a_thread_interrupted_again_and_again_neither_hangs_nor_loses_nor_repeats(tmp_path: Path) -> None:
    done = run(_INTERRUPTED, str(tmp_path / "board.db"), "150")
    assert done.stdout.startswith("fine"), done.stdout + done.stderr
    print(done.stdout)


def test_an_interruption_after_the_commit_counts_as_committed(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "board.db"), durability="normal")
    board = Board(store)
    operation(board, "first")
    real = store._writer
    assert real is not None

    class Interrupting:
        """The connection, but for a Ctrl-C that comes just as COMMIT returns."""

        def __init__(self, connection: Any) -> None:
            self._connection = connection

        def __getattr__(self, name: str) -> Any:
            return getattr(self._connection, name)

        def execute(self, statement: str, *values: Any) -> Any:
            result = self._connection.execute(statement, *values)
            if statement == "COMMIT":
                raise KeyboardInterrupt
            return result

    store._writer = Interrupting(real)  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(KeyboardInterrupt):
        operation(board, "second")
    store._writer = real
    assert operations_of(list(board.events())) == ["first", "second"]
    operation(board, "second")
    assert operations_of(list(board.events())) == ["first", "second"]
    board.close()


def test_signals_are_left_as_they_were(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)  # a shell that starts the tests in the background has it ignored
    with Board.open(str(tmp_path / "board.db")) as board:
        operation(board, "first")
    assert signal.getsignal(signal.SIGINT) is before
