"""Read what a person asks first: the current work of agents, what waits on a person, and the line of each session.

A line is written at the end of every transaction that changed something in its session.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from punchlist.core.approval import Plan, Question
from punchlist.core.grounding.offers import find_offer
from punchlist.core.grounding.session import session_state
from punchlist.core.overview import (
    AgentState,
    ListSummary,
    Owner,
    PersonWait,
    SessionLine,
    find_shown_agent,
    find_waits,
    is_at_work,
    prepare_line,
    show_left_open,
    summarise_list,
)
from punchlist.core.task import Task, find_shown_focus, latest_batch, show_tasks
from punchlist.core.todo import Status, TodoList
from punchlist.store.records import ListRow, RowDamaged, SessionChecks, list_row, microseconds, moment, readable
from punchlist.store.subagents import StallMemory
from punchlist.store.tasks import TaskRow
from punchlist.store.transaction import MOST_SUBAGENTS, Transaction


def read_current_work(
    tx: Transaction,
    *,
    project: str | None = None,
    session: str | None = None,
    limit: int = 20,
    outlines: bool = False,
) -> Sequence[ListRow]:
    """Return the agents that have items or tasks, each with both, the latest first.

    With a session they are all its agents that have any, parents before children. With `outlines` the tasks of
    sessions have what a summary shows, and no more.
    """
    if not tx.has_tasks:
        return [row for row in tx.lists(project=project, session=session, limit=limit) if row.todos.items]
    rows = list(tx.lists(project=project, session=session, limit=limit))
    if session is None:
        found = tx.all("agents_with_tasks", {"project": project, "limit": limit})
        rows += [readable(list_row, row) for row in found]
        rows.sort(key=lambda row: row.updated_at, reverse=True)
    session_tasks = {name: _tasks_of_session(tx, name, outlines) for name in dict.fromkeys(row.session for row in rows)}
    full = [
        row._replace(tasks=(*session_tasks[row.session].get(row.number, ()), *_tasks_begun_elsewhere(tx, row)))
        for row in rows
    ]
    return [row for row in full if row.todos.items or row.tasks][:limit]


def _tasks_of_session(tx: Transaction, session: str, outlines: bool) -> dict[int, list[Task]]:
    """Return the latest tasks of a session's own list by the agent that has them; its first agent has the others."""
    where = tx.tasks.find_list(f"session:{session}")
    agents = () if where is None else tx.lists(session=session)
    if where is None or not agents:
        return {}
    numbers, names = {agent.number for agent in agents}, {agent.agent: agent.number for agent in agents}
    rows = {row.task.id: row for row in (tx.tasks.outlines(where) if outlines else tx.tasks.page(where))}

    def find_agent(row: TaskRow) -> int:
        if row.agent in numbers:
            return row.agent
        return names.get(row.task.owner or "", agents[0].number)

    found: dict[int, list[Task]] = {}
    for task in latest_batch([row.task for row in rows.values()]):
        found.setdefault(find_agent(rows[task.id]), []).append(task)
    return found


def _tasks_begun_elsewhere(tx: Transaction, row: ListRow) -> list[Task]:
    """Return the open and failed tasks of other lists that an agent began, in that order, and its flows."""
    numbers = tx.all("tasks_begun_by_agent", {"agent": row.number, "session": row.session})
    return [tx.tasks.get(number).task for (number,) in numbers]


_NEVER = datetime.max.replace(tzinfo=UTC)


def load_waits(
    tx: Transaction, now: datetime, *, project: str | None = None, session: str | None = None
) -> Sequence[PersonWait]:
    """Return what waits on a person in a session, in a project or on the board, what waits longest first.

    A flow of no agent belongs to every project. The list of an agent that is not attached is a copy, and left out.
    """
    questions: defaultdict[Owner, list[Question]] = defaultdict(list)
    plans: defaultdict[Owner, list[Plan]] = defaultdict(list)
    tasks: defaultdict[Owner, list[Task]] = defaultdict(list)
    blocked: defaultdict[Owner, dict[str, datetime]] = defaultdict(dict)
    for asked in tx.questions.open():
        questions[Owner(asked.project, asked.session, asked.agent)].append(asked.question)
    for proposed in tx.plans.find_proposed():
        plans[Owner(proposed.project, proposed.session, proposed.agent)].append(proposed.plan)
    for where, its_session, agent, item, at in tx.all("blocked_items"):
        blocked[Owner(where, its_session, agent)][item] = moment(at)
    for number, where, its_session, agent in tx.all("tasks_waiting_for_person") if tx.has_tasks else ():
        row = tx.tasks.get(number)
        of_list = Owner(row.list.project, row.list.session or "", row.task.owner or "")
        tasks[of_list if agent is None else Owner(where, its_session, agent)].append(row.task)
    found: list[PersonWait] = []
    for owner in dict.fromkeys((*questions, *plans, *blocked, *tasks)):
        if session not in (None, owner.session) or (owner.project and project not in (None, owner.project)):
            continue
        has_items = owner in questions or owner in blocked
        row = tx.agent(owner.session, owner.agent) if has_items else None
        is_own = row is not None and not tx.overviews.load_activity(row.number).copy_of
        found += find_waits(
            owner._replace(host=tx.find_host(owner.session)),
            now,
            todos=row.state.todos if row is not None and is_own else None,
            questions=questions[owner],
            plans=plans[owner],
            tasks=tasks[owner],
            agents=tx.names(owner.session) if has_items else (),
            blocked_at=blocked[owner],
        )
    return sorted(found, key=lambda wait: wait.since or _NEVER)


