"""What the log tells of one list, beside its past revisions."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from punchlist.store import codec
from punchlist.store.contract import AgentRow
from punchlist.store.faults import readable

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

    def wiped(self, agent: AgentRow, plan_id: str) -> tuple[int, int] | None:
        """How many items of a plan its dialect cleared when they were done, and the revision of the last time."""
        first = plan_id.removeprefix("p")
        if not first.isdecimal():
            return None
        found = self._rows.all("wiped_from_plan", {"agent": agent.number, "first": int(first), "most": 2**62})
        if not found:
            return None
        return sum(len(readable(codec.decode_data, data)["ids"]) for _, data in found), found[-1][0]
