"""When and why agents entered plan mode."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from punchlist.store import codec
from punchlist.store.faults import RowDamaged
from punchlist.store.queries import Queries
from punchlist.store.rows import AgentRow


class ModeRows:
    """Reads and writes modes within a transaction."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries

    def entered(self, agent: int) -> dict[str, Any] | None:
        """What was said when the agent entered its mode; None if nothing was."""
        row = self._queries.one("find_mode", {"agent": agent})
        if row is None or row[1] is None:
            return None
        total, body = row
        if codec.checksum(_head(agent), body) != total:
            raise RowDamaged("a row is not what was written")
        try:
            return codec.decode_data(body)
        except msgspec.MsgspecError as error:
            raise RowDamaged("a row is not readable: the mode of an agent") from error

    def save(self, agent: AgentRow, mode: str, entered: Mapping[str, Any] | None, *, at: datetime) -> None:
        body = None if entered is None else codec.encode(entered)
        total = None if body is None else codec.checksum(_head(agent.number), body)
        values = {"agent": agent.number, "mode": mode, "body": body, "sum": total, "at": codec.microseconds(at)}
        self._queries.run("save_mode", values)


def _head(agent: int) -> str:
    return f"{agent} mode"
