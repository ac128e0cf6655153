"""Count what was seen of the work on one item.

Sums count calls; everything else is a greatest, a first or a set, so that the order of calls does not matter.
`tally_of` counts calls, `combined` adds tallies, such as a child's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeVar

from msgspec import Struct, field

from punchlist.core.checks import Family, Outcome
from punchlist.core.grounding.tool_call import MOST_FILES, Moment, ToolCall, is_task

MOST_ENDS: Final = 32
"""Kinds of call whose last end is remembered."""

Span = tuple[datetime, datetime]
T = TypeVar("T", bound=tuple[object, ...])


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
    """The work on one item: `checks` holds the last check of each family that passed or failed, `passed` the last pass.

    `talk` counts the calls that are no work. `last_end` is the end of the last other one, `ends` those of each kind of
    work: a command that only looks at something takes nothing back, and makes nothing good. `spans` are the times in
    which at least one call ran.
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
    spans: tuple[Span, ...] = ()
    files: tuple[str, ...] = ()
    last_check: CheckSeen | None = None
    passed: CheckSeen | None = None
    checks: Mapping[Family, CheckSeen] = field(default_factory=dict["Family", CheckSeen])
    last_change: Moment | None = None
    last_end: End | None = None
    ends: Mapping[str, End] = field(default_factory=dict[str, End])

    @property
    def wall(self) -> timedelta:
        """The time from the first to the last that was seen."""
        return self.last.at - self.first.at if self.first is not None and self.last is not None else timedelta(0)

    @property
    def active(self) -> timedelta:
        """The time in which at least one call was running."""
        return sum((end - start for start, end in self.spans), timedelta(0))

    @property
    def has_work(self) -> bool:
        """True if anything was seen beside talk."""
        return self.calls > self.talk

    @property
    def is_empty(self) -> bool:
        return self.calls == 0


NOTHING: Final = Tally()


def tally_of(calls: Iterable[ToolCall]) -> Tally:
    """Count these calls, each different."""
    count = _Count()
    for call in calls:
        count.add(call)
    return count.tally()


class _Count:
    def __init__(self) -> None:
        self.calls = self.talk = self.running = self.failures = self.abandoned = 0
        self.kinds = Counter[str]()
        self.first: Moment | None = None
        self.last: Moment | None = None
        self.spans: list[Span] = []
        self.files: set[str] = set()
        self.last_check: CheckSeen | None = None
        self.passed: CheckSeen | None = None
        self.checks: dict[Family, CheckSeen] = {}
        self.last_change: Moment | None = None
        self.last_end: End | None = None
        self.ends: dict[str, End] = {}

    def add(self, call: ToolCall) -> None:
        self.calls += 1
        self.talk += call.is_talk
        self.kinds[call.kind] += 1
        if call.finished is not None and call.outcome != "abandoned":
            self._add_ended(call, call.finished)
        else:
            self._add_open(call)

    def _add_open(self, call: ToolCall) -> None:
        """Count a call that still runs, or was given up."""
        begun = call.started
        if call.kind != "edit" or call.outcome == "abandoned":  # an edit that runs may still touch nothing
            self.files.update(call.files)
        self.running += call.outcome == "running"
        self.abandoned += call.outcome == "abandoned"
        self._saw(begun or call.finished, begun)
        if call.changes and call.kind != "edit":  # a command perhaps changes something from its start
            self.last_change = latest(self.last_change, begun)

    def _add_ended(self, call: ToolCall, at: Moment) -> None:
        begun, failed, outcome = call.started, call.outcome == "failed", call.check_outcome
        has_effect = not (failed and call.kind == "edit")  # an edit that failed has changed nothing
        if has_effect:
            self.files.update(call.files)
        self.failures += failed or outcome == "failed"  # its exit code may have been swallowed
        self._saw(begun or at, at)
        if begun is not None and at.at > begun.at:  # a clock that was set back counts nothing
            self.spans.append((begun.at, at.at))
        check = None if call.check is None or call.check.family == "probe" else call.check  # a probe proves too little
        if check is not None:
            self._add_check(CheckSeen(at, outcome or "unknown", begun or at, check.name, check.family, call.id))
        if call.changes and has_effect:
            self.last_change = latest(self.last_change, at)
        if call.is_talk:
            return
        end = End(at, failed)
        self.last_end = latest(self.last_end, end)
        proves_nothing = outcome == "unknown" if check is not None else not _only_looks(call)
        if proves_nothing:
            self.ends[call.signature] = max(self.ends.get(call.signature, end), end)

    def _add_check(self, seen: CheckSeen) -> None:
        self.last_check = latest(self.last_check, seen)
        if seen.outcome == "passed":
            self.passed = _last_pass(self.passed, seen)
        if seen.outcome in ("passed", "failed"):
            self.checks[seen.family] = max(self.checks.get(seen.family, seen), seen)

    def _saw(self, first: Moment | None, last: Moment | None) -> None:
        self.first = _earliest(self.first, first)
        self.last = latest(self.last, last)

    def tally(self) -> Tally:
        return Tally(
            calls=self.calls,
            talk=self.talk,
            kinds=dict(self.kinds),
            running=self.running,
            failures=self.failures,
            abandoned=self.abandoned,
            first=self.first,
            last=self.last,
            spans=_united(self.spans),
            files=_first_files(self.files),
            last_check=self.last_check,
            passed=self.passed,
            checks=self.checks,
            last_change=self.last_change,
            last_end=self.last_end,
            ends=_latest_ends(self.ends),
        )


