"""Find a board's file, check it and the files next to it, and connect to it.

Nothing but SQLite opens the database file: closing a second handle would drop the POSIX locks of this process's
connections.
"""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import stat
import threading
from contextlib import closing, suppress

from punchlist.errors import (
    NotABoard,
    StoreDamaged,
    StoreOutdated,
    StoreTooNew,
    StoreUnavailable,
    StoreUrlInvalid,
)
from punchlist.settings import default_path
from punchlist.settings.servers import hide_password, is_shown_parameter
from punchlist.settings.table import Durability, load_settings, write_private_file
from punchlist.store.records import migrations

MEMORY = "memory:"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|:memory:")
"""A name that begins so is meant as a URL of some other kind, not as a file; a single letter may be a drive."""

CHECKPOINT_PAGES = 2000
"""After so many pages (8 MB) a commit also copies the log into the database, which costs it some milliseconds."""

WAL_BYTES = 64 * 1024 * 1024
"""The log grows while a reader keeps its snapshot. Once that has left, the next writes cut the log to so many bytes."""

APPLICATION_ID = 0x50554E43
"""'PUNC' in the file's header marks the file as a board."""

UNRELEASED = 100
"""The schema version before the first script of `migrations/`, which makes schema 101. Boards of unreleased versions
have 1 to 12 and 100, so that none of them is taken for one of ours."""

SCHEMA = UNRELEASED + len(migrations())
"""The schema version that this program reads and writes: `PRAGMA user_version`."""

UPGRADE = "upgrade Punchlist"
"""The advice for a board that is newer than the program which opens it."""

_PLAIN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/-_.~"
"""Bytes that stand for themselves in a URI."""

_creating = threading.Lock()


def is_address(name: str) -> bool:
    """True if a board's name is the address of a database of PostgreSQL."""
    return name.startswith(("postgresql://", "postgres://"))


def store_path(url: str | os.PathLike[str] | None = None) -> str:
    """Return the file or the database that a board's name means; empty for a board in memory.

    None means `$PUNCHLIST_DB`, else the `db` of the settings file, else the user's own board.
    """
    if url is None:
        url = os.environ.get("PUNCHLIST_DB") or load_settings().db or default_path()
    name = os.fspath(url)
    if is_address(name):
        return name
    if name == MEMORY:
        return ""
    scheme, separator, rest = name.partition("://")
    if separator and (scheme != "sqlite" or not rest.startswith("/") or len(rest) < 2):
        raise StoreUrlInvalid(url=hide_password(name))
    if not separator and _SCHEME.match(name):
        raise StoreUrlInvalid(url=hide_password(name))
    path = rest[1:] if separator else name
    if not path or "\0" in path or path.endswith(("/", os.sep)):
        raise StoreUrlInvalid(url=hide_password(name))
    path = os.path.abspath(os.path.expanduser(path))
    return _read_address(path) if path.endswith(_POINTER) else path


_POINTER = ".url"
_POINTER_NAME = re.compile(r"board-[0-9a-f]{16}\.url")
"""A file that is named so holds the address of a database: hooks and servers know a board by a path."""


def _read_address(path: str) -> str:
    """Return the address in a pointer, or the path itself of another file; a pointer without one is never a board."""
    is_pointer = _POINTER_NAME.fullmatch(os.path.basename(path)) is not None
    address = _read_pointer(path) if is_pointer else ""
    if is_pointer and not is_address(address):
        problem = "it does not tell which database it means; `punchlist attach AGENT` writes it anew"
        raise StoreUnavailable(path=path, problem=problem)
    return address or path


