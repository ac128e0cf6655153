"""Where todos and tasks meet: a list made from a task, a list that becomes tasks, and how far the one has come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from punchlist.core.task import Task, Worked, altered
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.store import Transaction
from punchlist.store.task_contract import TaskRow
from punchlist.tasks.work import Work

if TYPE_CHECKING:
    from punchlist.agent import Agent


def steps_of(task: Task, children: tuple[Task, ...]) -> TodoList:
    """The steps of a task as a list: its open children, else its checklist, else the task itself."""
    if children:
        parts = [(child.subject, not child.is_open) for child in children]
    elif task.checklist:
        parts = [(check.text, check.done) for check in task.checklist]
    else:
        parts = [(task.subject, False)]
    items = tuple(
        TodoItem(id=str(place), content=text, status=Status.COMPLETED if done else Status.PENDING)
        for place, (text, done) in enumerate(parts, 1)
    )
    return TodoList(items=items)


def remember(work: Work, task: str, agent: Agent, plan_id: str) -> Task:
    """Notes under which task a list is worked."""
    row = work.row(task)
    worked = Worked(session=agent.session, agent=agent.name, plan_id=plan_id)
    return work.write(row, altered(row.task, worked=worked), "task.changed").task


def with_list(tx: Transaction, row: TaskRow) -> Task:
    """The task, as far as the list that is worked under it, while it has no children and is not done."""
    task, worked = row.task, row.task.worked
    if worked is None or row.children or not task.is_open:
        return task
    agent = tx.agent(worked.session, worked.agent)
    if agent is None or agent.state.todos.plan_id != worked.plan_id or not agent.state.todos.items:
        return task
    return altered(task, progress=agent.state.todos.progress)


def promoted(work: Work, agent: Agent, todos: TodoList, parent: str | None) -> tuple[Task, ...]:
    """The open items of a list as tasks, each after the one before. One that was promoted before stays that task."""
    tasks: list[Task] = []
    for item in todos.open_items:
        origin = {"session": agent.session, "agent": agent.name, "plan_id": todos.plan_id, "item": item.id}
        call_id = f"promote {agent.session} {agent.name} {todos.plan_id} {item.id}"[:200]
        given: dict[str, Any] = {"metadata": {"todo": origin}, "blocked_by": [tasks[-1].id] if tasks else []}
        if item.active_form:
            given["active_form"] = item.active_form
        if item.notes:
            given["description"] = "\n".join(item.notes)
        if parent is not None:
            given["parent"] = parent

        def make(text: str = item.content, given: dict[str, Any] = given) -> tuple[Task, ...]:
            return (work.create(text[:1000], **given),)

        (task,) = work.once(call_id, ["promote"], make)
        row = work.find(task.id)
        if row is not None:
            tasks.append(row.task)
    return tuple(tasks)
