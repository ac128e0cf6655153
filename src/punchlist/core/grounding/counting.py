"""How calls are counted into a tally: in place, as long as it grows, and each once however often it is reported."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from punchlist.core.checks import Outcome
from punchlist.core.grounding.calls import MOST_FILES, Moment, ToolCall, is_task
from punchlist.core.grounding.spans import GrowingSpans
from punchlist.core.grounding.tally import (
    MOST_ENDS,
    NOTHING,
    CheckSeen,
    End,
    Tally,
    last_check,
    last_checks,
    last_pass,
    later,
    latest,
)


class Growing:
    """A tally that calls are counted into, in place. What `tally` gives is never changed again."""

    __slots__ = (
        "_abandoned", "_calls", "_checks", "_child_calls", "_ends", "_failures", "_files", "_first", "_kinds", "_last",
        "_last_change", "_last_check", "_last_end", "_made", "_passed", "_running", "_spans", "_talk",
    )  # fmt: skip

    def __init__(self, tally: Tally) -> None:
        self._made: Tally | None = tally
        self._calls = tally.calls
        self._talk = tally.talk
        self._kinds = dict(tally.kinds)
        self._running = tally.running
        self._failures = tally.failures
        self._abandoned = tally.abandoned
        self._child_calls = tally.child_calls
        self._first = tally.first
        self._last = tally.last
        self._spans = GrowingSpans(tally.spans)
        self._files = set(tally.files)
        self._last_check = tally.last_check
        self._passed = tally.passed
        self._checks = tally.checks
        self._last_change = tally.last_change
        self._last_end = tally.last_end
        self._ends = dict(tally.ends)

    def tally(self) -> Tally:
        """All that was counted so far."""
        if self._made is None:
            self._made = Tally(
                calls=self._calls,
                talk=self._talk,
                kinds=dict(self._kinds),
                running=self._running,
                failures=self._failures,
                abandoned=self._abandoned,
                child_calls=self._child_calls,
                first=self._first,
                last=self._last,
                spans=self._spans.spans(),
                files=self._sorted_files(),
                last_check=self._last_check,
                passed=self._passed,
                checks=self._checks,
                last_change=self._last_change,
                last_end=self._last_end,
                ends=dict(self._ends),
            )
        return self._made

    def count(self, call: ToolCall, before: ToolCall | None = None) -> bool:
        """Counts a call that is new, or of which more is known than when it was counted as `before`.

        Nothing, and False, if it takes back what was counted, so that the tally has to be made anew from all calls: a
        call that had ended gets another end, beginning or item.
        """
        if before is None:
            self._count_new(call)
        elif before == call:
            return True
        elif not _goes_on(before, call):
            return False
        else:
            self._running -= before.is_open
            self._abandoned -= before.outcome == "abandoned"
        if call.finished is not None and call.outcome != "abandoned":
            self._ended(call, call.finished, call.check_outcome, failed=call.outcome == "failed")
        else:
            self._not_ended(call)
        return True

    def count_end(self, call: ToolCall, at: Moment, check_outcome: Outcome | None, *, failed: bool) -> None:
        """Counts a call that is new and ended then, though the call itself does not say so."""
        self._count_new(call)
        self._ended(call, at, check_outcome, failed=failed)

    def _count_new(self, call: ToolCall) -> None:
        kind = call.kind
        self._calls += 1
        self._talk += call.is_talk
        self._kinds[kind] = self._kinds.get(kind, 0) + 1

    def _not_ended(self, call: ToolCall) -> None:
        begun = call.started
        self._made = None
        if call.kind != "edit" or call.outcome == "abandoned":  # of an edit it is not known yet whether it touches them
            self._files.update(call.files)
        self._running += call.outcome == "running"
        self._abandoned += call.outcome == "abandoned"
        self._saw(begun or call.finished, begun)
        if call.changes and call.kind != "edit":  # a command perhaps changes something from its start
            self._last_change = later(self._last_change, begun)

    def _saw(self, first: Moment | None, last: Moment | None) -> None:
        if first is not None and (self._first is None or first < self._first):
            self._first = first
        if last is not None and (self._last is None or last > self._last):
            self._last = last

    def _ended(self, call: ToolCall, at: Moment, check_outcome: Outcome | None, *, failed: bool) -> None:
        begun, kind = call.started, call.kind
        self._made = None
        if call.files and not (failed and kind == "edit"):
            self._files.update(call.files)
        self._failures += failed or check_outcome == "failed"  # its exit code may have been swallowed
        self._saw(begun or at, at)
        if begun is not None:
            self._spans.add(begun.at, at.at)
        if call.check is not None:
            check = call.check
            self._checked(CheckSeen(at, check_outcome or "unknown", begun or at, check.name, check.family, call.id))
        if call.changes and not (failed and kind == "edit"):  # an edit that failed has changed nothing
            self._last_change = later(self._last_change, at)
        if call.is_talk:
            return
        end = End(at, failed)
        if self._last_end is None or end > self._last_end:
            self._last_end = end
        if (call.check is None and not _looks(call)) or (call.check is not None and check_outcome == "unknown"):
            self._last_of_its_kind(call.signature, end)

    def _checked(self, seen: CheckSeen) -> None:
        self._last_check = last_check(self._last_check, seen)
        if seen.outcome == "passed":
            self._passed = last_pass(self._passed, seen)
        if seen.outcome in ("passed", "failed"):
            self._checks = last_checks(self._checks, [(seen.family, seen)])

    def _last_of_its_kind(self, signature: str, end: End) -> None:
        ends = self._ends
        known = ends.get(signature)
        if known is None or end > known:
            ends[signature] = end
            if len(ends) > MOST_ENDS:
                self._ends = latest(ends)

    def _sorted_files(self) -> tuple[str, ...]:
        """Of too many the first, so that the order of calls does not matter."""
        found = tuple(sorted(self._files)[: 4 * MOST_FILES])
        if len(found) < len(self._files):
            self._files = set(found)
        return found


def counted(tally: Tally, before: ToolCall | None, after: ToolCall) -> Tally | None:
    """The tally once a call is known as `after` instead of `before`; None if it has to be made anew from all calls."""
    growing = Growing(tally)
    return growing.tally() if growing.count(after, before) else None


def tally_of(calls: Iterable[ToolCall]) -> Tally:
    """The tally of these calls, each different."""
    growing = Growing(NOTHING)
    for call in calls:
        growing.count(call)
    return growing.tally()


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


def _goes_on(before: ToolCall, after: ToolCall) -> bool:
    """Whether a call that was open or given up goes on, as what it was."""
    if (before.item, before.after, before.kind) != (after.item, after.after, after.kind):
        return False
    if before.outcome == "abandoned" and before.files and after.outcome == "failed" and after.kind == "edit":
        return False  # its files were counted
    return before.started == after.started and before.outcome not in ("ok", "failed")


def _looks(call: ToolCall) -> bool:
    """Whether a call only looks at something: its failure says nothing of the work, and its success heals nothing."""
    return call.kind == "read" or (call.kind == "shell" and not call.changes and call.program != "git")
