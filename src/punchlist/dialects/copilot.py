"""`manage_todo_list` of VS Code's Copilot: numeric ids, hyphens in statuses, warnings instead of limits.

The host may read with `operation: "read"`; what that answers is not published, so ours is the list as JSON.
"""

from __future__ import annotations

import json
from typing import Any, cast

from punchlist.core.commands import Command, Entry, Policy, Query, Replace
from punchlist.core.identity import names_in
from punchlist.core.todo import Status, TodoList
from punchlist.dialects.base import IN_THREE, LOST_IN_THREE, Dialect, Invalid, Reply, Result, Tool, shown_items, sound

_STATUSES = {
    "not-started": Status.PENDING,
    "in-progress": Status.IN_PROGRESS,
    "completed": Status.COMPLETED,
}
_WORDS = {status: word for word, status in _STATUSES.items()}
POLICY = Policy(dialect="copilot", shown=IN_THREE)
FEW, MANY, AT_ONCE = 3, 10, 3

TOOL = Tool(
    name="manage_todo_list",
    description=(
        "Write the whole todo list, each item with a number, a short title and a status. For work of several steps, "
        "not for a simple request. Put one item in-progress before working on it and complete it "
        "at once afterwards."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "todoList": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "number"},
                        "title": {"type": "string"},
                        "status": {"type": "string", "enum": list(_STATUSES)},
                    },
                    "required": ["id", "title", "status"],
                },
            }
        },
        "required": ["todoList"],
    },
)


def parse(_tool: str, args: Any) -> Command | Query | Invalid:
    given = cast("dict[str, Any]", args) if isinstance(args, dict) else {}
    if given.get("operation") == "read":
        return Query()
    todos = given.get("todoList")
    if not isinstance(todos, list):
        return Invalid("Error: todoList is required for write operation")
    entries: list[Entry] = []
    for index, todo in enumerate(cast("list[Any]", todos)):
        fields = cast("dict[str, Any]", todo) if isinstance(todo, dict) else {}
        number, title, status = fields.get("id"), fields.get("title"), fields.get("status")
        if not isinstance(number, int | float) or isinstance(number, bool) or number != number // 1:
            return Invalid(f"Error: todoList[{index}].id must be a number")
        if not isinstance(title, str):
            return Invalid(f"Error: todoList[{index}].title must be a string")
        if not isinstance(status, str) or status not in _STATUSES:
            return Invalid(f"Error: todoList[{index}].status must be one of {', '.join(_STATUSES)}")
        entries.append(Entry(sound(title), _STATUSES[status], alias=f"{number:.0f}"))
    return Replace(tuple(entries))


def render(result: Result) -> Reply:
    if result.refusals:
        return Reply(f"Error: {result.refusals[0].text}", is_error=True, problems=result.problems)
    if isinstance(result.command, Query):
        rows = _rows(result.after)
        return Reply(json.dumps(rows, ensure_ascii=False), {"todoList": rows}, shows_list=True)
    entries = cast("Replace", result.command).entries
    rows = [
        {"id": int(cast("str", entry.alias)), "title": entry.content, "status": _WORDS[entry.status]}
        for entry in entries
    ]
    said = "\n".join(_warnings(_rows(result.before), rows))
    text = "Successfully wrote todo list" + (f"\n\n{said}" if said else "")
    return Reply(text, {"todoList": rows}, problems=result.problems)


def _rows(todos: TodoList) -> list[dict[str, Any]]:
    shown = shown_items(todos, POLICY)
    names = names_in([item for item, _ in shown], "copilot")
    return [
        {"id": int(name) if name.isdecimal() else name, "title": item.content, "status": _WORDS[near]}
        for name, (item, near) in zip(names, shown, strict=True)
    ]


def _warnings(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[str]:
    said: list[str] = []
    if len(after) < FEW:
        said.append("Warning: Small todo list (<3 items). This task might not need a todo list.")
    elif len(after) > MANY:
        said.append("Warning: Large todo list (>10 items). Consider keeping the list short and to the point.")
    known = {row["id"]: row for row in before}
    changed = sum(known.get(row["id"]) != row for row in after)
    if before and changed > AT_ONCE:
        said.append(
            "Warning: Did you mean to update so many todos at the same time? Consider working on them one by one."
        )
    return said


DIALECT = Dialect(
    name="copilot",
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    statuses=tuple(_STATUSES),
    lossy=(*LOST_IN_THREE, "no active forms, phases, notes, priorities, parents or explanation"),
)
