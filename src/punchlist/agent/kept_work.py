"""What is remembered of an agent's tool calls, as bytes and as values; and the tallies of the work on its items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from punchlist.core.grounding import NOTHING, Grounding, Tally, ToolCall, combined, counted, subject, tally_of
from punchlist.core.grounding.watched import Settled, Watched
from punchlist.detect.loops import LoopState
from punchlist.detect.staleness import StalenessState
from punchlist.detect.stalls import StallState
from punchlist.store import AgentRow, Transaction

LATER: Final = "later:"
WORK: Final = "item:"
STALENESS: Final = "staleness"
_ALL: Final = 1_000_000

Raised = tuple[tuple[str, str], ...]
"""Detectors that have something to say, each with what it is about."""


@dataclass(frozen=True, slots=True)
class Head:
    """What the next report needs. `raised` are findings about loops that still hold.

    `stall` says how far the agent got since a person last spoke to it.
    """

    watched: Watched = field(default_factory=Watched)
    loops: LoopState = field(default_factory=LoopState)
    raised: Raised = ()
    stall: StallState | None = None


@dataclass(frozen=True, slots=True)
class Stale:
    """What is known of how the list is kept, and the findings about it that still hold."""

    state: StalenessState = field(default_factory=StalenessState)
    raised: Raised = ()


NEW: Final = Head()
FRESH: Final = Stale()
encode = msgspec.msgpack.Encoder().encode
decode_head = msgspec.msgpack.Decoder(Head).decode
_decode_stale = msgspec.msgpack.Decoder(Stale).decode
_decode_tally = msgspec.msgpack.Decoder(Tally).decode


class KeptWork:
    """Decodes only what another handle wrote."""

    def __init__(self) -> None:
        self._head: tuple[bytes | None, Head] = (None, NEW)
        self._stale: tuple[bytes | None, Stale] = (None, FRESH)
        self._tally: tuple[bytes | None, Tally] = (None, NOTHING)

    def head(self, tx: Transaction, number: int) -> Head:
        body = tx.work.get(number)
        if body is None:
            return NEW
        known, head = self._head
        if known is not body:
            head = decode_head(body)
            self._head = body, head
        return head

    def save_head(self, tx: Transaction, number: int, head: Head) -> None:
        body = encode(head)
        tx.work.save(number, body)
        self._head = body, head

    def stale(self, tx: Transaction, number: int) -> Stale:
        body = tx.work.get(number, STALENESS)
        if body is None:
            return FRESH
        known, stale = self._stale
        if known is not body:
            stale = _decode_stale(body)
            self._stale = body, stale
        return stale

    def save_stale(self, tx: Transaction, number: int, stale: Stale) -> None:
        body = encode(stale)
        tx.work.save(number, body, STALENESS)
        self._stale = body, stale

    def settle(self, tx: Transaction, number: int, settled: Iterable[Settled]) -> None:
        """Counts calls into the tallies of the items that they belong to."""
        for before, call in settled:
            self._count(tx, number, WORK + call.item, before, call)
            if call.after:
                self._count(tx, number, LATER + call.after, before, call)

    def attribute(self, tx: Transaction, number: int, work: Mapping[str, Tally]) -> None:
        """Keeps work that was done with nothing in focus as that on these items, of which nothing else was seen."""
        for item, tally in work.items():
            if not tally.is_empty:
                tx.work.save(number, encode(tally), WORK + item)

    def _count(self, tx: Transaction, number: int, part: str, before: ToolCall | None, call: ToolCall) -> None:
        stored = tx.work.get(number, part)
        known, tally = self._tally
        if stored is None:
            tally = NOTHING
        elif known is not stored:
            tally = _decode_tally(stored)
        grown = counted(tally, before, call)
        if grown is not None:
            body = encode(grown)
            tx.work.save(number, body, part)
            self._tally = body, grown

    def make_anew(self, tx: Transaction, row: AgentRow) -> None:
        """Makes the tallies from the log, because a report took back what was counted. Seldom, and not quick."""
        work = Grounding(tx.work.events(row.number, _ALL))
        for of in work.subjects():
            self._replace(tx, row, WORK + of.item, work.calls(of))
        for part in tx.work.parts(row.number):
            if part.startswith(LATER):
                of = subject(row.session, row.name, part.removeprefix(LATER))
                self._replace(tx, row, part, work.calls_later(of))

    def _replace(self, tx: Transaction, row: AgentRow, part: str, calls: Iterable[ToolCall]) -> None:
        """An end whose beginning nobody has told of is not counted yet."""
        tally = tally_of(call for call in calls if not call.is_open and call.started is not None)
        tx.work.save(row.number, encode(tally), part)


def tallies(tx: Transaction, number: int) -> dict[str, Tally]:
    """The tallies of one agent's own work by the key of the item, what still runs included."""
    parts = tx.work.parts(number)
    found = {part.removeprefix(WORK): _decode_tally(body) for part, body in parts.items() if part.startswith(WORK)}
    for call in running(parts):
        found[call.item] = counted(found.get(call.item, NOTHING), None, call) or NOTHING
    return found


def running(parts: Mapping[str, bytes]) -> list[ToolCall]:
    body = parts.get("")
    head = NEW if body is None else decode_head(body)
    return [call for call in head.watched.open.values() if call.is_open]


def whole(tx: Transaction, number: int, item: str, own: Tally | None = None) -> Tally:
    """The work on one item, that of children who were started for it included."""
    mine = own if own is not None else tallies(tx, number).get(item, NOTHING)
    body = tx.work.get(number)
    if body is None:
        return mine
    first = decode_head(body).watched.children.get(item, ())
    return combined(mine, _work_of(tx, first), as_children=True) if first else mine


def later(tx: Transaction, number: int, item: str) -> Tally:
    """What was seen after this item was called done, with nothing else in focus."""
    body = tx.work.get(number, LATER + item)
    return NOTHING if body is None else _decode_tally(body)


def work_on(tx: Transaction, number: int, item: str, open_calls: Iterable[ToolCall]) -> Tally:
    """The same as `whole`, for one item of an agent whose open calls are known."""
    body = tx.work.get(number, WORK + item)
    tally = NOTHING if body is None else _decode_tally(body)
    for call in open_calls:
        if call.item == item and call.is_open:
            tally = counted(tally, None, call) or tally
    return whole(tx, number, item, tally)


def _work_of(tx: Transaction, children: Iterable[int]) -> list[Tally]:
    """All work of these agents and of those that they started."""
    waiting, seen, found = list(children), set[int](), list[Tally]()
    while waiting:
        child = waiting.pop()
        if child in seen:
            continue
        seen.add(child)
        found.append(combined(NOTHING, tallies(tx, child).values()))
        body = tx.work.get(child)
        if body is not None:
            waiting.extend(one for group in decode_head(body).watched.children.values() for one in group)
    return found
