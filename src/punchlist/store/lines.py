"""Write the lines of sessions that a transaction has changed, by the rule of `core/session_line.py`."""

from __future__ import annotations

from datetime import datetime

import msgspec

from punchlist.core.session_line import AgentWork, SessionLine, prepare_line
from punchlist.store.transaction import Transaction
from punchlist.store.waits import load_waits

_MOST_SUBAGENTS = 20
"""Subagents of a session that are looked at, the latest: a session may have had hundreds."""

_NOTHING = SessionLine()
_encode = msgspec.json.Encoder().encode


def write_lines(tx: Transaction) -> None:
    """Write the lines of the sessions that the transaction marked; one that is equal to the last is not written."""
    if not tx.marked:
        return
    now = max(tx.marked.values())
    names = (("find_line_of_session" if isinstance(one, str) else "find_line", one) for one in tx.marked)
    rows = dict.fromkeys(tx.one(name, (one,)) for name, one in names)
    for row in rows:
        if row is None:  # the session, or the agent, was deleted, or is no session of agents
            continue
        session, state, check, before = row
        line = load_line(tx, session, state, check, now)
        text = "" if line == _NOTHING else _encode(line).decode()
        if text != before:
            tx.run("save_line", (text, session))
    tx.marked.clear()


def load_line(tx: Transaction, session: str, state: str, check: str, now: datetime) -> SessionLine:
    """Return the line of a session as its rows are now."""
    rows = tx.overviews.of_session(session, _MOST_SUBAGENTS)
    agents = [AgentWork(row.agent, row.parent, row.activity, row.list) for row in rows]
    # What waits is read for the whole board, so only where this session has any.
    waits = () if tx.one("any_wait", {"session": session}) is None else load_waits(tx, now, session=session)
    return prepare_line(agents, state=state, check=check, waits=waits, now=now)
