"""What happened since somebody last looked: what is done, what is doubtful, what waits or stalls, what tools did."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from punchlist.core.events import Event
from punchlist.core.grounding.counting import tally_of
from punchlist.core.grounding.tally import Tally
from punchlist.core.grounding.work import TURN_ENDS
from punchlist.core.report import ItemReport, Report, Reporting
from punchlist.core.todo import Status

STALLS: Final = frozenset({"nothing_submitted", "no_runtime_event", "no_output", "silent_after_output", "timed_out"})
"""Detectors of silence, which output ends, and the end of a turn."""

_RESUMED: Final = "resumed"


@dataclass(frozen=True, slots=True)
class Noticed:
    """A finding of a detector that still holds."""

    session: str
    agent: str
    detector: str
    seen: str
    subject: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Brief:
    """The first four were completed since, or something was seen since that bears on their grade; the rest stands now.

    `doubtful` are those contradicted or only asserted, `waiting` wait on somebody, `work` is what tools did since.
    """

    verified: tuple[ItemReport, ...]
    worked: tuple[ItemReport, ...]
    doubtful: tuple[ItemReport, ...]
    unjudged: tuple[ItemReport, ...]
    failed: tuple[ItemReport, ...]
    waiting: tuple[ItemReport, ...]
    under_way: tuple[ItemReport, ...]
    noticed: tuple[Noticed, ...]
    work: Tally
    report: Report
    until: int

    @property
    def is_empty(self) -> bool:
        """Whether nothing happened and nothing waits."""
        lists = (self.verified, self.worked, self.doubtful, self.unjudged, self.failed, self.waiting, self.noticed)
        return not any(lists) and self.work.is_empty


def brief(events: Iterable[Event], *, after: int, now: datetime) -> Brief:
    """What a person has to know who has seen everything up to and with the event `after`.

    Needs the whole log of what is asked about: a completion is judged by all that was seen. `until` is where to go on
    the next time.
    """
    reporting = Reporting()
    noticed: dict[tuple[str, str, str, str], Noticed] = {}
    until = after
    for event in events:
        reporting.add(event)
        _notice(noticed, event)
        until = max(until, event.seq)
    report = reporting.report(now)
    done = [entry for entry in _with(report, Status.COMPLETED) if _is_news(entry, after)]
    return Brief(
        verified=tuple(entry for entry in done if entry.grade in ("verified", "confirmed")),
        worked=tuple(entry for entry in done if entry.grade == "worked"),
        doubtful=tuple(entry for entry in done if entry.grade in ("contradicted", "asserted")),
        unjudged=tuple(entry for entry in done if entry.grade is None),
        failed=_with(report, Status.FAILED),
        waiting=_with(report, Status.BLOCKED),
        under_way=_under_way(report),
        noticed=tuple(noticed.values()),
        work=_work_since(reporting, after),
        report=report,
        until=until,
    )


def _with(report: Report, status: Status) -> tuple[ItemReport, ...]:
    return tuple(entry for entry in report.items if entry.item.status is status and not entry.is_gone)


def _under_way(report: Report) -> tuple[ItemReport, ...]:
    """What is in progress, and what waits its turn in its own list while a subagent is at work on it already."""
    helped = tuple(entry for entry in _with(report, Status.PENDING) if entry.helpers)
    return (*_with(report, Status.IN_PROGRESS), *helped)


def _is_news(entry: ItemReport, after: int) -> bool:
    ends = (tally.last_end.at.order for tally in (entry.tally, entry.later) if tally.last_end is not None)
    return entry.touched > after or any(order > after for order in ends)


def _work_since(reporting: Reporting, after: int) -> Tally:
    calls = (call for agent in reporting.work.agents() for call in reporting.work.calls_by(agent.session, agent.name))
    return tally_of(call for call in calls if (call.finished or call.started or (None, 0))[1] > after)


def _notice(noticed: dict[tuple[str, str, str, str], Noticed], event: Event) -> None:
    """Takes in what a detector says, and what ends it: nobody who has finished is stalled, or goes in circles."""
    owner = (event.session or "", event.agent or "")
    if event.kind in TURN_ENDS:
        _forget(noticed, owner, STALLS if event.kind == "turn.ended" else None)
    if event.kind not in ("finding.raised", "finding.cleared"):
        return
    detector, seen, subject = (str(event.data.get(name, "")) for name in ("detector", "seen", "subject"))
    if event.kind == "finding.raised":
        noticed[*owner, detector, subject] = Noticed(*owner, detector, seen, subject, event.at)
    elif detector == _RESUMED:
        _forget(noticed, owner, STALLS)
    else:
        noticed.pop((*owner, detector, subject), None)


def _forget(
    noticed: dict[tuple[str, str, str, str], Noticed], owner: tuple[str, str], detectors: Container[str] | None
) -> None:
    """What these detectors, or all, said of an agent is over."""
    over = [key for key in noticed if key[:2] == owner and (detectors is None or key[2] in detectors)]
    for key in over:
        del noticed[key]