# Lines of sessions.

_MOST_AGENTS = 1000

_NOTHING = SessionLine()
_encode = msgspec.json.Encoder().encode


def write_lines(tx: Transaction) -> None:
    """Write the lines of the sessions that the transaction marked; one that is equal to the last is not written."""
    if not tx.marked:
        return
    now = max(tx.marked.values())
    for session in tx.marked:
        checks = tx.find_checks(session)
        if checks is None:  # the session was deleted
            continue
        try:
            line = _load_line(tx, session, checks, now)
            text = "" if line == _NOTHING else _encode(line).decode()
        except RowDamaged:
            text = None  # of another agent, perhaps: what shows in a status line must not stop this one
        if text != checks.line:
            checks.line = text
            checks.is_changed = True
    tx.marked.clear()


def load_line(tx: Transaction, session: str, now: datetime, *, agent: str | None = None) -> SessionLine | None:
    """Return the line of a session as its rows are now, or that of one of its agents; None if it is not there."""
    checks = tx.find_checks(session)
    return None if checks is None else _load_line(tx, session, checks, now, agent)


class SavedLine(NamedTuple):
    """The line of a session as it was written: JSON, empty for nothing to show, None if it was never written."""

    session: str
    state: str
    line: str | None
    folder: str
    title: str | None
    """Its first prompt, where it is known."""


def list_lines(tx: Transaction, since: datetime, others: Iterable[str], limit: int) -> list[SavedLine]:
    """Return the lines of the sessions with a change since a time, the latest first, and of some other ones."""
    rows = tx.all("lines_of_recent_sessions", {"since": microseconds(since), "limit": limit})
    found = {row[0]: SavedLine(*row) for row in rows}
    for session in others:
        row = None if session in found else tx.one("line_of_one_session", {"session": session})
        if row is not None:
            found[session] = SavedLine(*row)
    return list(found.values())


def _load_line(
    tx: Transaction, session: str, checks: SessionChecks, now: datetime, agent: str | None = None
) -> SessionLine:
    rows, may_wait, has_tasks = tx.overviews.of_session(session, MOST_SUBAGENTS)
    full = read_current_work(tx, session=session, limit=_MOST_AGENTS, outlines=True) if has_tasks else ()
    work = {row.number: (row.todos, row.tasks) for row in full if row.tasks}
    agents = [
        replace(row, list=_summarise(*work[row.number], row.activity.state)) if row.number in work else row
        for row in rows
        if agent in (None, row.agent)
    ]
    if agent is not None:
        agents = [replace(one, parent=None) for one in agents]
    shown = find_shown_agent(agents)
    if shown is not None:
        at_work = (row for row in rows if row.parent == shown.number and is_at_work(row.activity, now))
        started_for = {row.started_for for row in at_work if row.started_for}
        if (started_for and shown.list.focus is None) or shown.activity.state == "finished":
            # The list itself has to be read: its focus does not say what is under way.
            record = tx.agent(session, shown.agent)
            todos, tasks = work.get(shown.number) or (TodoList() if record is None else record.state.todos, ())
            summary = _summarise(todos, tasks, shown.activity.state, started_for)
            agents[agents.index(shown)] = replace(shown, list=summary)
    # What waits is read for the whole board, so only where this session has any.
    waits = load_waits(tx, now, session=session) if may_wait else ()
    changes, offer = 0, None
    if checks.state in ("green", "unchecked"):
        record = tx.completions.load_record(session)
        changes = session_state(session, record).changes_since
        if shown is not None and shown.number not in work:
            offer = find_offer(record, shown.number, shown.activity, shown.list.focus_id)
    memory = StallMemory() if shown is None else tx.memory.load(shown.number)
    is_at_rest = shown is not None and shown.activity.rests and not memory.is_prompted
    return prepare_line(
        agents,
        state=checks.state,
        check=checks.check_name,
        changes=changes,
        offer=offer,
        waits=waits,
        now=now,
        process=memory.process,
        stopped_at=memory.heard_at or now if is_at_rest else None,
    )


def _summarise(
    todos: TodoList, tasks: tuple[Task, ...], state: AgentState, started_for: Container[str] = ()
) -> ListSummary:
    """Return items and tasks in short. A pending item that a subagent at work was `started_for` can be the focus."""
    helped = {item.id: ("",) for item in todos.items if f"{todos.plan_id}/{item.id}" in started_for}
    shown = show_left_open(show_tasks(todos, tasks), state, helped)
    focus = None if state == "finished" else find_shown_focus(todos, tasks)
    pending = (item for item in shown.items if item.status is Status.PENDING and item.id in helped)
    return summarise_list(shown, focus or shown.focus or next(pending, None))
