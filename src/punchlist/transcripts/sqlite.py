"""Other programs' SQLite stores, opened through SQLite alone and only to read."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator, Sequence
from typing import Any
from urllib.parse import quote

from punchlist.errors import TranscriptError

SUFFIXES = (".db", ".sqlite", ".sqlite3")
_PATIENCE = 2.0


def is_store(path: str) -> bool:
    """By its name: to open and close the file, just to look, would drop locks that this process holds on it."""
    return path.endswith(SUFFIXES)


def rows(path: str, query: str, values: Sequence[Any] = ()) -> Generator[Any]:
    """What a query finds, row by row; text that is no text comes with its bad bytes replaced.

    The store is open until the last row was taken, or the generator is closed.
    """
    if not os.path.isfile(path):
        raise TranscriptError(path=path, problem="there is no such file")
    try:
        connection = sqlite3.connect(f"file:{quote(os.path.abspath(path))}?mode=ro", uri=True, timeout=_PATIENCE)
    except sqlite3.Error as error:
        raise _unreadable(path, error) from error
    try:
        connection.text_factory = _text
        yield from connection.execute(query, values)
    except (sqlite3.Error, OverflowError) as error:
        raise _unreadable(path, error) from error
    finally:
        connection.close()


def _text(body: bytes) -> str:
    return body.decode("utf-8", "replace")


def tables(path: str) -> frozenset[str]:
    return frozenset(name for (name,) in rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'"))


def _unreadable(path: str, error: Exception) -> TranscriptError:
    said = str(error)
    problem = "another program holds it; try again" if "locked" in said or "busy" in said else said
    return TranscriptError(path=path, problem=problem)
