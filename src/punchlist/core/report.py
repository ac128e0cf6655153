"""Describe the work report: the state of each session; time, calls, grade and evidence of each item; totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.current_work import task_as_item
from punchlist.core.events import Event
from punchlist.core.grounding.commits import CommitCall
from punchlist.core.grounding.evidence import Matched
from punchlist.core.grounding.grades import GRADES, Grade
from punchlist.core.grounding.session import STATES, CheckRun, CheckState, SessionState, State
from punchlist.core.grounding.tally import CheckSeen, Tally, tally_of
from punchlist.core.grounding.tool_call import Subject, ToolCall, task_subject
from punchlist.core.overview import PersonWait, Stint, extend_stints
from punchlist.core.task import Task, TaskStatus, fold_task
from punchlist.core.todo import Status, TodoItem


def sum_stints(stints: tuple[Stint, ...], now: datetime) -> timedelta | None:
    """Return how long all of them took by now; None if there is none."""
    if not stints:
        return None
    return sum((max((end or now) - start, timedelta(0)) for start, end in stints), timedelta(0))


class TaskEntry(Struct, frozen=True):
    """A task; `worker` is the session and the name of the agent that touched it last, empty if that was no agent.

    `subject` is whose work it is: that agent's, else that of the worker who has it, without a session.

    `is_gone`: it was deleted while open. `touched` is the last event about it.
    """

    task: Task
    worker: tuple[str, str] = ("", "")
    is_gone: bool = False
    touched: int = 0
    stints: tuple[Stint, ...] = ()

    @property
    def subject(self) -> Subject:
        session, agent = self.worker
        return Subject(session, agent or self.task.owner or "", task_subject(self.task.list, self.task.id).item)

    @property
    def is_work(self) -> bool:
        """True if the task is more than a note for later: it was begun, or is on the list of a session."""
        return self.task.status is not TaskStatus.PENDING or self.task.list.startswith("session:")

    @property
    def item(self) -> TodoItem:
        return replace(task_as_item(self.task), id=self.task.id)


def fold_task_entry(events: Iterable[Event]) -> TaskEntry | None:
    """Return a task as a report needs it, from its events; None if none is about it."""
    known: TaskEntry | None = None
    for event in events:
        name, number, subject = (event.data.get(part) for part in ("list", "id", "subject"))
        if not (isinstance(name, str) and isinstance(number, str) and isinstance(subject, str)):
            continue
        known = known or TaskEntry(Task(list=name, id=number, subject=subject))
        worker = (event.session or "", event.agent) if event.agent else known.worker
        if event.kind == "task.deleted":
            gone = known.task.status not in (TaskStatus.COMPLETED, TaskStatus.CANCELLED)
            stints = extend_stints(known.stints, known.item.status, event.at)
            known = replace(known, is_gone=gone, touched=event.seq, stints=stints)
            continue
        task = known.task
        with suppress(LookupError, TypeError, ValueError):  # an event of a later version
            task = fold_task(task, event.kind, event.data, event.at) or task
        entry = TaskEntry(task, worker, touched=event.seq)
        known = replace(entry, stints=extend_stints(known.stints, entry.item.status, event.at))
    return known


class ItemReport(Struct, frozen=True):
    """One item. `tally` counts the calls in the window of its completion, or while it was in progress.

    `grade` is None while it is not completed, and for an agent without tool reports; `check` is the run that decided
    it, `remarks` say more. `elapsed` is how long it was in progress, in all its `stints`, and until now if it still is;
    None if it never was. `is_gone`: it was taken off its list, or left out, while open. `touched` is the last event
    about it. `commands` are shell lines that perhaps changed something, as far as they were kept. `helpers` are the
    subagents that are at work on it. `is_under_way`: the work on it goes on (see `core/overview.py`).
    """

    subject: Subject
    item: TodoItem
    tally: Tally
    grade: Grade | None
    evidence: tuple[Matched, ...]
    elapsed: timedelta | None
    remarks: tuple[str, ...] = ()
    check: CheckRun | None = None
    is_gone: bool = False
    touched: int = 0
    commands: tuple[str, ...] = ()
    stints: tuple[Stint, ...] = ()
    helpers: tuple[str, ...] = ()
    is_under_way: bool = False

    @property
    def last_check(self) -> CheckSeen | None:
        """The last check that ran for the item."""
        return self.tally.last_check


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
        """Items that are neither completed nor cancelled."""
        return self.items - self.completed - self.cancelled

    @property
    def judged(self) -> int:
        """Completions that have a grade."""
        return sum(self.grades.values())

    @property
    def unjudged(self) -> int:
        """The number of completions by agents without tool reports."""
        return self.completed - self.judged


class Report(Struct, frozen=True):
    """The whole report. `items` are those of lists and tasks that were begun, or that a session keeps as its list.

    They come agent by agent, each agent's items before its tasks.
    `sessions` are their states, the worst first. `elsewhere` is the work of each agent that belongs to no item.
    `committing` are calls that make commits, so that each commit finds its item. `waits` is what waits on a person.
    """

    sessions: tuple[SessionState, ...]
    items: tuple[ItemReport, ...]
    elsewhere: Mapping[Subject, Tally]
    totals: Totals
    committing: tuple[CommitCall, ...] = ()
    waits: tuple[PersonWait, ...] = ()

    @property
    def state(self) -> State:
        """The state of the session; of several, the worst."""
        return self.sessions[0].state if self.sessions else "idle"

    @property
    def checks(self) -> tuple[CheckState, ...]:
        """The last outcome of each check, of all sessions."""
        return tuple(check for session in self.sessions for check in session.checks)


def worst_first(sessions: Iterable[SessionState]) -> tuple[SessionState, ...]:
    """Return the states of sessions, the worst first."""
    return tuple(sorted(sessions, key=lambda one: STATES.index(one.state)))


def group_by_agent(items: Iterable[ItemReport]) -> list[ItemReport]:
    """Return the items of each agent together, the agent of the first item first."""
    groups: dict[tuple[str, str], list[ItemReport]] = {}
    for entry in items:
        groups.setdefault((entry.subject.session, entry.subject.agent), []).append(entry)
    return [entry for group in groups.values() for entry in group]


def total_items(items: Iterable[ItemReport], calls: Iterable[ToolCall]) -> Totals:
    """Add up the items that are not gone, and all calls."""
    here = [entry for entry in items if not entry.is_gone]
    statuses = Counter(entry.item.status for entry in here)
    grades = Counter(entry.grade for entry in here if entry.grade is not None)
    everything = tally_of(calls)
    return Totals(
        items=len(here),
        completed=statuses[Status.COMPLETED],
        cancelled=statuses[Status.CANCELLED],
        grades={grade: grades[grade] for grade in GRADES if grades[grade]},
        calls=everything.calls,
        failures=everything.failures,
        active=everything.active,
    )


def known_stints(item: TodoItem) -> tuple[Stint, ...]:
    """Return the stints that the item itself tells of, where the beginning of the log is missing."""
    if item.started_at is None or (item.finished_at is None and item.status is not Status.IN_PROGRESS):
        return ()
    return (Stint(item.started_at, item.finished_at),)
