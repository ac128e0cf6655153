"""`manage_todo_list` of VS Code's Copilot: numeric ids, hyphens in statuses, warnings instead of limits.

The host may read with `operation: "read"`, which the schema does not show. As in the original, changes are counted
place by place, and those of a first list count too. Of its errors only the missing list is published: ids given as
text and usual spellings of a status are repaired, other mistakes in an item are named. An item of another dialect has
our id as its number, or the next free one where that is taken.
"""

from collections.abc import Sequence
from typing import Any, cast

from punchlist.core.commands import Entry, Policy, Query, Replace
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.dialects.base import IN_THREE, LOST_IN_THREE, Dialect, Invalid, Parsed, Reply, Result, shown_items
from punchlist.dialects.repair import as_list, as_status, mend, read_fields
from punchlist.dialects.tool_descriptions import TEXT, Tool, list_of, object_of, one_of

_STATUSES = {
    "not-started": Status.PENDING,
    "in-progress": Status.IN_PROGRESS,
    "completed": Status.COMPLETED,
}
_WORDS = {status: word for word, status in _STATUSES.items()}
_BOXES = {"not-started": "[ ]", "in-progress": "[-]", "completed": "[x]"}
POLICY = Policy(dialect="copilot", shown=IN_THREE)
FEW, MANY, AT_ONCE = 3, 10, 3
LARGEST = 2**53

TOOL = Tool(
    name="manage_todo_list",
    description=(
        "Write the whole todo list, each item with a number, a short title and a status. For work of several steps, "
        "not for a simple request. Put one item in-progress before working on it and complete it "
        "at once afterwards."
    ),
    input_schema=object_of(
        {"todoList": list_of(object_of({"id": {"type": "number"}, "title": TEXT, "status": one_of(_STATUSES)}))}
    ),
    annotations={"reference": "todo"},
)


def parse(_tool: str, args: Any) -> Parsed:
    given = read_fields(args)
    if given.get("operation") == "read":
        return Query()
    todos = as_list(given.get("todoList"))
    if not isinstance(todos, list):
        return Invalid("Error: todoList is required for write operation")
    entries: list[Entry] = []
    for index, todo in enumerate(cast("list[Any]", todos)):
        fields = read_fields(todo)
        number, title, word = _read_number(fields.get("id")), fields.get("title"), fields.get("status")
        if number is None:
            return Invalid(f"Error: todoList[{index}].id must be a number")
        if not isinstance(title, str):
            return Invalid(f"Error: todoList[{index}].title must be a string")
        status = as_status(word[:80]) if isinstance(word, str) else None
        if status is None or status not in _WORDS:
            return Invalid(f"Error: todoList[{index}].status must be one of {', '.join(_STATUSES)}")
        entries.append(Entry(mend(title), status, alias=f"{number:.15g}"))
    return Replace(tuple(entries))


def _read_number(value: Any) -> float | None:
    """Read a number, also as text; None for anything else, and beyond JavaScript's whole numbers."""
    if isinstance(value, str) and len(value) < 20 and value.strip().isdecimal():
        value = int(value)
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < LARGEST:
        return None
    return value


def _to_number(alias: str) -> int | float:
    number = float(alias)
    return int(number) if number.is_integer() else number


def render(result: Result) -> Reply:
    if result.refusals:
        return result.refuse(f"Error: {result.refusals[0].text}")
    if isinstance(result.command, Query):
        rows = rows_of(result.after)
        boxes = [f"- {_BOXES[row['status']]} {row['title']}" for row in rows]
        text = "\n".join(["# Todo List", "", *boxes]) if rows else "No todo list found."
        return Reply(text, {"todoList": rows}, shows_list=True)
    rows = [
        {"id": _to_number(cast("str", entry.alias)), "title": entry.content, "status": _WORDS[entry.status]}
        for entry in result.entries
    ]
    warnings = _find_warnings(rows_of(result.before), rows)
    text = "\n".join(["Successfully wrote todo list", *(["", *warnings] if warnings else [])])
    return result.reply(text, {"todoList": rows, "warnings": warnings})


def rows_of(todos: TodoList) -> list[dict[str, Any]]:
    """Return the list as the model writes it."""
    shown = shown_items(todos, POLICY)
    return [
        {"id": number, "title": item.content, "status": _WORDS[near]}
        for number, (item, near) in zip(_number_items([item for item, _ in shown]), shown, strict=True)
    ]


def _number_items(items: Sequence[TodoItem]) -> list[int | float]:
    """Return the number of each item: the model's, else ours, else the next free one."""
    given = [_to_number(item.aliases["copilot"]) if "copilot" in item.aliases else None for item in items]
    taken = {number for number in given if number is not None}
    free = 1 + max([int(number) for number in taken] + [int(item.id) for item in items if item.id.isdecimal()] or [0])
    numbers: list[int | float] = []
    for item, number in zip(items, given, strict=True):
        if number is not None:
            numbers.append(number)
        elif item.id.isdecimal() and int(item.id) not in taken:
            numbers.append(int(item.id))
        else:
            numbers.append(free)
            free += 1
    return numbers


def _find_warnings(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[str]:
    said: list[str] = []
    if len(after) < FEW:
        said.append("Warning: Small todo list (<3 items). This task might not need a todo list.")
    elif len(after) > MANY:
        said.append("Warning: Large todo list (>10 items). Consider keeping the list focused and actionable.")
    pairs = zip(before, after, strict=False)
    changed = sum((old["title"], old["status"]) != (new["title"], new["status"]) for old, new in pairs)
    if changed + abs(len(after) - len(before)) > AT_ONCE:
        said.append(
            "Warning: Did you mean to update so many todos at the same time? Consider working on them one by one."
        )
    return said


DIALECT = Dialect(
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    has_ids=True,
    statuses=tuple(_STATUSES),
    words=_WORDS,
    repairs=frozenset({"json_string", "bare_object", "numeric_id", "status_spelling"}),
    lossy=(*LOST_IN_THREE, "no active forms, phases, notes, priorities, parents or explanation"),
    limits=("warns below 3 and above 10 items, and at more than 3 changes",),
)
