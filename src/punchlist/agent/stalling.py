"""Who has fallen silent, over all agents of a board: found when somebody looks, with no daemon."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from punchlist.agent.kept import kept
from punchlist.agent.kept_work import read
from punchlist.agent.silence import TIMINGS
from punchlist.config import stall_timings
from punchlist.core.events import Draft
from punchlist.detect.findings import Finding
from punchlist.detect.stalls import StallOptions, StallState, check, over, stall_options
from punchlist.store import Store, Transaction
from punchlist.store.work import WatchedRow

_decode_timings = msgspec.msgpack.Decoder(StallOptions).decode


class Stall(NamedTuple):
    """An agent of which nothing has been heard for too long."""

    project: str
    session: str
    agent: str
    finding: Finding
    since: datetime


def board_timings() -> StallOptions:
    """The timings of agents that have none of their own."""
    return stall_options(stall_timings())


def stalled(store: Store, now: datetime, *, project: str | None) -> Sequence[Stall]:
    """All who are silent now, the longest first; also those who were told of before."""
    options, states = board_timings(), _states(store, project)
    found = [stall for row, state in states if (stall := _stall(row, state, now, options)) is not None]
    return sorted(found, key=lambda stall: stall.since)


def listened(
    store: Store, session: str, agents: Collection[str]
) -> Mapping[str, tuple[StallState | None, StallOptions]]:
    """How far each of these agents got, None if its silence says nothing, and the timings that hold for it."""
    otherwise = board_timings()

    def look(tx: Transaction, name: str) -> tuple[StallState | None, StallOptions]:
        row = tx.agent(session, name)
        if row is None:
            return None, otherwise
        state, timings = read(tx, row.number).stall, tx.work.get(row.number, TIMINGS)
        return None if state is None or state.over else state, otherwise if timings is None else _decode_timings(
            timings
        )

    return store.read(lambda tx: {name: look(tx, name) for name in agents})


def tell(store: Store, now: datetime) -> int:
    """Makes an event of each stall that is new; how many there were."""
    options = board_timings()
    new = [row for row, state in _states(store) if check(state, now, _timings(row, options))[1] is not None]

    def work(tx: Transaction) -> int:
        return sum(_told(tx, row, now, options) for row in new)

    return store.transact(work, durable=False) if new else 0


def _states(store: Store, project: str | None = None) -> list[tuple[WatchedRow, StallState]]:
    """How far each agent got of which anything is known."""
    rows = store.read(lambda tx: [(row, read(tx, row.number).stall) for row in tx.work.watched(project)])
    return [(row, state) for row, state in rows if state is not None]


def _stall(row: WatchedRow, state: StallState, now: datetime, options: StallOptions) -> Stall | None:
    _, finding = check(replace(state, told=False), now, _timings(row, options))
    if finding is None or finding.detector == "timed_out":
        return None
    return Stall(row.project, row.session, row.agent, finding, state.alive_at)


def _timings(row: WatchedRow, otherwise: StallOptions) -> StallOptions:
    return otherwise if row.timings is None else _decode_timings(row.timings)


def _told(tx: Transaction, row: WatchedRow, now: datetime, options: StallOptions) -> bool:
    """Looks again, now that nobody else writes. What is said of an agent stands in for what was said before."""
    agent = tx.agent(row.session, row.agent)
    if agent is None:
        return False
    found = kept(tx, row.number)
    before = found.stall
    state, finding = (None, None) if before is None else check(before, now, _timings(row, options))
    if before is None or finding is None:
        return False
    found.stall = state
    found.write(tx)
    said = [one for one in (over(before), finding) if one is not None]
    tx.add_events(agent, [Draft(one.kind, one.data()) for one in said], by=row.agent, at=now)
    return True
