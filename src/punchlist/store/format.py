"""A board's file: made private, opened, recognised, and brought to the present format."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from contextlib import suppress

from punchlist.errors import StoreDamaged, StoreTooNew, StoreUnavailable
from punchlist.store.contract import Durability
from punchlist.store.queries import migrations, statements

CHECKPOINT_PAGES = 2000
"""After so many pages (8 MB) a commit also carries the log over into the file, which costs it some milliseconds."""

APPLICATION_ID = 0x50554E43
"""'PUNC' in the file's header says that the file is a board."""

_making = threading.Lock()


def make_private_file(path: str) -> None:
    """Makes the file, readable by its owner alone, in a folder of the same kind, if they are not there.

    An existing file is not opened here: closing it again would drop the locks of this process's connections. For
    the same reason no other thread comes by while a new one is open.
    """
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        os.makedirs(folder, mode=0o700, exist_ok=True)
    with _making:
        try:
            found = os.stat(path)
        except FileNotFoundError:
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            return
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "not a file"
        raise StoreUnavailable(path=path, problem=f"it is {kind}")


def connect(path: str, *, durability: Durability, timeout: float) -> sqlite3.Connection:
    """A connection to a board of the present format, in memory when the path is empty.

    The caller is alone with the file. Nothing is written to a file that is not ours, or that is too new for us.
    """
    connection = sqlite3.connect(
        path or ":memory:", isolation_level=None, check_same_thread=False, timeout=timeout, cached_statements=64
    )
    try:
        found = _recognise(connection, path)
        if path:
            (journal,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            if journal != "wal":
                raise StoreUnavailable(path=path, problem="its file system cannot share memory between programs")
            connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'full' else 'NORMAL'}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        else:
            connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA trusted_schema = OFF")
        if found < len(migrations()):
            _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _recognise(connection: sqlite3.Connection, path: str) -> int:
    """The format of the file; 0 if it is empty."""
    known = len(migrations())
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    if owner == APPLICATION_ID:
        if found > known:
            raise StoreTooNew(path=path, found=found, known=known)
        if found < 1:
            raise StoreDamaged(path=path, problem=f"it says that it has format {found}")
    elif owner != 0 or found != 0 or connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is not None:
        raise StoreDamaged(path=path, problem="it is a database of another program")
    return found


def _migrate(connection: sqlite3.Connection, path: str) -> None:
    """Brings the file to the present format, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        steps = migrations()[_recognise(connection, path) :]  # again: another process may have been quicker
        for step in steps:
            for statement in statements(step):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(migrations())}")
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
