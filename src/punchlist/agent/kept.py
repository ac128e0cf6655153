"""What is remembered of one agent's reports: kept in memory, and written now and then.

An ordinary report is stored as its event alone, with a hint beside it: what guidance and the loop detector took it for.
The rows of `work` and `guidance` say up to which event they hold; whoever reads them, in any process, first takes in
the reports behind it. So what is in memory is never needed: it only saves that work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import msgspec

from punchlist.core.grounding import NOTHING, Tally, ToolCall, call_from, counted
from punchlist.core.grounding.watched import ENDED, Heard, Watched, heard
from punchlist.detect import stalls
from punchlist.detect.loop_rules import Call
from punchlist.detect.loops import LoopState, recorded
from punchlist.detect.stalls import StallState
from punchlist.guidance.memory import Record, decode_record, encode_record
from punchlist.guidance.running import ended, started
from punchlist.store import AgentRow, Transaction
from punchlist.store.work import Hinted

LATER: Final = "later:"
WORK: Final = "item:"
BEHIND: Final = 32
"""The most reports that the rows of an agent may be behind."""

PAST: Final = 4096
"""Calls with an end that are looked for in the log, the latest ones."""

_TALLIES: Final = 64

Raised = tuple[tuple[str, str], ...]
"""Detectors that have something to say, each with what it is about."""


@dataclass(frozen=True, slots=True)
class Head:
    """What the next report needs. `raised` are findings about loops that still hold.

    `stall` says how far the agent got since a person last spoke to it; `upto`, in a row, which reports it knows.
    """

    watched: Watched = field(default_factory=Watched)
    loops: LoopState = field(default_factory=LoopState)
    raised: Raised = ()
    stall: StallState | None = None
    upto: int = field(default=0, compare=False)


class Begun(msgspec.Struct, frozen=True, array_like=True):
    """The hint beside a beginning: `tool` as the host named it, `made` where its id is ours.

    `call` is what the loop detector recorded of it among `room` others, None if nothing.
    """

    tool: str
    changes: bool
    ours: bool
    made: bool
    room: int
    call: Call | None


class Over(msgspec.Struct, frozen=True, array_like=True):
    """The hint beside an end: how often the list had been written, and what the loop detector recorded."""

    writes: int
    call: Call | None


NEW: Final = Head()
encode = msgspec.msgpack.Encoder().encode
decode_head = msgspec.msgpack.Decoder(Head).decode
decode_tally = msgspec.msgpack.Decoder(Tally).decode
_decode_begun = msgspec.msgpack.Decoder(Begun).decode
_decode_over = msgspec.msgpack.Decoder(Over).decode


class Kept:
    """One agent as its last report left it. `upto` is the last event in it, `behind` how many reports the rows lack.

    It belongs to the transaction that is open: whoever changes it adds an event with a hint that says so, or writes it.
    `is_due`: it has to be written; at first it is, because the first report of a process may be its only one.
    `is_whole`: what is not among its tallies is not in the rows either.
    """

    __slots__ = (
        "_past", "_recorded", "_unwritten", "behind", "head", "is_due", "is_whole", "number", "record", "tallies",
        "upto",
    )  # fmt: skip

    def __init__(self, number: int, head: Head, record: Record, *, is_whole: bool = False) -> None:
        self.number = number
        self.head = head
        self.record = record
        self.tallies: dict[str, Tally] = {}
        self.upto = head.upto
        self.behind = 0
        self.is_due = True
        self.is_whole = is_whole
        self._recorded: Record = record
        self._unwritten: set[str] = set()
        self._past: set[str] | None = None

    def is_past(self, tx: Transaction, call_id: str) -> bool:
        """Whether a call ended so long ago that only the log knows of it: what is said of it now was said before."""
        watched = self.head.watched
        if len(watched.ended) < ENDED or call_id in watched.ended or call_id in watched.open:
            return False
        if self._past is None:
            self._past = set(tx.work.ended_calls(self.number, PAST))
        return call_id in self._past

    def tally(self, tx: Transaction, part: str) -> Tally:
        tally = self.tallies.get(part)
        if tally is None:
            body = None if self.is_whole else tx.work.get(self.number, part)
            tally = self.tallies[part] = NOTHING if body is None else decode_tally(body)
        return tally

    def count(self, tx: Transaction, before: ToolCall | None, call: ToolCall) -> None:
        """Counts a call into the tally of the item that it belongs to."""
        if self._past is not None and call.finished is not None:
            self._past.add(call.id)
        for part in (WORK + call.item, LATER + call.after) if call.after else (WORK + call.item,):
            grown = counted(self.tally(tx, part), before, call)
            if grown is not None:
                self.put(part, grown)

    def put(self, part: str, tally: Tally) -> None:
        self.tallies[part] = tally
        self._unwritten.add(part)

    def reported(self, tx: Transaction) -> None:
        """To be called once a report is in."""
        if self.is_due or self.behind >= BEHIND:
            self.write(tx, again=not self.is_due)

    def write(self, tx: Transaction, *, again: bool = False) -> None:
        """Brings the rows up to date. `again`: with what the hints in the log say, and nothing else."""
        head, number = self.head, self.number
        tx.work.save(number, encode(Head(head.watched, head.loops, head.raised, head.stall, self.upto)), again=again)
        for part in self._unwritten:
            tx.work.save(number, encode(self.tallies[part]), part, again=again)
        if self.record is not self._recorded:
            tx.guidance.save(number, encode_record(self.record), again=again)
            self._recorded = self.record
        self.is_due = False
        self.behind = 0
        self._unwritten.clear()
        if len(self.tallies) > _TALLIES:
            self.tallies.clear()

    def take_in(self, tx: Transaction, event: Hinted) -> None:
        """A report that the rows do not know of yet."""
        head, data = self.head, event.data
        name: str = data.get("name", "")
        if event.kind == "tool.started":
            begun = _decode_begun(event.hint)
            outcome = report(made_up(head.watched) if begun.made else head.watched, event.kind, data, event.at)
            name, call, room = begun.tool, begun.call, begun.room
            self.record = started(self.record, data["call_id"], name, changes=begun.changes, ours=begun.ours)
        else:
            over = _decode_over(event.hint)
            outcome = report(head.watched, event.kind, data, event.at)
            call, room = over.call, 0
            self.record, _ = ended(self.record, data["call_id"], over.writes, is_error=data["is_error"])
        stall = head.stall and alive(head.stall, event.at, name)
        loops = head.loops if call is None else recorded(head.loops, call, room)
        self.head = Head(outcome.state, loops, head.raised, stall)
        for before, settled in outcome.settled:
            self.count(tx, before, settled)
        self.upto = event.seq
        self.behind += 1


def kept(tx: Transaction, number: int) -> Kept:
    """What is remembered of an agent, all its reports in it."""
    found: Kept | None = tx.work.held.get(number)
    if found is None:
        body = tx.work.get(number)
        found = Kept(number, NEW if body is None else decode_head(body), decode_record(tx.guidance.get(number)))
        for event in tx.work.hinted(number, found.upto):
            found.take_in(tx, event)
        tx.work.hold(number, found)
    return found


def report(watched: Watched, kind: str, data: Mapping[str, Any], at: datetime) -> Heard:
    """What a report comes to whose event is of that kind."""
    return heard(watched, call_from(kind, data, at, watched.reports + 1))


def made_up(state: Watched) -> Watched:
    """The state once one more id was made up."""
    return Watched(state.open, state.ended, state.done, state.reports, state.made + 1, state.children)


def watch(row: AgentRow, now: datetime) -> StallState:
    return stalls.watched(now, row.label or row.name)


def alive(state: StallState, now: datetime, name: str) -> StallState:
    """A sign of life that nobody sees, noted once a second at most."""
    if state.active and not (now - state.alive_at).total_seconds() >= 1:
        return state
    return stalls.active(state, now, name)
