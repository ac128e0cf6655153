"""From the name of a board to its store."""

from __future__ import annotations

import os
import re

from punchlist.errors import StoreUrlInvalid
from punchlist.store.contract import Durability
from punchlist.store.sqlite import SqliteStore

MEMORY = "memory:"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|:memory:")
"""What begins so is meant as a name of some other kind, not as a file; a single letter may be a drive."""


def store_path(url: str | os.PathLike[str] | None = None) -> str:
    """The file that a board's name means; empty for a board in memory.

    None means `$PUNCHLIST_DB`, else the user's own board.
    """
    if url is None:
        url = os.environ.get("PUNCHLIST_DB") or default_path()
    name = os.fspath(url)
    if name == MEMORY:
        return ""
    scheme, separator, rest = name.partition("://")
    if separator and (scheme != "sqlite" or not rest.startswith("/") or len(rest) < 2):
        raise StoreUrlInvalid(url=name)
    if not separator and _SCHEME.match(name):
        raise StoreUrlInvalid(url=name)
    path = rest[1:] if separator else name
    if not path or "\0" in path or path.endswith(("/", os.sep)):
        raise StoreUrlInvalid(url=name)
    return os.path.abspath(os.path.expanduser(path))


def default_path() -> str:
    """The user's own board, where the system keeps such data."""
    from platformdirs import user_data_dir  # not needed when the board is named

    return os.path.join(user_data_dir("punchlist", appauthor=False), "board.db")


def open_store(url: str | os.PathLike[str] | None = None, *, durability: Durability = "full") -> SqliteStore:
    return SqliteStore(store_path(url), durability=durability)
