"""SQLite's errors as ours: with a code, the file, and what to do next."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from punchlist.errors import (
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreFailed,
    StoreFull,
    StoreUnavailable,
)

_PRIMARY = 0xFF
_CLOSED = "closed database"


def fault(error: sqlite3.Error, path: str) -> StoreError:
    """The error to raise instead of one of SQLite's."""
    code = getattr(error, "sqlite_errorcode", None)
    problem = str(error)
    match (code & _PRIMARY) if code is not None else None:
        case sqlite3.SQLITE_FULL:
            return StoreFull(path=path)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreBusy(path=path, seconds=30)
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_FORMAT:
            return StoreDamaged(path=path, problem=problem)
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return StoreUnavailable(path=path, problem=problem)
        case None if _CLOSED in problem:
            return StoreClosed(path=path)
        case sqlite3.SQLITE_ERROR if "no such table" in problem or "no such column" in problem:
            return StoreDamaged(path=path, problem=problem)
        case _:
            return StoreFailed(path=path, problem=problem)


@contextmanager
def faults(path: str) -> Generator[None]:
    """Raises our errors for SQLite's."""
    try:
        yield
    except sqlite3.Error as error:
        raise fault(error, path) from error
