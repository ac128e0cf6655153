"""The lock beside the database: waiting, giving up, and threads that share it."""

import os
import signal
import threading
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.errors import StoreBusy
from punchlist.store.sidecars import SidecarLock
from punchlist.store.sqlite import SqliteStore
from tests.store.writers import PATIENCE, hold, operation, operations_of, start, two_way


def test_a_stopped_holder_makes_others_give_up_and_the_next_call_works(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    here, there = two_way()
    with Board(SqliteStore(str(path), lock_timeout=0.2)) as board:
        operation(board, "before")
        holder = start(hold, str(path), there)
        assert holder.pid is not None
        assert here.recv() == "held"
        os.kill(holder.pid, signal.SIGSTOP)
        for number in range(3):
            with pytest.raises(StoreBusy) as caught:
                operation(board, f"busy {number}")
            assert str(path) in str(caught.value)
            assert ".lock" not in str(caught.value)
        assert operations_of(list(board.events())) == ["before"]
        os.kill(holder.pid, signal.SIGCONT)
        here.send("let go")
        assert here.recv() == "done"
        operation(board, "after")
        assert operations_of(list(board.events())) == ["before", "after"]
        here.send("end")
        holder.join(PATIENCE)


def test_a_killed_holder_leaves_the_lock_free(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    here, there = two_way()
    holder = start(hold, str(path), there)
    assert here.recv() == "held"
    holder.kill()
    holder.join(PATIENCE)
    with Board.open(path) as board:
        operation(board, "after")


def test_threads_that_share_a_lock_hold_it_one_at_a_time(tmp_path: Path) -> None:
    lock = SidecarLock(str(tmp_path / "x.lock"))
    inside: list[int] = []
    worst: list[int] = []

    def work() -> None:
        for _ in range(200):
            with lock.hold():
                inside.append(1)
                worst.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert max(worst) == 1
    lock.close()


def test_a_first_read_during_a_write_neither_waits_nor_lets_go_of_the_writers_lock(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "board.db"))
    other = SidecarLock(str(tmp_path / "board.db.lock"), timeout=0.1)
    writing, checked = threading.Event(), threading.Event()

    def work(_: object) -> None:
        writing.set()
        assert checked.wait(PATIENCE)

    writer = threading.Thread(target=lambda: store.transact(work))
    writer.start()
    assert writing.wait(PATIENCE)
    assert store.last_seq() == 0
    with pytest.raises(StoreBusy):
        other.acquire()
    checked.set()
    writer.join(PATIENCE)
    assert other.acquire()
    other.release()
    other.close()
    store.close()


def test_the_thread_that_holds_the_lock_may_ask_again(tmp_path: Path) -> None:
    lock = SidecarLock(str(tmp_path / "x.lock"), timeout=0.1)
    assert lock.acquire()
    assert not lock.acquire()
    with lock.hold():
        pass
    other = SidecarLock(str(tmp_path / "x.lock"), timeout=0.05)
    with pytest.raises(StoreBusy):
        other.acquire(0)
    with pytest.raises(StoreBusy):
        other.acquire()
    lock.release()
    lock.release()
    with other.hold():
        pass
    lock.close()
    other.close()


def test_a_read_inside_a_write_sees_what_was_committed_before(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        operation(board, "one")
        assert board.store.transact(lambda _: board.store.last_seq()) == board.store.last_seq()
