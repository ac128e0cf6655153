"""Who is listened for: what begins a watch for silence, what ends it, and how long is too long."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from punchlist.agent.kept import NEW, encode, kept, watch
from punchlist.core.events import Draft
from punchlist.detect import stalls
from punchlist.store import AgentRow, Transaction

if TYPE_CHECKING:
    from punchlist.detect.stalls import StallOptions, StallState

TIMINGS: Final = "stalls"
"""The part of an agent's work that holds its own timings, where it has some."""


class Silence:
    """Listens for one agent, through one handle. Without `timings` of its own those of the board hold."""

    def __init__(self, timings: StallOptions | None, name: str) -> None:
        self._timings = timings
        self._name = name

    def keep_timings(self, tx: Transaction, number: int) -> None:
        """Remembers the timings with the agent, for whoever looks for silence without knowing its handle."""
        if self._timings is not None:
            body = encode(self._timings)
            if tx.work.get(number, TIMINGS) != body:
                tx.work.save(number, body, TIMINGS)

    def spawned(self, tx: Transaction, child: AgentRow, now: datetime) -> None:
        """A child was started, and nothing has come from it yet."""
        self.keep_timings(tx, child.number)
        known = kept(tx, child.number)
        known.head = replace(NEW, stall=watch(child, now))
        known.write(tx)

    def stirred(self, tx: Transaction, row: AgentRow, now: datetime, sign: str, *, watched: bool) -> None:
        """A sign of life that is no report on a tool. It begins no watch that is over.

        Of an agent whose tools nobody reports nothing more is expected: its silence from now on would say nothing.
        """
        known = kept(tx, row.number)
        state = known.stall
        if state is None or (state.over and not state.told_as):
            return
        if state.over or not watched:
            self.over(tx, row, state, now)
            known.stall = stalls.ended(state)
            known.write(tx)
        elif (now - state.alive_at).total_seconds() >= 1:
            known.stall = stalls.active(state, now, sign)
            known.write(tx)

    def again(self, tx: Transaction, row: AgentRow, state: StallState | None, now: datetime) -> None:
        """A report that begins a new watch, if the last one is over: with it ends what was said at its end."""
        if state is not None and state.over:
            self.over(tx, row, state, now)

    def over(self, tx: Transaction, row: AgentRow, state: StallState | None, now: datetime) -> None:
        """Says that a stall is over, if one was told of."""
        finding = None if state is None else stalls.over(state)
        if finding is not None:
            tx.add_events(row, [Draft(finding.kind, finding.data())], by=self._name, at=now)
