"""`todowrite` of opencode: status and priority are free strings; the reply is the list as it was sent.

An unknown status counts as pending, and the reply still shows what was sent; usual spellings are known. Its schema
library's errors are not published beyond "expected array, received string", so ours name the field in that manner; a
write that core refuses answers as its v2 core does. Two rules are the host's: subagents are not offered the tool unless
their rules name it, and a third equal call asks a person.
"""

import json
from typing import Any, cast

from punchlist.core.commands import Entry, Policy, Replace
from punchlist.core.todo import Status
from punchlist.dialects.base import FOUR, IN_FOUR, Dialect, Invalid, Parsed, Reply, Result
from punchlist.dialects.repair import as_status, mend, read_fields, type_name
from punchlist.dialects.tool_descriptions import TEXT, Tool, list_of, object_of

POLICY = Policy(dialect="opencode", shown=IN_FOUR)
_FIELDS = ("content", "status", "priority")

TOOL = Tool(
    name="todowrite",
    description=(
        "Write the session's whole todo list. For work of three or more steps, not for a single easy one. "
        "Status is pending, in_progress, completed or cancelled; priority high, medium or low. "
        "Keep one item in_progress and complete it as soon as it is done."
    ),
    input_schema=object_of({"todos": list_of(object_of(dict.fromkeys(_FIELDS, TEXT)))}),
    annotations={"permission": "todowrite", "subagents": "deny"},
)


def parse(_tool: str, args: Any) -> Parsed:
    todos = read_fields(args).get("todos")
    if not isinstance(todos, list):
        return _refuse("todos", "array", todos)
    entries: list[Entry] = []
    for index, todo in enumerate(cast("list[Any]", todos)):
        if not isinstance(todo, dict):
            return _refuse(f"todos[{index}]", "object", todo)
        given = cast("dict[str, Any]", todo)
        for name in _FIELDS:
            if not isinstance(given.get(name), str):
                return _refuse(f"todos[{index}].{name}", "string", given.get(name))
        status = as_status(given["status"][:80]) or Status.PENDING
        entries.append(Entry(mend(given["content"]), status, priority=mend(given["priority"]), word=given["status"]))
    return Replace(tuple(entries))


def _refuse(path: str, expected: str, value: Any) -> Invalid:
    received = "undefined" if value is None else type_name(value)
    return Invalid(f"Invalid input at {path}: expected {expected}, received {received}")


def render(result: Result) -> Reply:
    if result.refusals:
        return result.refuse("Unable to update todos")
    todos = [
        {"content": entry.content, "status": mend(entry.word or ""), "priority": entry.priority}
        for entry in result.entries
    ]
    left = sum(todo["status"] != "completed" for todo in todos)
    data = {"title": f"{left} todos", "metadata": {"todos": todos}}
    return result.reply(json.dumps(todos, indent=2, ensure_ascii=False), data)


DIALECT = Dialect(
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    statuses=tuple(FOUR),
    subagents="withheld",
    repairs=frozenset({"status_spelling"}),
    lossy=(
        "blocked and failed show as in_progress",
        "a status of its own counts as pending",
        "no ids, active forms, phases, notes, parents or explanation",
    ),
)
