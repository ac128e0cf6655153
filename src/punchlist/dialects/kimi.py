"""`SetTodoList` of kimi-cli: null reads, an empty list clears, `done` for completed.

Its errors are pydantic's, whose layout is not the tool's own: ours give field and sentence. Unknown fields are
ignored, as pydantic does by default.
"""

from typing import Any, cast

from punchlist.core.commands import Entry, Policy, Query, Replace
from punchlist.core.todo import Status
from punchlist.dialects.base import IN_THREE, LOST_IN_THREE, Dialect, Invalid, Parsed, Reply, Result, shown_items
from punchlist.dialects.repair import mend
from punchlist.dialects.tool_descriptions import Tool, list_of, object_of, one_of

_STATUSES = {"pending": Status.PENDING, "in_progress": Status.IN_PROGRESS, "done": Status.COMPLETED}
_WORDS = {status: word for word, status in _STATUSES.items()}
POLICY = Policy(dialect="kimi", shown=IN_THREE)

TOOL = Tool(
    name="SetTodoList",
    description=(
        "Keep a todo list. Without todos (or null): read it; an empty list clears it; else it is replaced. "
        "For work of several steps, not for a simple request. Update it when a task was really "
        "finished or begun, not again and again."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "todos": {
                "anyOf": [
                    list_of(object_of({"title": {"type": "string", "minLength": 1}, "status": one_of(_STATUSES)})),
                    {"type": "null"},
                ],
                "default": None,
            }
        },
    },
)


def parse(_tool: str, args: Any) -> Parsed:
    if not isinstance(args, dict | None):
        return Invalid("Input should be a valid dictionary")
    todos = cast("dict[str, Any]", args or {}).get("todos")
    if todos is None:
        return Query()
    if not isinstance(todos, list):
        return Invalid("todos: Input should be a valid list")
    entries: list[Entry] = []
    for index, todo in enumerate(cast("list[Any]", todos)):
        if not isinstance(todo, dict):
            return Invalid(f"todos.{index}: Input should be a valid dictionary")
        fields = cast("dict[str, Any]", todo)
        for name in ("title", "status"):
            if name not in fields:
                return Invalid(f"todos.{index}.{name}: Field required")
        title, status = fields["title"], fields["status"]
        if not isinstance(title, str):
            return Invalid(f"todos.{index}.title: Input should be a valid string")
        if not title:
            return Invalid(f"todos.{index}.title: String should have at least 1 character")
        if not isinstance(status, str) or status not in _STATUSES:
            return Invalid(f"todos.{index}.status: Input should be 'pending', 'in_progress' or 'done'")
        entries.append(Entry(mend(title), _STATUSES[status]))
    return Replace(tuple(entries))


def render(result: Result) -> Reply:
    if result.refusals:
        return result.refuse()
    if isinstance(result.command, Query):
        rows = [f"- [{_WORDS[near]}] {item.content}" for item, near in shown_items(result.after, POLICY)]
        text = "\n".join(["Current todo list:", *rows]) if rows else "Todo list is empty."
        return Reply(text, shows_list=True)
    items = [{"title": entry.content, "status": _WORDS[entry.status]} for entry in result.entries]
    return result.reply("Todo list updated", {"items": items})


DIALECT = Dialect(
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    statuses=tuple(_STATUSES),
    words=_WORDS,
    lossy=(*LOST_IN_THREE, "no ids, active forms, phases, notes, priorities, parents or explanation"),
)
