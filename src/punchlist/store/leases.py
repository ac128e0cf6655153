"""Leases that are renewed because their agent was seen at work. Costs a look-up in memory when there are none."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from punchlist.store import codec

if TYPE_CHECKING:
    from punchlist.store.transaction import Rows


class Leases:
    """Remembers until when there is nothing to renew for an agent, as long as nobody else writes."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._next: dict[int, int | None] = {}  # in microseconds; None stands for no lease

    def forget(self) -> None:
        self._next.clear()

    def renew(self, agent: int, at: datetime) -> None:
        """An agent was seen at this time: what it has claimed stays its own."""
        until = self._next.get(agent, 0)
        if until is None or (now := codec.microseconds(at)) < until:
            return
        (least,) = self._rows.one("least_lease", (agent,))
        if least is not None:
            self._rows.run("renew_leases", {"agent": agent, "now": now})
        if len(self._next) > 4096:
            self._next.clear()
        self._next[agent] = None if least is None else now + least // 4
