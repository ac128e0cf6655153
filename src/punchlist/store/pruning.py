"""Delete sessions with all that belongs to them, in small transactions: others write in between."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from punchlist.store.records import microseconds
from punchlist.store.transaction import Transaction

_NEVER: Final = 2**62
_MOST_DELETED = 2_000
"""Rows of a table that grows with each call which one transaction deletes: others want the lock too."""

_MOST_TASKS: Final = 200
_GROWING: Final = ("delete_events", "delete_calls", "delete_tool_calls")
_OF_AGENT: Final = (
    "delete_snapshots", "delete_list", "delete_completions", "delete_kept_items", "delete_plans", "delete_questions",
    "blank_last_event", "delete_agent",
)  # fmt: skip
_OF_SESSION: Final = ("delete_calls_of_conversations", "delete_conversations", "delete_handoffs", "delete_session")
_OF_TASK: Final = (
    "blank_last_task_event", "delete_events_of_task", "delete_edges", "delete_labels", "delete_task_todos",
    "delete_flow_steps", "delete_flow", "delete_task",
)  # fmt: skip


class Pruning(Struct, frozen=True):
    """A choice of sessions to delete: by id, project, machine, and the time since which nobody wrote to them.

    Tasks and flows are durable: they go with their session or project, and never by age.
    """

    before: datetime | None = None
    session: str = ""
    project: str = ""
    machine: str = ""
    """The id of a machine of the team."""

    @property
    def values(self) -> dict[str, Any]:
        before = _NEVER if self.before is None else microseconds(self.before)
        return {"before": before, "session": self.session, "project": self.project, "machine": self.machine}


def count_pruned(tx: Transaction, what: Pruning) -> int:
    """Count the agents that a prune would delete."""
    return tx.value("count_pruned_agents", what.values)


def prune_slice(tx: Transaction, what: Pruning, *, limit: int) -> int | None:
    """Delete up to `limit` agents of these sessions; return how many, None if all is done."""
    count = 0
    for (session,) in tx.all("pruned_sessions", {**what.values, "limit": limit}):
        for (agent,) in tx.all("agents_of_pruned", {"session": session, "limit": limit}):
            if count == limit or not _delete_some(tx, _GROWING, {"agent": agent}):
                return count
            for name in _OF_AGENT:
                tx.run(name, {"agent": agent, "empty": b"{}"})
            count += 1
        if what.before is None and not _delete_tasks(tx, session, ""):
            return count
        for name in _OF_SESSION:
            tx.run(name, {"session": session})
    if count:
        return count
    if what.machine and what.before is None:
        for name in ("delete_machine", "delete_events_of_machine"):
            tx.run(name, {"machine": what.machine})
        return None
    if what.before is None:
        return None if not what.project or _delete_tasks(tx, "", what.project) else 0
    if what.session or what.project or what.machine:
        return None
    before = what.values["before"]
    if not _delete_some(tx, ("delete_old_calls", "delete_old_task_calls"), {"before": before}):
        return 0
    tx.run("delete_old_conversations", {"before": before})
    return None


def _delete_tasks(tx: Transaction, session: str, project: str) -> bool:
    """Delete the lists of tasks and the flows of a session, or the lists of a project; False if there may be more."""
    place = {"session": session, "project": project}
    tasks = tx.all("pruned_tasks", {**place, "limit": _MOST_TASKS})
    for number, where, task in tasks:
        waiting = tx.all("waiting_for_task", {"task": number})  # a flow may wait for one of another session
        for name in _OF_TASK:
            tx.run(name, {"task": number, "list": where, "id": task, "empty": b"{}"})
        for (dependent,) in waiting:
            tx.run("set_open_blockers", {"task": dependent})
    if len(tasks) == _MOST_TASKS:
        return False
    for (where,) in tx.all("pruned_task_lists", place):
        if not _delete_some(tx, ("delete_events_of_list", "delete_task_calls", "delete_signals"), {"list": where}):
            return False
        tx.run("delete_readings", {"list": where})
        tx.run("delete_task_list", {"list": where})
    return True


def _delete_some(tx: Transaction, names: Sequence[str], values: dict[str, Any]) -> bool:
    """Delete rows by statements that take a limit; False if there may be more."""
    return all(tx.count(name, {**values, "rows": _MOST_DELETED}) < _MOST_DELETED for name in names)
