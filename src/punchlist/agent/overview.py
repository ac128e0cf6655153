"""Find silent agents."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from punchlist.core.events import Draft
from punchlist.detect.findings import Finding
from punchlist.detect.stalls import StallOptions, StallState, clear_stall, find_silence, find_stall
from punchlist.settings.environment import stall_timings
from punchlist.store import Store, Transaction
from punchlist.store.runtime import RememberedAgent


class Stall(NamedTuple):
    """An agent without output for too long."""

    project: str
    session: str
    agent: str
    finding: Finding
    since: datetime


def find_stalls(store: Store, now: datetime, *, project: str | None) -> Sequence[Stall]:
    """Return the agents that are silent now, the longest first; reported stalls included."""
    options, agents = stall_timings(), store.read(lambda tx: tx.memory.all(project=project))
    found = [stall for agent in agents if (stall := _find_stall(agent, now, options)) is not None]
    return sorted(found, key=lambda stall: stall.since)


def load_stall_states(
    store: Store, session: str, agents: Collection[str]
) -> Mapping[str, tuple[StallState | None, StallOptions]]:
    """Return the stall state of each of these agents, None if its silence means nothing, and its timings."""
    otherwise = stall_timings()

    def read(tx: Transaction, name: str) -> tuple[StallState | None, StallOptions]:
        row = tx.agent(session, name)
        if row is None:
            return None, otherwise
        memory = tx.memory.load(row.number)
        state = memory.stall
        return None if state is None or state.over else state, memory.stall_options or otherwise

    return store.read(lambda tx: {name: read(tx, name) for name in agents})


def tell_stalls(store: Store, now: datetime) -> int:
    """Record an event for each new stall; return their number."""
    options, agents = stall_timings(), store.read(lambda tx: tx.memory.all())
    new = [agent for agent in agents if _check(agent, now, options)[1] is not None]
    return (
        store.transact(lambda tx: sum(_record_stall(tx, one, now, options) for one in new), durable=False) if new else 0
    )


def _check(agent: RememberedAgent, now: datetime, options: StallOptions) -> tuple[StallState | None, Finding | None]:
    state = agent.memory.stall
    return (None, None) if state is None else find_stall(state, now, agent.memory.stall_options or options)


def _find_stall(agent: RememberedAgent, now: datetime, options: StallOptions) -> Stall | None:
    state = agent.memory.stall
    if state is None:
        return None
    finding = find_silence(state, now, agent.memory.stall_options or options)
    if finding is None:
        return None
    return Stall(agent.project, agent.session, agent.agent, finding, state.alive_at)


def _record_stall(tx: Transaction, known: RememberedAgent, now: datetime, options: StallOptions) -> bool:
    """Check again under the lock, and record the stall. It replaces one that was reported before."""
    row = tx.agent(known.session, known.agent)
    if row is None:
        return False
    memory = tx.memory.load(row.number)
    state, finding = _check(known._replace(memory=memory), now, options)
    if memory.stall is None or finding is None:
        return False
    tx.memory.save(row.number, replace(memory, stall=state))
    said = [one for one in (clear_stall(memory.stall), finding) if one is not None]
    tx.add_events(row, [Draft(one.kind, one.data()) for one in said], by=row.name, at=now)
    return True
