"""Build reports, briefs and the overview of a board from its rows.

A report shows all items of a session, a project or the board; a brief those that changed since a cursor, or stand now.
The time for a brief and for the overview does not grow with the log.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache, cached_property
from typing import cast

from msgspec.structs import replace

from punchlist.agent.context import AgentBoard
from punchlist.agent.grading import find_calls, tally_of_family
from punchlist.core.events import Event
from punchlist.core.grounding.evidence import match_evidence
from punchlist.core.grounding.grades import Grade, judge
from punchlist.core.grounding.session import SessionState, red_since, session_state
from punchlist.core.grounding.tally import Tally, tally_of
from punchlist.core.grounding.tool_call import Subject, ToolCall, is_task, item_key, subject
from punchlist.core.overview import AgentOverview, AgentWork, KeptItem, PersonWait, is_under_way
from punchlist.core.report import (
    Brief,
    ItemReport,
    ListNews,
    Noticed,
    Report,
    TaskEntry,
    assemble_brief,
    find_noticed,
    fold_task_entry,
    group_by_agent,
    known_stints,
    sum_stints,
    total_items,
    worst_first,
)
from punchlist.core.todo import Status
from punchlist.detect.list_upkeep import STORM
from punchlist.settings.environment import Folder, name_worktree, project_of
from punchlist.store import Transaction
from punchlist.store.current_work import load_waits
from punchlist.store.events import KeptRow

_CALLS_LOOKED_AT = 4000
"""Calls that are searched for evidence, the latest ones: all of a long session would be slow."""

_FIRST_EVENTS = 10_000
"""Events that the first brief of a reader looks at, up to the last one of an agent: a year's would take minutes."""


def report(board: AgentBoard, session: str | None, project: Folder) -> Report:
    now, where = board.now(), None if project is None else project_of(project)
    return board.store.read(lambda tx: ReportReader(tx, now, session, where).report())


def overview(board: AgentBoard, project: Folder) -> list[AgentOverview]:
    """Return one row per agent: those that wait on a person first, then the latest first."""
    now, where = board.now(), None if project is None else project_of(project)
    rows, waiting = board.store.read(lambda tx: (tx.overviews.all(project=where), load_waits(tx, now, project=where)))
    waits: defaultdict[tuple[str, str], list[PersonWait]] = defaultdict(list)
    for wait in waiting:
        waits[wait.session, wait.agent].append(wait)
    found = [_overview_of(row, tuple(waits.get((row.session, row.agent), ()))) for row in rows]
    return sorted(found, key=lambda one: (not one.waits, 0.0 if one.at is None else -one.at.timestamp()))


def _overview_of(row: AgentWork, waits: tuple[PersonWait, ...]) -> AgentOverview:
    activity, todos = row.activity, row.list
    return AgentOverview(
        project=row.project,
        worktree=name_worktree(row.project, row.folder),
        session=row.session,
        agent=row.agent,
        state=activity.state,
        focus=todos.focus,
        counts=todos.counts,
        grades=todos.grades,
        last_call=activity.last_call,
        waits=waits,
        findings=activity.findings,
        session_state=row.session_state,
        at=activity.at,
    )


def brief(board: AgentBoard, after: int, session: str | None, project: Folder) -> Brief:
    now, where = board.now(), None if project is None else project_of(project)

    def look(tx: Transaction) -> Brief:
        found = ReportReader(tx, now, session, where).brief(after)
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


