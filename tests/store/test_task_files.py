"""Rows of tasks that are damaged."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.errors import StoreDamaged


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE tasks SET body = replace(body, 'one', 'two')",
        "UPDATE tasks SET body = x'00'",
        "UPDATE tasks SET status = 'lost', sum = NULL",
        "UPDATE tasks SET id = 2",
        "UPDATE events SET data = '{}'",
    ],
)
def test_a_damaged_row_is_told_and_not_believed(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        board.tasks("default").create("one")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(damage)
        connection.commit()
    with Board.open(path) as board:
        tasks = board.tasks("default")
        read = (lambda: tasks.history("1")) if "events" in damage else tasks.list
        with pytest.raises(StoreDamaged):
            read()
        assert board.agent("main", session="s1").edit({"op": "append", "items": "x"}, by="ada").revision == 1
