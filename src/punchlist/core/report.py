"""Build the work report: time, calls, grade and evidence of each item, and the totals.

Made from the log alone, so that it knows items of former plans, and lists that their dialect wiped when finished.

**Honest completion** is the share of completions that the observed work supports: verified, confirmed or worked, among
all that could be judged. A mere assertion counts against it, and so does a contradiction. Completions of agents whose
tool calls were not reported are not judged, and counted apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.events import Event
from punchlist.core.grounding.evidence import Matched, completion_before, grounded_by, match_evidence, with_unclaimed
from punchlist.core.grounding.fold import AgentKey, Committing, Grounding
from punchlist.core.grounding.grades import GRADES, SOUND, Grade, limit_grade, regrade
from punchlist.core.grounding.tally import NOTHING, CheckSeen, Tally, combined, latest, work_during
from punchlist.core.grounding.tool_call import Subject, ToolCall, task_subject, todo_subject
from punchlist.core.overview import KeptItem, Stint, as_new, extend_stints, find_item_id, fold_item
from punchlist.core.task import Task, TaskStatus, fold_task
from punchlist.core.todo import Blocker, Status, TodoItem


def sum_stints(stints: tuple[Stint, ...], now: datetime) -> timedelta | None:
    """Return how long all of them took by now; None if there is none."""
    if not stints:
        return None
    return sum((max((end or now) - start, timedelta(0)) for start, end in stints), timedelta(0))


_AS_ITEM = {
    TaskStatus.PENDING: Status.PENDING,
    TaskStatus.IN_PROGRESS: Status.IN_PROGRESS,
    TaskStatus.WAITING: Status.BLOCKED,
    TaskStatus.COMPLETED: Status.COMPLETED,
    TaskStatus.FAILED: Status.FAILED,
    TaskStatus.CANCELLED: Status.CANCELLED,
}


class TaskEntry(Struct, frozen=True):
    """A task; `worker` is the session and the name of the agent that touched it last, empty if that was no agent.

    `is_gone`: it was deleted while open. `touched` is the last event about it.
    """

    task: Task
    worker: tuple[str, str] = ("", "")
    is_gone: bool = False
    touched: int = 0
    stints: tuple[Stint, ...] = ()

    @property
    def is_work(self) -> bool:
        """True if the task is more than a note for later: it was begun, or is on the list of a session."""
        return self.task.status is not TaskStatus.PENDING or self.task.list.startswith("session:")

    @property
    def item(self) -> TodoItem:
        task = self.task
        wait = None if task.wait is None or task.status is not TaskStatus.WAITING else Blocker(f"a {task.wait.kind}")
        return TodoItem(
            id=task.id,
            content=task.subject,
            active_form=task.active_form,
            status=_AS_ITEM[task.status],
            blocker=wait,
            created_at=task.created_at,
            created_by=task.created_by,
            started_at=task.started_at,
            finished_at=task.finished_at,
            grade=task.grade,
        )


class TaskBooks:
    """Tasks as a report needs them, folded from the log."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.entries: dict[Subject, TaskEntry] = {}
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Add an event that may be about a task."""
        name, number, subject = (event.data.get(part) for part in ("list", "id", "subject"))
        if not (isinstance(name, str) and isinstance(number, str) and isinstance(subject, str)):
            return
        of = task_subject(name, number)
        known = self.entries.get(of) or TaskEntry(Task(list=name, id=number, subject=subject))
        worker = (event.session or "", event.agent) if event.agent else known.worker
        if event.kind == "task.deleted":
            gone = known.task.status not in (TaskStatus.COMPLETED, TaskStatus.CANCELLED)
            stints = extend_stints(known.stints, known.item.status, event.at)
            self.entries[of] = replace(known, is_gone=gone, touched=event.seq, stints=stints)
            return
        entry = TaskEntry(_fold_event(known.task, event), worker, touched=event.seq)
        self.entries[of] = replace(entry, stints=extend_stints(known.stints, entry.item.status, event.at))


def _fold_event(task: Task, event: Event) -> Task:
    data: dict[str, Any] = dict(event.data)
    try:
        return fold_task(task, event.kind, data, event.at) or task
    except (LookupError, TypeError, ValueError):
        return task  # of a later version


class Share(NamedTuple):
    """A part of a number; `percent` is rounded half up, and None of nothing."""

    part: int
    of: int

    @property
    def percent(self) -> int | None:
        return (200 * self.part + self.of) // (2 * self.of) if self.of else None


class ItemReport(Struct, frozen=True):
    """One item. `tally` holds the work of subagents too, `later` what was seen after it was called done.

    `grade` is None while it is not completed, and for an agent without tool reports. `elapsed` is how long it
    was in progress, in all its `stints`, and until now if it still is; None if it never was. `is_gone`: it was taken
    off its list, or left out, while open. `touched` is the last event about it. `commands` are shell lines that perhaps
    changed something, as far as they were kept. `helpers` are the subagents that are at work on it.
    """

    subject: Subject
    item: TodoItem
    tally: Tally
    later: Tally
    grade: Grade | None
    evidence: tuple[Matched, ...]
    elapsed: timedelta | None
    is_gone: bool = False
    touched: int = 0
    commands: tuple[str, ...] = ()
    stints: tuple[Stint, ...] = ()
    helpers: tuple[str, ...] = ()

    @property
    def last_check(self) -> CheckSeen | None:
        """The last check, before or after the item was called done."""
        return latest(self.tally.last_check, self.later.last_check)


class Totals(Struct, frozen=True):
    """Totals of the items that are not gone. `active` is the time in which at least one call of any agent ran."""

    items: int
    completed: int
    cancelled: int
    grades: Mapping[Grade, int]
    calls: int
    failures: int
    active: timedelta

    @property
    def open(self) -> int:
        return self.items - self.completed - self.cancelled

    @property
    def judged(self) -> int:
        return sum(self.grades.values())

    @property
    def unjudged(self) -> int:
        """The number of completions by agents without tool reports."""
        return self.completed - self.judged

    @property
    def honest(self) -> Share:
        """Completions that the observed work supports."""
        return Share(sum(self.grades.get(grade, 0) for grade in SOUND), self.judged)

    @property
    def verified(self) -> Share:
        """Completions that a check or a person confirms."""
        return Share(self.grades.get("verified", 0) + self.grades.get("confirmed", 0), self.judged)


class Report(Struct, frozen=True):
    """The whole report. `items` are those of lists, then tasks that were begun, or that a session keeps as its list.

    `elsewhere` is work that belongs to none of them, or to nothing (its `item` is empty). What a subagent did for one
    of them is with that one alone. `committing` are calls that make commits, so that each commit finds its item.
    """

    items: tuple[ItemReport, ...]
    elsewhere: Mapping[Subject, Tally]
    totals: Totals
    committing: tuple[Committing, ...] = ()


class WorkSource(Protocol):
    """The calls that were seen, from which items are judged: folded from the log, or read from the rows of a store."""

    def calls(self, of: Subject) -> Sequence[ToolCall]: ...
    def calls_by(self, session: str, agent: str) -> Sequence[ToolCall]: ...
    def has_calls(self, session: str, agent: str) -> bool: ...
    def has_dropped(self, of: Subject, start: datetime | None, end: datetime | None) -> bool: ...
    def helpers(self, of: Subject) -> Sequence[AgentKey]: ...
    def later(self, of: Subject) -> Tally: ...
    def whole(self, of: Subject) -> Tally: ...


def report_item(
    of: Subject, kept: KeptItem, work: WorkSource, beside: Callable[[], Iterable[TodoItem]], now: datetime
) -> ItemReport:
    """Report an item of a list. `beside` gives the items of its plan."""
    item, tally, later = kept.item, work.whole(of), work.later(of)
    unclaimed = item.status is Status.COMPLETED and item.started_at is None and tally.is_empty
    calls = work.calls_by(of.session, of.agent) if item.evidence or unclaimed else ()
    if unclaimed:
        tally = with_unclaimed(tally, item, calls, since=completion_before(item, beside()))
    evidence = match_evidence(item.evidence, calls, until=item.finished_at)
    grade: Grade | None = None
    if item.status is Status.COMPLETED:
        grade = _grade(item.grade)
        if grade == "confirmed" or work.has_calls(of.session, of.agent) or not tally.is_empty:
            own = grounded_by(tally, evidence, item=of.item, since=item.created_at)
            grade = regrade(grade, own, later)
            start = item.started_at or item.created_at
            grade = limit_grade(grade, is_lossy=work.has_dropped(of, start, item.finished_at))
    return _make_report(of, of, kept, work, tally, later, grade, evidence, now)


def report_task(of: Subject, entry: TaskEntry, work: WorkSource, now: datetime) -> ItemReport:
    """Report a task, under the name of the agent that worked on it last."""
    worker, item, tally, later = entry.worker, entry.item, work.whole(of), work.later(of)
    if tally.is_empty and item.status is Status.COMPLETED:
        tally = work_during(work.calls_by(*worker), item.started_at, item.finished_at)
    grade: Grade | None = None
    if item.status is Status.COMPLETED:
        grade = _grade(item.grade)
        watched = work.has_calls(*worker) or not tally.is_empty
        if watched and grade != "confirmed":
            grade = regrade(grade, tally, later)
    return _make_report(of, Subject(*worker, of.item), entry, work, tally, later, grade, (), now)


def _make_report(
    of: Subject,
    named: Subject,
    kept: KeptItem | TaskEntry,
    work: WorkSource,
    tally: Tally,
    later: Tally,
    grade: Grade | None,
    evidence: tuple[Matched, ...],
    now: datetime,
) -> ItemReport:
    item = kept.item
    stints = kept.stints or _known_stints(item)
    return ItemReport(
        subject=named,
        item=item,
        tally=tally,
        later=later,
        grade=grade,
        evidence=evidence,
        elapsed=sum_stints(stints, now),
        is_gone=kept.is_gone,
        touched=kept.touched,
        commands=tuple(call.preview for call in work.calls(of) if call.changes and call.kind == "shell"),
        stints=stints,
        helpers=tuple(child.name for child in work.helpers(of)) if item.is_open else (),
    )


class Reporting:
    """Fold events in the order of the log, of any number of sessions, and report at any time."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.work = Grounding()
        self.items: dict[Subject, KeptItem] = {}
        self._plans: dict[tuple[str, str], str] = {}
        self._latest: dict[Subject, Subject] = {}
        self._tasks = TaskBooks()
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Add one event."""
        self.work.add(event)
        if event.kind.startswith("item."):
            self._add_item_event(event)
        elif event.kind == "plan.started":
            self._plans[event.session or "", event.agent or ""] = str(event.data.get("plan_id"))
        elif event.kind.startswith("task."):
            self._tasks.add(event)

    def report(self, now: datetime) -> Report:
        """Return the report as of now."""
        items = [report_item(of, kept, self.work, partial(self._beside, of), now) for of, kept in self.items.items()]
        worked = {of for of in self.work.subjects() if not self.work.whole(of).is_empty}
        tasks = {of: entry for of, entry in self._tasks.entries.items() if entry.is_work or of in worked}
        items.extend(report_task(of, entry, self.work, now) for of, entry in tasks.items())
        elsewhere = self._elsewhere({*self.items, *tasks})
        return Report(tuple(items), elsewhere, self._totals(tuple(items)), tuple(self.work.committing()))

    def _elsewhere(self, shown: set[Subject]) -> dict[Subject, Tally]:
        """Return the work on anything else, without that of subagents for one of these."""
        counted = {(child.session, child.name) for of in shown for child in self.work.family(of)}
        found = (of for of in self.work.subjects() if of not in shown)
        return {of: self.work.whole(of) for of in found if of.item or (of.session, of.agent) not in counted}

    def _add_item_event(self, event: Event) -> None:
        owner = (event.session or "", event.agent or "")
        item_id = find_item_id(event.kind, event.data)
        if not item_id:
            return
        of = todo_subject(*owner, self._plans.get(owner, "p0"), item_id)
        known = self.items.get(of)
        if known is None and event.kind == "item.restored":
            known = self._find_omitted(Subject(*owner, item_id))
        kept = fold_item(known, event.kind, event.data, event.at, event.seq)
        if kept is not None:
            self.items[of] = kept
            self._latest[Subject(*owner, item_id)] = of

    def _find_omitted(self, named: Subject) -> KeptItem | None:
        """Return an item that an earlier plan left out, as new: it comes back under the present plan."""
        of = self._latest.get(named)
        return None if of is None else as_new(self.items[of])

    def _beside(self, of: Subject) -> Iterable[TodoItem]:
        """Return the items of the same plan."""
        plan = of.item.partition("/")[0]
        return (
            kept.item
            for other, kept in self.items.items()
            if (other.session, other.agent, other.item.partition("/")[0]) == (of.session, of.agent, plan)
        )

    def _totals(self, items: tuple[ItemReport, ...]) -> Totals:
        everything = combined(NOTHING, (self.work.tally(of) for of in self.work.subjects()))
        items = tuple(entry for entry in items if not entry.is_gone)
        statuses = Counter(entry.item.status for entry in items)
        return Totals(
            items=len(items),
            completed=statuses[Status.COMPLETED],
            cancelled=statuses[Status.CANCELLED],
            grades=Counter(entry.grade for entry in items if entry.grade is not None),
            calls=everything.calls,
            failures=everything.failures,
            active=everything.active,
        )


def _grade(name: str | None) -> Grade | None:
    for grade in GRADES:
        if grade == name:
            return grade
    return None


def _known_stints(item: TodoItem) -> tuple[Stint, ...]:
    """Return the stints that the item itself tells of, where the beginning of the log is missing."""
    if item.started_at is None or (item.finished_at is None and item.status is not Status.IN_PROGRESS):
        return ()
    return (Stint(item.started_at, item.finished_at),)
