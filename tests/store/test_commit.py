"""Group commit: faults stay with those who made them, and an interruption stops nobody else."""

import signal
import sqlite3
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from punchlist import Board
from punchlist.errors import StoreClosed, StoreFailed
from punchlist.store import Transaction
from punchlist.store.commit import GroupCommit, Request, parted
from punchlist.store.sqlite import SqliteStore
from tests.sizes import size
from tests.store.writers import PATIENCE, operation, operations_of, run


class Batches:
    """Runs batches as a store would, the first one only when told to, so that others queue meanwhile."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.begun, self.go = threading.Event(), threading.Event()

    def run(self, batch: list[Request]) -> None:
        self.sizes.append(len(batch))
        self.begun.set()
        assert self.go.wait(PATIENCE)
        for request in batch:
            request.result = request.work(None)
            request.settled = True


def _queue_behind(
    commits: GroupCommit, batches: Batches, count: int, work: Any, *, lasting: bool = True
) -> list[threading.Thread]:
    """A first request under way, and so many that wait."""
    first = threading.Thread(target=lambda: commits.submit(lambda _: "first", lasting=lasting))
    first.start()
    assert batches.begun.wait(PATIENCE)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    while len(commits._queue) < count:
        assert any(thread.is_alive() for thread in threads)
    return [first, *threads]


def test_those_who_come_during_a_commit_share_the_next() -> None:
    batches = Batches()
    commits, results = GroupCommit(batches.run), list[int]()

    def work(number: int) -> None:
        results.append(commits.submit(lambda _: number))

    threads = _queue_behind(commits, batches, 5, work)
    batches.go.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(results) == list(range(5))
    assert batches.sizes == [1, 5]


def test_nobody_fails_because_others_come_while_a_batch_is_made_up() -> None:
    def settle(batch: list[Request]) -> None:
        for request in batch:
            request.result, request.settled = request.work(None), True

    def work() -> None:
        for number in range(size(3_000, 100_000)):
            results.append(commits.submit(lambda _, number=number: number) == number)

    commits, results = GroupCommit(settle), list[bool]()
    threads = [threading.Thread(target=work) for _ in range(8)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
    finally:
        sys.setswitchinterval(interval)
    assert len(results) == 8 * size(3_000, 100_000)
    assert all(results)


class Patient(GroupCommit):
    """Notes for how many it would wait, and does not."""

    expected: tuple[int, ...] = ()

    def _linger(self, expected: int) -> None:
        self.expected += (expected,)


@pytest.mark.parametrize(("syncs", "lasting", "expected"), [(True, True, (6,)), (True, False, ()), (False, True, ())])
def test_a_leader_waits_for_those_who_may_share_an_fsync_with_those_who_had_to_wait(
    syncs: bool, lasting: bool, expected: tuple[int, ...]
) -> None:
    batches = Batches()
    commits = Patient(batches.run, syncs=syncs)

    def work(number: int) -> None:
        assert commits.submit(lambda _: number, lasting=lasting) == number

    threads = _queue_behind(commits, batches, 5, work, lasting=lasting)
    batches.go.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert commits.expected == expected
    assert batches.sizes == [1, 5]


def test_an_interrupted_leader_hands_over_what_is_not_its_own() -> None:
    outcomes: list[Any] = []
    interrupted: list[bool] = []
    batches = Batches()

    def run_(batch: list[Request]) -> None:
        if len(batch) > 1 and not interrupted:
            interrupted.append(True)
            raise KeyboardInterrupt
        batches.run(batch)

    commits = GroupCommit(run_)

    def work(number: int) -> None:
        try:
            outcomes.append(commits.submit(lambda _: number))
        except KeyboardInterrupt:
            outcomes.append("interrupted")

    threads = _queue_behind(commits, batches, 4, work)
    batches.go.set()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert outcomes.count("interrupted") == 1
    assert len({outcome for outcome in outcomes if outcome != "interrupted"}) == 3
    assert commits.submit(lambda _: "next") == "next"


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
    """Others who were committed with it must not be run again."""
    store = SqliteStore(str(tmp_path / "board.db"), durability="normal")
    board = Board(store)
    operation(board, "first")
    rows = store._writer
    assert rows is not None

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

    real = rows.connection
    rows.connection = Interrupting(real)  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(KeyboardInterrupt):
        operation(board, "second")
    rows.connection = real
    assert operations_of(list(board.events())) == ["first", "second"]
    operation(board, "second")
    assert operations_of(list(board.events())) == ["first", "second"]
    board.close()


def test_signals_are_left_as_they_were() -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _asked(*given: tuple[str, bool]) -> list[list[int]]:
    requests = [Request(lambda _: None, lane=lane, lasting=lasting) for lane, lasting in given]
    return [[requests.index(request) for request in part] for part in parted(requests)]


def test_what_need_not_wait_for_the_disk_goes_before_what_does() -> None:
    assert _asked(("a", True), ("b", False), ("c", True), ("d", False)) == [[1, 3], [0, 2]]
    assert _asked(("a", False), ("b", False)) == [[0, 1]]
    assert _asked(("a", True), ("b", True)) == [[0, 1]]


def test_nobody_overtakes_work_of_the_same_lane_or_of_none() -> None:
    assert _asked(("a", True), ("a", False), ("b", False), ("a", False)) == [[2], [0, 1, 3]]
    assert _asked(("b", False), ("", True), ("b", False), ("c", False)) == [[0], [1, 2, 3]]
    assert _asked(("", False), ("b", False)) == [[0, 1]]


def test_a_report_is_answered_before_the_disk_is_waited_for(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "board.db"))
    begun, all_here, answered = threading.Event(), threading.Event(), threading.Event()

    def first(_: Transaction) -> None:
        begun.set()
        assert all_here.wait(PATIENCE)

    def list_write(_: Transaction) -> bool:
        return answered.wait(PATIENCE)

    def report() -> None:
        store.transact(lambda _: None, lasting=False, lane="two")
        answered.set()

    results: list[bool] = []
    threads = [
        threading.Thread(target=store.transact, args=(first,)),
        threading.Thread(target=lambda: results.append(store.transact(list_write, lane="one"))),
        threading.Thread(target=report),
    ]
    for place, thread in enumerate(threads):
        thread.start()
        assert begun.wait(PATIENCE)
        while len(store._commits._queue) < place:
            assert thread.is_alive()
    all_here.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert results == [True]
    store.close()
