"""How an agent keeps its list, as seen from its calls and its writes: remembered beside its work, and told about."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct, field

from punchlist.agent.kept import Raised, encode
from punchlist.agent.report_rules import event_of
from punchlist.core.events import Draft, Event
from punchlist.detect import staleness
from punchlist.detect.findings import Finding
from punchlist.detect.list_rules import over
from punchlist.store import AgentRow, Transaction

if TYPE_CHECKING:
    from punchlist.detect.list_rules import StalenessOptions
    from punchlist.detect.pace import Pace

STALENESS: Final = "staleness"
"""The part of an agent's work that holds it."""

_AT_WORK: Final = timedelta(minutes=1)
"""Within so long an item that is worked on need not be noted as such again."""


class Stale(Struct, frozen=True):
    """What is known of how the list is kept, and the findings about it that still hold."""

    state: staleness.StalenessState = field(default_factory=staleness.StalenessState)
    raised: Raised = ()


FRESH: Final = Stale()
_decode = msgspec.msgpack.Decoder(Stale).decode


def storm_until(tx: Transaction, number: int) -> datetime | None:
    """When the storm of calls of an agent whose tools are reported is over, None if there is none."""
    return _stale(tx.work.get(number, STALENESS)).state.storm_until


def _stale(body: bytes | None) -> Stale:
    return FRESH if body is None else _decode(body)


class Upkeep:
    """Looks on for one agent, through one handle."""

    def __init__(self, options: StalenessOptions, name: str) -> None:
        self._options = options
        self._name = name
        self._last: tuple[bytes | None, Stale] = (None, FRESH)

    def begin(self, tx: Transaction, row: AgentRow, now: datetime, pace: Pace) -> None:
        """The list is as it stands, and was written at that pace until now."""
        state = staleness.taken_over(staleness.standing(row.state.todos, now), pace)
        self._save(tx, row.number, Stale(state, pace.raised))

    def worked(self, tx: Transaction, row: AgentRow, item: str, now: datetime) -> list[Draft]:
        """What a call says about it that belongs to the item of that id, or to none of the list.

        Work on the one item in progress is not noted every time.
        """
        active = self._stale(tx, row.number).state.active
        if not active:
            return []
        entry = active.get(item)
        fresh = entry is not None and not entry.elsewhere and now - entry.since < _AT_WORK
        if fresh and len(active) == 1:
            return []
        return self.observed(tx, row, [event_of(row, "tool.started", {"item": item}, now, self._name)])

    def observed(self, tx: Transaction, row: AgentRow, events: Iterable[Event]) -> list[Draft]:
        """What these events say about it."""
        stale = self._stale(tx, row.number)
        state, said = stale.state, list[Finding]()
        for event in events:
            state, found = staleness.observed(state, event, self._options)
            said.extend(found)
        return self._said(tx, row, stale, state, said)

    def called(self, tx: Transaction, row: AgentRow, now: datetime) -> list[Draft]:
        """What a call of the agent's todo tool says about it that wrote nothing."""
        stale = self._stale(tx, row.number)
        state, found = staleness.called(stale.state, now, self._options)
        return self._said(tx, row, stale, state, list(found))

    def calm(self, tx: Transaction, row: AgentRow) -> list[Draft]:
        """What is over with the turn: a storm of calls."""
        stale = self._stale(tx, row.number)
        return self._said(tx, row, stale, staleness.calm(stale.state), [])

    def _said(
        self, tx: Transaction, row: AgentRow, stale: Stale, state: staleness.StalenessState, said: list[Finding]
    ) -> list[Draft]:
        """Keeps the state, and what there is to say, with what is over."""
        raised, ended = over(stale.raised, said, lambda known: staleness.holds(state, *known))
        said.extend(ended)
        after = Stale(state, raised)
        if after != stale:
            self._save(tx, row.number, after)
        return [Draft(one.kind, one.data()) for one in said]

    def _stale(self, tx: Transaction, number: int) -> Stale:
        body = tx.work.get(number, STALENESS)
        known, stale = self._last
        if known is not body:
            stale = _stale(body)
            self._last = body, stale
        return stale

    def _save(self, tx: Transaction, number: int, stale: Stale) -> None:
        body = encode(stale)
        tx.work.save(number, body, STALENESS)
        self._last = body, stale
