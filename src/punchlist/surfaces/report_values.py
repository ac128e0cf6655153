"""A report as plain values, for programs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from punchlist.core.grounding import Subject, Tally
from punchlist.core.grounding.tally import CheckSeen
from punchlist.core.report import ItemReport, Report, Totals


class Changed(NamedTuple):
    """What version control saw of the work on an item; `shared` of its commits count for other agents too."""

    commits: tuple[str, ...] = ()
    files: int = 0
    added: int = 0
    removed: int = 0
    shared: int = 0


Changes = Mapping[Subject, Changed]


def report_data(report: Report, changes: Changes) -> dict[str, Any]:
    """The whole report as JSON values."""
    return {
        "items": [_item(entry, changes.get(entry.subject)) for entry in report.items],
        "elsewhere": [
            {"session": of.session, "agent": of.agent, "item": of.item, **_work(tally)}
            for of, tally in report.elsewhere.items()
        ],
        "totals": _totals(report.totals),
    }


def item_data(entry: ItemReport, changed: Changed | None) -> dict[str, Any]:
    """One item as JSON values."""
    return _item(entry, changed)


def _item(entry: ItemReport, changed: Changed | None) -> dict[str, Any]:
    item, of = entry.item, entry.subject
    return {
        "session": of.session,
        "agent": of.agent,
        "plan": of.item.rpartition("/")[0],
        "id": item.id,
        "content": item.content,
        "status": item.status.value,
        "grade": entry.grade,
        "gone": entry.is_gone,
        "started_at": _time(item.started_at),
        "finished_at": _time(item.finished_at),
        "seconds": None if entry.elapsed is None else entry.elapsed.total_seconds(),
        **_work(entry.tally),
        "last_check": _check(entry.last_check),
        "helpers": list(entry.helpers),
        "later_calls": entry.later.calls,
        "evidence": [
            {
                "text": match.evidence.text,
                "kind": match.kind,
                "seen": match.is_seen,
                "holds": match.holds,
                "call": None if match.call is None else match.call.id,
            }
            for match in entry.evidence
        ],
        "git": None if changed is None else changed._asdict(),
    }


def _work(tally: Tally) -> dict[str, Any]:
    return {
        "calls": tally.calls,
        "calls_by_kind": dict(tally.kinds),
        "calls_of_children": tally.child_calls,
        "failures": tally.failures,
        "abandoned": tally.abandoned,
        "active_seconds": tally.active.total_seconds(),
        "files": list(tally.files),
        "last_check": _check(tally.last_check),
    }


def _check(check: CheckSeen | None) -> dict[str, str] | None:
    return None if check is None else {"name": check.name, "family": check.family, "outcome": check.outcome}


def _totals(totals: Totals) -> dict[str, Any]:
    return {
        "items": totals.items,
        "completed": totals.completed,
        "cancelled": totals.cancelled,
        "open": totals.open,
        "grades": dict(totals.grades),
        "judged": totals.judged,
        "unjudged": totals.unjudged,
        "honest_percent": totals.honest.percent,
        "verified_percent": totals.verified.percent,
        "calls": totals.calls,
        "failures": totals.failures,
        "active_seconds": totals.active.total_seconds(),
    }


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
