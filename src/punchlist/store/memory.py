"""Load and save one record per agent: its memory between two reports, of bounded size.

The record is stored in the agent's row with a checksum, in the transaction that changes it. No process caches it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from punchlist.detect.findings import Finding, Raised
from punchlist.detect.guardrail import GuardrailState
from punchlist.detect.list_upkeep import Upkeep
from punchlist.detect.loops import Call, Guard
from punchlist.detect.rounds import RoundState
from punchlist.guidance.ledger import CallCounts, Spent
from punchlist.guidance.memory import Memory
from punchlist.store.records import Rows, SealedRecord
from punchlist.store.subagents import DAMAGED, StallMemory


class LoopMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """The loop detector's state without the calls themselves, which are rows of `tool_calls`.

    `since` is the last event before the run: calls recorded up to it count no more. `raised` are findings that hold.
    """

    since: int = 0
    warned: tuple[tuple[str, int], ...] = ()
    guard: Guard = Guard()
    held: tuple[Call, ...] = ()
    raised: Raised = ()


class GuardedCall(NamedTuple):
    """A running call as the guardrail knows it; `is_refused`: it should not have run."""

    tool: str
    args_hash: str
    reads: bool
    is_refused: bool = False


class GuardrailMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """Hermes' guardrail in one turn: `halted` is why the turn should have ended, `raised` what was said in it."""

    state: GuardrailState = GuardrailState()
    running: Mapping[str, GuardedCall] = {}
    halted: Finding | None = None
    raised: Raised = ()


class RoundMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """Rounds without progress; `has_worked`: a tool ended well in this one; `places`: where the items stood before."""

    state: RoundState = RoundState()
    has_worked: bool = False
    places: tuple[str, ...] = ()
    raised: Raised = ()


class AgentMemory(StallMemory, frozen=True, omit_defaults=True):
    """All that is remembered of one agent."""

    watched: bool = False
    """Tool calls of the agent were reported, so that its completions can be graded."""

    awaited: bool = False
    """A first heartbeat is waited for, of an agent that is not watched."""

    counts: CallCounts = CallCounts()
    """Calls of the todo tool, and what they cost."""

    guidance: Memory = Memory()
    spent: Mapping[str, Spent] = {}
    """The cost of turns, by dialect and profile."""

    ids: int = 0
    """The number of ids that were made up, for calls that have none."""

    reused: Mapping[str, str] = {}
    """Ids that the host uses again, each with that of the call which began under it last."""

    upkeep: Upkeep = Upkeep()
    loops: LoopMemory = LoopMemory()
    guardrail: GuardrailMemory | None = None
    rounds: RoundMemory | None = None
    dropped: tuple[tuple[datetime, datetime], ...] = ()
    """Times in which reports were lost, the latest ones."""


NEW = AgentMemory()
_memory = SealedRecord(AgentMemory, DAMAGED)


class RememberedAgent(NamedTuple):
    """An agent with its memory, for reading many agents at once."""

    number: int
    session: str
    agent: str
    project: str
    memory: AgentMemory


class Memories(Rows):
    def load(self, number: int) -> AgentMemory:
        found = self._rows.find_number(number)
        return NEW if found is None or found.memory is None else _memory.decode(found.memory)

    def save(self, number: int, memory: AgentMemory) -> None:
        self._rows.save_memory(number, _memory.encode(memory))

    def all(self, *, project: str | None = None, session: str | None = None) -> Sequence[RememberedAgent]:
        """Return the agents of a session, of a project or of the board that anything is remembered of, oldest first."""
        if session is not None:
            rows = self._rows.all("memories_of_session", {"session": session})
        elif project is not None:
            rows = self._rows.all("memories_of_project", {"project": project})
        else:
            rows = self._rows.all("memories_of_board", ())
        return [
            RememberedAgent(number, session, agent, project, NEW if memory is None else _memory.decode(memory))
            for number, session, agent, project, memory in rows
        ]
