"""Define the memory of guidance about one agent: a record whose size does not grow with the conversation."""

from __future__ import annotations

import msgspec

from punchlist.core.todo import TodoList
from punchlist.text.hashing import blake2b

TOLD = 64
"""States remembered as told, the latest ones: enough for a session, and a bounded record."""


class Memory(msgspec.Struct, frozen=True, array_like=True):
    """Counters and marks of one agent. Stored by position: add fields at the end only."""

    turns: int = 0
    used: int = 0
    """Turns before the message that last used our tool: `turns - used` counts that message, as Claude Code does."""
    named: bool = False
    """The last turn named our tool."""
    reminded: int = 0
    rounds: int = 0
    """Turns with tools since our tool was used."""
    changes: int = 0
    """Changing calls since the last write."""
    reported: bool = False
    """The host reports each tool call, so `tools_used` is not counted."""
    others: int = 0
    """Calls of other tools since the last turn."""
    calls: int = 0
    """From here to `batch`: the part of `CallCounts` that was seen."""
    writes: int = 0
    failures: int = 0
    noted: int = 0
    batch: int = 0
    revision: int = 0
    """Revision of the list that the model was told of."""
    told: tuple[int, ...] = ()
    """Fingerprints of states that it was reminded of."""
    hinted: bool = False
    prompt_reminders: int = 0
    session_reminders: int = 0
    stops: int = 0
    stopped_at: int = 0
    """Fingerprint of the open items at the last stop."""
    planned: int = 0
    """Turns in plan mode."""
    turn_characters: int = 0
    turn_injections: int = 0
    session_characters: int = 0
    session_injections: int = 0
    drifted: int = -1
    """Writes so far when drift was last spoken of."""
    entered: str = ""
    """The stay in plan mode that `planned` counts."""
    finding: str = ""
    """Findings that the model has not been told yet, one per line."""
    found: int = 0
    """Last event that was searched for findings."""
    heard: tuple[str, ...] = ()
    """Findings that the model was told and that still hold."""
    regraded: int = 0
    """Revision up to which changed grades were searched."""
    tasks_regraded: int = 0
    """Event up to which changed grades of tasks were searched."""
    judged: int = 0
    """Revision up to which the stop guard has judged which open items the model left out of its list."""


def fingerprint(todos: TodoList, *, unfinished: bool = False) -> int:
    """Return a number for the content of a list, or of its open items; never 0, which stands for none."""
    items = todos.open_items if unfinished else todos.items
    said = "\x00".join(f"{item.id}\x01{item.status}\x01{item.content}" for item in items)
    digest = blake2b(f"{todos.plan_id}\x00{said}".encode("utf-8", "replace"), digest_size=7).digest()
    return int.from_bytes(digest) or 1
