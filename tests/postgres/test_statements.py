"""The statements of the store on PostgreSQL: each runs as it is, and answers as on SQLite.

The rows are those of a board of the past that has some in every table. A statement that reads is asked with values from
these rows, of the type that PostgreSQL expects, on both engines.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from random import Random
from typing import Any, LiteralString, cast

import psycopg
import pytest

from punchlist import Board
from punchlist.store.postgres import translate, translate_schema
from punchlist.store.records import queries
from tests.sizes import size
from tests.store.boards import OLD_BOARDS, unpack_board
from tests.store.boards.make_board import join_team

_NAME = re.compile(r":([a-z_]+)")
_EXTREMES = {"bigint": (0, 1, 2**40), "text": ("", "completed", "nobody"), "bytea": (b"",)}
"""Values that no row of the board holds, besides those that some hold."""


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    folder = tmp_path_factory.mktemp("board")
    folder.chmod(0o700)
    path = unpack_board(OLD_BOARDS[-1], folder)
    with Board.open(path) as opened:
        join_team(opened)
    with closing(sqlite3.connect(path)) as connection:
        yield connection


@pytest.fixture
def copy(board: sqlite3.Connection, database: psycopg.Connection) -> psycopg.Connection:
    """The same rows in PostgreSQL, in a schema that the rollback takes back."""
    database.execute("CREATE SCHEMA copied")
    database.execute("SET LOCAL search_path TO copied")
    query = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY type DESC"
    for (script,) in board.execute(query):
        database.execute(translate_schema(script))
    for table in _tables(board):
        rows = board.execute(f"SELECT * FROM {table}").fetchall()
        assert rows, f"{table} has no row to compare"
        places = ", ".join(["%s"] * len(rows[0]))
        with database.cursor() as cursor:
            cursor.executemany(cast(LiteralString, f"INSERT INTO {table} VALUES ({places})"), rows)
    return database


def test_postgres_takes_every_statement_as_it_is(copy: psycopg.Connection) -> None:
    refused: dict[str, str] = {}
    for name, statement in queries().items():
        try:
            with copy.transaction():
                _types_of_parameters(copy, name, statement)
                copy.execute(f"EXPLAIN {translate(statement)}", _nulls(statement))
        except psycopg.Error as error:
            refused[name] = str(error)
    assert refused == {}


def test_both_engines_give_the_same_rows(board: sqlite3.Connection, copy: psycopg.Connection) -> None:
    random = Random(1)
    pools = _values_by_type(board)
    different: dict[str, Any] = {}
    asked = answered = 0
    for name, statement in queries().items():
        if not statement.startswith(("SELECT", "WITH")):
            continue
        types = _types_of_parameters(copy, name, statement)
        for _ in range(size(20, 500)):
            values = [random.choice(pools[kind]) for kind in types]
            ours = board.execute(statement, _bind(statement, values)).fetchall()
            theirs = copy.execute(translate(statement), _bind(statement, values)).fetchall()
            asked += 1
            answered += bool(ours)
            if _comparable(ours, statement) != _comparable(theirs, statement):
                different[name] = (values, ours, theirs)
    assert different == {}
    assert answered > asked / 20, "most questions were about rows that are not there"


def _tables(board: sqlite3.Connection) -> list[str]:
    query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
    return [name for (name,) in board.execute(query)]


def _names(statement: str) -> list[str]:
    return list(dict.fromkeys(_NAME.findall(statement)))


def _bind(statement: str, values: list[Any]) -> Any:
    names = _names(statement)
    return dict(zip(names, values, strict=True)) if names else values


def _nulls(statement: str) -> Any:
    return _bind(statement, [None] * (len(_names(statement)) or statement.count("?")))


def _types_of_parameters(copy: psycopg.Connection, name: str, statement: str) -> list[str]:
    """Ask PostgreSQL for the type of each parameter, in the order in which the statement names them first."""
    numbers = {key: f"${place}" for place, key in enumerate(_names(statement), 1)}
    text = _NAME.sub(lambda found: numbers[found[1]], statement)
    for place in range(statement.count("?")):
        text = text.replace("?", f"${place + 1}", 1)
    copy.execute(cast(LiteralString, f"PREPARE {name} AS {text}".replace("%", "%%")))
    query = "SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = %s"
    row = copy.execute(query, [name]).fetchone()
    assert row is not None
    return ["bigint" if kind in ("integer", "smallint") else kind for kind in row[0]]


def _values_by_type(board: sqlite3.Connection) -> dict[str, list[Any]]:
    """Collect values of every column that statements search by."""
    pools: dict[str, list[Any]] = {kind: list(extremes) for kind, extremes in _EXTREMES.items()}
    kinds: dict[type, str] = {int: "bigint", str: "text", bytes: "bytea"}
    for table in _tables(board):
        for row in board.execute(f"SELECT * FROM {table} LIMIT 3"):
            for value in row:
                is_checksum = isinstance(value, int) and value < 0
                if value is not None and not is_checksum and len(str(value)) < 80:
                    pools[kinds[type(value)]].append(value)
    pools["text"] += [session[-4:] for (session,) in board.execute("SELECT id FROM sessions")]  # found by their end
    return pools


def _comparable(rows: list[Any], statement: str) -> list[Any]:
    """Rows as both engines write values, in their order where the statement asks for one."""
    plain = [tuple(int(value) if isinstance(value, bool) else value for value in row) for row in rows]
    ordered = "ORDER BY" in statement.rpartition(")")[2]
    return plain if ordered else sorted(plain, key=repr)


@pytest.mark.parametrize("name", ["find_task_list", "task_lists_due", "task_lists_due_of_agent"])
def test_what_is_due_is_found_without_a_look_at_every_task(copy: psycopg.Connection, name: str) -> None:
    columns = _columns_of(copy, "tasks")
    chosen = ", ".join(
        {"number": "n", "id": "n", "rank": "n", "due_at": "NULL"}.get(column, column) for column in columns
    )
    copy.execute(
        cast(
            LiteralString,
            f"INSERT INTO tasks ({', '.join(columns)}) SELECT {chosen}"
            " FROM (SELECT * FROM tasks LIMIT 1) one, generate_series(1000, 9000) n",
        )
    )
    copy.execute("ANALYZE")
    copy.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    statement = queries()[name]
    places = list(dict.fromkeys(_NAME.findall(statement)))
    numbered = _NAME.sub(lambda found: f"${places.index(found[1]) + 1}", statement)
    copy.execute(cast(LiteralString, f"PREPARE look AS {numbered}"))
    plan = copy.execute(cast(LiteralString, f"EXPLAIN EXECUTE look ({', '.join(['NULL'] * len(places))})")).fetchall()
    assert not [line for (line,) in plan if "Seq Scan on tasks" in line], plan


def _columns_of(connection: psycopg.Connection, table: str) -> list[str]:
    query = "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 ORDER BY attnum"
    return [name for (name,) in connection.execute(query, (table,))]
