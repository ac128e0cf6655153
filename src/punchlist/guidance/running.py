"""Tool calls that a host reports one by one: what runs, and what changed something since the last write."""

from __future__ import annotations

from msgspec.structs import replace

from punchlist.guidance.memory import RUNNING, Record, Running


def started(record: Record, call_id: str, name: str, *, changes: bool, ours: bool) -> Record:
    """A call begins. The same call again is no news, and gives back the record itself."""
    if call_id in record.running:
        return record
    running = dict(record.running)
    while len(running) >= RUNNING:
        del running[next(iter(running))]
    running[call_id] = Running(name, changes)
    memory = record.memory
    memory = replace(
        memory,
        reported=True,
        changes=memory.changes if memory.reported else 0,  # from now on counted one by one
        others=memory.others + (not ours),
    )
    return replace(record, memory=memory, running=running)


def noticed(record: Record, seen: str) -> Record:
    """The model is to hear of this at its next turn."""
    return replace(record, memory=replace(record.memory, finding=seen))


def ended(record: Record, call_id: str, writes: int, *, is_error: bool) -> tuple[Record, Running | None]:
    """A call has ended; with it the call, None if it was not seen to start.

    `writes` is how often the list was written so far: what changed before that is on the list.
    """
    call = record.running.get(call_id)
    if call is None or call.ended:
        return record, call
    memory = record.memory
    since = 0 if writes != memory.writes else memory.changes
    memory = replace(memory, writes=writes, changes=since + (call.changes and not is_error))
    running = {**record.running, call_id: Running(call.name, call.changes, True)}
    return replace(record, memory=memory, running=running), call
