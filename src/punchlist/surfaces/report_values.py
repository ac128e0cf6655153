"""A report as plain values, for programs; and the words for them that all its forms share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from punchlist.core.grounding import Subject, Tally, is_task, task_of
from punchlist.core.report import ItemReport, Report, Share, Totals


class Changed(NamedTuple):
    """What version control saw of the work on an item; `shared` of its commits count for other agents too."""

    commits: tuple[str, ...] = ()
    files: int = 0
    added: int = 0
    removed: int = 0
    shared: int = 0


Changes = Mapping[Subject, Changed]


def beside(key: str) -> str:
    """What work belongs to that stands beside the items."""
    return "/".join(task_of(key)) if is_task(key) else key or "nothing in focus"


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


def span(length: timedelta | None) -> str:
    """A length of time as a person says it: `45 s`, `3 min`, `2 h 5 min`."""
    if length is None:
        return ""
    seconds = int(length.total_seconds())
    if seconds < 60:
        return f"{seconds} s"
    minutes = seconds // 60
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def counted(number: int, what: str, many: str = "") -> str:
    return f"{number:,} {what if number == 1 else many or what + 's'}"


def work_words(tally: Tally) -> list[str]:
    """What was seen of some work, in a few words each."""
    if tally.is_empty:
        return ["nothing seen"]
    said = [counted(tally.calls, "call")]
    if tally.child_calls:
        said[0] += f" ({tally.child_calls:,} by subagents)"
    if tally.failures:
        said.append(f"{tally.failures:,} failed")
    if tally.running:
        said.append(f"{tally.running:,} running")
    if tally.active:
        said.append(f"{span(tally.active)} active")
    if tally.files:
        said.append(counted(len(tally.files), "file"))
    if tally.last_check is not None:
        said.append(f"{tally.last_check.name} {tally.last_check.outcome}")
    return said


def changed_words(changed: Changed | None) -> str:
    if changed is None or not (changed.files or changed.commits):
        return ""
    said = f"+{changed.added} -{changed.removed} in {counted(changed.files, 'file')}"
    if not changed.commits:
        return said
    shared = f" ({changed.shared} shared with others)" if changed.shared else ""
    return f"{said}, {counted(len(changed.commits), 'commit')}{shared}"


def share_words(share: Share) -> str:
    return "nothing to judge" if share.percent is None else f"{share.percent} % ({share.part} of {share.of})"


def total_words(totals: Totals) -> list[tuple[str, str]]:
    """The totals, each with its name."""
    done = f"{totals.completed} of {totals.items - totals.cancelled} done"
    items = f"{done}, {totals.open} open" + (f", {totals.cancelled} given up" if totals.cancelled else "")
    judged = share_words(totals.honest)
    if totals.unjudged:
        judged += f"; {totals.unjudged} not judged, because nobody reported what was done"
    grades = ", ".join(f"{count} {grade}" for grade, count in totals.grades.items()) or "none"
    work = f"{counted(totals.calls, 'call')}, {totals.failures:,} failed, {span(totals.active)} active"
    return [
        ("items", items),
        ("grades", grades),
        ("honest completion", judged),
        ("checked or confirmed", share_words(totals.verified)),
        ("work", work),
    ]


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
    check = tally.last_check
    return {
        "calls": tally.calls,
        "calls_by_kind": dict(tally.kinds),
        "calls_of_children": tally.child_calls,
        "failures": tally.failures,
        "abandoned": tally.abandoned,
        "active_seconds": tally.active.total_seconds(),
        "files": list(tally.files),
        "last_check": None if check is None else {"name": check.name, "family": check.family, "outcome": check.outcome},
    }


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
