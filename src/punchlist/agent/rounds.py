"""Rounds on a board, counted as Magentic-One counts them, for agents of which that is wanted.

A round is an assistant message with its tools. It brought something when an item of the list moved on, or a tool ended
well, and the agent does not go in circles.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec
from msgspec import Struct, field

from punchlist.agent.beside import Beside
from punchlist.agent.kept import Raised, encode
from punchlist.core.events import Draft
from punchlist.detect.findings import Finding
from punchlist.detect.rounds import RoundOptions, RoundState, ended, has_moved, places
from punchlist.store import AgentRow, Transaction

PART: Final = "rounds"
_LATEST: Final = 200
"""Events of an agent that are looked at for one round, the latest ones."""


class Counted(Struct, frozen=True):
    """`upto` is the last event that was looked at, `places` where the items stood then."""

    state: RoundState = field(default_factory=RoundState)
    upto: int = 0
    places: tuple[str, ...] = ()
    raised: Raised = ()


_NEW: Final = Counted()
_decode = msgspec.msgpack.Decoder(Counted).decode


class Rounds(Beside):
    """Counts the rounds of one agent, through one handle."""

    def __init__(self, options: RoundOptions, name: str) -> None:
        self._options = options
        self._name = name

    def round_ended(self, tx: Transaction, row: AgentRow, now: datetime, *, looping: bool) -> None:
        body = tx.work.get(row.number, PART)
        known = _NEW if body is None else _decode(body)
        events = [event for event in tx.work.events(row.number, _LATEST) if event.seq > known.upto]
        stand = places(row.state.todos)
        worked = any(event.kind == "tool.finished" and not event.data.get("is_error") for event in events)
        progress = worked or has_moved(known.places, stand)
        state, finding = ended(known.state, progress=progress, looping=looping, options=self._options)
        raised, said = known.raised, list[Finding]()
        if finding is not None and (finding.detector, "") not in raised:
            said.append(finding)
            raised = (*raised, (finding.detector, ""))
        if progress and not looping and ("stalled_rounds", "") in raised:
            said.append(Finding("stalled_rounds", "ok", "A round has brought something."))
            raised = tuple(entry for entry in raised if entry[0] != "stalled_rounds")
        self._add(tx, row, said, now)
        upto = events[-1].seq if events else known.upto
        tx.work.save(row.number, encode(Counted(state, upto, stand, raised)), PART)

    def turn_began(self, tx: Transaction, row: AgentRow, now: datetime) -> None:
        """Counting begins anew."""
        body = tx.work.get(row.number, PART)
        if body is None:
            return
        known = _decode(body)
        self._add(tx, row, [Finding(name, "ok", "Another turn has begun.") for name, _ in known.raised], now)
        tx.work.save(row.number, encode(Counted(upto=known.upto, places=known.places)), PART)

    def _add(self, tx: Transaction, row: AgentRow, findings: list[Finding], now: datetime) -> None:
        if findings:
            tx.add_events(row, [Draft(one.kind, one.data()) for one in findings], by=self._name, at=now)
