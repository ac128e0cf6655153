"""Link todos and tasks: make a list from a task, and tasks from a list."""

from __future__ import annotations

from typing import Protocol

from msgspec.structs import replace

from punchlist.core.task import Task, TaskStatus, Worked
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.errors import CycleRefused
from punchlist.store import Transaction
from punchlist.tasks.fields import LONGEST, NewTask
from punchlist.tasks.work import Work
from punchlist.text.hashing import blake2b


class TodoAgent(Protocol):
    """The parts of an agent's handle that have a todo list."""

    name: str
    session: str

    @property
    def todos(self) -> TodoList: ...
    def restore_list(self, todos: TodoList, *, by: str, source: str) -> TodoList: ...


def make_steps(task: Task, children: tuple[Task, ...]) -> TodoList:
    """Return the steps of a task as a list: its children that were not cancelled, else its checklist, else itself."""
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


def link_list(work: Work, task: str, agent: TodoAgent, plan_id: str) -> Task:
    """Record on a task which list is worked under it."""
    row = work.row(task)
    worked = Worked(session=agent.session, agent=agent.name, plan_id=plan_id)
    known = work.tx.agent(agent.session, agent.name)
    if known is not None:
        work.tasks.save_worked(row, known.number)
    return work.write(row, replace(row.task, worked=worked), "task.changed").task


def _make_call_id(agent: TodoAgent, todos: TodoList, item: TodoItem) -> str:
    """Return the call id under which an item is promoted: the same each time, hashed where it would be too long."""
    said = f"promote {agent.session} {agent.name} {todos.plan_id} {item.id}"
    if len(said) <= LONGEST["name"] and said.isprintable():
        return said
    return f"promote {blake2b(said.encode(errors='replace'), digest_size=16).hexdigest()}"


def make_promoted_fields(agent: TodoAgent, todos: TodoList, item: TodoItem, parent: str | None) -> NewTask:
    """Return the fields of the task that an item is promoted to."""
    origin = {"session": agent.session, "agent": agent.name, "plan_id": todos.plan_id, "item": item.id}
    given: NewTask = {"metadata": {"todo": origin}}
    if item.active_form:
        given["active_form"] = item.active_form
    if item.notes:
        given["description"] = "\n".join(item.notes)
    if parent is not None:
        given["parent"] = parent
    return given


def cut_subject(item: TodoItem) -> str:
    return item.content[: LONGEST["subject"]]


def find_unpromoted(tx: Transaction, name: str, agent: TodoAgent, todos: TodoList) -> list[TodoItem]:
    """Return the open items that have no task yet."""
    where = tx.tasks.find_list(name)
    items = todos.open_items
    return [item for item in items if where is None or tx.tasks.call(where, _make_call_id(agent, todos, item)) is None]


def promote(work: Work, agent: TodoAgent, todos: TodoList, parent: str | None) -> tuple[Task, ...]:
    """Make tasks of the open items of a list, each after the one before. A promoted item keeps its task."""
    tasks: list[Task] = []
    for item in todos.open_items:

        def make(item: TodoItem = item) -> tuple[Task, ...]:
            before: NewTask = {"blocked_by": [tasks[-1].id]} if tasks else {}
            return (work.create(cut_subject(item), **{**make_promoted_fields(agent, todos, item, parent), **before}),)

        (task,) = work.once(_make_call_id(agent, todos, item), ["promote"], make)
        row = work.find(task.id)
        if row is not None:
            tasks.append(_put_after(work, row.task, tasks[-1]) if tasks else row.task)
    return tuple(tasks)


def _put_after(work: Work, task: Task, first: Task) -> Task:
    """Block a task by another; unless it was begun already, or comes before it by other edges."""
    if first.id in task.blocked_by or task.status not in {TaskStatus.PENDING, TaskStatus.WAITING}:
        return task
    try:
        return work.update(task.id, add_blocked_by=[first.id])
    except CycleRefused:
        return task
