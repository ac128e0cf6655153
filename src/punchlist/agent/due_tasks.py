"""An agent's tasks and flows as they stand by now: what has come due is done before somebody looks at them."""

from __future__ import annotations

from datetime import datetime

from punchlist.agent.handle import Handle, speaks
from punchlist.core.task import Task, TaskStatus
from punchlist.store import AgentRow, Transaction


def look(agent: Handle) -> None:
    """To be called before the work of an agent is read, outside any transaction.

    Writes what leases, timers and rests have come to, if they have; and what was done to a list of tasks that others
    keep elsewhere, files say.
    """
    bring_up_to_date(agent)
    board, now = agent.board, agent.board.now()
    if board.store.read(lambda tx: _is_due(tx, agent, now)):
        for name in board.store.transact(lambda tx: _settled(tx, agent, now), durable=False):
            board.tasks_changed(name)


def bring_up_to_date(agent: Handle) -> None:
    """Has the list of a task tool brought up to date."""
    if speaks(agent).layer == "tasks":
        agent.board.tasks_wanted(agent.task_list)


def settle(tx: Transaction, row: AgentRow, now: datetime, *, name: str) -> list[str]:
    """Does what has come due in the lists with work of an agent, and in that of this `name`.

    The names of the lists of tasks in which something happened: whoever keeps them elsewhere is to be told.
    """
    if not tx.has_tasks:
        return []
    due = tx.tasks.lists_due_of_agent(row.number, now, session=row.session, name=name)
    if not due:
        return []
    from punchlist.core.task import FLOWS
    from punchlist.tasks.work import Work

    if any(each.name == FLOWS for each in due):
        _settle_flows(tx, row, now)
    lists = [each for each in due if each.name != FLOWS]
    return [each.name for each in lists if Work(tx, each.name, project=each.project, now=now).settled]


def _is_due(tx: Transaction, agent: Handle, now: datetime) -> bool:
    row = tx.agent(agent.session, agent.name) if tx.has_tasks else None
    if row is None:
        return False
    return bool(tx.tasks.lists_due_of_agent(row.number, now, session=row.session, name=agent.task_list))


def _settled(tx: Transaction, agent: Handle, now: datetime) -> list[str]:
    row = tx.agent(agent.session, agent.name)
    return [] if row is None else settle(tx, row, now, name=agent.task_list)


def _settle_flows(tx: Transaction, row: AgentRow, now: datetime) -> None:
    """Lets flows of an agent go on whose time has come; to cancel those that are to be is the ticker's."""
    from punchlist.core.task import FLOWS
    from punchlist.flows.work import FlowWork

    work = FlowWork(tx, now=now)
    for each in tx.tasks.of_agent(row):
        if each.list.name == FLOWS and each.task.status is TaskStatus.WAITING:
            work.find(str(each.task.metadata["flow"]))


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
