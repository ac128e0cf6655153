"""What the log tells of one list, beside its past revisions."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from punchlist.store import codec
from punchlist.store.contract import AgentRow

if TYPE_CHECKING:
    from punchlist.store.transaction import Rows


class HistoryRows:
    """Reads over the rows of one transaction."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def written_at(self, agent: AgentRow) -> datetime | None:
        """When the list was last written, or said again as it is; None if it never was."""
        revision = agent.state.todos.revision
        if not revision:
            return None
        (at,) = self._rows.one("written_at", {"agent": agent.number, "upto": revision})
        confirmed = self._rows.one("confirmed_at", {"agent": agent.number})
        return codec.moment(at if confirmed is None else max(at, confirmed[0]))
