"""The list that is worked under a task: how far it is, and what it ticks of the task's checklist."""

from __future__ import annotations

from msgspec.structs import replace

from punchlist.core.task import ChecklistLine, Task, Worked, share
from punchlist.core.todo import Progress, Status, TodoList
from punchlist.store import AgentRow, Transaction
from punchlist.store.task_rows import TaskRow


def with_list(tx: Transaction, row: TaskRow) -> Task:
    """The task, as far as the list that is worked under it, while it has no children and is not done.

    The list is its agent's, whatever the session is called by now.
    """
    task, worked = row.task, row.task.worked
    if worked is None or row.children or not task.is_open:
        return task
    agent = _agent(tx, row, worked)
    progress = None if agent is None else _progress(tx, agent, worked.plan_id)
    if agent is None or progress is None:
        return task
    now = Worked(session=agent.session, agent=agent.name, plan_id=worked.plan_id)
    return replace(task, progress=progress, worked=now)


def ticked(tx: Transaction, row: TaskRow) -> Task:
    """The task with those lines of its checklist ticked that the list made from it has completed."""
    task, worked = row.task, row.task.worked
    if worked is None or all(check.done for check in task.checklist):
        return task
    agent = _agent(tx, row, worked)
    progress = None if agent is None else _progress(tx, agent, worked.plan_id)
    if agent is None or progress is None:
        return task
    todos = agent.state.todos
    items = todos.items if todos.plan_id == worked.plan_id else ()
    done = {item.content for item in items if item.status is Status.COMPLETED}
    everything = 0 < progress.done == progress.total  # its dialect may have cleared them off the list
    checks = [ChecklistLine(check.text, check.done or everything or check.text in done) for check in task.checklist]
    return replace(task, checklist=tuple(checks))


def _agent(tx: Transaction, row: TaskRow, worked: Worked) -> AgentRow | None:
    session, name = tx.tasks.worked_by(row) or (worked.session, worked.agent)
    return tx.agent(session, name)


def _progress(tx: Transaction, agent: AgentRow, plan_id: str) -> Progress | None:
    """How far a plan is; None if it is no longer followed. What its dialect cleared off the list is done."""
    todos = agent.state.todos
    wiped = tx.history.wiped(agent, plan_id)
    if wiped is None:
        return todos.progress if todos.plan_id == plan_id and todos.items else None
    count, revision = wiped
    left = todos if todos.plan_id == plan_id else tx.history.at(agent.number, revision)
    done, total, _ = (left or TodoList()).progress
    return share(done + count, total + count)
