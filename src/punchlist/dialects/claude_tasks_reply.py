"""What Claude Code's task tools answer: the text that the model reads, and the result object beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from punchlist.core.commands import Problem
from punchlist.core.task import CreateTask, GetTask, ListTasks, Task, TaskResult, TaskStatus, UpdateTask
from punchlist.dialects.base import Reply
from punchlist.dialects.claude_tasks_tools import DELETED
from punchlist.errors import PunchlistError, TaskUnknown
from punchlist.text import clean

NOT_FOUND = "Task not found"

SHOWN: Mapping[TaskStatus, str | None] = {
    TaskStatus.PENDING: "pending",
    TaskStatus.IN_PROGRESS: "in_progress",
    TaskStatus.WAITING: "pending",
    TaskStatus.COMPLETED: "completed",
    TaskStatus.FAILED: "pending",
    TaskStatus.CANCELLED: None,
}
"""How each status shows; a task with none is not shown."""


def render(result: TaskResult) -> Reply:
    command, error = result.command, result.error
    match command:
        case CreateTask():
            return _created(command, result.after) if error is None else _refused(error)
        case UpdateTask():
            return _updated(command, result) if error is None else _refused(error, command.id)
        case GetTask():
            return _got(result.after)
        case ListTasks():
            return _listed(result.tasks)
        case _:
            assert_never(command)


def _refused(error: PunchlistError, task: str | None = None) -> Reply:
    """The reason, as the model reads it. A refused update has a result object, a refused creation has none."""
    said = NOT_FOUND if isinstance(error, TaskUnknown) and error.data["id"] == (task or "")[:80] else str(error)
    data: Any = None if task is None else {"success": False, "taskId": task, "updatedFields": [], "error": said}
    return Reply(said, data, is_error=True, problems=(Problem(error.code, said, fatal=True),))


def _created(command: CreateTask, task: Task | None) -> Reply:
    number = "" if task is None else task.id
    text = f"Task #{number} created successfully: {command.subject}"
    return Reply(text, {"task": {"id": number, "subject": command.subject}}, problems=_cleaned(command.subject))


def _updated(command: UpdateTask, result: TaskResult) -> Reply:
    fields = _changed_fields(command, result.before, result.after)
    data: dict[str, Any] = {"success": True, "taskId": command.id, "updatedFields": fields}
    was = None if result.before is None else SHOWN[result.before.status]
    if command.delete:
        data["statusChange"] = {"from": was, "to": DELETED}
    elif "status" in fields and result.after is not None:
        data["statusChange"] = {"from": was, "to": SHOWN[result.after.status]}
    return Reply(f"Updated task #{command.id} {', '.join(fields)}", data)


def _changed_fields(command: UpdateTask, before: Task | None, after: Task | None) -> list[str]:
    """What changed, in the order of Claude Code's result."""
    if command.delete or before is None or after is None:
        return [DELETED]
    changed = {
        "subject": before.subject != after.subject,
        "description": before.description != after.description,
        "activeForm": before.active_form != after.active_form,
        "status": SHOWN[before.status] != SHOWN[after.status],
        "owner": before.owner != after.owner and "owner" in command.fields,
        "blocks": before.blocks != after.blocks,
        "blockedBy": before.blocked_by != after.blocked_by,
        "metadata": "metadata" in command.fields,
    }
    return [name for name, is_so in changed.items() if is_so]


def _got(task: Task | None) -> Reply:
    status = None if task is None else SHOWN[task.status]
    if task is None or status is None:
        return Reply(NOT_FOUND, {"task": None})
    lines = [f"Task #{task.id}: {_line(task.subject)}", f"Status: {status}"]
    lines.append("Description: " + "\n  ".join(clean(task.description).text.splitlines()))
    lines += [f"{name}: {_numbers(ids)}" for name, ids in _edges(task) if ids]
    shown = {
        "id": task.id,
        "subject": task.subject,
        "description": task.description,
        "status": status,
        "blocks": list(task.blocks),
        "blockedBy": list(task.blocked_by),
    }
    return Reply("\n".join(lines), {"task": shown})


def _edges(task: Task) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return ("Blocked by", task.blocked_by), ("Blocks", task.blocks)


def _listed(tasks: tuple[Task, ...]) -> Reply:
    """Blockers that no longer hold a task back, completed ones say, are left out; the tasks themselves keep them."""
    lines: list[str] = []
    shown: list[dict[str, Any]] = []
    for task in tasks:
        status = SHOWN[task.status]
        if status is None:
            continue
        waits_for = tuple(blocker.id for blocker in task.held_by)
        owner = "" if task.owner is None else f" ({_line(task.owner)})"
        blocked = f" [blocked by {_numbers(waits_for)}]" if waits_for else ""
        lines.append(f"#{task.id} [{status}] {_line(task.subject)}{owner}{blocked}")
        told: dict[str, Any] = {"id": task.id, "subject": task.subject, "status": status}
        if task.owner is not None:
            told["owner"] = task.owner
        shown.append({**told, "blockedBy": list(waits_for)})
    return Reply("\n".join(lines) or "No tasks found", {"tasks": shown})


def _numbers(ids: tuple[str, ...]) -> str:
    return ", ".join(f"#{each}" for each in ids)


def _line(text: str) -> str:
    """A text of a task on one line: it cannot pass for a row of the list."""
    return clean(text, lines=False).text


def _cleaned(*texts: str) -> tuple[Problem, ...]:
    """What is said beside the reply about characters that the state does not hold."""
    removed = sorted({each for text in texts for each in clean(text).removed})
    if not removed:
        return ()
    return (Problem("cleaned", f"Removed from the text: {', '.join(removed)}.", data={"removed": removed}),)
