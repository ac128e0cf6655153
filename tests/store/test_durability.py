"""A transaction that need not survive power loss is committed without an fsync."""

from __future__ import annotations

from pathlib import Path

import pytest

from punchlist import Board
from punchlist.core.events import Draft
from punchlist.store import Store, Transaction
from punchlist.store.sqlite import SqliteStore


def note(store: Store, *, durable: bool) -> None:
    def work(tx: Transaction) -> None:
        agent = tx.agent("s", "main")
        assert agent is not None
        tx.add_events(agent, [Draft("list.confirmed", {"revision": 1})], by="main", at=Board(store).now())

    store.transact(work, durable=durable)


def synchronous(store: Store, *, durable: bool) -> int:
    def look(tx: Transaction) -> int:
        return int(tx.connection.execute("PRAGMA synchronous").fetchone()[0])

    return store.transact(look, durable=durable)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = SqliteStore(str(tmp_path / "board.db"))
    Board(store).agent(session="s").call("todo", {"set": ["one"]})
    return store


def test_only_a_transaction_that_is_not_durable_does_without_an_fsync(store: Store) -> None:
    assert [synchronous(store, durable=durable) for durable in (True, False, True)] == [2, 1, 2]
    store.close()


def test_reading_sees_what_was_committed(store: Store) -> None:
    before = store.last_seq()
    note(store, durable=False)
    assert store.read(lambda tx: tx.agent("s", "main")) is not None
    assert store.last_seq() == before + 1
    store.close()
