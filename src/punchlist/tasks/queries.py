"""Read tasks within a transaction: their ids, and the progress of the todo list that belongs to one."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.task import ChecklistLine, Task, TaskStatus, Worked, share
from punchlist.core.todo import Progress, Status, TodoList
from punchlist.store import AgentRow, Transaction
from punchlist.store.task_rows import TaskRow


class TaskGraph(Struct, frozen=True):
    """Tasks, and the edges between them as pairs of ids: a blocker, and the task that waits for it."""

    tasks: tuple[Task, ...]
    edges: tuple[tuple[str, str], ...]


def parse_task_id(id: str | int) -> int | None:
    """Return the number of a task id; None if the text is no such id."""
    said = str(id)
    return int(said) if said.isascii() and said.isdecimal() and len(said) < 19 else None


def with_list_progress(tx: Transaction, row: TaskRow) -> Task:
    """Return an open task without children with the progress of the list that is worked under it.

    The list is its agent's, whatever the session is called by now.
    """
    task, worked = row.task, row.task.worked
    if worked is None or row.children or not task.is_open:
        return task
    found = _worked_list(tx, row, worked)
    if found is None:
        return task
    agent, progress = found
    now = Worked(session=agent.session, agent=agent.name, plan_id=worked.plan_id)
    return replace(task, progress=progress, worked=now)


def name_workers(tx: Transaction, found: Sequence[Task]) -> list[Task]:
    """Return tasks to show to a person: one that an agent began without a name as owner gets the agent's."""
    return [
        replace(task, owner=_find_worker(tx, task))
        if task.status is TaskStatus.IN_PROGRESS and task.owner is None
        else task
        for task in found
    ]


def _find_worker(tx: Transaction, task: Task) -> str | None:
    where = tx.tasks.find_list(task.list)
    worker = None if where is None else tx.tasks.worker(where, int(task.id))
    return None if worker is None else worker[1]


def with_list_ticks(tx: Transaction, row: TaskRow) -> Task:
    """Return the task with those lines of its checklist ticked that the list made from it has completed."""
    task, worked = row.task, row.task.worked
    if worked is None or all(check.done for check in task.checklist):
        return task
    found = _worked_list(tx, row, worked)
    if found is None:
        return task
    agent, progress = found
    todos = agent.state.todos
    items = todos.items if todos.plan_id == worked.plan_id else ()
    done = {item.content for item in items if item.status is Status.COMPLETED}
    everything = 0 < progress.done == progress.total  # its dialect may have cleared them off the list
    checks = [ChecklistLine(check.text, check.done or everything or check.text in done) for check in task.checklist]
    return replace(task, checklist=tuple(checks))


def _worked_list(tx: Transaction, row: TaskRow, worked: Worked) -> tuple[AgentRow, Progress] | None:
    """Return the agent that works the list, and its progress; None if the agent no longer follows that plan."""
    session, name = tx.tasks.worked_by(row) or (worked.session, worked.agent)
    agent = tx.agent(session, name)
    if agent is None:
        return None
    todos = agent.state.todos
    is_same_plan = todos.plan_id == worked.plan_id
    wiped = tx.history.count_wiped(agent, worked.plan_id)
    if wiped is None:
        return (agent, todos.progress) if is_same_plan and todos.items else None
    count, revision = wiped  # items that the dialect cleared off the list are done
    left = todos if is_same_plan else tx.history.at(agent.number, revision)
    done, total, _ = (left or TodoList()).progress
    return agent, share(done + count, total + count)
