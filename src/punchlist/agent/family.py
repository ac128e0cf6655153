"""Those above an agent: who started it, who started that one, and so on."""

from __future__ import annotations

from collections.abc import Iterator

from punchlist.store import AgentRow, Transaction

_DEEPEST = 32


def above(tx: Transaction, row: AgentRow) -> Iterator[tuple[AgentRow, AgentRow]]:
    """Each of them, the nearest first, with the child through whom it is one."""
    child = row
    for _ in range(_DEEPEST):
        name = None if child.parent is None else tx.work.parent_of(child.number)
        parent = None if name is None else tx.agent(child.session, name)
        if parent is None:
            return
        yield parent, child
        child = parent


def is_gone(tx: Transaction, session: str, name: str) -> bool:
    """Whether an agent has finished that another one started who has not: its list is no longer what goes on."""
    row = tx.agent(session, name)
    if row is None or row.parent is None or not tx.work.has_finished(row.number):
        return False
    return any(not tx.work.has_finished(parent.number) for parent, _ in above(tx, row))
