"""`todos` of crush: the whole list, counts as reply, and what just changed as metadata for a user interface."""

from __future__ import annotations

import json
from typing import Any, cast

from punchlist.core.commands import Command, Entry, Policy, Query, Replace
from punchlist.core.todo import Status
from punchlist.dialects.base import IN_THREE, LOST_IN_THREE, THREE, Dialect, Invalid, Reply, Result, Tool, sound
from punchlist.dialects.claude_code import SUCCESS
from punchlist.dialects.repair import type_name

POLICY = Policy(dialect="crush", shown=IN_THREE)

TOOL = Tool(
    name="todos",
    description=(
        "Write the whole todo list. For work of several steps, not for a simple request. Keep one item in_progress, "
        "complete it as soon as it is done. content says what to do, active_form the same as being done."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "todos": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "content": {"type": "string"},
                        "status": {"type": "string", "enum": list(THREE)},
                        "active_form": {"type": "string"},
                    },
                    "required": ["content", "status", "active_form"],
                },
            }
        },
        "required": ["todos"],
    },
)


def parse(_tool: str, args: Any) -> Command | Query | Invalid:
    todos = cast("dict[str, Any]", args).get("todos") if isinstance(args, dict) else None
    if not isinstance(todos, list):
        return Invalid(f"invalid parameters: todos is {type_name(todos)}, not an array")
    entries: list[Entry] = []
    for index, todo in enumerate(cast("list[Any]", todos)):
        fields = cast("dict[str, Any]", todo) if isinstance(todo, dict) else {}
        content, status, form = fields.get("content", ""), fields.get("status", ""), fields.get("active_form", "")
        if not isinstance(todo, dict) or not all(isinstance(value, str) for value in (content, status, form)):
            return Invalid(f"invalid parameters: todos[{index}] has a field that is no string")
        if status not in THREE:
            return Invalid(f"invalid status {_quoted(status)} for todo {_quoted(content)}")
        entries.append(Entry(sound(content), THREE[status], sound(form) or None))
    return Replace(tuple(entries))


def _quoted(text: str) -> str:
    return json.dumps(sound(text), ensure_ascii=False)


def render(result: Result) -> Reply:
    if result.refusals:
        return Reply(result.refusals[0].text, is_error=True, problems=result.problems)
    entries = cast("Replace", result.command).entries
    counts = {status: sum(entry.status is status for entry in entries) for status in THREE.values()}
    said = (
        f"Status: {counts[Status.PENDING]} pending, {counts[Status.IN_PROGRESS]} in progress, "
        f"{counts[Status.COMPLETED]} completed"
    )
    text = f"Todo list updated successfully.\n\n{said}\n{SUCCESS}"
    return Reply(text, _metadata(result, entries), problems=result.problems)


def _metadata(result: Result, entries: tuple[Entry, ...]) -> dict[str, Any]:
    before = {item.content: item.status for item in result.before.items}
    busy = next((entry for entry in entries if entry.status is Status.IN_PROGRESS), None)
    started = busy is not None and before.get(busy.content) is not Status.IN_PROGRESS
    return {
        "is_new": not before,
        "just_completed": [
            entry.content
            for entry in entries
            if entry.status is Status.COMPLETED and before.get(entry.content, Status.COMPLETED) is not Status.COMPLETED
        ],
        "just_started": (busy.active_form or busy.content) if busy is not None and started else "",
        "completed": sum(entry.status is Status.COMPLETED for entry in entries),
        "total": len(entries),
    }


DIALECT = Dialect(
    name="crush",
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    statuses=tuple(THREE),
    lossy=(*LOST_IN_THREE, "no ids, phases, notes, priorities, parents or explanation"),
)
