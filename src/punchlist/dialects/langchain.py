"""`write_todos` of LangChain's TodoListMiddleware: three statuses, several may be in progress, a Python repr as reply.

The original refuses several calls in one model turn. Only a host sees turns, so that check is the host's; `PARALLEL`
is its answer to each of those calls. The errors of its tool node depend on its host and are not published; ours name
the field.
"""

from typing import Any, cast

from punchlist.core.commands import Entry, Policy, Replace
from punchlist.dialects.base import IN_THREE, LOST_IN_THREE, THREE, Dialect, Invalid, Parsed, Reply, Result
from punchlist.dialects.repair import mend, read_fields, type_name
from punchlist.dialects.tool_descriptions import TEXT, Tool, list_of, object_of, one_of

POLICY = Policy(dialect="langchain", shown=IN_THREE)
PARALLEL = (
    "Error: The `write_todos` tool should never be called multiple times in parallel. Please call it only once per "
    "model invocation to update the todo list."
)

TOOL = Tool(
    name="write_todos",
    description=(
        "Write the whole todo list of the current work. For work of three or more steps, not for a simple request. "
        "Keep at least one item in_progress while work is left, several if they run side by side; "
        "complete each as soon as it is done."
    ),
    input_schema=object_of({"todos": list_of(object_of({"content": TEXT, "status": one_of(THREE)}))}),
    annotations={"oncePerTurn": True},
)


def parse(_tool: str, args: Any) -> Parsed:
    todos = read_fields(args).get("todos")
    if not isinstance(todos, list):
        return _refuse("todos", "a list", todos)
    entries: list[Entry] = []
    for index, todo in enumerate(cast("list[Any]", todos)):
        if not isinstance(todo, dict):
            return _refuse(f"todos.{index}", "an object", todo)
        given = cast("dict[str, Any]", todo)
        text, status = given.get("content"), given.get("status")
        if not isinstance(text, str):
            return _refuse(f"todos.{index}.content", "a string", text)
        if not isinstance(status, str) or status not in THREE:
            return _refuse(f"todos.{index}.status", "'pending', 'in_progress' or 'completed'", status)
        entries.append(Entry(mend(text), THREE[status]))
    return Replace(tuple(entries))


def _refuse(path: str, expected: str, value: Any) -> Invalid:
    shown = f"'{mend(value[:80])}'" if isinstance(value, str) else type_name(value)
    return Invalid(
        f"Error invoking tool 'write_todos': {path} should be {expected}, got {shown}. Please fix and retry."
    )


def render(result: Result) -> Reply:
    if result.refusals:
        return result.refuse(f"Error: {result.refusals[0].text}")
    todos = [{"content": entry.content, "status": entry.status.value} for entry in result.entries]
    return result.reply(f"Updated todo list to {todos}", {"todos": todos})


DIALECT = Dialect(
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    lossy=(*LOST_IN_THREE, "no ids, active forms, phases, notes, priorities, parents or explanation"),
)
