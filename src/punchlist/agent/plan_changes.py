"""What changes a plan within a transaction: the decision of core is written, and plan mode follows it."""

from __future__ import annotations

import os
from datetime import datetime

from punchlist.agent.changes import edited
from punchlist.core.approval import Decision, PlanState
from punchlist.core.events import Draft
from punchlist.dialects.operations import rewrite
from punchlist.errors import PlanWithoutSteps
from punchlist.guidance.plan_mode import LONGEST_REASON, PlanMode, recorded
from punchlist.store import AgentRow, Transaction
from punchlist.text import clean, cut


def new_plan_id() -> str:
    """A random UUID, as text."""
    digits = bytearray(os.urandom(16))
    digits[6], digits[8] = digits[6] & 0x0F | 0x40, digits[8] & 0x3F | 0x80
    text = digits.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def save(tx: Transaction, row: AgentRow, decision: Decision, *, by: str, now: datetime, todos: bool = False) -> None:
    """Writes what was decided. An approval ends plan mode and, with `todos`, puts the plan's steps on the list."""
    for plan in decision.changed:
        tx.plans.save(row.number, plan, at=now)
    tx.add_events(row, decision.events, by=by, at=now)
    if decision.plan.state is PlanState.APPROVED:
        if todos:
            _list_steps(tx, row, decision, by, now)
        leave(tx, row, by=by, now=now)  # last: what was known of the row ends here


def _list_steps(tx: Transaction, row: AgentRow, decision: Decision, by: str, now: datetime) -> None:
    todos = decision.plan.todos
    if not todos.items:
        raise PlanWithoutSteps
    applied = edited(row.state, rewrite(todos), now, by=by, own=by == row.name)
    tx.save_list(row, applied.state, unseen=row.unseen, at=now)
    tx.add_events(row, applied.events, by=by, at=now)


def enter(tx: Transaction, row: AgentRow, *, by: str, now: datetime, reason: str | None) -> None:
    """Puts an agent that asked for it into plan mode."""
    said = None if reason is None else cut(clean(reason, lines=False).text, LONGEST_REASON)
    mode = PlanMode(now, "model_requested", said, by)
    tx.modes.save(row, "plan", mode.record(), at=now)
    changed = {"mode": "plan", "because": mode.because, "reason": said}
    tx.add_events(row, [Draft("mode.changed", changed)], by=by, at=now)


def leave(tx: Transaction, row: AgentRow, *, by: str, now: datetime) -> None:
    """Ends plan mode, if it is on."""
    if row.mode == "plan":
        tx.modes.save(row, "execute", None, at=now)
        tx.add_events(row, [Draft("mode.changed", {"mode": "execute"})], by=by, at=now)


def entered_at(tx: Transaction, row: AgentRow, now: datetime) -> datetime:
    """Since when the agent is in plan mode; where that was not written down, it is now."""
    data = tx.modes.entered(row.number)
    return now if data is None else recorded(data).entered_at
