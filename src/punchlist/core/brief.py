"""Build the brief for a person who comes back: items done, doubtful, waiting or stalled since then, and tool use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from punchlist.core.events import Event
from punchlist.core.grounding.tally import Tally, tally_of
from punchlist.core.grounding.tool_call import ToolCall
from punchlist.core.overview import NO_ACTIVITY, STALLS, Activity, fold_activity
from punchlist.core.report import ItemReport, Reporting
from punchlist.core.todo import Status

__all__ = ["STALLS", "Brief", "Noticed", "assemble_brief", "find_noticed", "is_since", "write_brief"]


class Noticed(Struct, frozen=True):
    """A finding of a detector that is new or still holds. `seq` is its event."""

    session: str
    agent: str
    detector: str
    seen: str
    subject: str
    at: datetime
    seq: int = 0


class Brief(Struct, frozen=True):
    """Items by what became of them: the first five were completed or regraded since, the rest stands now.

    `doubtful` are those contradicted or only asserted, `waiting` are blocked, `work` is what tools did since.
    """

    verified: tuple[ItemReport, ...]
    confirmed: tuple[ItemReport, ...]
    worked: tuple[ItemReport, ...]
    doubtful: tuple[ItemReport, ...]
    unjudged: tuple[ItemReport, ...]
    failed: tuple[ItemReport, ...]
    waiting: tuple[ItemReport, ...]
    under_way: tuple[ItemReport, ...]
    noticed: tuple[Noticed, ...]
    work: Tally
    until: int

    @property
    def is_empty(self) -> bool:
        """True if nothing happened and nothing waits."""
        done = (self.verified, self.confirmed, self.worked, self.doubtful, self.unjudged)
        return not any((*done, self.failed, self.waiting, self.noticed)) and self.work.is_empty


def write_brief(events: Iterable[Event], *, after: int, now: datetime) -> Brief:
    """Write the brief for a person who has seen everything up to the event `after`, from the whole log.

    `until` is where to go on the next time. A board reads its rows instead (see `agent/briefs.py`), with one result.
    """
    reporting, activities = Reporting(), dict[tuple[str, str], Activity]()
    until = after
    for event in events:
        reporting.add(event)
        owner = (event.session or "", event.agent or "")
        known = activities.get(owner, NO_ACTIVITY)
        activities[owner] = fold_activity(known, event.kind, event.data, event.at, event.seq)
        until = max(until, event.seq)
    return assemble_brief(
        reporting.report(now).items,
        [call for call in reporting.work.every_call() if is_since(call, after)],
        find_noticed(activities, after, now),
        after=after,
        until=until,
    )


def assemble_brief(
    items: Sequence[ItemReport], calls: Iterable[ToolCall], noticed: tuple[Noticed, ...], *, after: int, until: int
) -> Brief:
    """Sort reports of items into a brief. `calls` are those that began or ended since."""
    done = [entry for entry in _with(items, Status.COMPLETED) if _is_news(entry, after)]
    helped = (entry for entry in _with(items, Status.PENDING) if entry.helpers)
    return Brief(
        verified=tuple(entry for entry in done if entry.grade == "verified"),
        confirmed=tuple(entry for entry in done if entry.grade == "confirmed"),
        worked=tuple(entry for entry in done if entry.grade == "worked"),
        doubtful=tuple(entry for entry in done if entry.grade in ("contradicted", "asserted")),
        unjudged=tuple(entry for entry in done if entry.grade is None),
        failed=_with(items, Status.FAILED),
        waiting=_with(items, Status.BLOCKED),
        under_way=(*_with(items, Status.IN_PROGRESS), *helped),
        noticed=noticed,
        work=tally_of(calls),
        until=until,
    )


def _with(items: Iterable[ItemReport], status: Status) -> tuple[ItemReport, ...]:
    return tuple(entry for entry in items if entry.item.status is status and not entry.is_gone)


def _is_news(entry: ItemReport, after: int) -> bool:
    ends = (tally.last_end.at.order for tally in (entry.tally, entry.later) if tally.last_end is not None)
    return entry.touched > after or any(order > after for order in ends)


def is_since(call: ToolCall, after: int) -> bool:
    """True if the latest that is known of a call came after that event."""
    return (call.finished or call.started or (None, 0))[1] > after


def find_noticed(activities: Mapping[tuple[str, str], Activity], after: int, now: datetime) -> tuple[Noticed, ...]:
    """Return the findings of all agents after the event `after`, and earlier ones that still matter, in their order."""
    found = [(one, owner) for owner, known in activities.items() for one in known.find_news(after, now)]
    found.sort(key=lambda pair: pair[0].first)
    return tuple(Noticed(*owner, one.detector, one.seen, one.subject, one.at, one.seq) for one, owner in found)
