"""The report of the work: time, calls, grade and evidence of each item, and the totals.

Made from the log alone, so that it knows items of former plans, and lists that their dialect wiped when finished.

**Honest completion** is the share of completions that what was seen bears out: verified, confirmed or worked, among
all that could be judged. An assertion with nothing behind it counts against it, a contradiction too. Completions of
agents whose tool calls nobody reported are not judged, and counted apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple, cast

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.events import Event, fold
from punchlist.core.grounding.evidence import Matched, completion_before, grounded_by, match_evidence, with_unclaimed
from punchlist.core.grounding.fold import Committing, Grounding
from punchlist.core.grounding.grades import GRADES, SOUND, Grade, regrade
from punchlist.core.grounding.tally import NOTHING, CheckSeen, Tally, combined, latest, work_during
from punchlist.core.grounding.tool_call import Subject, task_subject, todo_subject
from punchlist.core.task import Task, TaskStatus, fold_task
from punchlist.core.todo import Blocker, Status, TodoItem, TodoList


class Stint(NamedTuple):
    """A time in which something was in progress; `end` is None while it lasts."""

    start: datetime
    end: datetime | None = None


class Stints:
    """The stints of items and tasks, folded from the log."""

    def __init__(self) -> None:
        self._known: dict[Subject, list[Stint]] = {}

    def add(self, of: Subject, status: Status | None, at: datetime) -> None:
        """Add a status from that time on; None if the item is no longer there."""
        known = self._known.get(of)
        lasting = known[-1] if known and known[-1].end is None else None
        if status is Status.IN_PROGRESS:
            if lasting is None:
                self._known.setdefault(of, []).append(Stint(at))
        elif known and lasting is not None:
            known[-1] = Stint(lasting.start, max(at, lasting.start))

    def of(self, subject: Subject) -> tuple[Stint, ...]:
        return tuple(self._known.get(subject, ()))


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

    def __init__(self) -> None:
        self.entries: dict[Subject, TaskEntry] = {}

    def add(self, event: Event) -> Subject | None:
        """Add an event and return the task that it is about, if any."""
        name, number, subject = (event.data.get(part) for part in ("list", "id", "subject"))
        if not (isinstance(name, str) and isinstance(number, str) and isinstance(subject, str)):
            return None
        of = task_subject(name, number)
        known = self.entries.get(of) or TaskEntry(Task(list=name, id=number, subject=subject))
        worker = (event.session or "", event.agent) if event.agent else known.worker
        if event.kind == "task.deleted":
            gone = known.task.status not in (TaskStatus.COMPLETED, TaskStatus.CANCELLED)
            self.entries[of] = replace(known, is_gone=gone, touched=event.seq)
            return of
        self.entries[of] = TaskEntry(_folded(known.task, event), worker, touched=event.seq)
        return of


def _folded(task: Task, event: Event) -> Task:
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

    `grade` is None while it is not completed, and where nobody reported what its agent did. `elapsed` is how long it
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
        """The number of completions of agents whose tool calls nobody reported."""
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


class Reporting:
    """Fold events in the order of the log, of any number of sessions, and report at any time."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.work = Grounding()
        self.items: dict[Subject, TodoItem] = {}
        self._gone: set[Subject] = set()
        self._touched: dict[Subject, int] = {}
        self._lists: dict[tuple[str, str], TodoList] = {}
        self._tasks = TaskBooks()
        self._stints = Stints()
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Add one event."""
        self.work.add(event)
        if event.kind.startswith(("item.", "list.", "plan.started")) and event.kind != "list.refused":
            self._list_event(event)
        elif event.kind.startswith("task."):
            of = self._tasks.add(event)
            if of is not None:
                self._stints.add(of, self._tasks.entries[of].item.status, event.at)

    def report(self, now: datetime) -> Report:
        """Return the report as of now."""
        seen = {(agent.session, agent.name) for agent in self.work.agents()}
        items = [self._item(of, item, seen, now) for of, item in self.items.items()]
        worked = {of for of in self.work.subjects() if not self.work.whole(of).is_empty}
        tasks = {of: entry for of, entry in self._tasks.entries.items() if entry.is_work or of in worked}
        items.extend(self._task(of, entry, seen, now) for of, entry in tasks.items())
        elsewhere = self._elsewhere({*self.items, *tasks})
        return Report(tuple(items), elsewhere, self._totals(tuple(items)), tuple(self.work.committing()))

    def _elsewhere(self, shown: set[Subject]) -> dict[Subject, Tally]:
        """Return the work on anything else, without that of subagents for one of these."""
        counted = {(child.session, child.name) for of in shown for child in self.work.family(of)}
        found = (of for of in self.work.subjects() if of not in shown)
        return {of: self.work.whole(of) for of in found if of.item or (of.session, of.agent) not in counted}

    def _task(self, of: Subject, entry: TaskEntry, seen: set[tuple[str, str]], now: datetime) -> ItemReport:
        """Report a task, under the name of the agent that worked on it last."""
        worker, item, tally, later = entry.worker, entry.item, self.work.whole(of), self.work.later(of)
        if tally.is_empty and item.status is Status.COMPLETED:
            tally = work_during(self.work.calls_by(*worker), item.started_at, item.finished_at)
        grade: Grade | None = None
        if item.status is Status.COMPLETED:
            known = _grade(item.grade)
            watched = worker in seen or not tally.is_empty
            grade = regrade(known, tally, later) if watched and known != "confirmed" else known
        named = Subject(*worker, of.item)
        stints = self._stints.of(of) or _known_stints(item)
        time, commands = sum_stints(stints, now), self._commands(of)
        return ItemReport(
            named,
            item,
            tally,
            later,
            grade,
            (),
            time,
            entry.is_gone,
            entry.touched,
            commands,
            stints,
            self._helpers(of, item),
        )

    def _helpers(self, of: Subject, item: TodoItem) -> tuple[str, ...]:
        return tuple(child.name for child in self.work.helpers(of)) if item.is_open else ()

    def _commands(self, of: Subject) -> tuple[str, ...]:
        return tuple(call.preview for call in self.work.calls(of) if call.changes and call.kind == "shell")

    def _list_event(self, event: Event) -> None:
        owner = (event.session or "", event.agent or "")
        known = self._lists.get(owner, TodoList())
        try:
            todos = self._lists[owner] = fold(known, event.kind, event.data)
        except (LookupError, StopIteration, TypeError, ValueError):
            return  # of a log whose beginning is missing, or of a later version
        item_id = _item_id(event)
        if not item_id:
            return
        of = todo_subject(*owner, todos.plan_id, item_id)
        self._touched[of] = event.seq
        item = next((item for item in (*todos.items, *todos.omitted) if item.id == item_id), None)
        left = event.kind in ("item.removed", "item.omitted")
        self._stints.add(of, None if item is None or left else item.status, event.at)
        if item is not None:
            self.items[of] = item
        if left and of in self.items and self.items[of].is_open:
            self._gone.add(of)
        else:
            self._gone.discard(of)

    def _item(self, of: Subject, item: TodoItem, seen: set[tuple[str, str]], now: datetime) -> ItemReport:
        tally, later = self.work.whole(of), self.work.later(of)
        unclaimed = item.status is Status.COMPLETED and item.started_at is None and tally.is_empty
        calls = self.work.calls_by(of.session, of.agent) if item.evidence or unclaimed else []
        if unclaimed:
            tally = with_unclaimed(tally, item, calls, since=completion_before(item, self._beside(of)))
        evidence = match_evidence(item.evidence, calls, until=item.finished_at)
        grade: Grade | None = None
        if item.status is Status.COMPLETED:
            known = _grade(item.grade)
            if known == "confirmed" or (of.session, of.agent) in seen or not tally.is_empty:
                own = grounded_by(tally, evidence, item=of.item, since=item.created_at)
                grade = regrade(known, own, later)
                start = item.started_at or item.created_at
                if grade == "asserted" and self.work.has_dropped(of, start, item.finished_at):
                    grade = None  # its reports may have been among those that were lost
            else:
                grade = known
        stints, touched = self._stints.of(of) or _known_stints(item), self._touched.get(of, 0)
        time, commands = sum_stints(stints, now), self._commands(of)
        return ItemReport(
            of,
            item,
            tally,
            later,
            grade,
            evidence,
            time,
            of in self._gone,
            touched,
            commands,
            stints,
            self._helpers(of, item),
        )

    def _beside(self, of: Subject) -> Iterable[TodoItem]:
        """Return the items of the same plan."""
        plan = of.item.partition("/")[0]
        return (
            item
            for other, item in self.items.items()
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


def _item_id(event: Event) -> str:
    if not event.kind.startswith("item."):
        return ""
    given: Any = event.data.get("item")
    found: Any = event.data.get("id") or (
        cast("Mapping[str, Any]", given).get("id") if isinstance(given, Mapping) else ""
    )
    return found if isinstance(found, str) else ""


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
