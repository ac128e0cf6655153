"""Store a board's state and events in SQLite, on disk or in memory."""

from punchlist.settings.table import Durability
from punchlist.store.files import store_path
from punchlist.store.records import AgentRow, ListRow, SessionRow
from punchlist.store.sqlite import open_store
from punchlist.store.transaction import Store, Transaction

__all__ = ["AgentRow", "Durability", "ListRow", "SessionRow", "Store", "Transaction", "open_store", "store_path"]