def _read_pointer(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(4096).strip()
    except (OSError, ValueError):
        return ""


def side_path(url: str | os.PathLike[str] | None = None) -> str:
    """Return the path with which the names of a board's side files begin; empty for a board in memory.

    They lie next to its file. Those of a database lie in the user's state folder, next to a file with its address, so
    that settings of agents hold no password. Another password is another address of the same database.
    """
    name = store_path(url)
    if not is_address(name):
        return os.path.realpath(name) if name else ""
    from hashlib import blake2b  # dear, for hooks of a board in a file

    base, _, query = name.partition("?")
    database = "&".join([hide_password(base), *filter(is_shown_parameter, query.split("&"))])
    digest = blake2b(database.encode(), digest_size=8).hexdigest()
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    path = os.path.join(state, "punchlist", f"board-{digest}{_POINTER}")
    if _read_pointer(path) != name:
        write_private_file(path, name)
    return path


# The files next to the board. Another user may have put something else there.


def open_own_file(path: str, flags: int) -> int:
    """Open or create a private file of ours; raise `OSError` if a link, or a file of another kind or user, is there."""
    flags |= os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    flags |= os.O_NONBLOCK  # to open a FIFO that somebody planted would wait for its other end
    try:
        handle = os.open(path, flags, 0o600)
    except OSError as error:
        problem = "is a symbolic link" if error.errno == errno.ELOOP else f"cannot be opened: {error.strerror}"
        raise OSError(error.errno, f"`{os.path.basename(path)}` {problem}") from error
    try:
        _require_own(os.fstat(handle), path)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _require_own(found: os.stat_result, path: str) -> None:
    name = os.path.basename(path)
    if stat.S_ISDIR(found.st_mode):
        raise OSError(f"`{name}` is a folder")
    if stat.S_ISLNK(found.st_mode):
        raise OSError(f"`{name}` is a symbolic link")
    if not stat.S_ISREG(found.st_mode):
        raise OSError(f"`{name}` is not a file")
    if found.st_uid != os.geteuid():
        raise OSError(f"`{name}` belongs to another user")


def _check_files(path: str) -> None:
    """Raise `OSError` unless SQLite would open regular files of our own. It follows links, so we look first."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            _require_own(os.lstat(path + suffix), path + suffix)


def check_board(path: str) -> None:
    """Raise a `StoreError` if the file is there and no board of ours. Creates nothing next to it."""
    if os.path.isdir(path):
        raise NotABoard(path=path, problem="it is a folder")
    if os.path.exists(path) and not os.path.isfile(path):
        raise NotABoard(path=path, problem="it is no regular file")
    if not os.path.exists(path) or not os.path.getsize(path):
        return
    # An immutable file is read without locks and without a -wal or -shm file. The header on its first page says
    # whose it is, and a board's never changes.
    uri = f"file:{quote(path)}?immutable=1"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        try:
            read_schema_version(connection, path)
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
                raise NotABoard(path=path, problem="it is no database") from error
            if error.sqlite_errorcode != sqlite3.SQLITE_CORRUPT:  # pages may be missing that are in the -wal file
                raise


def create_private_file(path: str) -> None:
    """Create the file, readable by its owner alone, in a folder of the same kind, unless they exist."""
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        os.makedirs(folder, mode=0o700, exist_ok=True)
    # Closing the new file drops this process's POSIX locks on it, so no other thread may connect meanwhile.
    with _creating:
        if not os.path.lexists(path):
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    _check_files(path)


# Connections.


def quote(path: str) -> str:
    """Return a path as a part of a URI. `urllib.parse` does the same, and takes 3 ms to import."""
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in os.fsencode(path))


def has_shared_memory(path: str) -> bool:
    """True if a process has the board open, or was killed: then a reader can connect without the lock."""
    return os.path.exists(f"{path}-wal") and os.path.exists(f"{path}-shm")


def _connect(name: str, timeout: float, *, is_uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(
        name, uri=is_uri, isolation_level=None, check_same_thread=False, timeout=timeout, cached_statements=64
    )


def connect_writer(path: str, *, durability: Durability, timeout: float, advice: str = UPGRADE) -> sqlite3.Connection:
    """Connect to a board of any schema up to ours, or to an empty file; in memory when the path is empty.

    The caller holds the board's lock. Nothing is written to a file that is not ours, or that has a newer schema.
    """
    if path:
        _check_files(path)
    connection = _connect(path or ":memory:", timeout)
    try:
        found = read_schema_version(connection, path, advice)
        if path:
            if not found:
                os.chmod(path, 0o600)  # an empty file that was here before; the -wal file gets the same mode
            (journal,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            if journal != "wal":
                raise StoreUnavailable(path=path, problem="its file system cannot share memory between programs")
            connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'full' else 'NORMAL'}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
            connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
        else:
            connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_reader(path: str, *, timeout: float, advice: str = UPGRADE) -> sqlite3.Connection:
    """Connect to a board that can only be read. Such a connection never checkpoints, not even when it is closed."""
    _check_files(path)
    connection = _connect(f"file:{quote(path)}?mode=ro", timeout, is_uri=True)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        read_schema_version(connection, path, advice)  # only now SQLite opens the file
    except BaseException:
        connection.close()
        raise
    return connection


# One statement sees one state of the file. Several could see it half before and half after another process created the
# tables, and take a new board for the database of another program.
_READ_HEADER = """
SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id),
       EXISTS (SELECT 1 FROM sqlite_schema)
"""


def read_schema_version(connection: sqlite3.Connection, path: str, advice: str = UPGRADE) -> int:
    """Return the schema version of the file, 0 if it is empty; raise if it is not ours, or is newer or unreleased.

    `advice` says what to do about a newer one.
    """
    found, owner, has_tables = connection.execute(_READ_HEADER).fetchone()
    if owner == APPLICATION_ID:
        if found > SCHEMA:
            raise StoreTooNew(path=path, found=found, known=SCHEMA, next=advice)
        if found < 1:
            raise StoreDamaged(path=path, problem=f"it says that it has format {found}")
        if found <= UNRELEASED:
            raise StoreOutdated(path=path, found=found)
    elif owner != 0 or found != 0 or has_tables:
        raise NotABoard(path=path, problem="it is a database of another program")
    return found
