"""Tool calls that a host reports one by one: what runs, and what changed something since the last write."""

from __future__ import annotations

from msgspec.structs import replace

from punchlist.guidance.memory import RUNNING, Record, Running


class Reported:
    """A record that reports are taken into, in place. What `record` gives is never changed again.

    `news` is how many of them changed something.
    """

    __slots__ = ("_changes", "_others", "_record", "_recorded", "_running", "_writes", "news")

    def __init__(self, record: Record) -> None:
        memory = record.memory
        self.news = 0
        self._record = record
        self._recorded = 0
        self._running = dict(record.running)
        self._changes = memory.changes if memory.reported else 0  # from now on counted one by one
        self._others = memory.others
        self._writes = memory.writes

    def record(self) -> Record:
        if self._recorded != self.news:
            memory = replace(
                self._record.memory,
                reported=True,
                changes=self._changes,
                others=self._others,
                writes=self._writes,
            )
            self._record = replace(self._record, memory=memory, running=dict(self._running))
            self._recorded = self.news
        return self._record

    def started(self, call_id: str, name: str, *, changes: bool, ours: bool) -> None:
        """A call begins. The same call again is no news."""
        running = self._running
        if call_id in running:
            return
        while len(running) >= RUNNING:
            del running[next(iter(running))]
        running[call_id] = Running(name, changes)
        self._others += not ours
        self.news += 1

    def ended(self, call_id: str, writes: int, *, is_error: bool) -> None:
        """A call has ended; one that was not seen to start changes nothing.

        `writes` is how often the list was written so far: what changed before that is on the list.
        """
        call = self._running.get(call_id)
        if call is None or call.ended:
            return
        if writes != self._writes:
            self._writes, self._changes = writes, 0
        self._changes += call.changes and not is_error
        self._running[call_id] = Running(call.name, call.changes, True)
        self.news += 1

    def noticed(self, seen: str) -> None:
        """The model is to hear of this at its next turn."""
        record = self.record()
        self._record = replace(record, memory=replace(record.memory, finding=seen))
        self.news += 1
