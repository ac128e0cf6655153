"""What need not last through a power loss is committed without an fsync, and written out a little later."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.core.events import Draft
from punchlist.store import Store, Transaction
from punchlist.store.sqlite import SqliteStore
from punchlist.store.transaction import Rows


class Fsyncs:
    """Counts the fsyncs that this process asks of Python; SQLite's own are not among them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen = threading.Event()
        real = os.fsync

        def fsync(file: int) -> None:
            real(file)
            self.seen.set()

        monkeypatch.setattr(os, "fsync", fsync)


def note(store: Store, *, lasting: bool) -> None:
    def work(tx: Transaction) -> None:
        agent = tx.agent("s", "main")
        assert agent is not None
        tx.add_events(agent, [Draft("list.confirmed", {"revision": 1})], by="main", at=Board(store).now())

    store.transact(work, lasting=lasting)


def synchronous(store: Store, *, lasting: bool) -> int:
    def look(tx: Transaction) -> int:
        assert isinstance(tx, Rows)
        return int(tx.connection.execute("PRAGMA synchronous").fetchone()[0])

    return store.transact(look, lasting=lasting)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = SqliteStore(str(tmp_path / "board.db"))
    Board(store).agent(session="s").call("todo", {"set": ["one"]})
    return store


def test_what_need_not_last_is_written_out_a_little_later(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fsyncs = Fsyncs(monkeypatch)
    note(store, lasting=False)
    assert fsyncs.seen.wait(20)
    store.close()


def test_closing_writes_out_what_is_owed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("punchlist.store.syncing.WITHIN", 60)
    fsyncs = Fsyncs(monkeypatch)
    note(store, lasting=False)
    store.close()
    assert fsyncs.seen.is_set()


def test_a_lasting_commit_pays_for_those_before_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("punchlist.store.syncing.WITHIN", 60)
    fsyncs = Fsyncs(monkeypatch)
    note(store, lasting=False)
    note(store, lasting=True)
    store.close()
    assert not fsyncs.seen.is_set()


def test_only_a_batch_without_lasting_work_does_without_the_disk(store: Store) -> None:
    assert [synchronous(store, lasting=lasting) for lasting in (True, False, True)] == [2, 1, 2]
    store.close()


def test_reading_sees_what_was_committed(store: Store) -> None:
    before = store.last_seq()
    note(store, lasting=False)
    assert store.read(lambda tx: tx.agent("s", "main")) is not None
    assert store.last_seq() == before + 1
    store.close()
