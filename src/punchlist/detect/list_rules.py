"""The rules about how a list is written, for whoever counts: churn, storms of calls, items that go back and forth.

Every write of a list comes here, in programs that do nothing else too: what is seldom needed is imported when it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from punchlist.detect.values import fields

if TYPE_CHECKING:
    from punchlist.detect.findings import Finding, Level

WRITES = frozenset({"list.replaced", "list.merged", "list.edited", "list.confirmed", "list.refused"})
"""The events that a call of a todo tool ends with, unless it only reads."""

STORM = "todo_storm"

_MOVES: Mapping[str, str] = {
    "item.started": "in_progress",
    "item.paused": "pending",
    "item.completed": "completed",
    "item.failed": "failed",
    "item.cancelled": "cancelled",
    "item.blocked": "blocked",
    "item.unblocked": "pending",
    "item.reopened": "pending",
}
PROGRESS = frozenset({"item.started", "item.completed", "item.cancelled", "item.blocked", "item.unblocked"})
_CLOSED = frozenset({"completed", "cancelled"})

Raised = tuple[tuple[str, str], ...]
"""Detectors that have something to say, each with what it is about."""


class StalenessOptions(NamedTuple):
    """Seconds and counts from which on there is something to say. A count of 0 switches its detector off."""

    stale_after: float = 30 * 60.0
    stale_calls: int = 20
    churn_writes: int = 5
    bounces: int = 3
    storm_calls: int = 10
    storm_seconds: float = 60.0


DEFAULT = StalenessOptions()


def churn(writes: int, options: StalenessOptions) -> Finding | None:
    """What there is to say of so many writes in a row, accepted or not, behind which no item had moved on."""
    if not writes or not options.churn_writes or writes % options.churn_writes:
        return None
    said = f"The todo tool was called to write the list {writes} times in a row, and no item has moved on."
    return _finding("churn", "warning", said, writes)


def storm(calls: int, seconds: float) -> Finding:
    return _finding(STORM, "warning", f"{calls} calls of the todo tool within {round(seconds)} s.", calls)


def calmed(raised: Raised) -> tuple[Raised, list[Finding]]:
    """What is still raised once a storm is over, and what there is to say of that."""
    return over(raised, (), lambda known: known[0] != STORM)


def bouncing(item: str, bounces: int, options: StalenessOptions) -> Finding | None:
    """What there is to say of an item that has just gone back for that many times."""
    if not bounces or not options.bounces or bounces % options.bounces:
        return None
    from punchlist.detect.findings import shown

    said = f"Item {shown(item)} went back to an earlier status {bounces} times."
    return _finding("bouncing", "warning", said, bounces, item)


def over(
    raised: Raised, found: Iterable[Finding], still: Callable[[tuple[str, str]], bool]
) -> tuple[Raised, list[Finding]]:
    """What is raised once this was found too, and what was raised before and no longer holds."""
    known = dict.fromkeys((*raised, *((one.detector, one.subject) for one in found)))
    if not known:
        return (), []
    gone = [entry for entry in known if not still(entry)]
    ended = [_finding(entry[0], "ok", "This is over.", subject=entry[1]) for entry in gone if entry in raised]
    return tuple(entry for entry in known if entry not in gone), ended


def status_after(kind: str, data: Mapping[str, Any]) -> str | None:
    """The status that an item has behind an event that changed it, where the event says so."""
    status = _MOVES.get(kind) or fields(data.get("set")).get("status")
    return status if isinstance(status, str) else None


def is_closed(status: str) -> bool:
    return status in _CLOSED


def is_back(before: str, after: str) -> bool:
    """Whether work that was begun or done is not any more."""
    if before in _CLOSED:
        return after not in _CLOSED
    return before == "in_progress" and after == "pending"


def _finding(detector: str, level: Level, seen: str, count: int = 0, subject: str = "") -> Finding:
    from punchlist.detect.findings import Finding

    return Finding(detector, level, seen, count, subject)
