"""`SetTodoList` of kimi-cli: null reads, an empty list clears, `done` for completed."""

from __future__ import annotations

from typing import Any, cast

from punchlist.core.commands import Command, Entry, Policy, Query, Replace
from punchlist.core.todo import Status, TodoList
from punchlist.dialects.base import IN_THREE, LOST_IN_THREE, Dialect, Invalid, Reply, Result, Tool, shown_items, sound

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
                    {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "title": {"type": "string", "minLength": 1},
                                "status": {"type": "string", "enum": list(_STATUSES)},
                            },
                            "required": ["title", "status"],
                        },
                    },
                    {"type": "null"},
                ],
                "default": None,
            }
        },
    },
)


def parse(_tool: str, args: Any) -> Command | Query | Invalid:
    given = cast("dict[str, Any]", args) if isinstance(args, dict) else {}
    todos = given.get("todos")
    if todos is None:
        return Query()
    if not isinstance(todos, list):
        return Invalid("todos: Input should be a valid list")
    entries: list[Entry] = []
    for index, todo in enumerate(cast("list[Any]", todos)):
        if not isinstance(todo, dict):
            return Invalid(f"todos.{index}: Input should be a valid dictionary")
        fields = cast("dict[str, Any]", todo)
        title, status = fields.get("title"), fields.get("status")
        if not isinstance(title, str) or not title:
            return Invalid(f"todos.{index}.title: String should have at least 1 character")
        if not isinstance(status, str) or status not in _STATUSES:
            return Invalid(f"todos.{index}.status: Input should be 'pending', 'in_progress' or 'done'")
        entries.append(Entry(sound(title), _STATUSES[status]))
    return Replace(tuple(entries))


def render(result: Result) -> Reply:
    if result.refusals:
        return Reply(result.refusals[0].text, is_error=True, problems=result.problems)
    if isinstance(result.command, Query):
        return Reply(_read(result.after), shows_list=True)
    return Reply("Todo list updated", problems=result.problems)


def _read(todos: TodoList) -> str:
    rows = [f"- [{_WORDS[near]}] {item.content}" for item, near in shown_items(todos, POLICY)]
    return "\n".join(["Current todo list:", *rows]) if rows else "Todo list is empty."


DIALECT = Dialect(
    name="kimi",
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    statuses=tuple(_STATUSES),
    lossy=(*LOST_IN_THREE, "no ids, active forms, phases, notes, priorities, parents or explanation"),
)