class ReportReader:
    """Reads the agents of a session, of a project or of the board, with their items, tasks, calls and checks."""

    def __init__(self, tx: Transaction, now: datetime, session: str | None, project: str | None) -> None:
        self._tx = tx
        self._now = now
        self._session = session
        self._project = project
        self._rows = {row.number: row for row in tx.overviews.all(session=session, project=project)}
        self._numbers = {(row.session, row.agent): row.number for row in self._rows.values()}
        self._record = cache(tx.completions.load_record)
        self._project_of_list = cache(tx.tasks.project_of_list)
        self._behind: set[tuple[int, str]] = set()  # the calls behind the items that were reported, by agent and id
        self._started_for: defaultdict[Subject, list[AgentWork]] = defaultdict(list)
        for row in self._rows.values():
            if row.parent in self._rows:
                self._started_for[self._subject(row.parent, row.started_for)].append(row)

    def report(self) -> Report:
        kept = [row for agent in self._rows for row in self._tx.overviews.items_of_agent(agent)]
        tasks = self._report_tasks(self._tx.overviews.tasks_since(0))
        items = group_by_agent([*self._report_items(_without_repeats(kept)), *tasks])
        calls = {agent: self._tx.tool_calls.of_agent(agent) for agent in self._rows}
        return Report(
            sessions=worst_first(map(self._state, dict.fromkeys(row.session for row in self._rows.values()))),
            items=tuple(items),
            elsewhere=self._work_elsewhere(calls),
            totals=total_items(items, [call for each in calls.values() for call in each]),
            waits=self._load_waits(),
        )

    def brief(self, after: int) -> Brief:
        after = after or self._find_beginning()
        overviews, last = self._tx.overviews, self._tx.overviews.agents_since(after)
        touched = [agent for agent in last if agent in self._rows]
        since = [row for agent in touched for row in overviews.items_since(agent, after)]
        kept = [
            *(row for row in overviews.standing_items() if row.agent in self._rows),
            *(row for row in since if row.kept.item.status is Status.COMPLETED),
            *self._find_helped_items(),
        ]
        different = {(row.agent, row.plan, row.kept.item.id): row for row in kept}
        tasks = [*overviews.tasks_since(after), *overviews.standing_tasks()]
        activities = {(row.session, row.agent): row.activity for row in self._rows.values()}
        news = dict.fromkeys(self._rows[agent].session for agent in touched)
        return assemble_brief(
            map(self._state, news),
            [*self._report_items(_without_repeats(different.values())), *self._report_tasks(tasks)],
            [call for agent in touched for call in self._tx.tool_calls.since(agent, after)],
            find_noticed(activities, after, self._now),
            waits=self._load_waits(),
            lists=(*self._find_longer_lists(since, after), *self._find_new_tasks(after)),
            red=map(self._state, self._find_red_sessions(news)),
            after=after,
            until=self._last_event(after, last),
        )

    def _find_beginning(self) -> int:
        """Return the cursor of a reader who has none."""
        last = self._tx.last_seq()
        if not self._is_everything:
            last = max((row.activity.seq for row in self._rows.values()), default=last)
        return max(0, last - _FIRST_EVENTS)

    # Sessions and agents.

    def _load_waits(self) -> tuple[PersonWait, ...]:
        return tuple(load_waits(self._tx, self._now, project=self._project, session=self._session))

    def _state(self, session: str) -> SessionState:
        record = self._record(session)
        since = red_since(record)
        return session_state(session, record, 0 if since is None else self._tx.completions.count_since(session, since))

    def _find_red_sessions(self, but: Container[str]) -> dict[str, None]:
        """Return the sessions that are red, but for these and those whose agents have all finished."""
        red = (row for row in self._rows.values() if row.session_state == "red" and row.activity.state != "finished")
        return dict.fromkeys(row.session for row in red if row.session not in but)

    def _subject(self, agent: int, key: str) -> Subject:
        row = self._rows[agent]
        return subject(row.session, row.agent, key)

    def _last_event(self, after: int, last: Mapping[int, int]) -> int:
        """Return the number of the last event that belongs to the session, the project or the board."""
        others = self._tx.overviews.others_since(after)
        if self._is_everything:
            return max([after, *last.values(), *(seq for *_, seq in others)])
        own = (seq for agent, seq in last.items() if agent in self._rows)
        return max([after, *own, *(seq for *task, seq in others if self._is_own_task(task))])

    @property
    def _is_everything(self) -> bool:
        return self._session is None and self._project is None

    def _find_longer_lists(self, since: Iterable[KeptRow], after: int) -> Iterator[ListNews]:
        """Yield the present lists onto which items came after a cursor."""
        new = (row for row in since if row.kept.first > after and not row.kept.is_gone)
        here = [row for row in new if row.plan == self._rows[row.agent].activity.plan_id]
        for (agent, by), number in Counter((row.agent, row.kept.item.created_by) for row in here).items():
            row = self._rows[agent]
            yield ListNews(row.session, row.agent, number, sum(row.list.counts.values()), by=by or row.agent)

    def _find_new_tasks(self, after: int) -> Iterator[ListNews]:
        """Yield the lists of tasks to which tasks were added after a cursor; flows are none."""
        added: Counter[str] = Counter()
        for task in self._tx.overviews.tasks_since(after):
            first = next((event for event in self._tx.log.of_task(*task)), None)
            if first is not None and first.seq > after and self._is_event_in_scope(first, task):
                added[str(first.data.get("list", ""))] += 1
        for name, number in added.items():
            yield ListNews("", "", number, number, name)

    def _report_items(self, kept: Iterable[KeptRow]) -> list[ItemReport]:
        return [self._report_item(row) for row in sorted(kept, key=lambda row: row.kept.first)]

    def _report_item(self, row: KeptRow) -> ItemReport:
        item, key = row.kept.item, item_key(row.plan, row.kept.item.id)
        entry = self._describe(row.agent, self._subject(row.agent, key), key, row.kept)
        if not item.evidence:
            return entry
        calls = self._tx.tool_calls.of_agent(row.agent, _CALLS_LOOKED_AT)
        return replace(entry, evidence=match_evidence(item.evidence, calls, until=item.finished_at))

    def _find_helped_items(self) -> Iterator[KeptRow]:
        """Yield the items for which subagents were started that are at work."""
        for child in self._rows.values():
            plan, _, item_id = child.started_for.partition("/")
            if child.activity.rests or not item_id or is_task(child.started_for) or child.parent not in self._rows:
                continue
            kept = self._tx.overviews.find_item(child.parent, plan, item_id)
            if kept is not None:
                yield KeptRow(child.parent, plan, kept)

    def _describe(self, agent: int | None, of: Subject, key: str, kept: KeptItem | TaskEntry) -> ItemReport:
        item, stints = kept.item, kept.stints or known_stints(kept.item)
        row = None if agent is None else self._tx.completions.find(agent, key)
        done = None if row is None or item.status is not Status.COMPLETED else row.completion
        calls = [] if agent is None else find_calls(self._tx, agent, done, stints)
        self._behind.update((maker, call.id) for maker, call in calls)
        found = None if done is None else judge(done, self._record(self._rows[done.agent].session))
        is_judged = found is not None and item.grade not in (None, "confirmed")
        started = self._started_for.get(of, ()) if item.is_open else ()
        helpers = tuple(row.agent for row in started if not row.activity.rests)
        activity = None if agent is None else self._rows[agent].activity
        state = "working" if activity is None else activity.state
        if activity is not None and activity.copy_of:
            state = "finished"  # of this agent only a transcript is known: nobody can say that it is at work
        return ItemReport(
            subject=of,
            item=item,
            tally=tally_of_family(agent, calls),
            grade=cast("Grade | None", item.grade) if item.status is Status.COMPLETED else None,
            evidence=(),
            elapsed=sum_stints(stints, self._now),
            remarks=found.remarks if found is not None and is_judged else (),
            check=found.run if found is not None and is_judged else None,
            is_gone=kept.is_gone,
            touched=kept.touched,
            commands=tuple(call.preview for _, call in calls if call.changes and call.kind == "shell"),
            stints=stints,
            helpers=helpers,
            is_under_way=not kept.is_gone and is_under_way(item.status, state, helpers),
            folder="" if agent is None else self._rows[agent].folder,
            batch=done.position if done is not None and done.batch > 1 else 0,
        )

    def _work_elsewhere(self, calls: Mapping[int, Sequence[ToolCall]]) -> tuple[tuple[Subject, Tally], ...]:
        """Return the work of each agent that belongs to no item."""
        left = {agent: [call for call in each if (agent, call.id) not in self._behind] for agent, each in calls.items()}
        return tuple((self._subject(agent, ""), tally_of(each)) for agent, each in left.items() if each)

    def _report_tasks(self, tasks: Iterable[tuple[int, int]]) -> list[ItemReport]:
        """Report tasks that are more than notes for later, in the order in which they came to be."""
        found: list[tuple[int, ItemReport]] = []
        for task in dict.fromkeys(tasks):
            events = [event for event in self._tx.log.of_task(*task) if self._is_event_in_scope(event, task)]
            entry = fold_task_entry(events)
            if entry is not None and entry.is_work:
                agent, of = self._numbers.get(entry.worker), entry.subject
                found.append((events[0].seq, self._describe(agent, of, of.item, entry)))
        return [entry for _, entry in sorted(found, key=lambda pair: pair[0])]

    def _is_own_task(self, task: Sequence[int | None]) -> bool:
        """True if the events of people on a task count: it is of the project, or an agent of the session had it."""
        if self._session is not None:
            return tuple(task) in self._tasks_of_session
        return task[0] is not None and self._project_of_list(task[0]) == self._project

    @cached_property
    def _tasks_of_session(self) -> set[tuple[int, int]]:
        return self._tx.overviews.tasks_of_agents(self._rows)

    def _is_event_in_scope(self, event: Event, task: tuple[int, int]) -> bool:
        if not event.kind.startswith("task."):
            return False
        if self._is_everything:
            return True
        if event.agent is not None:
            return (event.session or "", event.agent) in self._numbers
        return self._is_own_task(task)


def _without_repeats(kept: Iterable[KeptRow]) -> list[KeptRow]:
    """Return the items without those that are there twice because a list was wiped and sent again: the later one stays.

    A finished one that was sent again keeps its first event, and the times in which it was in progress.
    """
    found: dict[tuple[int, str, str], KeptRow] = {}
    latest: dict[tuple[int, str], tuple[int, str, str]] = {}
    for row in sorted(kept, key=lambda row: row.kept.first):
        item, own = row.kept.item, (row.agent, row.plan, row.kept.item.id)
        key = latest.get((row.agent, item.content))
        if key is not None and key[1] != row.plan:
            before = found[key].kept
            was_sent_again = item.started_at is None and item.created_at == item.finished_at
            if before.item.status is item.status is Status.COMPLETED and was_sent_again:
                del found[key]
                found[own] = replace(row, kept=replace(row.kept, first=before.first, stints=before.stints))
            elif before.is_gone:
                del found[key]
        found.setdefault(own, row)
        latest[row.agent, item.content] = own
    return list(found.values())
