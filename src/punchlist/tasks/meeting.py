"""Where todos and tasks meet: a list made from a task, and a list that becomes tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from punchlist.core.task import Task, TaskStatus, Worked
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.errors import CycleRefused
from punchlist.store import Transaction
from punchlist.tasks.fields import LONGEST, NewTask
from punchlist.tasks.work import Work

if TYPE_CHECKING:
    from punchlist.agent import Agent


def steps_of(task: Task, children: tuple[Task, ...]) -> TodoList:
    """The steps of a task as a list: its children that were not cancelled, else its checklist, else the task itself."""
    wanted = [child for child in children if child.status is not TaskStatus.CANCELLED]
    if wanted:
        parts = [(child.subject, not child.is_open) for child in wanted]
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
    known = work.tx.agent(agent.session, agent.name)
    if known is not None:
        work.tasks.save_worked(row, known.number)
    return work.write(row, replace(row.task, worked=worked), "task.changed").task


def call_of(agent: Agent, todos: TodoList, item: TodoItem) -> str:
    """Under which call an item is promoted: always the same, and never longer than such a name may be."""
    said = f"promote {agent.session} {agent.name} {todos.plan_id} {item.id}"
    if len(said) <= LONGEST["name"] and said.isprintable():
        return said
    from hashlib import blake2b  # few names are so long

    return f"promote {blake2b(said.encode(errors='replace'), digest_size=16).hexdigest()}"


def fields_of(agent: Agent, todos: TodoList, item: TodoItem, parent: str | None) -> NewTask:
    """What a promoted item is given as a task."""
    origin = {"session": agent.session, "agent": agent.name, "plan_id": todos.plan_id, "item": item.id}
    given: NewTask = {"metadata": {"todo": origin}}
    if item.active_form:
        given["active_form"] = item.active_form
    if item.notes:
        given["description"] = "\n".join(item.notes)
    if parent is not None:
        given["parent"] = parent
    return given


def subject_of(item: TodoItem) -> str:
    return item.content[: LONGEST["subject"]]


def unpromoted(tx: Transaction, name: str, agent: Agent, todos: TodoList) -> list[TodoItem]:
    """The open items of which no task was made yet."""
    where = tx.tasks.find_list(name)
    items = todos.open_items
    return [item for item in items if where is None or tx.tasks.call(where, call_of(agent, todos, item)) is None]


def promoted(work: Work, agent: Agent, todos: TodoList, parent: str | None) -> tuple[Task, ...]:
    """The open items of a list as tasks, each after the one before. One that was promoted before stays that task."""
    tasks: list[Task] = []
    for item in todos.open_items:

        def make(item: TodoItem = item) -> tuple[Task, ...]:
            before: NewTask = {"blocked_by": [tasks[-1].id]} if tasks else {}
            return (work.create(subject_of(item), **{**fields_of(agent, todos, item, parent), **before}),)

        (task,) = work.once(call_of(agent, todos, item), ["promote"], make)
        row = work.find(task.id)
        if row is not None:
            tasks.append(_after(work, row.task, tasks[-1]) if tasks else row.task)
    return tuple(tasks)


def _after(work: Work, task: Task, first: Task) -> Task:
    """The task, to be begun after another; unless it was begun already, or comes before it by other edges."""
    if first.id in task.blocked_by or task.status not in {TaskStatus.PENDING, TaskStatus.WAITING}:
        return task
    try:
        return work.update(task.id, add_blocked_by=[first.id])
    except CycleRefused:
        return task
