"""Count an agent's calls of the todo tool: for the next turn, and for the ledger."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from punchlist.dialects.base import Reply
from punchlist.guidance.ledger import Calls, Cost, Size, Spent, size_of

_TEXT = 300
"""The most characters that are kept of a failure or a note."""

_OURS = frozenset({"cleaned", "omitted", "graded"})
"""Problems that no original knows: what its reply cannot say."""


class CallCounts(msgspec.Struct, frozen=True, array_like=True):
    """Counters of one agent's calls. Fields are only ever added at the end: the record is stored by position.

    `calls` are all of them, `writes` those that were accepted, `failures` those that were not; `failure` is what the
    last one was told, empty when it was accepted. `noted` counts the calls with something to say beyond the reply,
    `notes` is what the last of them has. `batch` is how many items one write completed, when that were several, and
    `batch_write` which write that was.
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


_NO_CALLS = Calls()


def after_call(
    tally: CallCounts,
    key: str,
    arguments: Size,
    reply: Reply,
    *,
    wrote: bool,
    completed: int = 0,
    foreign: bool = True,
) -> CallCounts:
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
    return CallCounts(tally.calls + 1, writes, failures, failure, noted, notes, batch, batch_write, costs)


def costs_of(tally: CallCounts, spent: Mapping[str, Spent]) -> list[Cost]:
    """The costs of one agent, by dialect and profile."""
    found: list[Cost] = []
    for key in dict.fromkeys((*tally.costs, *spent)):
        dialect, _, profile = key.partition("/")
        found.append(Cost(dialect, profile, tally.costs.get(key, Calls()), spent.get(key, Spent())))
    return found
