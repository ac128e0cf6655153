"""Where state and events are kept: one contract, SQLite behind it, on disk or in memory."""

from punchlist.store.contract import AgentRow, Durability, ListRow, SessionRow, Store, Transaction
from punchlist.store.opening import open_store, store_path

__all__ = ["AgentRow", "Durability", "ListRow", "SessionRow", "Store", "Transaction", "open_store", "store_path"]
