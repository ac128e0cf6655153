"""The brief for a person who comes back: items done, doubtful, waiting or stalled since then, and what tools did."""

from __future__ import annotations

from collections.abc import Container, Iterable
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from punchlist.core.events import Event
from punchlist.core.grounding.fold import REPORTS, TURN_ENDS
from punchlist.core.grounding.tally import Tally, tally_of
from punchlist.core.report import ItemReport, Report, Reporting
from punchlist.core.todo import Status

STALLS: Final = frozenset({"nothing_submitted", "no_runtime_event", "no_output", "silent_after_output", "timed_out"})
"""Detectors of silence, which output ends, and the end of a turn."""

WATCHED: Final = timedelta(hours=6)
"""A silence is repeated for so long: afterwards nobody waits for its end."""

_RESUMED: Final = "resumed"
_OVER: Final = "timed_out"


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
    """Items by what became of them: the first four were completed or regraded since, the rest stands now.

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
        """True if nothing happened and nothing waits."""
        lists = (self.verified, self.worked, self.doubtful, self.unjudged, self.failed, self.waiting, self.noticed)
        return not any(lists) and self.work.is_empty


def write_brief(events: Iterable[Event], *, after: int, now: datetime) -> Brief:
    """Write the brief for a person who has seen everything up to the event `after`.

    Needs the whole log of what is asked about: a completion is judged by all that was seen. `until` is where to go on
    the next time.
    """
    reporting, findings = Reporting(), Findings()
    until = after
    for event in events:
        reporting.add(event)
        findings.add(event)
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
        noticed=findings.told(after, now),
        work=_work_since(reporting, after),
        report=report,
        until=until,
    )


def _with(report: Report, status: Status) -> tuple[ItemReport, ...]:
    return tuple(entry for entry in report.items if entry.item.status is status and not entry.is_gone)


def _under_way(report: Report) -> tuple[ItemReport, ...]:
    """Return items in progress, then pending ones on which a subagent is at work already."""
    helped = tuple(entry for entry in _with(report, Status.PENDING) if entry.helpers)
    return (*_with(report, Status.IN_PROGRESS), *helped)


def _is_news(entry: ItemReport, after: int) -> bool:
    ends = (tally.last_end.at.order for tally in (entry.tally, entry.later) if tally.last_end is not None)
    return entry.touched > after or any(order > after for order in ends)


def _work_since(reporting: Reporting, after: int) -> Tally:
    calls = (call for agent in reporting.work.agents() for call in reporting.work.calls_by(agent.session, agent.name))
    return tally_of(call for call in calls if (call.finished or call.started or (None, 0))[1] > after)


class Findings:
    """The findings of detectors that still hold, folded from the log."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str, str, str], Noticed] = {}
        self._heard: dict[tuple[str, str], int] = {}
        self._ended: dict[tuple[str, str], int] = {}

    def add(self, event: Event) -> None:
        """Add a finding, or end findings: an agent that has finished is neither stalled nor looping."""
        owner = (event.session or "", event.agent or "")
        if event.kind in REPORTS:
            self._heard[owner] = event.seq
        elif event.kind in TURN_ENDS:
            self._ended[owner] = event.seq
            self._forget(owner, STALLS if event.kind == "turn.ended" else None)
        elif event.kind in ("finding.raised", "finding.cleared"):
            self._finding(event, owner)

    def told(self, after: int, now: datetime) -> tuple[Noticed, ...]:
        """Return the findings after the event `after`, and earlier ones that still matter."""
        return tuple(one for one in self._open.values() if one.seq > after or self._matters(one, after, now))

    def _matters(self, one: Noticed, after: int, now: datetime) -> bool:
        """True if a known finding is worth repeating: a lasting silence, or an agent still in the same turn."""
        if one.detector in STALLS:
            return one.detector != _OVER and now - one.at < WATCHED
        owner = (one.session, one.agent)
        return self._heard.get(owner, 0) > after and self._ended.get(owner, 0) < one.seq

    def _finding(self, event: Event, owner: tuple[str, str]) -> None:
        detector, seen, subject = (str(event.data.get(name, "")) for name in ("detector", "seen", "subject"))
        if event.kind == "finding.raised":
            if detector in STALLS:
                self._forget(owner, STALLS)  # one silence, however far it has come
            self._open[*owner, detector, subject] = Noticed(*owner, detector, seen, subject, event.at, event.seq)
        elif detector == _RESUMED:
            self._forget(owner, STALLS)
        else:
            self._open.pop((*owner, detector, subject), None)

    def _forget(self, owner: tuple[str, str], detectors: Container[str] | None) -> None:
        """Drop the findings of these detectors about an agent, or of all."""
        over = [key for key in self._open if key[:2] == owner and (detectors is None or key[2] in detectors)]
        for key in over:
            del self._open[key]
