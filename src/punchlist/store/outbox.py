"""Rows of what is on its way from this machine to a team's server, and of what came back from there."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from punchlist.store.records import Rows, microseconds, moment

MOST_BYTES: Final = 64 * 1024 * 1024
"""Bytes that may wait for a server that is away; lines after that are dropped and counted."""

_MOST_CALLS: Final = 1_000


class RelayState(NamedTuple):
    """The number of the last line, the bytes that wait, the lines that were dropped, and when one was last sent."""

    last: int = 0
    bytes: int = 0
    dropped: int = 0
    sent_at: datetime | None = None


class WaitingLine(NamedTuple):
    """A line that was not sent yet. Its hook waits for the answer `until` then, in seconds; 0 if nobody waits."""

    number: int
    id: str
    event: str
    until: float
    line: bytes


class OutboxRows(Rows):
    def load_state(self) -> RelayState:
        row = self._rows.one("load_relay")
        if row is None:
            return RelayState()
        last, size, dropped, sent_at = row
        return RelayState(last, size, dropped, None if sent_at is None else moment(sent_at))

    def save_state(self, state: RelayState) -> None:
        sent_at = None if state.sent_at is None else microseconds(state.sent_at)
        self._rows.run("save_relay", {**state._asdict(), "sent_at": sent_at})

    def add(self, id: str, event: str, line: bytes, state: RelayState, *, until: float) -> None:
        """Append a line that has the number after the last one; `state` is as it was loaded."""
        number = state.last + 1
        values = {"number": number, "id": id, "event": event, "until": round(until * 1e6), "line": line}
        self._rows.run("add_to_outbox", values)
        self.save_state(RelayState(number, state.bytes + len(line), 0, state.sent_at))

    def first(self, most: int) -> list[WaitingLine]:
        rows = self._rows.all("first_of_outbox", {"most": most})
        return [WaitingLine(*row)._replace(until=row[3] / 1e6) for row in rows]

    def is_waiting(self, id: str) -> bool:
        """True if the line of an event was not sent yet."""
        return self._rows.one("find_in_outbox", {"id": id}) is not None

    def has_upto(self, number: int) -> bool:
        """True if a line with this number, or one before it, was not sent yet."""
        return self._rows.one("has_outbox_upto", {"number": number}) is not None

    def delete(self, lines: list[WaitingLine], *, at: datetime | None) -> None:
        """Delete lines that were sent at a time, or with None that are not to be sent."""
        for one in lines:
            self._rows.run("delete_from_outbox", {"number": one.number})
        state = self.load_state()
        size = state.bytes - sum(len(one.line) for one in lines)
        self.save_state(state._replace(bytes=max(0, size), sent_at=at or state.sent_at))

    # Calls that began on this machine.

    def save_call(self, agent: str, id: str, body: bytes, *, background: str = "") -> None:
        values = {"agent": agent, "id": id, "background": background, "body": body}
        self._rows.run("save_described_call", values)
        self._rows.run("forget_described_calls", {"most": _MOST_CALLS})

    def find_call(self, agent: str, id: str) -> bytes | None:
        return self._rows.value("find_described_call", {"agent": agent, "id": id})

    def find_background_call(self, agent: str, background: str) -> bytes | None:
        """Return the latest call whose command runs in the background under this name."""
        return self._rows.value("find_background_call", {"agent": agent, "background": background})

    # What came from the server.

    def save_line(self, session: str, line: str) -> None:
        self._rows.run("save_team_line", {"session": session, "line": line})

    def find_line(self, session: str) -> str | None:
        return self._rows.value("find_team_line", {"session": session})
