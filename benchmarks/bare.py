"""The least that a durable write can be: one event row and one list row, in one transaction of plain `sqlite3`."""

from __future__ import annotations

import sqlite3
from itertools import count
from pathlib import Path

EVENT = b'{"item":"7","from":"pending","to":"in_progress"}'.ljust(150, b" ")


class BareList:
    """One caller and one list, kept in the same way as the board's: WAL, the same synchronous setting."""

    def __init__(self, path: Path, body_size: int, *, synchronous: str) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute(f"PRAGMA synchronous = {synchronous}")
        self._connection.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, at INTEGER, data BLOB)")
        self._connection.execute("CREATE TABLE lists (id INTEGER PRIMARY KEY, revision INTEGER, body BLOB)")
        self._connection.execute("INSERT INTO lists VALUES (1, 0, zeroblob(?))", (body_size,))
        self._bodies = [bytes([letter]) * body_size for letter in b"abcdefgh"]
        self._revision = count(1)

    def write(self) -> None:
        revision = next(self._revision)
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        execute("INSERT INTO events (at, data) VALUES (?, ?)", (revision, EVENT))
        execute("UPDATE lists SET revision = ?, body = ? WHERE id = 1", (revision, self._bodies[revision % 8]))
        execute("COMMIT")

    def close(self) -> None:
        self._connection.close()
