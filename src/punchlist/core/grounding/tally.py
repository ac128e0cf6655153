"""What was seen of the work on one item: a small value that grows with each call and never with their number.

Sums count calls; everything else is a greatest, a first or a set, so that neither the order of reports nor a repeated
one matters. `counted` takes a call from one account to the next; `combined` adds tallies, such as a child's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from punchlist.core.checks import Family, Outcome
from punchlist.core.grounding.calls import MOST_FILES, Moment, ToolCall, is_task, united
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """`checks` holds the last check of each family that passed or failed, `passed` the last that passed.

    `last_end` is the end of the last call of any kind, `ends` those of each kind of work: a command that only looks
    at something takes nothing back of what was checked.
    """

    calls: int = 0
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
    def is_empty(self) -> bool:
        """Whether nothing was seen at all."""
        return self.calls == 0


NOTHING: Final = Tally()


def counted(tally: Tally, before: ToolCall | None, after: ToolCall) -> Tally | None:
    """The tally once a call is known as `after` instead of `before`; None if it has to be made anew from all calls.

    That is so where an account takes something back: a call that had ended gets another end, beginning or item.
    """
    if before is None:
        return _grown(tally, None, after)
    if before == after:
        return tally
    if (before.item, before.after, before.kind) != (after.item, after.after, after.kind):
        return None
    if before.started != after.started or before.outcome in ("ok", "failed"):
        return None
    return _grown(tally, before, after)


def tally_of(calls: Iterable[ToolCall]) -> Tally:
    """The tally of these calls, each different."""
    tally = NOTHING
    for call in calls:
        tally = _grown(tally, None, call)
    return tally


def work_during(calls: Iterable[ToolCall], start: datetime | None, end: datetime | None) -> Tally:
    """What was done while a task was in somebody's hands, for the steps of a list or for nothing in particular.

    A task that is worked through a list has no calls of its own: its steps have them.
    """
    return tally_of(
        call
        for call in calls
        if call.started is not None
        and start is not None
        and call.started.at >= start
        and (end is None or call.started.at <= end)
        and not is_task(call.item)
    )


def combined(own: Tally, others: Iterable[Tally], *, as_children: bool = False) -> Tally:
    """A tally with others added to it; `as_children` says that their calls are those of children."""
    total = own
    for other in others:
        if other.is_empty:
            continue
        total = replace(
            total,
            calls=total.calls + other.calls,
            kinds=_summed(total.kinds, other.kinds),
            running=total.running + other.running,
            failures=total.failures + other.failures,
            abandoned=total.abandoned + other.abandoned,
            child_calls=total.child_calls + (other.calls if as_children else other.child_calls),
            first=_earlier(total.first, other.first),
            last=_later(total.last, other.last),
            spans=total.spans.joined(other.spans),
            files=united((total.files, other.files), 4 * MOST_FILES),
            last_check=_last_check(total.last_check, other.last_check),
            passed=_last_pass(total.passed, other.passed),
            checks=_last_checks(total.checks, other.checks.items()),
            last_change=_later(total.last_change, other.last_change),
            last_end=_last_end(total.last_end, other.last_end),
            ends=_last_ends(total.ends, other.ends.items()),
        )
    return total


def _grown(tally: Tally, before: ToolCall | None, call: ToolCall) -> Tally:
    """The tally with a call that is new, or that was open or given up before. Made whole: quicker than `replace`."""
    was_open, was_given_up = (False, False) if before is None else (before.is_open, _given_up(before))
    finished = None if _given_up(call) else call.finished
    seen = None if finished is None else _seen(call)
    decided = seen is not None and seen.outcome in ("passed", "failed")
    end = None if finished is None or call.kind == "todo" else End(finished, call.outcome == "failed")
    work = end is not None and seen is None and not _looks(call)
    begun = call.started
    return Tally(
        calls=tally.calls + (before is None),
        kinds=tally.kinds if before is not None else {**tally.kinds, call.kind: tally.kinds.get(call.kind, 0) + 1},
        running=tally.running + call.is_open - was_open,
        failures=tally.failures + (call.outcome == "failed"),
        abandoned=tally.abandoned + _given_up(call) - was_given_up,
        child_calls=tally.child_calls,
        first=_earlier(tally.first, begun or call.finished),
        last=_later(tally.last, begun if call.outcome in ("running", "abandoned") else call.finished),
        spans=tally.spans if finished is None or begun is None else tally.spans.plus(begun.at, finished.at),
        files=_with_files(tally.files, call.files),
        last_check=tally.last_check if seen is None else _last_check(tally.last_check, seen),
        passed=_last_pass(tally.passed, seen) if seen is not None and seen.outcome == "passed" else tally.passed,
        checks=_last_checks(tally.checks, [(seen.family, seen)]) if seen is not None and decided else tally.checks,
        last_change=_later(tally.last_change, _change(call)) if call.changes else tally.last_change,
        last_end=_last_end(tally.last_end, end),
        ends=_last_ends(tally.ends, [(call.signature, end)]) if end is not None and work else tally.ends,
    )


def _with_files(known: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    return known if not more or frozenset(known).issuperset(more) else united((known, more), 4 * MOST_FILES)


def _seen(call: ToolCall) -> CheckSeen | None:
    if call.check is None or call.finished is None:
        return None
    outcome = call.check_outcome or "unknown"
    return CheckSeen(call.finished, outcome, call.started or call.finished, call.check.name, call.check.family, call.id)


def _change(call: ToolCall) -> Moment | None:
    """When a call may have changed the work. An edit changes it when it succeeds, a command perhaps from its start."""
    if not call.changes:
        return None
    if call.kind == "edit":
        return call.finished if call.outcome == "ok" else None
    return call.finished if call.outcome in ("ok", "failed") else call.started


def _looks(call: ToolCall) -> bool:
    """Whether a call only looks at something, so that its failure says nothing about what was checked before."""
    return call.kind == "read" or (call.kind == "shell" and not call.changes and call.program != "git")


def _given_up(call: ToolCall) -> bool:
    return call.outcome == "abandoned"


def _earlier(one: Moment | None, other: Moment | None) -> Moment | None:
    return min(one, other) if one is not None and other is not None else one or other


def _later(one: Moment | None, other: Moment | None) -> Moment | None:
    return max(one, other) if one is not None and other is not None else one or other


def _last_check(one: CheckSeen | None, other: CheckSeen | None) -> CheckSeen | None:
    return max(one, other) if one is not None and other is not None else one or other


def _last_pass(one: CheckSeen | None, other: CheckSeen | None) -> CheckSeen | None:
    """Of two checks that passed the one that began last: a change before its beginning is covered by it."""
    if one is None or other is None:
        return one or other
    return max(one, other, key=_beginning)


def _beginning(check: CheckSeen) -> tuple[Moment, CheckSeen]:
    return check.started, check


def _last_checks(
    known: Mapping[Family, CheckSeen], more: Iterable[tuple[Family, CheckSeen]]
) -> Mapping[Family, CheckSeen]:
    found = dict(known)
    for family, check in more:
        found[family] = max(found.get(family, check), check)
    return found


def _last_end(one: End | None, other: End | None) -> End | None:
    return max(one, other) if one is not None and other is not None else one or other


def _last_ends(known: Mapping[str, End], more: Iterable[tuple[str, End]]) -> Mapping[str, End]:
    found = dict(known)
    for signature, end in more:
        found[signature] = max(found.get(signature, end), end)
    if len(found) > MOST_ENDS:
        latest = sorted(found.items(), key=_recency)[-MOST_ENDS:]
        return dict(latest)
    return found


def _recency(entry: tuple[str, End]) -> tuple[End, str]:
    return entry[1], entry[0]


def _summed(one: Mapping[str, int], other: Mapping[str, int]) -> Mapping[str, int]:
    return {
        kind: one.get(kind, 0) + other.get(kind, 0) for kind in (*one, *(kind for kind in other if kind not in one))
    }
