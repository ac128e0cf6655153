"""Boards in schemas of one database, each of its own."""

from __future__ import annotations

import os
from itertools import count
from typing import LiteralString, cast
from urllib.parse import quote

import psycopg

from punchlist.store import store_path

_numbers = count()
_free: list[str] = []
"""Schemas with empty tables: to make these takes longer than most tests."""

_EMPTY = """DO $$ DECLARE one record; BEGIN
FOR one IN SELECT tablename AS name FROM pg_tables WHERE schemaname = '{0}' AND tablename <> 'board' LOOP
    EXECUTE format('DELETE FROM {0}.%I', one.name);
END LOOP;
FOR one IN SELECT sequencename AS name FROM pg_sequences WHERE schemaname = '{0}' LOOP
    EXECUTE format('ALTER SEQUENCE {0}.%I RESTART', one.name);
END LOOP; END $$"""


class PostgresBoards:
    """Gives each name of a board a schema; each board in memory gets another one."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._found: dict[str, str] = {}
        self._schemas: list[str] = []

    def find(self, url: str | os.PathLike[str] | None = None) -> str:
        """Return the address of the board that a test calls by this name."""
        name = store_path(url)
        if name.startswith("postgresql:"):
            return name
        if not name or name not in self._found:
            self._found[name] = self.make()
        return self._found[name]

    def make(self) -> str:
        """Return the address of an empty schema."""
        schema = _free.pop() if _free else f"board{os.getpid()}_{next(_numbers)}"
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(cast(LiteralString, f"CREATE SCHEMA IF NOT EXISTS {schema}"))
        self._schemas.append(schema)
        return f"{self._url}{'&' if '?' in self._url else '?'}options=-csearch_path%3D{schema}"

    def clear(self) -> None:
        """Empty the boards of a test, for the next one."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            for schema in self._schemas:
                connection.execute(cast(LiteralString, _EMPTY.format(schema)))
        _free.extend(self._schemas)


_databases = count()


class PooledBoards(PostgresBoards):
    """Gives each name a database of its own behind a pooler, which knows no setting of a connection."""

    def __init__(self, url: str, pooler: str) -> None:
        super().__init__(url)
        self._pooler = pooler

    def make(self) -> str:
        name = f"board{os.getpid()}_{next(_databases)}"
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(cast(LiteralString, f"CREATE DATABASE {name}"))
        direct = quote(self._url.replace("/postgres?", f"/{name}?"))
        return f"{self._pooler}/{name}?prepare=off&listen_url={direct}"
