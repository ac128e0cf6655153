"""What was seen of the work on one item: a small value that grows with each call and never with their number.

Sums count calls; everything else is a greatest, a first or a set, so that neither the order of reports nor a repeated
one matters. `counting` takes a call from one account to the next; `combined` adds tallies, such as a child's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from punchlist.core.checks import Family, Outcome
from punchlist.core.grounding.calls import MOST_FILES, Moment, united
from punchlist.core.grounding.spans import NO_TIME, Spans

MOST_ENDS: Final = 32
"""Kinds of call whose last end is remembered."""


class CheckSeen(NamedTuple):
    """A check that was seen, by when it ended; `started` is its end where its beginning was not seen."""

    finished: Moment
    outcome: Outcome
    started: Moment
    name: str
    family: Family
    call: str


class End(NamedTuple):
    """The last end of a kind of call."""

    at: Moment
    failed: bool


class Tally(Struct, frozen=True, kw_only=True):
    """`checks` holds the last check of each family that passed or failed, `passed` the last that passed.

    `talk` counts the calls that are no work. `last_end` is the end of the last other one, `ends` those of each kind of
    work: a command that only looks at something takes nothing back, and makes nothing good.
    """

    calls: int = 0
    talk: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict[str, int])
    running: int = 0
    failures: int = 0
    abandoned: int = 0
    child_calls: int = 0
    first: Moment | None = None
    last: Moment | None = None
    spans: Spans = NO_TIME
    files: tuple[str, ...] = ()
    last_check: CheckSeen | None = None
    passed: CheckSeen | None = None
    checks: Mapping[Family, CheckSeen] = field(default_factory=dict["Family", CheckSeen])
    last_change: Moment | None = None
    last_end: End | None = None
    ends: Mapping[str, End] = field(default_factory=dict[str, End])

    @property
    def wall(self) -> timedelta:
        """From the first to the last that was seen."""
        return self.last.at - self.first.at if self.first is not None and self.last is not None else timedelta(0)

    @property
    def active(self) -> timedelta:
        """How long at least one call was running."""
        return self.spans.total

    @property
    def has_work(self) -> bool:
        """Whether anything was seen beside talk."""
        return self.calls > self.talk

    @property
    def is_empty(self) -> bool:
        """Whether nothing was seen at all."""
        return self.calls == 0


NOTHING: Final = Tally()


def combined(own: Tally, others: Iterable[Tally], *, as_children: bool = False) -> Tally:
    """A tally with others added to it; `as_children` says that their calls are those of children."""
    total = own
    for other in others:
        if other.is_empty:
            continue
        total = replace(
            total,
            calls=total.calls + other.calls,
            talk=total.talk + other.talk,
            kinds=_summed(total.kinds, other.kinds),
            running=total.running + other.running,
            failures=total.failures + other.failures,
            abandoned=total.abandoned + other.abandoned,
            child_calls=total.child_calls + (other.calls if as_children else other.child_calls),
            first=_earlier(total.first, other.first),
            last=later(total.last, other.last),
            spans=total.spans.joined(other.spans),
            files=united((total.files, other.files), 4 * MOST_FILES),
            last_check=last_check(total.last_check, other.last_check),
            passed=last_pass(total.passed, other.passed),
            checks=last_checks(total.checks, other.checks.items()),
            last_change=later(total.last_change, other.last_change),
            last_end=_last_end(total.last_end, other.last_end),
            ends=_last_ends(total.ends, other.ends),
        )
    return total


def _earlier(one: Moment | None, other: Moment | None) -> Moment | None:
    return min(one, other) if one is not None and other is not None else one or other


def later(one: Moment | None, other: Moment | None) -> Moment | None:
    return max(one, other) if one is not None and other is not None else one or other


def last_check(one: CheckSeen | None, other: CheckSeen | None) -> CheckSeen | None:
    return max(one, other) if one is not None and other is not None else one or other


def last_pass(one: CheckSeen | None, other: CheckSeen | None) -> CheckSeen | None:
    """Of two checks that passed the one that began last: a change before its beginning is covered by it."""
    if one is None or other is None:
        return one or other
    return max(one, other, key=_beginning)


def _beginning(check: CheckSeen) -> tuple[Moment, CheckSeen]:
    return check.started, check


def last_checks(
    known: Mapping[Family, CheckSeen], more: Iterable[tuple[Family, CheckSeen]]
) -> Mapping[Family, CheckSeen]:
    found = dict(known)
    for family, check in more:
        found[family] = max(found.get(family, check), check)
    return found


def _last_end(one: End | None, other: End | None) -> End | None:
    return max(one, other) if one is not None and other is not None else one or other


def _last_ends(known: Mapping[str, End], more: Mapping[str, End]) -> Mapping[str, End]:
    found = dict(known)
    for signature, end in more.items():
        found[signature] = max(found.get(signature, end), end)
    return latest(found)


def latest(ends: dict[str, End]) -> dict[str, End]:
    """Of too many ends those that came last."""
    return ends if len(ends) <= MOST_ENDS else dict(sorted(ends.items(), key=_recency)[-MOST_ENDS:])


def _recency(entry: tuple[str, End]) -> tuple[End, str]:
    return entry[1], entry[0]


def _summed(one: Mapping[str, int], other: Mapping[str, int]) -> Mapping[str, int]:
    return {
        kind: one.get(kind, 0) + other.get(kind, 0) for kind in (*one, *(kind for kind in other if kind not in one))
    }
