"""`write_todos` of gemini-cli: five statuses, one task in progress, the numbered list as reply.

Fields that the schema does not name are ignored; the original's answer to them is its schema library's and not
published. The original offers the tool to Gemini 2 models only; here the host decides.
"""

from typing import Any, cast

from punchlist.core.commands import Entry, Limits, Policy, Replace
from punchlist.core.todo import Status
from punchlist.dialects.base import FOUR, Dialect, Invalid, Parsed, Reply, Result
from punchlist.dialects.repair import mend, read_fields
from punchlist.dialects.tool_descriptions import TEXT, Tool, list_of, object_of, one_of

_STATUSES = {**FOUR, "blocked": Status.BLOCKED}
POLICY = Policy(
    dialect="gemini", limits=Limits(refuse_blank=True), focus="refuse", shown={Status.FAILED: Status.BLOCKED}
)

TOOL = Tool(
    name="write_todos",
    description=(
        "Write the whole list of subtasks of the current request. For work of several steps, not for a simple one. "
        "One task is in_progress at a time; complete it as soon as it is done, mark it blocked or cancelled "
        "when that is so."
    ),
    input_schema=object_of(
        {"todos": list_of(object_of({"description": TEXT, "status": one_of(_STATUSES)}, others=False))}, others=False
    ),
    annotations={"models": "gemini-2"},
)


def parse(_tool: str, args: Any) -> Parsed:
    todos = read_fields(args).get("todos")
    if not isinstance(todos, list):
        return Invalid("`todos` parameter must be an array")
    entries: list[Entry] = []
    for todo in cast("list[Any]", todos):
        if not isinstance(todo, dict):
            return Invalid("Each todo item must be an object")
        given = cast("dict[str, Any]", todo)
        text, status = given.get("description"), given.get("status")
        if not isinstance(text, str) or not text.strip():
            return Invalid("Each todo must have a non-empty description string")
        if not isinstance(status, str) or status not in _STATUSES:
            return Invalid(f"Each todo must have a valid status ({', '.join(_STATUSES)})")
        entries.append(Entry(mend(text), _STATUSES[status]))
    return Replace(tuple(entries))


def render(result: Result) -> Reply:
    if result.refusals:
        several = result.refusals[0].code == "several_in_progress"
        return result.refuse('Invalid parameters: Only one task can be "in_progress" at a time.' if several else None)
    todos = [{"description": entry.content, "status": entry.status.value} for entry in result.entries]
    if not todos:
        return result.reply("Successfully cleared the todo list.", {"todos": []})
    rows = [f"{number}. [{todo['status']}] {todo['description']}" for number, todo in enumerate(todos, 1)]
    said = "Successfully updated the todo list. The current list is now:"
    return result.reply("\n".join([said, *rows]), {"todos": todos})


DIALECT = Dialect(
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    statuses=tuple(_STATUSES),
    lossy=("failed shows as blocked", "no ids, active forms, phases, notes, priorities, parents or explanation"),
)
