"""Read what a person asks first: the current work of agents with their tasks, and what waits on a person."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime

from punchlist.core.approval import Plan, Question
from punchlist.core.overview import Owner, PersonWait, find_waits
from punchlist.core.task import Task, latest_batch
from punchlist.store.agents import list_row
from punchlist.store.records import ListRow, moment, readable
from punchlist.store.task_rows import TaskRow
from punchlist.store.transaction import Transaction


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
            owner,
            now,
            todos=row.state.todos if row is not None and is_own else None,
            questions=questions[owner],
            plans=plans[owner],
            tasks=tasks[owner],
            agents=tx.names(owner.session) if has_items else (),
            blocked_at=blocked[owner],
        )
    return sorted(found, key=lambda wait: wait.since or _NEVER)
