"""Read the current work of agents: their lists, the tasks of their sessions, and those that they began elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from punchlist.core.current_work import latest_batch
from punchlist.core.task import Task
from punchlist.store.agents import list_row
from punchlist.store.records import ListRow, readable
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
