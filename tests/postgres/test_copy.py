"""`punchlist copy`: a board from SQLite to PostgreSQL and back is the same, also where a copy was cut short."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from punchlist import Board
from punchlist.cli import main
from punchlist.errors import CopyRefused
from punchlist.store import Transaction, copy, open_store
from punchlist.store.copy import copy_board, list_tables
from tests.postgres.boards import PostgresBoards
from tests.sizes import size
from tests.store.boards import OLD_BOARDS, unpack_board
from tests.store.boards.make_board import join_team, list_empty_tables

_spawn = multiprocessing.get_context("spawn")


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """A board that has rows in every table."""
    tmp_path.chmod(0o700)
    path = unpack_board(OLD_BOARDS[-1], tmp_path)
    with Board.open(path) as board:
        join_team(board)
    assert list_empty_tables(path) == []
    return path


def _read_rows(path: Path) -> dict[str, list[object]]:
    with closing(sqlite3.connect(path)) as connection:
        tables = [*(table.name for table in list_tables()), "board"]
        return {name: sorted(connection.execute(f"SELECT * FROM {name}"), key=repr) for name in tables}


def _copy(source: str | Path, target: str | Path, tell: Callable[[int, int], None]) -> None:
    first, second = open_store(source), open_store(target)
    try:
        copy_board(first, second, tell)
    finally:
        first.close()
        second.close()


def test_a_board_goes_to_postgres_and_back(board: Path, postgres: str, tmp_path: Path) -> None:
    between, back = PostgresBoards(postgres).make(), tmp_path / "back.db"
    assert main(["copy", str(board), between]) == 0
    assert main(["copy", between, str(back)]) == 0
    assert _read_rows(back) == _read_rows(board)
    assert main(["--db", between, "doctor"]) == 0
    with Board.open(between) as copied, Board.open(board) as original:
        assert list(copied.events()) == list(original.events())
        agent = copied.agent("main", session="after the copy")
        agent.call("todo", {"set": ["Go on"]})  # new rows get numbers that are free
        assert copied.lists(session="after the copy")[0].todos.items[0].content == "Go on"


def _copy_until_killed(source: str | Path, target: str | Path, slices: int, moment: str) -> None:
    """Copy a board by two rows, and be killed after so many slices: before the commit of the last one, or after it."""
    insert, left = copy._insert, slices

    def count() -> None:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    def insert_and_count(tx: Transaction, table: copy.Table, rows: Sequence[Sequence[object]]) -> None:
        insert(tx, table, rows)
        if moment == "before":
            count()

    copy._SLICE, copy._insert = 2, insert_and_count
    _copy(source, target, lambda _done, _total: count() if moment == "after" else None)


def test_a_copy_that_was_killed_goes_on(board: Path, postgres: str, tmp_path: Path) -> None:
    random = Random(1)
    between, back = PostgresBoards(postgres).make(), tmp_path / "back.db"
    for source, target in ((board, between), (between, back)):
        kills = size(4, 20)
        for number in range(kills):
            how = random.randint(1, 200 // kills), "before" if number % 2 else "after"  # there are some 290 slices
            one = _spawn.Process(target=_copy_until_killed, args=(source, target, *how))
            one.start()
            one.join(60)
            assert one.exitcode == -signal.SIGKILL
        _copy(source, target, lambda _done, _total: None)
    assert _read_rows(back) == _read_rows(board)
    assert main(["--db", between, "doctor"]) == main(["--db", str(back), "doctor"]) == 0


def test_a_copy_that_was_cut_short_has_what_was_written_and_deleted_meanwhile(
    board: Path, postgres: str, tmp_path: Path
) -> None:
    between, back = PostgresBoards(postgres).make(), tmp_path / "back.db"
    for source, target in ((board, between), (between, back)):
        one = _spawn.Process(target=_copy_until_killed, args=(source, target, 280, "after"))
        one.start()
        one.join(60)
        assert one.exitcode == -signal.SIGKILL
        with Board.open(source) as changed:
            changed.agent("main", session="night").edit({"op": "append", "items": "Come late"}, by="ada")
            deleted = changed.lists()[-1].session
            assert main(["--db", str(source), "prune", "--session", deleted, "--yes"]) == 0
        told: list[tuple[int, int]] = []
        _copy(source, target, lambda done, total, told=told: told.append((done, total)))
        assert told == sorted(told)
    with Board.open(between) as copied, Board.open(back) as twice:
        assert list(copied.events()) == list(twice.events())
    assert main(["--db", between, "doctor"]) == main(["--db", str(back), "doctor"]) == 0


def test_a_copy_that_was_cut_short_goes_on_when_a_name_has_another_number_meanwhile(
    board: Path, postgres: str, tmp_path: Path
) -> None:
    between, back = PostgresBoards(postgres).make(), tmp_path / "back.db"
    for source, target in ((board, between), (between, back)):
        with Board.open(source) as changed:
            changed.agent("main", session="day").call("todo", {"set": ["Read"]})
        one = _spawn.Process(target=_copy_until_killed, args=(source, target, 280, "after"))
        one.start()
        one.join(60)
        assert one.exitcode == -signal.SIGKILL
        assert main(["--db", str(source), "prune", "--session", "day", "--yes"]) == 0
        with Board.open(source) as changed:
            changed.agent("main", session="day").call("todo", {"set": ["Read again"]})
        _copy(source, target, lambda _done, _total: None)
    with Board.open(between) as copied, Board.open(back) as twice:
        assert list(copied.events()) == list(twice.events())


def test_a_board_that_holds_something_takes_no_copy(board: Path, postgres: str) -> None:
    url = PostgresBoards(postgres).make()
    with Board.open(url) as other:
        other.agent("main", session="s1").call("todo", {"set": ["Mine"]})
    with pytest.raises(CopyRefused, match="not empty"):
        _copy(board, url, lambda _done, _total: None)
    with Board.open(url) as other:
        assert [row.session for row in other.lists()] == ["s1"]
