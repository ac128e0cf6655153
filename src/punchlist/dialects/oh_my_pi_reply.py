"""What oh-my-pi's `todo_write` answers: phases and tasks as data, and the summary text, to the letter."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from punchlist.core.commands import Policy
from punchlist.core.todo import Status, TodoItem, TodoList

_WORDS = {
    Status.PENDING: "pending",
    Status.IN_PROGRESS: "in_progress",
    Status.COMPLETED: "completed",
    Status.CANCELLED: "abandoned",
}
_SYMBOLS = {"completed": "✓", "in_progress": "→", "abandoned": "✗", "pending": "○"}
_OPEN = ("pending", "in_progress")
ORPHANS = "Todos"
"""The phase under which items without one are shown."""

Phase = dict[str, Any]


def phases_of(todos: TodoList, policy: Policy, now: datetime | None) -> list[Phase]:
    """The list as phases with their tasks, empty phases too; items without a phase come first.

    A phase of which every task was closed long ago is gone from the model's list with its tasks.
    """
    tasks: dict[str | None, list[dict[str, Any]]] = {phase.id: [] for phase in todos.phases}
    hidden: set[str | None] = set()
    for item in todos.items:
        status = policy.shows(item.status)
        if now is not None and policy.hides(item, now):
            hidden.add(item.phase_id)
        elif status is not None:
            known = item.phase_id if item.phase_id in tasks else None
            tasks.setdefault(known, []).append(_task(item, status))
    named: list[Phase] = [
        {"name": phase.name, "tasks": tasks[phase.id]}
        for phase in todos.phases
        if tasks[phase.id] or phase.id not in hidden
    ]
    return [{"name": ORPHANS, "tasks": tasks[None]}, *named] if None in tasks else named


def _task(item: TodoItem, status: Status) -> dict[str, Any]:
    task: dict[str, Any] = {"content": item.content, "status": _WORDS[status]}
    if item.notes:
        task["notes"] = list(item.notes)
    return task


def completed(before: TodoList, after: TodoList) -> list[dict[str, str]]:
    """Tasks that were on the list before and are completed now."""
    open_before = {item.id for item in before.items if item.status is not Status.COMPLETED}
    if before.plan_id != after.plan_id:
        return []
    return [
        {"phase": item.phase if item.phase is not None else ORPHANS, "content": item.content}
        for item in after.items
        if item.status is Status.COMPLETED and item.id in open_before
    ]


def summary(phases: list[Phase], errors: list[str]) -> str:
    """The text that the model reads."""
    said = [f"Errors: {'; '.join(errors)}"] if errors else []
    tasks = [(phase["name"], task) for phase in phases for task in phase["tasks"]]
    if not tasks:
        return said[0] if said else "Todo list cleared."
    remaining = [(name, task) for name, task in tasks if task["status"] in _OPEN]
    said.append(f"Remaining items ({len(remaining)}):" if remaining else "Remaining items: none.")
    said.extend(f"  - {task['content']} [{task['status']}] ({name})" for name, task in remaining)
    said.append(_current_phase(phases))
    for phase in phases:
        said.append(f"  {phase['name']}:")
        for task in phase["tasks"]:
            said.extend(_tree(task))
    return "\n".join(said)


def _current_phase(phases: list[Phase]) -> str:
    at = next(
        (index for index, phase in enumerate(phases) if any(task["status"] in _OPEN for task in phase["tasks"])),
        len(phases) - 1,
    )
    tasks = phases[at]["tasks"]
    done = sum(task["status"] not in _OPEN for task in tasks)
    return f'Phase {at + 1}/{len(phases)} "{phases[at]["name"]}" — {done}/{len(tasks)} tasks complete'


def _tree(task: dict[str, Any]) -> list[str]:
    notes: list[str] = task.get("notes", [])
    count = f" (+{len(notes)} note{'s' if len(notes) > 1 else ''})" if notes else ""
    rows = [f"    {_SYMBOLS[task['status']]} {task['content']}{count}"]
    if task["status"] == "in_progress":
        for index, note in enumerate(notes):
            if index:
                rows.append("        ---")
            rows.extend(f"        {line}" for line in note.split("\n"))
    return rows
