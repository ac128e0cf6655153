"""Store a board's state and events: in SQLite, on disk or in memory, or in PostgreSQL."""

import os

from punchlist.errors import ExtraMissing
from punchlist.settings.table import Durability
from punchlist.store.base import Store
from punchlist.store.files import is_address, side_path, store_path
from punchlist.store.records import AgentRow, ListRow, SessionRow
from punchlist.store.sqlite import SqliteStore
from punchlist.store.transaction import Transaction

__all__ = [
    "AgentRow", "Durability", "ListRow", "SessionRow", "Store", "Transaction", "is_address", "open_store", "side_path",
    "store_path",
]  # fmt: skip


def open_store(url: str | os.PathLike[str] | None = None, *, durability: Durability = "full") -> Store:
    """Open the board of that name, creating it if it does not exist. `durability` is that of a file."""
    name = store_path(url)
    if not is_address(name):
        return SqliteStore(name, durability=durability)
    try:
        from punchlist.store.postgres import PostgresStore
    except ImportError as error:
        raise ExtraMissing(what="A board in PostgreSQL", extra="postgres") from error
    return PostgresStore(name)
