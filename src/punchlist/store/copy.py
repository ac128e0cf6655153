"""Copy a board into another one, of either engine: table by table in slices, so that a copy that was cut short goes on.

The target takes over the key of the source, by which a copy that was begun is known again. At the end the counts and
checksums of all tables are compared.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cache
from itertools import chain, islice
from typing import Any, NamedTuple
from zlib import crc32

from punchlist.errors import CopyRefused
from punchlist.store.base import Store
from punchlist.store.files import is_address
from punchlist.store.migrate import migrate
from punchlist.store.transaction import Transaction

_SLICE = 500
_MARK = "copying"
"""The mark that a target has until all is copied and compared."""


class Table(NamedTuple):
    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    """The columns of its primary key; all columns where it has none."""
    counter: str | None
    """The column that the database numbers by itself."""


class CopiedTable(NamedTuple):
    name: str
    rows: int
    checksum: int


@cache
def list_tables() -> tuple[Table, ...]:
    """Return every table of the present schema but that of the board's own row."""
    query = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
    found: list[Table] = []
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, "")
        for name, script in connection.execute(query).fetchall():
            columns = connection.execute(f"PRAGMA table_info({name})").fetchall()
            key = tuple(column[1] for column in sorted(columns, key=lambda column: column[5]) if column[5])
            is_counted = len(key) == 1 and f"{key[0]} INTEGER PRIMARY KEY" in script and "CHECK" not in script
            names = tuple(column[1] for column in columns)
            found.append(Table(name, names, key or names, key[0] if is_counted else None))
    return tuple(table for table in found if table.name != "board")


def copy_board(source: Store, target: Store, tell: Callable[[int, int], None]) -> list[CopiedTable]:
    """Copy all rows, and call `tell` with how many are copied, and of how many; return what was compared.

    Raise `CopyRefused` if the target has rows of its own, or is not equal at the end.
    """
    return source.read(lambda tx: _copy(tx, target, tell))


def _copy(source: Transaction, target: Store, tell: Callable[[int, int], None]) -> list[CopiedTable]:
    key = source.board_key()
    target.transact(lambda tx: _begin(tx, key, target.path))
    total = sum(_count(source, table) for table in list_tables())
    done = 0
    for table in list_tables():
        last = _find_start(source, target, table)
        done += target.read(lambda tx, table=table: _count(tx, table))
        for rows in _read_slices(source, table, last):
            target.transact(lambda tx, table=table, rows=rows: _insert(tx, table, rows), durable=False)
            done += len(rows)
            tell(done, total)
    compared = [_compare(source, target, table) for table in list_tables()]
    target.transact(lambda tx: _finish(tx, target.path))
    return compared


def _find_start(source: Transaction, target: Store, table: Table) -> tuple[Any, ...] | None:
    """Return the key of the last row that an earlier try copied; None if it copied none.

    If the source has changed such rows since, they are deleted, and the table is copied from its beginning.
    """
    copied = target.read(lambda tx: _sum_up(tx, table))
    if copied == _sum_up(source, table, copied.rows):
        return target.read(lambda tx: _find_last(tx, table))
    target.transact(lambda tx: tx.connection.execute(f"DELETE FROM {table.name} WHERE {_is_copied(table)}"))
    return None


def _compare(source: Transaction, target: Store, table: Table) -> CopiedTable:
    ours = _sum_up(source, table)
    theirs = target.read(lambda tx: _sum_up(tx, table))
    if ours != theirs:
        problem = f"the table `{table.name}` differs: {ours.rows} rows here, {theirs.rows} there, or other content"
        raise CopyRefused(path=target.path, problem=f"{problem}; another program writes to it")
    return ours


def _begin(tx: Transaction, key: bytes, path: str) -> None:
    if tx.log.mark(_MARK):
        if tx.board_key() != key:
            raise CopyRefused(path=path, problem="it holds a part of another board")
        return
    for table in list_tables():
        if tx.connection.execute(f"SELECT 1 FROM {table.name} LIMIT 1").fetchone() is not None:
            raise CopyRefused(path=path, problem="it is not empty")
    tx.connection.execute("UPDATE board SET key = ?", (key,))
    tx.log.save_mark(_MARK, 1)


def _finish(tx: Transaction, path: str) -> None:
    tx.connection.execute("DELETE FROM marks WHERE name = ?", (_MARK,))
    if not is_address(path):
        return
    for table in list_tables():
        if table.counter is not None:
            where = f"pg_get_serial_sequence('{table.name}', '{table.counter}')"
            most = f"(SELECT coalesce(max({table.counter}), 0) + 1 FROM {table.name})"
            tx.connection.execute(f"SELECT setval({where}, {most}, false)")


def _is_copied(table: Table) -> str:
    return f"name <> '{_MARK}'" if table.name == "marks" else "1 = 1"


def _count(tx: Transaction, table: Table) -> int:
    return tx.connection.execute(f"SELECT count(*) FROM {table.name} WHERE {_is_copied(table)}").fetchone()[0]


def _find_last(tx: Transaction, table: Table) -> tuple[Any, ...] | None:
    """Return the key of the last row of a table."""
    keys, condition = ", ".join(table.key), _is_copied(table)
    order = ", ".join(f"{name} DESC" for name in table.key)
    query = f"SELECT {keys} FROM {table.name} WHERE {condition} ORDER BY {order} LIMIT 1"
    return tx.connection.execute(query).fetchone()


def _read_slices(tx: Transaction, table: Table, last: tuple[Any, ...] | None = None) -> Iterator[list[Any]]:
    """Yield the rows of a table after a key, in the order of their keys."""
    columns, keys = ", ".join(table.columns), ", ".join(table.key)
    places = [table.columns.index(name) for name in table.key]
    while True:
        after = f" AND ({keys}) > ({', '.join('?' * len(table.key))})" if last is not None else ""
        query = f"SELECT {columns} FROM {table.name} WHERE {_is_copied(table)}{after} ORDER BY {keys} LIMIT {_SLICE}"
        rows = tx.connection.execute(query, last or ()).fetchall()
        if rows:
            yield rows
        if len(rows) < _SLICE:
            return
        last = tuple(rows[-1][place] for place in places)


def _insert(tx: Transaction, table: Table, rows: Sequence[Sequence[Any]]) -> None:
    places = f"({', '.join('?' * len(table.columns))})"
    most = 20_000 // len(table.columns)  # values that both engines take in one statement
    for start in range(0, len(rows), most):
        part = rows[start : start + most]
        into = f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES {', '.join([places] * len(part))}"
        tx.connection.execute(into, [value for row in part for value in row])


def _sum_up(tx: Transaction, table: Table, most: int | None = None) -> CopiedTable:
    """Return the count and the checksum of a table, or of its first `most` rows."""
    count = total = 0
    for row in islice(chain.from_iterable(_read_slices(tx, table)), most):
        count += 1
        total = crc32(repr(tuple(row)).encode("utf-8", "surrogatepass"), total)
    return CopiedTable(table.name, count, total)
