"""`update_todo_list` of Roo Code: one Markdown checklist as a string, `[-]` and `[~]` for in progress.

Lines that are no checklist rows are dropped without a word, as in the original. A JSON array of items is taken too.
The original's ids change with the status, so they are no identity and we do not use them.
"""

from __future__ import annotations

from typing import Any, cast

from punchlist.core.commands import Command, Entry, Policy, Query, Replace
from punchlist.core.todo import Status
from punchlist.dialects.base import IN_THREE, LOST_IN_THREE, THREE, Dialect, Invalid, Reply, Result, Tool, sound
from punchlist.dialects.repair import from_json
from punchlist.markdown import loads

POLICY = Policy(dialect="roo", shown=IN_THREE)
_MARKS = {Status.PENDING: " ", Status.IN_PROGRESS: "-", Status.COMPLETED: "x"}

TOOL = Tool(
    name="update_todo_list",
    description=(
        "Replace the todo list with a Markdown checklist, one flat row an item: [ ] pending, [-] in progress, "
        "[x] completed. For work of several steps. Mark a row completed as soon as it is done; "
        "add new rows when new work turns up."
    ),
    input_schema={
        "type": "object",
        "properties": {"todos": {"type": "string"}},
        "required": ["todos"],
        "additionalProperties": False,
    },
)

_NOT_A_LIST = "The todos parameter is not valid markdown checklist or JSON"


def parse(_tool: str, args: Any) -> Command | Query | Invalid:
    todos = cast("dict[str, Any]", args).get("todos") if isinstance(args, dict) else None
    if not isinstance(todos, str):
        return Invalid(_NOT_A_LIST)
    given = from_json(todos)
    if isinstance(given, list):
        return _from_items(cast("list[Any]", given))
    found, _ = loads(sound(todos), markers="roo")
    return Replace(tuple(Entry(item.content, item.status) for item in found.items))


def _from_items(items: list[Any]) -> Replace | Invalid:
    entries: list[Entry] = []
    for number, item in enumerate(items, 1):
        fields = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
        if not fields.get("id"):
            return Invalid(f"Item {number} is missing id")
        if not isinstance(fields.get("content"), str) or not fields["content"]:
            return Invalid(f"Item {number} is missing content")
        status = fields.get("status")
        known = THREE.get(status, Status.PENDING) if isinstance(status, str) else Status.PENDING
        entries.append(Entry(sound(fields["content"]), known))
    return Replace(tuple(entries))


def render(result: Result) -> Reply:
    if result.refusals:
        return Reply(result.refusals[0].text, is_error=True, problems=result.problems)
    rows = [f"[{_MARKS[entry.status]}] {entry.content}" for entry in cast("Replace", result.command).entries]
    return Reply("Todo list updated successfully.", {"todos": "\n".join(rows)}, problems=result.problems)


DIALECT = Dialect(
    name="roo",
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    statuses=("[ ]", "[-]", "[x]"),
    repairs=frozenset({"json_string"}),
    lossy=(*LOST_IN_THREE, "no ids, active forms, phases, notes, priorities, parents or explanation"),
)
