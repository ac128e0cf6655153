"""Count the calls behind an item, a session or a brief, for people to read. Grades do not depend on it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from msgspec import Struct, field

from punchlist.core.checks.commands import Family
from punchlist.core.checks.outcome import Outcome
from punchlist.core.grounding.tool_call import MOST_FILES, Moment, ToolCall

Span = tuple[datetime, datetime]


class CheckSeen(NamedTuple):
    """A check that was seen. Sorts by the time when it ended."""

    finished: Moment
    outcome: Outcome
    name: str
    family: Family
    call: str
    command: str = ""


class Tally(Struct, frozen=True, kw_only=True):
    """Calls in numbers. `child_calls` of them were made by subagents; `spans` are the times in which any call ran."""

    calls: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict[str, int])
    running: int = 0
    failures: int = 0
    abandoned: int = 0
    child_calls: int = 0
    spans: tuple[Span, ...] = ()
    files: tuple[str, ...] = ()
    last_check: CheckSeen | None = None

    @property
    def active(self) -> timedelta:
        """The time in which at least one call was running."""
        return sum((end - start for start, end in self.spans), timedelta(0))

    @property
    def is_empty(self) -> bool:
        """True if no tool call was seen."""
        return self.calls == 0


NOTHING: Final = Tally()


def tally_of(calls: Iterable[ToolCall], *, child_calls: int = 0) -> Tally:
    """Count these calls, each different, in any order."""
    seen = list(calls)
    spans: list[Span] = []
    files: set[str] = set()
    for call in seen:
        if call.started is not None and call.finished is not None and call.finished.at > call.started.at:
            spans.append((call.started.at, call.finished.at))  # a clock that was set back counts nothing
        if call.kind != "edit" or call.outcome in ("ok", "abandoned"):  # an edit that failed has touched nothing
            files.update(call.files)
    checks = [check for call in seen if (check := _check_in(call)) is not None]
    return Tally(
        calls=len(seen),
        kinds=dict(Counter(call.kind for call in seen)),
        running=sum(call.outcome == "running" for call in seen),
        failures=sum(call.outcome == "failed" or call.check_outcome == "failed" for call in seen),
        abandoned=sum(call.outcome == "abandoned" for call in seen),
        child_calls=child_calls,
        spans=_united(spans),
        files=tuple(sorted(files)[: 4 * MOST_FILES]),
        last_check=max(checks, default=None),
    )


def _check_in(call: ToolCall) -> CheckSeen | None:
    if call.check is None or call.finished is None or call.outcome == "abandoned":
        return None
    outcome = call.check_outcome or "unknown"
    return CheckSeen(call.finished, outcome, call.check.name, call.check.family, call.id, call.preview)


def _united(spans: Iterable[Span]) -> tuple[Span, ...]:
    united: list[Span] = []
    for start, end in sorted(spans):
        if united and start <= united[-1][1]:
            united[-1] = united[-1][0], max(end, united[-1][1])
        else:
            united.append((start, end))
    return tuple(united)
