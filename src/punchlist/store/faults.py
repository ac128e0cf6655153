"""Map errors of SQLite and of the system to ours: with a code, the file, and what to do next."""

from __future__ import annotations

import errno
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
from punchlist.store.records import RowDamaged

_PRIMARY = 0xFF
_MISSING = ("no such table", "no such column", "malformed database schema")
_UNREADABLE = "Could not decode to UTF-8"


def fault(error: sqlite3.Error, path: str, *, seconds: float = 30) -> StoreError:
    """Return the error to raise instead of one of SQLite's. `seconds` is the time that a lock was waited for."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    problem = str(error)
    if isinstance(error, RowDamaged) or _UNREADABLE in problem:
        return StoreDamaged(path=path, problem=problem)
    match (code & _PRIMARY) if code is not None else None:
        case sqlite3.SQLITE_FULL:
            return StoreFull(path=path)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED | sqlite3.SQLITE_PROTOCOL:
            return StoreBusy(path=path, seconds=f"{seconds:g}")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_FORMAT:
            return StoreDamaged(path=path, problem=problem)
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return StoreUnavailable(path=path, problem=problem)
        case None if "closed database" in problem:
            return StoreClosed(path=path)
        case sqlite3.SQLITE_ERROR if any(said in problem for said in _MISSING):
            return StoreDamaged(path=path, problem=problem)
        case _:
            return StoreFailed(path=path, problem=problem)


def os_fault(error: OSError, path: str) -> StoreError:
    """Return the error to raise instead of one of the system's, about a file of the board."""
    problem = error.strerror or str(error)
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return StoreFull(path=path)
        case errno.EIO:
            return StoreFailed(path=path, problem=problem)
        case _:
            return StoreUnavailable(path=path, problem=problem)


@contextmanager
def faults(path: str) -> Generator[None]:
    """Raise our errors for SQLite's and for those of the system."""
    try:
        yield
    except sqlite3.Error as error:
        raise fault(error, path) from error
    except UnicodeDecodeError as error:  # in SQLite's own message about the schema, which quotes it
        raise StoreDamaged(path=path, problem="its schema is not readable") from error
    except OSError as error:
        raise os_fault(error, path) from error
