"""The tasks that count as an agent's work, for what is put before its model. Only loaded on a board with tasks."""

from __future__ import annotations

from punchlist.agent.handle import Handle, speaks
from punchlist.core.task import Task, TaskStatus
from punchlist.store import AgentRow, Transaction

_OPEN = (TaskStatus.IN_PROGRESS, TaskStatus.PENDING, TaskStatus.WAITING, TaskStatus.FAILED)
_MOST = 100
"""The most tasks of one status that are looked at."""


def tasks_before(tx: Transaction, row: AgentRow, agent: Handle) -> tuple[Task, ...]:
    """The open tasks that an agent started or owns; of one with a task tool, also those of its list that are nobody's.

    A subagent shares the list, and only owes what it took.
    """
    found = {each.number: each for each in tx.tasks.of_agent(row)}
    where = tx.tasks.find_list(agent.task_list) if speaks(agent).layer == "tasks" else None
    if where is not None and row.parent is None:
        for status in _OPEN:
            for each in tx.tasks.page(where, status=status.value, limit=_MOST):
                if each.agent is None and each.task.owner is None:
                    found.setdefault(each.number, each)
    return tuple(found[number].task for number in sorted(found))
