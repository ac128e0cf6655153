"""How SQLite answers the named queries: by an index, however large the board."""

import sqlite3
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.store.queries import queries

VALUES: dict[str, int] = dict.fromkeys(
    ("session", "name", "agent", "project", "limit", "after", "upto", "author", "parent", "spawn_id", "before"), 1
)
HOT = {
    "find_agent": ["SEARCH agents USING INDEX sqlite_autoindex_agents_1 (session=? AND name=?)"],
    "save_list": ["SEARCH agents USING INTEGER PRIMARY KEY (rowid=?)"],
    "lists_of_project": ["SEARCH agents USING INDEX agents_by_project (project=?)"],
    "lists_of_board": ["SCAN agents USING INDEX agents_by_time"],
    "agents_of_session": [
        "SEARCH agents USING INDEX sqlite_autoindex_agents_1 (session=?)",
        "USE TEMP B-TREE FOR ORDER BY",
    ],
    "events_after": [
        "SEARCH e USING INTEGER PRIMARY KEY (rowid>?)",
        "SEARCH a USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN",
    ],
    "last_events": ["SCAN e", "SEARCH a USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN"],
    "last_seq": ["SEARCH events"],
    "events_of_list": ["SEARCH events USING INDEX events_of_agent (agent=? AND revision>? AND revision<?)"],
    "changes_by_author": ["SEARCH events USING INDEX events_of_agent (agent=? AND revision>?)"],
    "written_at": [
        "SEARCH agents USING INTEGER PRIMARY KEY (rowid=?)",
        "SCALAR SUBQUERY 1",
        "SEARCH events USING INDEX events_of_agent (agent=? AND revision=?)",
    ],
    "confirmed_at": ["SEARCH events USING INDEX events_of_agent (agent=? AND revision=?)"],
    "snapshot_before": ["SEARCH snapshots USING PRIMARY KEY (agent=? AND revision<?)"],
    "find_call": ["SEARCH calls USING PRIMARY KEY (agent=? AND call_id=?)"],
    "sessions_of_board": [
        "SCAN s USING INDEX sessions_by_time",
        "CORRELATED SCALAR SUBQUERY 1",
        "SEARCH a USING COVERING INDEX sqlite_autoindex_agents_1 (session=?)",
        "CORRELATED SCALAR SUBQUERY 2",
        "SEARCH a USING INDEX sqlite_autoindex_agents_1 (session=?)",
    ],
    "sessions_of_project": [
        "SEARCH s USING INDEX sessions_by_project (project=?)",
        "CORRELATED SCALAR SUBQUERY 1",
        "SEARCH a USING COVERING INDEX sqlite_autoindex_agents_1 (session=?)",
        "CORRELATED SCALAR SUBQUERY 2",
        "SEARCH a USING INDEX sqlite_autoindex_agents_1 (session=?)",
    ],
    "delete_events": [
        "SEARCH events USING INDEX events_of_agent (agent=?)",
        "SCALAR SUBQUERY 1",
        "SEARCH events",
    ],
}
"""`SCAN … USING INDEX` and the bare `SCAN e` end at their limit: they walk in the order that is asked for."""


@pytest.fixture
def connection(tmp_path: Path) -> sqlite3.Connection:
    Board.open(tmp_path / "board.db").close()
    return sqlite3.connect(tmp_path / "board.db")


@pytest.mark.parametrize("name", sorted(HOT))
def test_a_query_of_the_hot_paths_keeps_its_plan(connection: sqlite3.Connection, name: str) -> None:
    statement = queries()[name]
    values = (1,) * statement.count("?") or VALUES
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    connection.close()
    assert plan == HOT[name]


def test_every_query_is_valid_and_used(connection: sqlite3.Connection) -> None:
    values: dict[str, int] = {**VALUES, **dict.fromkeys(("at", "label", "source", "target"), 1)}
    sources = "".join(path.read_text() for path in Path("src/punchlist/store").glob("*.py"))
    for name, statement in queries().items():
        given = (1,) * statement.count("?") or values
        connection.execute(f"EXPLAIN {statement}", given)
        assert f'"{name}"' in sources, f"nobody uses {name}"
    connection.close()
