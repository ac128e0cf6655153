"""Read which agent started which, for which item, and the heartbeats of each.

A command that shows lists needs these rows and no other part of an agent's memory, so it loads no other detector.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from punchlist.detect.stalls import StallOptions, StallState
from punchlist.store.records import Rows, SealedRecord


class StallMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of an agent's memory about its heartbeats; decoding skips all other fields."""

    stall: StallState | None = None
    stall_options: StallOptions | None = None
    heard_at: datetime | None = None
    """When the agent itself last acted: a call, a report, a write to its list or a task."""
    process: str = ""
    """The process that it lives in, as `mark_process` tells; empty if that is not known."""

    @property
    def is_prompted(self) -> bool:
        """True from a prompt on, until the turn ends."""
        return self.stall is not None and self.stall.submitted and not self.stall.over


DAMAGED = "the memory of an agent is not what was written"
_stall = SealedRecord(StallMemory, DAMAGED)


class ChildRow(Struct, frozen=True):
    """An agent that another one started; `parent` is the name of that one."""

    number: int
    name: str
    parent: str


class SubagentRows(Rows):
    def parent_of(self, child: int) -> str | None:
        """Return the name of the agent that started this one."""
        return self._rows.value("parent_of_agent", (child,))

    def of_session(self, session: str) -> Sequence[ChildRow]:
        """Return the agents of a session that others started, in that order."""
        return [ChildRow(*row) for row in self._rows.all("children_of_session", (session,))]

    def of_agent(self, parent: int) -> Sequence[int]:
        return [number for number, _ in self._rows.all("children_of_agent", (parent,))]

    def started_for(self, child: int) -> str:
        """Return the key of the item that an agent was started for, empty if it was for none."""
        return self._rows.value("find_started_for", (child,)) or ""

    def save_started_for(self, child: int, item: str) -> None:
        self._rows.run("save_started_for", (item, child))

    def load_stall(self, number: int) -> StallMemory:
        """Return the heartbeats of an agent."""
        found = self._rows.value("find_memory", (number,))
        return StallMemory() if found is None else _stall.decode(found)
