"""What is remembered of one agent's reports: kept in memory, and written now and then.

An ordinary report is stored as its event alone, with a hint beside it: what guidance and the loop detector took it for.
The rows of `work` and `guidance` say up to which event they hold; whoever reads them, in any process, first takes in
the reports behind it. So what is in memory is never needed: it only saves that work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from punchlist.core.grounding import NOTHING, Moment, Tally, ToolCall, call_from
from punchlist.core.grounding.counting import Growing
from punchlist.core.grounding.watched import ENDED, Settled, Watched, Watcher
from punchlist.detect import stalls
from punchlist.detect.loop_rules import Call
from punchlist.detect.loop_state import LoopState
from punchlist.detect.stalls import StallState
from punchlist.detect.window import Window
from punchlist.guidance.memory import Record, decode_record, encode_record
from punchlist.guidance.running import Reported
from punchlist.store import AgentRow, Transaction
from punchlist.store.work import Hinted

LATER: Final = "later:"
WORK: Final = "item:"
BEHIND: Final = 128
"""The most reports that the rows of an agent may be behind."""

PAST: Final = 4096
"""Calls with an end that are looked for in the log, the latest ones."""

_TALLIES: Final = 64
_A_SECOND: Final = timedelta(seconds=1)

Contents = frozenset[tuple[str, str]]
"""Names and hashes of arguments with which a call was told to begin."""

Raised = tuple[tuple[str, str], ...]
"""Detectors that have something to say, each with what it is about."""


class Head(Struct, frozen=True):
    """What the next report needs. `raised` are findings about loops that still hold.

    `stall` says how far the agent got since a person last spoke to it; `upto`, in a row, which reports it knows.
    """

    watched: Watched = field(default_factory=Watched)
    loops: LoopState = field(default_factory=LoopState)
    raised: Raised = ()
    stall: StallState | None = None
    upto: int = 0


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
    Reports are taken in in place, by `watcher`, `window` and `guidance`; all others take what they need as a value,
    which is `head`, `record` or a tally. `is_due`: it has to be written; at first it is, because the first report of a
    process may be its only one. `bodies` are the rows of all its parts: what is not there is nowhere. `told_of` are
    the beginnings of calls, by id, once they were looked for in the log.
    """

    __slots__ = (
        "_bodies", "_growing", "_past", "_recorded", "_tallies", "_unwritten", "behind", "guidance", "is_due",
        "number", "raised", "stall", "told_of", "upto", "watcher", "window",
    )  # fmt: skip

    def __init__(self, number: int, bodies: Mapping[str, bytes], record: Record) -> None:
        head = decode_head(bodies[""]) if "" in bodies else NEW
        self.number = number
        self._bodies: Mapping[str, bytes] | None = bodies
        self.head = head
        self.record = record
        self.upto = head.upto
        self.behind = 0
        self.is_due = True
        self._tallies: dict[str, Tally] = {}
        self._growing: dict[str, Growing] = {}
        self._recorded: Record = record
        self._unwritten: set[str] = set()
        self._past: set[str] | None = None
        self.told_of: dict[str, Contents] | None = None

    @property
    def head(self) -> Head:
        return Head(self.watcher.watched(), self.window.state(), self.raised, self.stall)

    @head.setter
    def head(self, head: Head) -> None:
        self.watcher = Watcher(head.watched)
        self.window = Window(head.loops)
        self.raised = head.raised
        self.stall = head.stall

    @property
    def record(self) -> Record:
        """What guidance remembers."""
        return self.guidance.record()

    @record.setter
    def record(self, record: Record) -> None:
        self.guidance = Reported(record)

    @property
    def tallies(self) -> dict[str, Tally]:
        """Those that were asked for or changed, by part."""
        for part, growing in self._growing.items():
            self._tallies[part] = growing.tally()
            self._unwritten.add(part)
        self._growing.clear()
        return self._tallies

    def is_past(self, tx: Transaction, call_id: str) -> bool:
        """Whether a call ended so long ago that only the log knows of it: what is said of it now was said before."""
        watcher = self.watcher
        if len(watcher.ended) < ENDED or call_id in watcher.open or call_id in watcher.ended:
            return False
        past = self._past
        if past is None or len(past) > 8 * PAST:
            past = self._past = tx.work.ended_calls(self.number, PAST)
        return call_id in past

    def begun(self, call_id: str, facts: Mapping[str, Any]) -> None:
        """Takes in that a call began, for those who look for it later."""
        if self.told_of is not None:
            content = (facts.get("name", ""), facts.get("hash", ""))
            self.told_of[call_id] = self.told_of.get(call_id, frozenset()) | {content}

    def tally(self, tx: Transaction, part: str) -> Tally:
        growing = self._growing.get(part)
        if growing is not None:
            return growing.tally()
        tally = self._tallies.get(part)
        if tally is None:
            body = tx.work.get(self.number, part) if self._bodies is None else self._bodies.get(part)
            tally = self._tallies[part] = NOTHING if body is None else decode_tally(body)
        return tally

    def put(self, part: str, tally: Tally) -> None:
        self._growing.pop(part, None)
        self._tallies[part] = tally
        self._unwritten.add(part)

    def count(self, tx: Transaction, settled: Iterable[Settled]) -> None:
        """Counts calls into the tallies of the items that they belong to."""
        for before, call in settled:
            if self._past is not None and call.finished is not None:
                self._past.add(call.id)
            for growing in self._tallies_of(tx, call):
                growing.count(call, before)

    def count_end(self, tx: Transaction, call: ToolCall, at: Moment, facts: Mapping[str, Any]) -> None:
        """The same for a call that ran, and of whose end these are the facts."""
        if self._past is not None:
            self._past.add(call.id)
        for growing in self._tallies_of(tx, call):
            growing.count_end(call, at, facts.get("check_outcome"), failed=facts["is_error"])

    def _tallies_of(self, tx: Transaction, call: ToolCall) -> Iterable[Growing]:
        found = self._growing_of(tx, WORK + call.item)
        return (found, self._growing_of(tx, LATER + call.after)) if call.after else (found,)

    def _growing_of(self, tx: Transaction, part: str) -> Growing:
        growing = self._growing.get(part)
        if growing is None:
            growing = self._growing[part] = Growing(self.tally(tx, part))
        return growing

    def finished(self, tx: Transaction, item: str) -> None:
        """The item, or the task, of that key was finished: what follows with nothing in focus comes after it."""
        if self.watcher.done != item:
            self.watcher.done = item
            self.write(tx)

    def reported(self, tx: Transaction) -> None:
        """To be called once a report is in."""
        if self.is_due or self.behind >= BEHIND:
            self.write(tx)

    def write(self, tx: Transaction) -> None:
        """Brings the rows up to date."""
        number, record, tallies = self.number, self.record, self.tallies
        tx.work.save(number, encode(replace(self.head, upto=self.upto)))
        for part in self._unwritten:
            tx.work.save(number, encode(tallies[part]), part)
        if record is not self._recorded:
            tx.guidance.save(number, encode_record(record))
            self._recorded = record
        self.is_due = False
        self.behind = 0
        self._unwritten.clear()
        if len(tallies) > _TALLIES:
            tallies.clear()
            self._bodies = None  # they are not what was written since

    def take_in(self, tx: Transaction, event: Hinted) -> None:
        """A report that the rows do not know of yet."""
        data, watcher = event.data, self.watcher
        name: str = data.get("name", "")
        if event.kind == "tool.started":
            begun = _decode_begun(event.hint)
            name, call, room = begun.tool, begun.call, begun.room
            watcher.made += begun.made
            self.guidance.started(data["call_id"], name, changes=begun.changes, ours=begun.ours)
        else:
            over = _decode_over(event.hint)
            call, room = over.call, 0
            self.guidance.ended(data["call_id"], over.writes, is_error=data["is_error"])
        outcome = watcher.heard(call_from(event.kind, data, event.at, watcher.reports + 1))
        if self.stall is not None:
            self.stall = alive(self.stall, event.at, name)
        if call is not None:
            self.window.recorded(call, room)
        self.count(tx, outcome.settled)
        self.upto = event.seq
        self.behind += 1


def kept(tx: Transaction, number: int) -> Kept:
    """What is remembered of an agent, all its reports in it."""
    found: Kept | None = tx.work.held.get(number)
    if found is None:
        found = Kept(number, tx.work.parts(number), decode_record(tx.guidance.get(number)))
        for event in tx.work.hinted(number, found.upto):
            found.take_in(tx, event)
        tx.work.hold(number, found)
    return found


def watch(row: AgentRow, now: datetime) -> StallState:
    return stalls.watched(now, row.label or row.name)


def alive(state: StallState, now: datetime, name: str) -> StallState:
    """A sign of life that nobody sees, noted once a second at most."""
    if state.active and now - state.alive_at < _A_SECOND:
        return state
    return stalls.active(state, now, name)
