"""Read and write the runtime work of agents: memory, tool calls, the checks of sessions, and graded completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, cast

import msgspec

from punchlist.core.grounding.grades import Completion, Grade
from punchlist.core.grounding.session import NO_RECORD, SessionRecord, session_state
from punchlist.core.grounding.tool_call import ToolCall
from punchlist.core.overview import CompletingWrite
from punchlist.detect.findings import Finding, Raised
from punchlist.detect.guardrail import GuardrailState
from punchlist.detect.list_upkeep import Upkeep
from punchlist.detect.loops import Guard, LoopCall
from punchlist.detect.rounds import RoundState
from punchlist.guidance.ledger import CallCounts, Memory, Spent
from punchlist.store import records
from punchlist.store.records import Record, RowDamaged, Rows, SealedRecord
from punchlist.store.subagents import DAMAGED, StallMemory


class LoopMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """The loop detector's state without the calls themselves, which are rows of `tool_calls`.

    `since` is the last event before the run: calls recorded up to it count no more. `raised` are findings that hold.
    """

    since: int = 0
    warned: tuple[tuple[str, int], ...] = ()
    guard: Guard = Guard()
    held: tuple[LoopCall, ...] = ()
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
    turn: int = 0
    """The position of the last prompt."""

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
        record = self._rows.record(number)
        record.memory = _memory.encode(memory)
        record.is_changed = True

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


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(ToolCall).decode
_decode_loop = msgspec.msgpack.Decoder(LoopCall).decode


class CallRow(msgspec.Struct, frozen=True):
    """A tool call as it is stored; `seq` is the event of its first report.

    `drifts`: it changes something that the list should tell of. `loop` is the call as the loop detector recorded it,
    with the event `loop_seq`; None if it does not count.
    """

    call: ToolCall
    seq: int
    drifts: bool = False
    loop: LoopCall | None = None
    loop_seq: int | None = None


class ToolCallRows(Rows):
    def expect(self, session: str, name: str, call_id: str, history_size: int) -> None:
        """Ask early for a call of an agent, and for the window of the loop detector unless its size is 0."""
        if (session, name, call_id) not in self._rows.kept:
            self._rows.expect("find_tool_call", (session, name, call_id))
        if history_size:
            self._rows.expect("loop_window", (session, name, history_size))

    def find(self, agent: int, call_id: str) -> CallRow | None:
        key = self._key(agent, call_id)
        if key not in self._rows.kept:
            found = self._rows.one("find_tool_call", key)
            self._rows.kept[key] = None if found is None else _row(agent, found)
        return self._rows.kept[key]

    def _key(self, agent: int, call_id: str) -> tuple[str, str, str]:
        row = self._rows.record(agent).row
        return row.session, row.name, call_id

    def find_of_either(self, session: str, names: tuple[str, str], call_id: str) -> CallRow | None:
        """Return the call of either of two agents of a session."""
        values = {"session": session, "name": names[0], "other": names[1], "id": call_id}
        found = self._rows.one("find_tool_call_of_either", values)
        return None if found is None else _row(found[0], found[1:])

    def find_reused(self, agent: int, call_id: str) -> Sequence[CallRow]:
        """Return the calls under this id and those whose id was made from it, in the order in which they began."""
        values = {"agent": agent, "id": call_id, "from": f"{call_id}#", "to": f"{call_id}$"}
        return [_row(agent, row) for row in self._rows.all("reused_tool_calls", values)]

    def find_oldest_open(self, agent: int, tool: str) -> CallRow | None:
        """Return the first call of that tool, with an id that we made up, that has not ended."""
        found = self._rows.one("oldest_open_tool_call", (agent, tool))
        return None if found is None else _row(agent, found)

    def save(self, agent: int, row: CallRow) -> None:
        call, body = row.call, _encode(row.call)
        total = records.checksum(f"tool call {agent} {call.id}", body)
        loop = None if row.loop is None else _encode(row.loop)
        ended = None if call.finished is None else call.finished.order
        state = (ended, call.outcome, row.drifts, row.loop_seq, loop, total, body)
        self._rows.run("save_tool_call", (agent, call.id, row.seq, call.name, *state))
        self._rows.kept[self._key(agent, call.id)] = row

    def open(self, agent: int) -> Sequence[CallRow]:
        """Return the calls that still run, oldest first."""
        return [_row(agent, row) for row in self._rows.all("open_tool_calls", (agent,))]

    def in_window(self, agent: int, since: int, until: int) -> list[tuple[int, ToolCall]]:
        """Return the calls of an agent and its subagents between two positions, each with its agent, oldest first."""
        rows = self._rows.all("tool_calls_in_window", {"agent": agent, "since": since, "until": until})
        return [(agent, _call(agent, call_id, total, body)) for agent, call_id, total, body, _ in rows]

    def ended_since(self, session: str, since: int) -> list[ToolCall]:
        """Return the calls of a session that ended after a position."""
        return [_call(*row) for row in self._rows.all("tool_calls_ended_since", {"session": session, "since": since})]

    def since(self, agent: int, after: int) -> list[ToolCall]:
        """Return the calls of an agent that began or ended after a position."""
        return [_call(*row) for row in self._rows.all("tool_calls_since", {"agent": agent, "after": after})]

    def of_agent(self, agent: int, limit: int = records.NO_LIMIT) -> list[ToolCall]:
        """Return the latest calls of an agent, oldest first."""
        return [_call(agent, *row) for row in reversed(self._rows.all("tool_calls_of_agent", (agent, limit)))]

    def lineage(self, agent: int) -> tuple[int, ...]:
        """Return an agent and those who started it, the nearest first."""
        return tuple(number for (number,) in self._rows.all("lineage", {"agent": agent}))

    def loop_window(self, agent: int, after: int, limit: int) -> tuple[LoopCall, ...]:
        """Return the latest calls that the loop detector recorded after an event, oldest first."""
        row = self._rows.record(agent).row
        rows = self._rows.all("loop_window", (row.session, row.name, limit))
        return tuple(_decode_loop(body) for seq, body in reversed(rows) if seq > after)


def _row(agent: int, row: Any) -> CallRow:
    call_id, total, body, seq, drifts, loop_seq, loop = row
    recorded = None if loop is None else _decode_loop(loop)
    return CallRow(_call(agent, call_id, total, body), seq, bool(drifts), recorded, loop_seq)


def _call(agent: int, call_id: str, total: int, body: Any) -> ToolCall:
    if not isinstance(body, bytes) or records.checksum(f"tool call {agent} {call_id}", body) != total:
        raise RowDamaged("a tool call is not what was written")
    return _decode(body)


_record = SealedRecord(SessionRecord, "the record of a session's checks is not what was written")
_completion = Record(Completion)

_MOST_OPEN: Final = 5_000
"""Completions that are graded again when a check comes out, the latest ones."""


class CompletionRow(NamedTuple):
    completion: Completion
    grade: Grade


class CompletionRows(Rows):
    def load_record(self, session: str) -> SessionRecord:
        found = self._rows.find_checks(session)
        if found is None or found.checks is None:
            return NO_RECORD
        if found.record is None:
            try:
                found.record = _record.decode(found.checks)
            except RowDamaged:  # then the session is unchecked, and its next check counts again
                found.record = NO_RECORD
        return found.record

    def save_record(self, session: str, record: SessionRecord, *, at: datetime) -> None:
        found, checks = session_state(session, record), self._rows.find_checks(session)
        if checks is None:
            return
        checks.state = found.state
        checks.check_name = "" if found.decided_by is None else found.decided_by.program
        checks.checks, checks.record = _record.encode(record), record
        checks.is_changed = True
        self._rows.marked[session] = at

    def find_previous(self, agent: int, at: datetime) -> CompletingWrite | None:
        """Return the last completing write of an agent up to a time."""
        found = self._rows.one("previous_completion", {"agent": agent, "at": records.microseconds(at)})
        return None if found is None else CompletingWrite(found[0], records.moment(found[1]))

    def save(self, given: Sequence[tuple[Completion, Grade]]) -> None:
        """Save completions with their grades."""
        rows: list[tuple[Any, ...]] = []
        for done, grade in given:
            total, body = _completion.encode(_completion_head(done.agent, done.key), done)
            at = records.microseconds(done.at)
            rows.append((done.agent, done.key, done.position, done.until, at, grade, total, body))
        self._rows.insert("save_completion", rows)

    def close(self, agent: int, position: int) -> None:
        """End the windows in which later failures count for earlier completions of an agent."""
        self._rows.run("close_completions", {"agent": agent, "position": position})

    def move(self, done: Completion, *, agent: int, key: str) -> None:
        """Move a completion to the item under which its text was sent again."""
        known = self.find(done.agent, done.key)
        self._rows.run("delete_completion", (done.agent, done.key))
        if known is not None:
            self.save([(msgspec.structs.replace(known.completion, agent=agent, key=key), known.grade)])

    def find(self, agent: int, key: str) -> CompletionRow | None:
        found = self._rows.one("find_completion", (agent, key))
        return None if found is None else _completion_row(*found)

    def of_session(self, session: str) -> dict[tuple[int, str], Completion]:
        """Return the completions of a session by the number of their agent and their key."""
        rows = [_completion_row(*row) for row in self._rows.all("completions_of_session", (session,))]
        return {(row.completion.agent, row.completion.key): row.completion for row in rows}

    def expect_open(self, session: str) -> None:
        self._rows.expect("completions_open_to_checks", (session, _MOST_OPEN))

    def open_to_checks(self, session: str) -> dict[str, list[CompletionRow]]:
        """Return the completions of a session whose grade a check may still change, by the name of their agent."""
        found: dict[str, list[CompletionRow]] = {}
        for name, *row in self._rows.all("completions_open_to_checks", (session, _MOST_OPEN)):
            found.setdefault(name, []).append(_completion_row(*row))
        return found

    def count_since(self, session: str, position: int) -> int:
        """Return how many items and tasks of a session were completed since."""
        return self._rows.one("count_completions_since", (session, position))[0]

    def grades_since(self, at: datetime) -> dict[str, int]:
        """Return how many items and tasks were completed since a time, by grade."""
        return dict(self._rows.all("grades_since", {"since": records.microseconds(at)}))

    def session_states_since(self, at: datetime) -> dict[str, int]:
        """Return in how many sessions something was completed since a time, by the state of the session."""
        return dict(self._rows.all("states_of_sessions_since", {"since": records.microseconds(at)}))


def _completion_head(agent: int, key: str) -> str:
    return f"completion {agent} {key}"


def _completion_row(agent: int, key: str, until: int | None, grade: str, total: int, body: bytes) -> CompletionRow:
    done = _completion.decode(_completion_head(agent, key), total, body)
    return CompletionRow(msgspec.structs.replace(done, until=until), cast("Grade", grade))
