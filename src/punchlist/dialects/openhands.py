"""`task_tracker` of OpenHands: `view` and `plan`, notes for each task, `todo` and `done` as statuses."""

from __future__ import annotations

from typing import Any, cast

from punchlist.core.commands import Command, Entry, Policy, Query, Replace
from punchlist.core.todo import Status, TodoList
from punchlist.dialects.base import IN_THREE, LOST_IN_THREE, Dialect, Invalid, Reply, Result, Tool, shown_items, sound

_STATUSES = {"todo": Status.PENDING, "in_progress": Status.IN_PROGRESS, "done": Status.COMPLETED}
_SYMBOLS = {Status.PENDING: "⏳", Status.IN_PROGRESS: "🔄", Status.COMPLETED: "✅"}
POLICY = Policy(dialect="openhands", shown=IN_THREE)

TOOL = Tool(
    name="task_tracker",
    description=(
        "Track work of several steps. view shows the list; plan replaces it with task_list, each task with a title, "
        "notes if they help, and a status. Not for a simple request. Work on one task at a time and "
        "mark it done as soon as it is."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "command": {"type": "string", "enum": ["view", "plan"], "default": "view"},
            "task_list": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "title": {"type": "string"},
                        "notes": {"type": "string", "default": ""},
                        "status": {"type": "string", "enum": list(_STATUSES), "default": "todo"},
                    },
                    "required": ["title"],
                },
            },
        },
    },
    annotations={"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
)


def parse(_tool: str, args: Any) -> Command | Query | Invalid:
    given = cast("dict[str, Any]", args) if isinstance(args, dict) else {}
    command = given.get("command", "view")
    if command == "view":
        return Query()
    if command != "plan":
        name = sound(str(command))[:80]
        return Invalid(f'Unknown command: {name}. Supported commands are "view" and "plan".')
    tasks = given.get("task_list", [])
    if not isinstance(tasks, list):
        return Invalid("task_list: Input should be a valid list")
    entries: list[Entry] = []
    for index, task in enumerate(cast("list[Any]", tasks)):
        fields = cast("dict[str, Any]", task) if isinstance(task, dict) else {}
        title, notes, status = fields.get("title"), fields.get("notes", ""), fields.get("status", "todo")
        if not isinstance(title, str) or not isinstance(notes, str):
            return Invalid(f"task_list.{index}: title and notes should be valid strings")
        if not isinstance(status, str) or status not in _STATUSES:
            return Invalid(f"task_list.{index}.status: Input should be 'todo', 'in_progress' or 'done'")
        entries.append(Entry(sound(title), _STATUSES[status], notes=(sound(notes),) if notes else ()))
    return Replace(tuple(entries))


def render(result: Result) -> Reply:
    if result.refusals:
        return Reply(result.refusals[0].text, is_error=True, problems=result.problems)
    if isinstance(result.command, Query):
        return Reply(_view(result.after), shows_list=True)
    count = len(cast("Replace", result.command).entries)
    return Reply(f"Task list has been updated with {count} item(s).", problems=result.problems)


def _view(todos: TodoList) -> str:
    rows: list[str] = []
    for number, (item, near) in enumerate(shown_items(todos, POLICY), 1):
        rows.append(f"{number}. {_SYMBOLS[near]} {item.content}")
        if item.notes:
            rows.append(f"   {' '.join(item.notes)}")
    if not rows:
        return 'No task list found. Use the "plan" command to create one.'
    return "\n".join(["# Task List", "", *rows])


DIALECT = Dialect(
    name="openhands",
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    statuses=tuple(_STATUSES),
    lossy=(*LOST_IN_THREE, "several notes show as one", "no ids, active forms, phases, priorities or parents"),
)
