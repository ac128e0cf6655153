"""The tallies of the work on an agent's items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from punchlist.agent.kept import LATER, NEW, WORK, Kept, decode_head, decode_tally, kept
from punchlist.core.grounding import NOTHING, Grounding, Tally, ToolCall, combined, counted, subject, tally_of
from punchlist.guidance.memory import NEW as NO_RECORD
from punchlist.store import AgentRow, Transaction

_ALL: Final = 1_000_000


def attribute(tx: Transaction, number: int, work: Mapping[str, Tally]) -> None:
    """Keeps work that was done with nothing in focus as that on these items, of which nothing else was seen."""
    found = kept(tx, number)
    for item, tally in work.items():
        if not tally.is_empty:
            found.put(WORK + item, tally)
    found.write(tx)


def make_anew(tx: Transaction, row: AgentRow) -> None:
    """Makes the tallies from the log, because a report took back what was counted. Seldom, and not quick."""
    work, found = Grounding(tx.work.events(row.number, _ALL)), kept(tx, row.number)
    found.write(tx)
    for of in work.subjects():
        found.put(WORK + of.item, _made(work.calls(of)))
    for part in tx.work.parts(row.number):
        if part.startswith(LATER):
            of = subject(row.session, row.name, part.removeprefix(LATER))
            found.put(part, _made(work.calls_later(of)))
    found.write(tx)


def _made(calls: Iterable[ToolCall]) -> Tally:
    """An end whose beginning nobody has told of is not counted yet."""
    return tally_of(call for call in calls if not call.is_open and call.started is not None)


def read(tx: Transaction, number: int) -> Kept:
    """What is remembered of an agent, all its tallies in it; for looking at.

    One statement gives all rows, so that they belong together though nobody holds a transaction open.
    """
    parts, held = tx.work.parts(number), tx.work.held.get(number)
    body = parts.get("")
    found = held or Kept(number, NEW if body is None else decode_head(body), NO_RECORD, is_whole=True)
    known = found.tallies
    for part, tally in parts.items():
        if part.startswith((WORK, LATER)) and part not in known:
            known[part] = decode_tally(tally)
    if held is None:
        for event in tx.work.hinted(number, found.upto):
            found.take_in(tx, event)
    return found


def tallies(tx: Transaction, number: int) -> dict[str, Tally]:
    """The tallies of one agent's own work by the key of the item, what still runs included."""
    return _tallies(read(tx, number))


def _tallies(of: Kept) -> dict[str, Tally]:
    found = {part.removeprefix(WORK): tally for part, tally in of.tallies.items() if part.startswith(WORK)}
    for call in of.watcher.open.values():
        if call.is_open:
            found[call.item] = counted(found.get(call.item, NOTHING), None, call) or NOTHING
    return found


def wholes(tx: Transaction, number: int, items: Iterable[str]) -> dict[str, Tally]:
    """The work on these items, that of children who were started for it included."""
    of = read(tx, number)
    known, children = _tallies(of), of.watcher.children
    return {item: _with_children(tx, known.get(item, NOTHING), children.get(item, ())) for item in items}


def later(tx: Transaction, number: int, item: str) -> Tally:
    """What was seen after this item was called done, with nothing else in focus."""
    return kept(tx, number).tally(tx, LATER + item)


def work_on(tx: Transaction, number: int, item: str, open_calls: Iterable[ToolCall]) -> Tally:
    """The same as `wholes`, for one item of an agent whose open calls are known, while nobody else writes."""
    of = kept(tx, number)
    tally = of.tally(tx, WORK + item)
    for call in open_calls:
        if call.item == item and call.is_open:
            tally = counted(tally, None, call) or tally
    return _with_children(tx, tally, of.watcher.children.get(item, ()))


def _with_children(tx: Transaction, own: Tally, first: Iterable[int]) -> Tally:
    """With all work of these agents and of those that they started."""
    waiting, seen, found = list(first), set[int](), list[Tally]()
    while waiting:
        child = waiting.pop()
        if child in seen:
            continue
        seen.add(child)
        of = read(tx, child)
        found.append(combined(NOTHING, _tallies(of).values()))
        waiting.extend(one for group in of.watcher.children.values() for one in group)
    return combined(own, found, as_children=True) if found else own
