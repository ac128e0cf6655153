"""Boards that were made before there were tasks, and rows of tasks that are damaged."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.errors import StoreDamaged
from punchlist.store.files import APPLICATION_ID
from punchlist.store.queries import migrations, statements


def test_a_board_from_before_there_were_tasks_gets_them_and_keeps_everything(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with closing(sqlite3.connect(path)) as old:
        for statement in statements(migrations()[0]):
            old.execute(statement)
        old.execute("INSERT INTO sessions VALUES ('s1', '/projects/old', 1, 1)")
        old.execute(
            "INSERT INTO agents (session, name, project, created_at, updated_at, recent) "
            "VALUES ('s1', 'main', '/projects/old', 1, 1, 1)"
        )
        old.execute("INSERT INTO events (at, kind, author, agent, data) VALUES (1, 'agent.joined', 'main', 1, '{}')")
        old.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        old.execute("PRAGMA user_version = 1")
        old.commit()
    with Board.open(path) as board:
        assert [event.kind for event in board.events()] == ["agent.joined"]
        assert board.tasks("default").create("one").id == "1"
        assert [event.kind for event in board.events()] == ["agent.joined", "task.created"]


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
