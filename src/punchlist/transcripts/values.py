"""What a transcript tells, whatever its format."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from punchlist.core.commands import Replace
from punchlist.core.limits import over_limit
from punchlist.dialects import dialect

MAIN = "main"
"""The agent that a transcript belongs to; any other name is the id of a subagent."""


class Origin(NamedTuple):
    """Who said something in a transcript, and when. None where it does not say."""

    agent: str = MAIN
    session: str | None = None
    cwd: str | None = None
    at: datetime | None = None


class Call(NamedTuple):
    """A tool call as recorded: its arguments are whatever was sent."""

    name: str
    args: Any
    call_id: str | None
    origin: Origin


class Outcome(NamedTuple):
    """The answer to a tool call: the text that the model read, and the structured form beside it, if recorded."""

    call_id: str
    text: str
    data: Any = None
    is_error: bool = False
    origin: Origin = Origin()


class Removed(NamedTuple):
    """A plan that was taken away; those beside it stand."""

    plan: str
    origin: Origin


class Written(Struct, frozen=True):
    """A whole list as it was written. `call` is the tool call that wrote it, where there was one.

    `call_id` names the write: it is None where there is no id, or where an earlier write has the same. `plan` is the id
    of a plan that has others beside it.
    """

    command: Replace
    origin: Origin
    call_id: str | None = None
    call: Call | None = None
    plan: str | None = None

    @property
    def counts(self) -> tuple[int, int]:
        """How many items are done, and of how many."""
        done = sum(entry.status == "completed" for entry in self.command.entries)
        return done, sum(entry.status != "cancelled" for entry in self.command.entries)


class Transcript(Protocol):
    """A transcript that was opened. Each method reads it anew; what cannot be read is skipped and counted.

    `sessions` are the ids under which its conversation went on, the present one first; in a store of several
    conversations (`is_store`) theirs, of which `session` chooses one, by default the latest with a list. `subagent` is
    the id of one whose list is meant; None is the agent that the transcript belongs to. `origin` is what it says of
    itself as a whole.
    """

    @property
    def is_store(self) -> bool: ...
    @property
    def format(self) -> str: ...
    @property
    def dialect(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def skipped(self) -> int: ...
    @property
    def sessions(self) -> tuple[str, ...]: ...
    @property
    def origin(self) -> Origin: ...
    def latest(self, *, subagent: str | None = None, session: str | None = None) -> Written | None: ...
    def history(self, *, subagent: str | None = None, session: str | None = None) -> Iterator[Written]: ...


def admitted(command: object, name: str) -> Replace | None:
    """A whole list that the dialect of that name would take; None for anything else."""
    if not isinstance(command, Replace) or over_limit(command, dialect(name).policy.limits) is not None:
        return None
    return command
