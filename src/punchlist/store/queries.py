"""Run the named queries of `sql/` on one connection, and read the schema of `migrations/`."""

from __future__ import annotations

import os
import re
import sqlite3
from functools import cache
from typing import Any

from punchlist.store.records import RowDamaged

_FOLDER = os.path.dirname(__file__)
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


class Queries:
    """Named queries on one connection. All rows of the store are read and written through these three methods.

    Another engine needs another class of this kind and its own dialect of the SQL files; the repositories on top stay.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._sql = queries()

    def _execute(self, name: str, values: Any) -> sqlite3.Cursor:
        try:
            return self.connection.execute(self._sql[name], values)
        except UnicodeDecodeError as error:  # in SQLite's own message about the schema, which quotes it
            raise RowDamaged("the schema is not readable") from error

    def one(self, name: str, values: Any = ()) -> Any:
        """Return the first row that a named query finds, or None."""
        return self._execute(name, values).fetchone()

    def all(self, name: str, values: Any = ()) -> list[Any]:
        """Return all rows that a named query finds."""
        return self._execute(name, values).fetchall()

    def run(self, name: str, values: Any = ()) -> int:
        """Run a named statement; return how many rows it changed."""
        return self._execute(name, values).rowcount


class Rows:
    """Base of the repositories: each reads and writes the rows of one thing, within one transaction."""

    def __init__(self, rows: Queries) -> None:
        self._rows = rows


@cache
def queries() -> dict[str, str]:
    """Read each query of the SQL files, by its name and without its comments."""
    found: dict[str, str] = {}
    for text in _texts("sql"):
        _, *parts = _NAME.split(text)
        for name, body in zip(parts[::2], parts[1::2], strict=True):
            lines = [line for line in body.splitlines() if line and not line.startswith("--")]
            found[name] = "\n".join(lines).rstrip(";")
    return found


@cache
def migrations() -> tuple[str, ...]:
    """Return the scripts that lead from an empty file to the present schema, in order."""
    return tuple(_texts("migrations"))


def _texts(folder: str) -> list[str]:
    where = os.path.join(_FOLDER, folder)
    texts: list[str] = []
    for name in sorted(os.listdir(where)):
        if name.endswith(".sql"):
            with open(os.path.join(where, name), encoding="utf-8") as file:
                texts.append(file.read())
    return texts


def statements(script: str) -> list[str]:
    """Split a script into its statements. A semicolon ends one only at the end of a line."""
    return [part for part in (piece.strip() for piece in re.split(r";\s*$", script, flags=re.MULTILINE)) if part]
