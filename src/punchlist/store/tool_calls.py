"""Read and write one row per tool call: its reports merged, and the loop detector's record of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from punchlist.core.grounding.tool_call import ToolCall
from punchlist.detect.loops import Call
from punchlist.store import records
from punchlist.store.records import RowDamaged, Rows

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(ToolCall).decode
_decode_loop = msgspec.msgpack.Decoder(Call).decode


class CallRow(msgspec.Struct, frozen=True):
    """A tool call as it is stored; `seq` is the event of its first report.

    `drifts`: it changes something that the list should tell of. `loop` is the call as the loop detector recorded it,
    with the event `loop_seq`; None if it does not count.
    """

    call: ToolCall
    seq: int
    drifts: bool = False
    loop: Call | None = None
    loop_seq: int | None = None

    @property
    def id(self) -> str:
        return self.call.id


class ToolCallRows(Rows):
    def find(self, agent: int, call_id: str) -> CallRow | None:
        found = self._rows.one("find_tool_call", (agent, call_id))
        return None if found is None else _row(agent, found)

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

    def of_agent(self, agent: int, limit: int = -1) -> list[ToolCall]:
        """Return the latest calls of an agent, oldest first."""
        return [_call(agent, *row) for row in reversed(self._rows.all("tool_calls_of_agent", (agent, limit)))]

    def lineage(self, agent: int) -> tuple[int, ...]:
        """Return an agent and those who started it, the nearest first."""
        return tuple(number for (number,) in self._rows.all("lineage", {"agent": agent}))

    def loop_window(self, agent: int, after: int, limit: int) -> tuple[Call, ...]:
        """Return the latest calls that the loop detector recorded after an event, oldest first."""
        rows = self._rows.all("loop_window", (agent, after, limit))
        return tuple(_decode_loop(body) for (body,) in reversed(rows))


def _row(agent: int, row: Any) -> CallRow:
    call_id, total, body, seq, drifts, loop_seq, loop = row
    recorded = None if loop is None else _decode_loop(loop)
    return CallRow(_call(agent, call_id, total, body), seq, bool(drifts), recorded, loop_seq)


def _call(agent: int, call_id: str, total: int, body: Any) -> ToolCall:
    if not isinstance(body, bytes) or records.checksum(f"tool call {agent} {call_id}", body) != total:
        raise RowDamaged("a tool call is not what was written")
    return _decode(body)