def _only_looks(call: ToolCall) -> bool:
    """True if a call only looks at something: its failure says nothing of the work, and its success heals nothing."""
    looks = call.kind == "shell" and not call.changes and call.check is None and call.program != "git"
    return call.kind == "read" or looks


def combined(own: Tally, others: Iterable[Tally], *, as_children: bool = False) -> Tally:
    """Return a tally with others added to it; `as_children` says that their calls are those of children."""
    total = own
    for other in others:
        if other.is_empty:
            continue
        total = Tally(
            calls=total.calls + other.calls,
            talk=total.talk + other.talk,
            kinds=dict(Counter(total.kinds) + Counter(other.kinds)),
            running=total.running + other.running,
            failures=total.failures + other.failures,
            abandoned=total.abandoned + other.abandoned,
            child_calls=total.child_calls + (other.calls if as_children else other.child_calls),
            first=_earliest(total.first, other.first),
            last=latest(total.last, other.last),
            spans=_united((*total.spans, *other.spans)),
            files=_first_files({*total.files, *other.files}),
            last_check=latest(total.last_check, other.last_check),
            passed=_last_pass(total.passed, other.passed),
            checks=_greatest(total.checks, other.checks),
            last_change=latest(total.last_change, other.last_change),
            last_end=latest(total.last_end, other.last_end),
            ends=_latest_ends(_greatest(total.ends, other.ends)),
        )
    return total


def work_during(calls: Iterable[ToolCall], start: datetime | None, end: datetime | None) -> Tally:
    """Count what was done while a task was claimed, for the steps of a list or for nothing in particular.

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


def latest(one: T | None, other: T | None) -> T | None:
    return max(one, other) if one is not None and other is not None else one or other


def _earliest(one: Moment | None, other: Moment | None) -> Moment | None:
    return min(one, other) if one is not None and other is not None else one or other


def _last_pass(one: CheckSeen | None, other: CheckSeen | None) -> CheckSeen | None:
    """Return the check that began last: a change before its beginning is covered by it."""
    if one is None or other is None:
        return one or other
    return max(one, other, key=lambda check: (check.started, check))


K = TypeVar("K")


def _greatest(known: Mapping[K, T], more: Mapping[K, T]) -> dict[K, T]:
    found = dict(known)
    for key, value in more.items():
        found[key] = max(found.get(key, value), value)
    return found


def _latest_ends(ends: dict[str, End]) -> dict[str, End]:
    """Of too many ends keep those that came last."""
    if len(ends) <= MOST_ENDS:
        return ends
    return dict(sorted(ends.items(), key=lambda entry: (entry[1], entry[0]))[-MOST_ENDS:])


def _first_files(files: set[str]) -> tuple[str, ...]:
    """Of too many files keep the first, so that the order of calls does not matter."""
    return tuple(sorted(files)[: 4 * MOST_FILES])


def _united(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return spans in order that neither touch nor overlap."""
    united: list[Span] = []
    for start, end in sorted(spans):
        if united and start <= united[-1][1]:
            united[-1] = united[-1][0], max(end, united[-1][1])
        else:
            united.append((start, end))
    return tuple(united)
