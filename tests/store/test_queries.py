"""The named statements: how SQLite answers each, however large the board, and that each is used."""

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.store.records import queries

SMALL_TABLES = {
    "board",  # one row
    "inbox",  # one row
    "tokens",  # a person makes each
    "machines",  # one row for each token of one
    "sign_ins",  # a person makes each, and it is gone after ten minutes
    "notices",  # agents and waits that a person may still have to be told of
    "host_calls",  # the latest thousands: each new one deletes the oldest
    "handoffs",  # each new one deletes those that are too old
    "watched_files",  # one row for each log that exists
}
OPEN_ONLY = {"items_standing", "plans_proposed", "questions_open", "tasks_due", "tasks_standing", "tasks_waiting"}
"""Indexes that hold only what is open or waits."""

HAS_LISTS = "EXISTS (SELECT 1 FROM task_lists)"
"""Ends at the first row."""

EXCEPTIONS = {
    "count_rows": "`doctor` tells how much there is on the board",
    "list_projects": "counts the sessions of each project, by a covering index",
    "memories_of_board": "costs and stalls are of every agent: one row for each",
    "overviews_of_board": "the overview has one row for each agent",
    "task_lists": "names every list: one row for each project and session that has tasks",
}
_TABLE = re.compile(r"\b(?:FROM|JOIN|UPDATE|INTO)\s+(\w+)(?:\s+(?:AS\s+)?([a-z]\w*)\b)?")
_NAME = re.compile(r":([a-z_]+)")


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    Board.open(tmp_path / "board.db").close()
    connection = sqlite3.connect(tmp_path / "board.db")
    yield connection
    connection.close()


def test_no_statement_reads_a_table_that_grows(connection: sqlite3.Connection) -> None:
    found = {name for name, statement in queries().items() if _grows(connection, statement)}
    assert found == set(EXCEPTIONS)
    assert len(EXCEPTIONS) <= 5


@pytest.mark.parametrize(
    ("statement", "grows"),
    [
        ("SELECT id FROM agents WHERE id = :id", False),
        ("SELECT kind FROM events ORDER BY seq DESC LIMIT :limit", False),
        ("SELECT kind FROM events ORDER BY at DESC LIMIT :limit", True),
        ("SELECT kind FROM events WHERE at = :at", True),
        ("SELECT e.kind FROM agents a JOIN events e ON e.at = a.created_at WHERE a.id = :id", True),
    ],
)
def test_a_statement_that_grows_is_found(connection: sqlite3.Connection, statement: str, grows: bool) -> None:
    assert _grows(connection, statement) is grows


def _grows(connection: sqlite3.Connection, statement: str) -> bool:
    """True if a statement scans a table that grows, or makes an index for itself.

    A scan that walks in the order that is asked for ends at its limit.
    """
    text = statement.replace(HAS_LISTS, "1")
    plan = [detail for *_, detail in connection.execute(f"EXPLAIN QUERY PLAN {text}", _values(text))]
    if any("AUTOMATIC" in step for step in plan):
        return True
    if "LIMIT" in text and not any("TEMP B-TREE" in step for step in plan):
        return False
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    named = {alias or table: table for table, alias in _TABLE.findall(text)} | {table: table for table in tables}
    scans = [step.split() for step in plan if step.startswith("SCAN ")]
    return any(named.get(words[1]) in tables - SMALL_TABLES and words[-1] not in OPEN_ONLY for words in scans)


def _values(statement: str) -> dict[str, int] | tuple[int, ...]:
    return dict.fromkeys(_NAME.findall(statement), 1) or (1,) * statement.count("?")


def test_every_statement_is_valid_and_used(connection: sqlite3.Connection) -> None:
    sources = "".join(path.read_text() for path in Path("src/punchlist/store").glob("*.py"))
    for name, statement in queries().items():
        connection.execute(f"EXPLAIN {statement}", _values(statement))
        assert f'"{name}"' in sources, f"nobody uses {name}"


SQLITE_ONLY = re.compile(
    r"\bGLOB\b|\bINDEXED BY\b|\b(?:max|min)\([^()]*,|\bsubstr\([^()]*, -"
    r"|\bLIMIT -|\browid\b|\bINSERT OR\b|\bSELECT [:?]\w*(?: UNION|, 0)"
)


def test_no_statement_uses_what_only_sqlite_has() -> None:
    assert [name for name, statement in queries().items() if SQLITE_ONLY.search(statement)] == []


@pytest.mark.parametrize("name", ["open_tool_calls", "oldest_open_tool_call", "tool_calls_in_window"])
def test_open_calls_are_searched_by_the_index_that_has_no_others(connection: sqlite3.Connection, name: str) -> None:
    statement = queries()[name]
    plan = [detail for *_, detail in connection.execute(f"EXPLAIN QUERY PLAN {statement}", _values(statement))]
    assert any("USING INDEX open_calls (agent=?" in step for step in plan)
    assert not any("tool_calls USING PRIMARY KEY" in step for step in plan)
