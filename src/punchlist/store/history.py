"""What the log tells of one list, beside its past revisions."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from punchlist.store import codec
from punchlist.store.contract import AgentRow, LastWrite
from punchlist.store.faults import readable

if TYPE_CHECKING:
    from punchlist.store.transaction import Rows


class HistoryRows:
    """Reads over the rows of one transaction."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def last_write(self, agent: AgentRow) -> LastWrite | None:
        values = {"agent": agent.number, "author": agent.name}
        found = self._rows.one("last_write", values)
        written = None if found is None else readable(_write, found)
        again = self._rows.one("said_again", values)
        said = None if again is None else LastWrite(codec.moment(again[0]))
        return max((write for write in (written, said) if write is not None), key=lambda write: write.at, default=None)

    def answered(self, project: str, name: str, call_id: str, fingerprint: bytes) -> str | None:
        values = {"project": project, "name": name, "call_id": call_id, "fingerprint": fingerprint}
        found = self._rows.one("answered", values)
        return None if found is None else found[0]

    def wiped(self, agent: AgentRow, plan_id: str) -> tuple[int, int] | None:
        """How many items of a plan its dialect cleared when they were done, and the revision of the last time."""
        first = plan_id.removeprefix("p")
        if not first.isdecimal():
            return None
        found = self._rows.all("wiped_from_plan", {"agent": agent.number, "first": int(first), "most": 2**62})
        if not found:
            return None
        return sum(len(readable(codec.decode_data, data)["ids"]) for _, data in found), found[-1][0]


def _write(row: Any) -> LastWrite:
    """A list that came from a transcript was written when that says, not when it was brought here."""
    at, data = row
    told = codec.decode_data(data)
    written_at = told.get("written_at")
    return LastWrite(
        codec.moment(at) if written_at is None else datetime.fromisoformat(written_at), told.get("call_id")
    )
