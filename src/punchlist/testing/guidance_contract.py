"""What every store has to keep of guidance and of the ledger, as tests; for the same class as `StoreContract`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta

from punchlist.board import Board
from punchlist.core.todo import ListState, TodoList
from punchlist.store import AgentRow, Store, Transaction
from punchlist.testing.checks import raises
from punchlist.testing.clock import FakeClock

PROJECT = "/projects/contract"


class GuidanceContract:
    """The tests. Bytes come back as they were given; the store does not read them."""

    def make_store(self) -> Store:
        """A new, empty store."""
        raise NotImplementedError

    @contextmanager
    def joined(self, name: str = "main") -> Generator[tuple[Board, FakeClock, AgentRow]]:
        clock = FakeClock()
        with Board(self.make_store(), clock=clock) as board:
            row = board.store.transact(lambda tx: tx.add_agent("s1", name, project=PROJECT, at=clock()))
            yield board, clock, row

    def test_what_guidance_remembers_is_read_back_and_replaced(self) -> None:
        with self.joined() as (board, _, row):
            store, number = board.store, row.number
            assert store.read(lambda tx: tx.guidance.get(number)) is None
            for body in (b"one", b"", b"\x00\xff" * 500):

                def save(tx: Transaction, body: bytes = body) -> bytes | None:
                    tx.guidance.save(number, body)
                    return tx.guidance.get(number)

                assert store.transact(save, durable=False) == body
                assert store.read(lambda tx: tx.guidance.get(number)) == body

    def test_an_exception_takes_back_what_is_remembered_and_what_is_tallied(self) -> None:
        with self.joined() as (board, clock, row):
            store, number = board.store, row.number
            store.transact(lambda tx: tx.guidance.save(number, b"kept"))

            def work(tx: Transaction) -> None:
                tx.guidance.save(number, b"lost")
                tx.save_list(row, row.state, unseen=0, at=clock(), ledger=b"lost")
                raise ArithmeticError

            raises(ArithmeticError, lambda: store.transact(work))
            assert store.transact(lambda tx: tx.guidance.get(number)) == b"kept"
            assert _ledger(store) is None

    def test_a_tally_goes_with_the_list_or_alone_and_stays_when_not_given(self) -> None:
        with self.joined() as (board, clock, row):
            store = board.store
            store.transact(lambda tx: tx.save_list(row, row.state, unseen=0, at=clock(), ledger=b"alone"))
            assert _ledger(store) == b"alone"
            written = ListState(TodoList(revision=1))
            for ledger, expected in ((None, b"alone"), (b"with it", b"with it")):

                def save(tx: Transaction, ledger: bytes | None = ledger) -> None:
                    found = tx.agent("s1", "main")
                    assert found is not None
                    tx.save_list(found, written, unseen=0, at=clock(), ledger=ledger)

                store.transact(save)
                assert _ledger(store) == expected
            found = store.agent("s1", "main")
            assert found is not None
            assert found.state.todos.revision == 1

    def test_costs_are_found_by_session_by_project_and_all(self) -> None:
        with self.joined() as (board, clock, row):
            store = board.store

            def more(tx: Transaction) -> None:
                tx.guidance.save(row.number, b"turns")
                other = tx.add_agent("s2", "other", project=f"{PROJECT}/2", at=clock())
                tx.save_list(other, other.state, unseen=0, at=clock(), ledger=b"calls")

            store.transact(more)
            one, other = ("s1", "main", None, b"turns"), ("s2", "other", b"calls", None)
            assert [tuple(cost) for cost in store.read(lambda tx: tx.guidance.costs())] == [one, other]
            assert [tuple(cost) for cost in store.read(lambda tx: tx.guidance.costs(session="s2"))] == [other]
            assert [tuple(cost) for cost in store.read(lambda tx: tx.guidance.costs(project=PROJECT))] == [one]

    def test_a_pruned_agent_is_forgotten(self) -> None:
        with self.joined() as (board, clock, row):
            store = board.store
            store.transact(lambda tx: tx.guidance.save(row.number, b"old"))
            assert board.prune(clock() + timedelta(days=1)) == 1
            assert store.transact(lambda tx: tx.guidance.get(row.number)) is None
            assert list(store.read(lambda tx: tx.guidance.costs())) == []


def _ledger(store: Store) -> bytes | None:
    row = store.agent("s1", "main")
    assert row is not None
    return row.ledger
