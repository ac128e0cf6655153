"""What oh-my-pi's `todo_write` answers: phases and tasks as data, and the summary text, to the letter."""

from __future__ import annotations

from collections.abc import Set
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


def phases_of(todos: TodoList, policy: Policy, hidden: Set[str] = frozenset()) -> list[Phase]:
    """The list as phases with their tasks, empty phases too; items without a phase come first.

    `hidden` are the ids of closed tasks that are gone from the model's list, with a phase that held nothing else.
    """
    tasks: dict[str | None, list[dict[str, Any]]] = {phase.id: [] for phase in todos.phases}
    left: set[str | None] = set()
    for item in todos.items:
        status = policy.shows(item.status)
        if item.id in hidden and not item.is_open:
            left.add(item.phase_id)
        elif status is not None:
            known = item.phase_id if item.phase_id in tasks else None
            tasks.setdefault(known, []).append(_task(item, status))
    named: list[Phase] = [
        {"name": phase.name, "tasks": tasks[phase.id]}
        for phase in todos.phases
        if tasks[phase.id] or phase.id not in left
    ]
    return [{"name": ORPHANS, "tasks": tasks[None]}, *named] if None in tasks else named


def _task(item: TodoItem, status: Status) -> dict[str, Any]:
    task: dict[str, Any] = {"content": item.content, "status": _WORDS[status]}
    if item.notes:
        task["notes"] = list(item.notes)
    return task


def completed(before: list[Phase], after: list[Phase]) -> list[dict[str, str]]:
    """Tasks that were on the list before under the same phase and text, not completed, and are completed now."""
    statuses = {(phase["name"], task["content"]): task["status"] for phase in before for task in phase["tasks"]}
    return [
        {"phase": phase["name"], "content": task["content"]}
        for phase in after
        for task in phase["tasks"]
        if task["status"] == "completed" and statuses.get((phase["name"], task["content"]), "completed") != "completed"
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
    count = f" (+{len(notes)} note{'s' if len(notes) != 1 else ''})" if notes else ""
    rows = [f"    {_SYMBOLS[task['status']]} {task['content']}{count}"]
    if task["status"] == "in_progress":
        for index, note in enumerate(notes):
            if index:
                rows.append("        ---")
            rows.extend(f"        {line}" for line in note.split("\n"))
    return rows
