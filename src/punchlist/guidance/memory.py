"""What guidance remembers of an agent: a record whose size does not grow with the conversation."""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from punchlist.core.todo import TodoList

TOLD = 64
"""The most states that are remembered as told, the latest ones."""


class Memory(msgspec.Struct, frozen=True, array_like=True):
    """Counters and marks. Fields are only ever added at the end: the record is stored by position.

    `used` is the number of turns before the message that last used our tool, so that `turns - used` counts that
    message too, as Claude Code counts. `named`: the last turn named our tool. `rounds` counts turns with tools since
    our tool was used. `changes` counts what was changed since the last write; `reported`: the host reports each tool
    call, so that `tools_used` need not be counted. `calls` to `batch` say how much of the tally was seen. `revision`
    is the one that the model was told of, `told` are fingerprints of states that it was reminded of. `planned` counts
    turns in plan mode. `others` counts calls of other tools since the last turn. `drifted` is how often the list was
    written when drift was last spoken of. `entered` says in which stay in plan mode `planned` was counted.
    `finding` is what detectors saw and the model is still to hear, a line for each; `found` is the last event that was
    looked at for that, and `heard` what it was told of that still holds. `regraded` is the revision up to which grades
    that changed were looked at, and `tasks_regraded` the event up to which those of tasks were.
    """

    turns: int = 0
    used: int = 0
    named: bool = False
    reminded: int = 0
    rounds: int = 0
    changes: int = 0
    reported: bool = False
    others: int = 0
    calls: int = 0
    writes: int = 0
    failures: int = 0
    noted: int = 0
    batch: int = 0
    revision: int = 0
    told: tuple[int, ...] = ()
    hinted: bool = False
    prompt_reminders: int = 0
    session_reminders: int = 0
    stops: int = 0
    stopped_at: int = 0
    planned: int = 0
    turn_characters: int = 0
    turn_injections: int = 0
    session_characters: int = 0
    session_injections: int = 0
    drifted: int = -1
    entered: str = ""
    finding: str = ""
    found: int = 0
    heard: tuple[str, ...] = ()
    regraded: int = 0
    tasks_regraded: int = 0


def fingerprint(todos: TodoList, *, unfinished: bool = False) -> int:
    """A number for what a list says, or for what is unfinished of it; never 0, which stands for none."""
    items = todos.open_items if unfinished else todos.items
    said = "\x00".join(f"{item.id}\x01{item.status}\x01{item.content}" for item in items)
    digest = blake2b(f"{todos.plan_id}\x00{said}".encode("utf-8", "replace"), digest_size=7).digest()
    return int.from_bytes(digest) or 1
