"""Other programs' SQLite stores, opened through SQLite alone and only to read."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from punchlist.errors import TranscriptError

SUFFIXES = (".db", ".sqlite", ".sqlite3")
_PATIENCE = 2.0


def is_store(path: str) -> bool:
    """By its name: to open and close the file, just to look, would drop locks that this process holds on it."""
    return path.endswith(SUFFIXES)


def connect(path: str) -> sqlite3.Connection:
    if not os.path.isfile(path):
        raise TranscriptError(path=path, problem="there is no such file")
    try:
        return sqlite3.connect(f"file:{quote(os.path.abspath(path))}?mode=ro", uri=True, timeout=_PATIENCE)
    except sqlite3.Error as error:
        raise _unreadable(path, error) from error


def rows(connection: sqlite3.Connection, path: str, query: str, values: Sequence[Any] = ()) -> Iterator[Any]:
    """What a query finds, row by row; text that is no text comes with its bad bytes replaced."""
    connection.text_factory = _text
    try:
        yield from connection.execute(query, values)
    except (sqlite3.Error, OverflowError) as error:
        raise _unreadable(path, error) from error


def _text(body: bytes) -> str:
    return body.decode("utf-8", "replace")


def tables(path: str) -> frozenset[str]:
    connection = connect(path)
    try:
        found = rows(connection, path, "SELECT name FROM sqlite_master WHERE type = 'table'")
        return frozenset(name for (name,) in found)
    finally:
        connection.close()


def _unreadable(path: str, error: Exception) -> TranscriptError:
    said = str(error)
    problem = "another program holds it; try again" if "locked" in said or "busy" in said else said
    return TranscriptError(path=path, problem=problem)
