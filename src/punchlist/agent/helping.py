"""Which items subagents are at work on right now, for whoever shows a list."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from punchlist.agent.kept_work import read
from punchlist.agent.stalling import board_timings

if TYPE_CHECKING:
    from punchlist.store import Store, Transaction
    from punchlist.store.work import ChildRow

Helpers = Mapping[str, Mapping[str, tuple[str, ...]]]
"""By the name of the agent, and by the id of its item, who was started for it and has not finished."""


def helpers(store: Store, now: datetime, session: str) -> Helpers:
    """Of all agents of a session. Who has said nothing for as long as anybody is watched is at work no more."""
    longest = timedelta(seconds=board_timings().lifetime)

    def at_work(tx: Transaction, child: ChildRow) -> bool:
        state = read(tx, child.number).stall
        return state is not None and not state.over and now - state.alive_at < longest

    def look(tx: Transaction) -> Helpers:
        busy = {child.number: child for child in tx.work.children(session) if at_work(tx, child)}
        parents = dict.fromkeys(child.parent for child in busy.values())
        return {name: found for name in parents if (found := _helped(tx, session, name, busy))}

    return store.read(look)


def _helped(tx: Transaction, session: str, name: str, busy: Mapping[int, ChildRow]) -> dict[str, tuple[str, ...]]:
    """The open items of one agent's present list, with those who are busy with them."""
    row = tx.agent(session, name)
    if row is None:
        return {}
    todos, found = row.state.todos, dict[str, tuple[str, ...]]()
    for key, children in read(tx, row.number).watcher.children.items():
        plan, _, number = key.rpartition("/")
        item = todos.find(number) if plan == todos.plan_id else None
        names = tuple(busy[child].name for child in children if child in busy)
        if item is not None and item.is_open and names:
            found[item.id] = names
    return found
