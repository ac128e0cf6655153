"""What the model hears of findings, where that is wanted: of each once, for as long as it holds.

The log says what was found, by whichever detector and process; a turn looks at what is new in it. In the same way it
hears of what it called done and what is contradicted since.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from punchlist.agent.grading import contradictions
from punchlist.core.events import Event
from punchlist.guidance.memory import Memory
from punchlist.store import AgentRow, Transaction

_SAME: Final = {
    **dict.fromkeys(("generic_repeat", "known_poll_no_progress", "ping_pong", "unknown_tool_repeat"), "loop"),
    **dict.fromkeys(("global_circuit_breaker", "compaction_loop_persisted", "error_streak"), "loop"),
    **dict.fromkeys(("nothing_submitted", "no_runtime_event", "no_output", "silent_after_output"), "silence"),
}
"""Detectors that see the same thing, from its beginning to its worst."""

_MOST: Final = 5
_REMEMBERED: Final = 32


def hear(tx: Transaction, number: int, memory: Memory) -> Memory:
    """The memory with what was found since the last turn and still holds, as something that the model is to hear."""
    found, upto = tx.work.findings(number, memory.found)
    return replace(heard(memory, found), found=upto)


def heard(memory: Memory, found: Iterable[Event]) -> Memory:
    """The same for findings that were raised and cleared in this order."""
    known = dict.fromkeys(memory.heard)
    news: dict[str, str] = {}
    for event in found:
        key = _key(event)
        if event.kind == "finding.cleared":
            known.pop(key, None)
            news.pop(key, None)
        elif key not in known or key in news:
            known[key] = None
            news[key] = str(event.data.get("seen", ""))  # of what has grown since, how it is now
    if memory.finding:  # what the loop detector was told to say by itself
        news = {key: seen for key, seen in news.items() if not key.startswith("loop:")}
    said = [line for line in (memory.finding, *news.values()) if line][:_MOST]
    return replace(memory, heard=tuple(known)[-_REMEMBERED:], finding="\n".join(said))


def hear_contradicted(tx: Transaction, row: AgentRow, memory: Memory, now: datetime) -> Memory:
    """The memory with completions that were contradicted since the last turn and still are."""
    said: list[str] = []
    revision = row.state.todos.revision
    if revision != memory.regraded:
        changed = tx.work.regraded_items(row.number, memory.regraded)
        if changed:
            said += contradictions(tx, row, {event.data["id"] for event in changed})
        memory = replace(memory, regraded=revision)
    if tx.has_tasks:
        changed, upto = tx.work.regraded_tasks(row.number, memory.tasks_regraded)
        if changed:
            from punchlist.tasks.grading import contradictions as of_tasks  # only for those who work on tasks

            said += of_tasks(tx, row, changed, now)
        memory = replace(memory, tasks_regraded=upto)
    if not said:
        return memory
    more = [f"{len(said) - _MOST} more are contradicted too."] if len(said) > _MOST else []
    return replace(memory, finding="\n".join([memory.finding, *said[:_MOST], *more]).strip("\n"))


def _key(event: Event) -> str:
    detector = str(event.data.get("detector", ""))
    return f"{_SAME.get(detector, detector)}:{event.data.get('subject', '')}"
