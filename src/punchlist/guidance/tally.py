"""What an agent's calls leave behind: for the next turn, and for the ledger. Stored in the row of the list itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from punchlist.dialects.base import Reply
from punchlist.guidance.ledger import Calls, Cost, Size, Spent, size_of

_TEXT = 300
"""The most characters that are kept of a failure or a note."""

_STEP = 64
_OURS = frozenset({"cleaned", "omitted", "graded"})
"""Problems that no original knows: what its reply cannot say."""


class Tally(msgspec.Struct, frozen=True, array_like=True):
    """Counters of one agent's calls. Fields are only ever added at the end: the record is stored by position.

    `calls` are all of them, `writes` those that were accepted, `failures` those that were not; `failure` is what the
    last one was told, empty when it was accepted. `noted` counts the calls with something to say beyond the reply,
    `notes` is what the last of them has. `batch` is how many items one write completed, when that were several, and
    `batch_write` which write that was. `watched`: tool calls of the agent were reported, so that grades can be given.
    `awaited`: of an agent that is not watched a first sign of life is waited for; `pace`: how its list was written.
    """

    calls: int = 0
    writes: int = 0
    failures: int = 0
    failure: str = ""
    noted: int = 0
    notes: tuple[str, ...] = ()
    batch: int = 0
    batch_write: int = 0
    costs: dict[str, Calls] = {}
    watched: bool = False
    awaited: bool = False
    pace: tuple[Any, ...] = ()


EMPTY = Tally()
_NO_CALLS = Calls()
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Tally).decode


def encode_tally(tally: Tally) -> bytes:
    """Ends in blanks, so that the row seldom changes its size, which would cost it pages."""
    body = _encode(tally)
    return body.ljust(-(-len(body) // _STEP) * _STEP)


def decode_tally(body: bytes | None) -> Tally:
    return EMPTY if body is None else _decode(body)


def after_call(
    tally: Tally,
    key: str,
    arguments: Size,
    reply: Reply,
    *,
    wrote: bool,
    completed: int = 0,
    foreign: bool = True,
    pace: tuple[Any, ...] | None = None,
) -> Tally:
    """The tally with one more call. `foreign`: the dialect's reply cannot say what we add to it."""
    calls, failed = tally.costs.get(key, _NO_CALLS), reply.is_error
    cost = Calls(calls.arguments + arguments, calls.replies + size_of(reply.text), calls.refused + failed)
    noted, notes = tally.noted, tally.notes
    if foreign and reply.problems:
        new = tuple(problem.text[:_TEXT] for problem in reply.problems if problem.code in _OURS)
        noted, notes = (noted + 1, new) if new else (noted, notes)
    writes = tally.writes + wrote
    batch, batch_write = (completed, writes) if completed > 1 else (tally.batch, tally.batch_write)
    failure = reply.text[:_TEXT] if failed else "" if wrote else tally.failure
    failures, costs = tally.failures + failed, {**tally.costs, key: cost}
    return Tally(
        tally.calls + 1,
        writes,
        failures,
        failure,
        noted,
        notes,
        batch,
        batch_write,
        costs,
        tally.watched,
        tally.awaited,
        tally.pace if pace is None else pace,
    )


def costs_of(tally: Tally, spent: Mapping[str, Spent]) -> list[Cost]:
    """The costs of one agent, by dialect and profile."""
    found: list[Cost] = []
    for key in dict.fromkeys((*tally.costs, *spent)):
        dialect, _, profile = key.partition("/")
        found.append(Cost(dialect, profile, tally.costs.get(key, Calls()), spent.get(key, Spent())))
    return found
