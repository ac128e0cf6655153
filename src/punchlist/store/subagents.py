"""Read which agent started which, for which item, and the heartbeats of each.

A command that shows lists needs these rows and no other part of an agent's memory, so it loads no other detector.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from punchlist.detect.stalls import StallOptions, StallState
from punchlist.store.records import Rows, SealedRecord


class StallMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of an agent's memory about its heartbeats; decoding skips all other fields."""

    stall: StallState | None = None
    stall_options: StallOptions | None = None


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
