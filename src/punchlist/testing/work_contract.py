"""What every store has to keep of runtime work, as tests; for the same class as `StoreContract`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta

from punchlist.board import Board
from punchlist.core.events import Draft
from punchlist.store import AgentRow, Store, Transaction
from punchlist.testing.checks import in_threads, raises
from punchlist.testing.clock import FakeClock

PROJECT = "/projects/contract"


class WorkContract:
    """The tests. Bytes come back as they were given; the store does not read them."""

    def make_store(self) -> Store:
        """A new, empty store."""
        raise NotImplementedError

    @contextmanager
    def watched(self) -> Generator[tuple[Board, FakeClock, AgentRow]]:
        clock = FakeClock()
        with Board(self.make_store(), clock=clock) as board:
            row = board.store.transact(lambda tx: tx.add_agent("s1", "main", project=PROJECT, at=clock()))
            yield board, clock, row

    def test_parts_of_work_are_read_back_and_replaced_each_on_its_own(self) -> None:
        with self.watched() as (board, _, row):
            store, number = board.store, row.number
            assert store.read(lambda tx: tx.work.get(number)) is None

            def save(tx: Transaction) -> bytes | None:
                for body in (b"one", b"two"):
                    tx.work.save(number, body)
                    tx.work.save(number, body + b"!", "item:p1/1")
                return tx.work.get(number, "item:p1/1")

            assert store.transact(save, durable=False) == b"two!"
            assert store.read(lambda tx: tx.work.get(number)) == b"two"
            assert dict(store.read(lambda tx: tx.work.parts(number))) == {"": b"two", "item:p1/1": b"two!"}
            store.transact(lambda tx: tx.work.drop(number, "item:p1/1"))
            assert dict(store.read(lambda tx: tx.work.parts(number))) == {"": b"two"}

    def test_hints_come_back_with_their_events_in_order(self) -> None:
        with self.watched() as (board, clock, row):
            store, number = board.store, row.number

            def add(tx: Transaction) -> int:
                tx.add_report(row, "agent.output", {"characters": 1}, by="main", at=clock(), hint=b"one")
                last = tx.add_events(row, [Draft("agent.output", {"characters": 2})], by="main", at=clock())
                tx.add_report(row, "agent.output", {"characters": 3}, by="main", at=clock(), hint=b"two")
                return last

            last = store.transact(add, durable=False)
            found = store.read(lambda tx: tx.work.hinted(number, 0))
            assert [(one.data["characters"], one.hint) for one in found] == [(1, b"one"), (3, b"two")]
            assert [one.at for one in found] == [clock(), clock()]
            assert [one.hint for one in store.read(lambda tx: tx.work.hinted(number, last))] == [b"two"]

    def test_what_is_held_is_gone_with_a_transaction_that_is_taken_back(self) -> None:
        with self.watched() as (board, _, row):

            def work(tx: Transaction) -> None:
                tx.work.hold(row.number, "held")
                raise ArithmeticError

            raises(ArithmeticError, lambda: board.store.transact(work))
            assert board.store.transact(lambda tx: tx.work.held.get(row.number)) is None

    def test_an_exception_takes_back_what_was_kept_of_work(self) -> None:
        with self.watched() as (board, _, row):
            store, number = board.store, row.number
            store.transact(lambda tx: tx.work.save(number, b"kept"))

            def work(tx: Transaction) -> None:
                tx.work.save(number, b"lost")
                raise ArithmeticError

            raises(ArithmeticError, lambda: store.transact(work))
            assert store.transact(lambda tx: tx.work.get(number)) == b"kept"

    def test_work_that_fails_among_others_that_are_committed_together_leaves_nothing(self) -> None:
        with self.watched() as (board, _, row):
            store, number = board.store, row.number

            def each(thread: int) -> None:
                def work(tx: Transaction) -> None:
                    before = int(tx.work.get(number) or b"0")
                    tx.work.save(number, str(before + 1).encode())
                    if thread % 2:
                        raise ArithmeticError

                for _ in range(25):
                    if thread % 2:
                        raises(ArithmeticError, lambda: store.transact(work, durable=False))
                    else:
                        store.transact(work, durable=False)

            in_threads(4, each)
            assert store.read(lambda tx: tx.work.get(number)) == b"50"

    def test_watched_agents_are_found_by_project_and_their_log_by_session(self) -> None:
        with self.watched() as (board, clock, row):
            store = board.store

            def more(tx: Transaction) -> None:
                other = tx.add_agent("s2", "other", project=f"{PROJECT}/2", at=clock())
                child = tx.add_agent("s1", "child", project=PROJECT, at=clock(), parent=row.number)
                for one in (row, other, child):
                    tx.work.save(one.number, one.name.encode())
                    tx.add_events(one, [Draft("agent.output", {"characters": 1})], by=one.name, at=clock())
                assert tx.work.parent_of(child.number) == "main"
                assert tx.work.parent_of(row.number) is None
                assert [(one.number, one.parent) for one in tx.work.children(row.session)] == [(child.number, "main")]

            store.transact(more)
            names = [one.agent for one in store.read(lambda tx: tx.work.watched())]
            assert names == ["main", "other", "child"]
            assert [one.head for one in store.read(lambda tx: tx.work.watched(f"{PROJECT}/2"))] == [b"other"]
            assert [one.agent for one in store.read(lambda tx: tx.work.log("s1", None, 0))] == ["main", "child"]
            assert [one.agent for one in store.read(lambda tx: tx.work.log(None, PROJECT, 0))] == ["main", "child"]
            (last,) = store.read(lambda tx: tx.work.log("s1", None, 0, limit=1))
            assert [one.agent for one in store.read(lambda tx: tx.work.log("s1", None, last.seq))] == ["child"]
            assert [one.kind for one in store.read(lambda tx: tx.work.events(row.number, 5))] == ["agent.output"]

    def test_a_mark_stays_where_somebody_put_it(self) -> None:
        with self.watched() as (board, _, _row):
            store = board.store
            assert store.read(lambda tx: tx.work.mark("brief ada")) == 0
            for seq in (7, 9):
                store.transact(lambda tx, seq=seq: tx.work.save_mark("brief ada", seq))
            assert store.read(lambda tx: tx.work.mark("brief ada")) == 9
            assert store.read(lambda tx: tx.work.mark("brief bob")) == 0

    def test_the_work_of_a_pruned_agent_is_forgotten(self) -> None:
        with self.watched() as (board, clock, row):
            board.store.transact(lambda tx: tx.work.save(row.number, b"old"))
            assert board.prune(clock() + timedelta(days=1)) == 1
            assert board.store.transact(lambda tx: tx.work.get(row.number)) is None
