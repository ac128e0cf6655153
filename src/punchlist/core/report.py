"""Describe the work report (state of each session; time, calls, grade and evidence of each item; totals), and the brief
for a person who comes back.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.events import Event
from punchlist.core.grounding.evidence import Matched
from punchlist.core.grounding.grades import DOUBTFUL, GRADES, Grade
from punchlist.core.grounding.session import STATES, CheckRun, CheckState, SessionState, State
from punchlist.core.grounding.tally import CheckSeen, Tally, tally_of
from punchlist.core.grounding.tool_call import Subject, ToolCall, task_subject
from punchlist.core.overview import Activity, PersonWait, Stint, extend_stints
from punchlist.core.task import Task, TaskStatus, fold_task, task_as_item
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
    folder: str = ""
    batch: int = 0
    """The position of the write that completed it together with others; 0 if it was alone."""

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
    `waits` is what waits on a person.
    """

    sessions: tuple[SessionState, ...]
    items: tuple[ItemReport, ...]
    elsewhere: tuple[tuple[Subject, Tally], ...]
    totals: Totals
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


# The brief: items done, doubtful, waiting or stalled since then, and tool use.


class Noticed(Struct, frozen=True):
    """A finding of a detector that is new or still holds. `seq` is its event."""

    session: str
    agent: str
    detector: str
    seen: str
    subject: str
    at: datetime
    seq: int = 0


class ListNews(Struct, frozen=True):
    """Items that came onto a list since, or tasks onto `list`, and how many it has now. `by` added them."""

    session: str
    agent: str
    added: int
    total: int
    list: str = ""
    by: str = ""


class Brief(Struct, frozen=True):
    """Items by what became of them: the first five were completed or graded since, the rest stands now.

    `sessions` are the states of the sessions with news, the worst first; `red` those of others that are still at work
    and red. `doubtful` items are failing or unseen; `waits` is what waits on a person; `work` is what tools did since.
    `has_news`: there is any event since.
    """

    sessions: tuple[SessionState, ...]
    verified: tuple[ItemReport, ...]
    confirmed: tuple[ItemReport, ...]
    unchecked: tuple[ItemReport, ...]
    doubtful: tuple[ItemReport, ...]
    unjudged: tuple[ItemReport, ...]
    failed: tuple[ItemReport, ...]
    waits: tuple[PersonWait, ...]
    under_way: tuple[ItemReport, ...]
    noticed: tuple[Noticed, ...]
    lists: tuple[ListNews, ...]
    work: Tally
    has_news: bool
    until: int
    red: tuple[SessionState, ...] = ()
    after: int = 0
    """The event after which the news began: that of the reader, or the first one of those that were looked at."""

    @property
    def completed(self) -> tuple[ItemReport, ...]:
        """All items that were marked done, whatever their grade."""
        return (*self.verified, *self.confirmed, *self.unchecked, *self.doubtful, *self.unjudged)

    @property
    def is_empty(self) -> bool:
        """True if nothing happened and nothing waits."""
        return not (self.has_news or self.failed or self.waits or self.noticed)


def assemble_brief(
    sessions: Iterable[SessionState],
    items: Sequence[ItemReport],
    calls: Iterable[ToolCall],
    noticed: tuple[Noticed, ...],
    *,
    waits: tuple[PersonWait, ...] = (),
    lists: tuple[ListNews, ...] = (),
    red: Iterable[SessionState] = (),
    after: int,
    until: int,
) -> Brief:
    """Sort reports of items into a brief. `calls` are those that began or ended since."""
    done = [entry for entry in _with(items, Status.COMPLETED) if entry.touched > after]
    under_way = [entry for entry in items if entry.is_under_way]
    return Brief(
        sessions=worst_first(sessions),
        verified=tuple(entry for entry in done if entry.grade == "verified"),
        confirmed=tuple(entry for entry in done if entry.grade == "confirmed"),
        unchecked=tuple(entry for entry in done if entry.grade == "unchecked"),
        doubtful=tuple(entry for entry in done if entry.grade in DOUBTFUL),
        unjudged=tuple(entry for entry in done if entry.grade is None),
        failed=_with(items, Status.FAILED),
        waits=waits,
        under_way=tuple(sorted(under_way, key=lambda entry: entry.item.status is not Status.IN_PROGRESS)),
        noticed=noticed,
        lists=lists,
        work=tally_of(calls),
        has_news=until > after,
        until=until,
        red=tuple(red),
        after=after,
    )


def _with(items: Iterable[ItemReport], status: Status) -> tuple[ItemReport, ...]:
    return tuple(entry for entry in items if entry.item.status is status and not entry.is_gone)


def find_noticed(activities: Mapping[tuple[str, str], Activity], after: int, now: datetime) -> tuple[Noticed, ...]:
    """Return the findings of all agents after the event `after`, and earlier ones that still matter, in their order."""
    found = [(one, owner) for owner, known in activities.items() for one in known.find_news(after, now)]
    found.sort(key=lambda pair: pair[0].first)
    return tuple(Noticed(*owner, one.detector, one.seen, one.subject, one.at, one.seq) for one, owner in found)
