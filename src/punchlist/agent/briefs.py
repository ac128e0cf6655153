"""Build reports, briefs and the overview of a board.

A report folds the log of a session, a project or the whole board. A brief and the overview read rows: the changes since
a cursor, and the current state. Their time does not grow with the log.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial

from msgspec.structs import replace

from punchlist.agent.context import AgentBoard
from punchlist.agent.questions import open_questions, waiting_plans
from punchlist.config import Folder, project_of
from punchlist.core.brief import Brief, Noticed, assemble_brief, find_noticed, is_since
from punchlist.core.events import Event
from punchlist.core.grounding.fold import AgentKey, is_within
from punchlist.core.grounding.tally import Tally, combined, tally_of
from punchlist.core.grounding.tool_call import Subject, ToolCall, is_task, item_key, subject, task_of
from punchlist.core.overview import AgentOverview, KeptItem
from punchlist.core.report import ItemReport, Report, Reporting, TaskBooks, report_item, report_task
from punchlist.core.todo import TodoItem
from punchlist.detect.list_upkeep import STORM
from punchlist.store import Transaction
from punchlist.store.overviews import OverviewRow


def report(board: AgentBoard, session: str | None, project: Folder) -> Report:
    return Reporting(_log(board, session, project)).report(board.now())


def _log(board: AgentBoard, session: str | None, project: Folder) -> Iterator[Event]:
    """Yield the events of the agents of a session or a project, or all events."""
    if session is None and project is None:
        yield from board.events()
        return
    where, cursor = None if project is None else project_of(project), 0
    while page := board.store.read(lambda tx, after=cursor: tx.log.page(session, where, after)):
        yield from page
        cursor = page[-1].seq


def overview(board: AgentBoard, project: Folder) -> list[AgentOverview]:
    """Return one row per agent: those that wait on a person first, then the latest first."""
    where = None if project is None else project_of(project)
    waits: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for asked in open_questions(board.store, where):
        waits[asked.session, asked.agent].append(f"asks: {asked.question.question}")
    for proposed in waiting_plans(board.store, board.now(), where):
        waits[proposed.session, proposed.agent].append("proposes a plan")
    rows = board.store.read(lambda tx: tx.overviews.all(project=where))
    found = [_overview_of(row, tuple(waits.get((row.session, row.agent), ()))) for row in rows]
    return sorted(found, key=lambda one: (not one.waits, 0.0 if one.at is None else -one.at.timestamp()))


def _overview_of(row: OverviewRow, waits: tuple[str, ...]) -> AgentOverview:
    activity, todos = row.activity, row.list
    return AgentOverview(
        project=row.project,
        session=row.session,
        agent=row.agent,
        state=activity.state,
        focus=todos.focus,
        counts=todos.counts,
        grades=todos.grades,
        last_call=activity.last_call,
        waits=waits,
        findings=activity.findings,
        at=activity.at,
    )


def brief(board: AgentBoard, after: int, session: str | None, project: Folder) -> Brief:
    now, where = board.now(), None if project is None else project_of(project)

    def look(tx: Transaction) -> Brief:
        found = _BriefReader(tx, after, now, session, where).read()
        over = [one for one in found.noticed if one.detector == STORM and _is_over(tx, one, now)]
        return replace(found, noticed=tuple(one for one in found.noticed if one not in over)) if over else found

    return board.store.read(look)


def _is_over(tx: Transaction, storm: Noticed, now: datetime) -> bool:
    """True if a storm has ended by itself: the agent makes no calls any more, so no event tells of the end."""
    row = tx.agent(storm.session, storm.agent)
    if row is None:
        return True
    until = tx.memory.load(row.number).upkeep.state.storm_until
    return until is None or until < now


class StoredWork:
    """The tool calls of some agents, read from their rows on demand. A `WorkSource`."""

    def __init__(self, tx: Transaction, agents: Sequence[OverviewRow]) -> None:
        self._tx = tx
        self.rows = {row.number: row for row in agents}
        self.numbers = {(row.session, row.agent): row.number for row in agents}
        self._calls: dict[int, list[ToolCall]] = {}
        self._children: defaultdict[int, list[int]] = defaultdict(list)
        self._started_for: defaultdict[Subject, list[int]] = defaultdict(list)
        for row in agents:
            if row.parent is not None and row.parent in self.rows:
                self._children[row.parent].append(row.number)
                self._started_for[self.subject(row.parent, row.started_for)].append(row.number)

    def subject(self, agent: int, key: str) -> Subject:
        row = self.rows[agent]
        return subject(row.session, row.agent, key)

    def calls_of(self, agent: int) -> list[ToolCall]:
        if agent not in self._calls:
            self._calls[agent] = self._tx.tool_calls.of_agent(agent)
        return self._calls[agent]

    def calls(self, of: Subject) -> Sequence[ToolCall]:
        if is_task(of.item):
            return [call for agent, call in self._tx.tool_calls.of_task(of.item) if agent in self.rows]
        number = self.numbers.get((of.session, of.agent))
        return [] if number is None else self._tx.tool_calls.of_item(number, of.item)

    def calls_by(self, session: str, agent: str) -> Sequence[ToolCall]:
        number = self.numbers.get((session, agent))
        return [] if number is None else self.calls_of(number)

    def has_calls(self, session: str, agent: str) -> bool:
        number = self.numbers.get((session, agent))
        return number is not None and self._tx.tool_calls.has_any(number)

    def has_dropped(self, of: Subject, start: datetime | None, end: datetime | None) -> bool:
        number = self.numbers.get((of.session, of.agent))
        return number is not None and is_within(self._tx.memory.load(number).dropped, start, end)

    def helpers(self, of: Subject) -> Sequence[AgentKey]:
        rows = [self.rows[child] for child in self._started_for.get(of, ())]
        return [AgentKey(row.session, row.agent) for row in rows if not row.activity.rests]

    def later(self, of: Subject) -> Tally:
        if is_task(of.item):
            return tally_of(call for agent, call in self._tx.tool_calls.after_task(of.item) if agent in self.rows)
        number = self.numbers.get((of.session, of.agent))
        return tally_of([] if number is None else self._tx.tool_calls.after_item(number, of.item))

    def whole(self, of: Subject) -> Tally:
        family, waiting = set[int](), list(self._started_for.get(of, ()))
        while waiting:
            child = waiting.pop()
            if child not in family:
                family.add(child)
                waiting += self._children.get(child, ())
        return combined(
            tally_of(self.calls(of)), [tally_of(self.calls_of(child)) for child in family], as_children=True
        )


class _BriefReader:
    """One brief. It looks at the items and tasks that may belong into it: touched since, or standing."""

    def __init__(self, tx: Transaction, after: int, now: datetime, session: str | None, project: str | None) -> None:
        self._tx = tx
        self._after = after
        self._now = now
        self._session = session
        self._project = project
        self._work = StoredWork(tx, tx.overviews.all(session=session, project=project))
        self._is_everything = session is None and project is None
        self._lists = tx.overviews.task_lists()
        self._items: dict[tuple[int, str, str], KeptItem] = {}
        self._tasks: dict[tuple[int, int], None] = {}

    def read(self) -> Brief:
        after, rows, overviews = self._after, self._work.rows, self._tx.overviews
        last = overviews.agents_since(after)
        since: list[ToolCall] = []
        for kept in overviews.standing_items():
            self._add_item(kept.agent, kept.plan, kept.kept)
        for child in rows.values():
            if child.started_for and not child.activity.rests and child.parent in rows:
                self._add_key(child.parent, child.started_for)
        for agent in last.keys() & rows.keys():
            since += self._add_touched(agent)
        self._add_tasks(overviews.tasks_since(after))
        self._add_tasks(overviews.standing_tasks())
        activities = {(row.session, row.agent): row.activity for row in rows.values()}
        return assemble_brief(
            [*self._report_items(), *self._report_tasks()],
            since,
            find_noticed(activities, after, self._now),
            after=after,
            until=self._last_event(last),
        )

    def _last_event(self, last: Mapping[int, int]) -> int:
        """Return the number of the last event that belongs to the session, the project or the board."""
        others = self._tx.overviews.others_since(self._after)
        if self._is_everything:
            return max([self._after, *last.values(), *(seq for *_, seq in others)])
        own = (seq for agent, seq in last.items() if agent in self._work.rows)
        return max([self._after, *own, *(seq for *task, seq in others if self._is_own_task(task))])

    def _is_own_task(self, task: Sequence[int | None]) -> bool:
        """True if the events of people on a task count: it is of the project, or an agent of the session had it."""
        if self._session is not None:
            return tuple(task) in self._tasks_of_session
        return any(number == task[0] and project == self._project for number, project in self._lists.values())

    @cached_property
    def _tasks_of_session(self) -> set[tuple[int, int]]:
        return self._tx.overviews.tasks_of_agents(self._work.rows)

    # Find the items and tasks that may belong into the brief.

    def _add_touched(self, agent: int) -> list[ToolCall]:
        """Add what the calls of an agent since the cursor bear on, and the items it completed; return those calls."""
        tx, calls = self._tx, [call for call in self._work.calls_of(agent) if is_since(call, self._after)]
        for key in dict.fromkeys(key for call in calls for key in (call.item, call.after)):
            self._add_key(agent, key)
        above, seen = self._work.rows[agent], {agent}
        while calls and above.parent is not None and above.parent in self._work.rows and above.parent not in seen:
            seen.add(above.parent)
            self._add_key(above.parent, above.started_for)
            above = self._work.rows[above.parent]
        begun = min((call.started.at for call in calls if call.started is not None), default=None)
        for row in tx.overviews.completed_items(agent):
            item = row.kept.item
            # Calls with nothing in focus count for an item that never was in progress, if it ended after they began.
            may_claim = (
                begun is not None
                and item.started_at is None
                and (item.finished_at is None or item.finished_at >= begun)
            )
            if may_claim or row.kept.touched > self._after:
                self._add_item(agent, row.plan, row.kept)
        if begun is not None:
            self._add_tasks(tx.overviews.tasks_finished_since(agent, begun))
        return calls

    def _add_key(self, agent: int, key: str) -> None:
        if is_task(key):
            name, number = task_of(key)
            if name in self._lists and number.isdecimal():
                self._add_tasks([(self._lists[name][0], int(number))])
            return
        plan, _, item_id = key.partition("/")
        kept = self._tx.overviews.find_item(agent, plan, item_id) if item_id else None
        if kept is not None:
            self._add_item(agent, plan, kept)

    def _add_item(self, agent: int, plan: str, kept: KeptItem) -> None:
        if agent in self._work.rows:
            self._items[agent, plan, kept.item.id] = kept

    def _add_tasks(self, tasks: Iterable[tuple[int, int]]) -> None:
        self._tasks.update(dict.fromkeys(tasks))

    # Report them.

    def _report_items(self) -> Iterator[ItemReport]:
        def beside(agent: int, plan: str) -> Iterator[TodoItem]:
            return (kept.item for kept in self._tx.overviews.items_of_plan(agent, plan))

        for (agent, plan, item_id), kept in sorted(self._items.items(), key=lambda pair: pair[1].first):
            of = self._work.subject(agent, item_key(plan, item_id))
            yield report_item(of, kept, self._work, partial(beside, agent, plan), self._now)

    def _report_tasks(self) -> list[ItemReport]:
        found: list[tuple[int, ItemReport]] = []
        for task in self._tasks:
            events = [event for event in self._tx.log.of_task(*task) if self._is_event_in_scope(event, task)]
            books = TaskBooks(events)
            for of, entry in books.entries.items():
                if entry.is_work or not self._work.whole(of).is_empty:
                    found.append((events[0].seq, report_task(of, entry, self._work, self._now)))
        return [each for _, each in sorted(found, key=lambda pair: pair[0])]

    def _is_event_in_scope(self, event: Event, task: tuple[int, int]) -> bool:
        if not event.kind.startswith("task."):
            return False
        if self._is_everything:
            return True
        if event.agent is not None:
            return (event.session or "", event.agent) in self._work.numbers
        return self._is_own_task(task)
