"""Inspect a board's file from outside, for `doctor`: through SQLite, read-only, and never holding up a writer.

The file itself is not opened here: closing it again would drop the locks of this process's connections.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import quote

from punchlist.store.files import has_shared_memory
from punchlist.store.records import microseconds
from punchlist.store.sidecars import SidecarLock
from punchlist.store.sqlite import faults

_LOCK_SECONDS = 5.0


class Inspection(NamedTuple):
    """Counts of a board's rows, and SQLite's own words about damage in `problems`; none if all is well."""

    format: int
    journal: str
    sessions: int
    agents: int
    events: int
    problems: tuple[str, ...]


def inspect(path: str) -> Inspection:
    """Count rows and check the pages. Raise a `StoreError` if the file cannot be read as a board."""
    with _reading(path) as connection:

        def one(statement: str) -> Any:
            return connection.execute(statement).fetchone()[0]

        said = [row[0] for row in connection.execute("PRAGMA quick_check(10)")]
        return Inspection(
            format=one("PRAGMA user_version"),
            journal=one("PRAGMA journal_mode"),
            sessions=one("SELECT count(*) FROM sessions"),
            agents=one("SELECT count(*) FROM agents"),
            events=one("SELECT count(*) FROM events"),
            problems=() if said == ["ok"] else tuple(said),
        )


def count_old_agents(path: str, before: datetime) -> int:
    """Count the agents of sessions without a write since then."""
    statement = (
        "SELECT count(*) FROM agents WHERE session IN "
        "(SELECT session FROM agents GROUP BY session HAVING max(updated_at) < ?)"
    )
    with _reading(path) as connection:
        return connection.execute(statement, (microseconds(before),)).fetchone()[0]


@contextmanager
def _reading(path: str) -> Generator[sqlite3.Connection]:
    """Connect to a board that can only be read: by the lock only where SQLite may have to recover the file first."""
    uri = f"file:{quote(os.fsencode(path))}?mode=ro"
    # Closing the connection needs no lock: one that only reads never checkpoints.
    with faults(path), closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=5)) as connection:
        with ExitStack() as stack:
            if not has_shared_memory(path):
                lock = stack.enter_context(closing(SidecarLock(f"{path}.lock", timeout=_LOCK_SECONDS)))
                stack.enter_context(lock.hold())
            connection.execute("PRAGMA schema_version").fetchone()  # only now SQLite opens the file
        yield connection
