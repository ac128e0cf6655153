"""`todo_write` of Cursor 2.0: replace the list, or merge by id, where fields left out stay.

Its replies and errors are not published: ours say in one line what was done or is wrong, and usual mistakes are
repaired. A new list has at least two items; a merge may name a single one. `dependencies`, which 1.2 had, are ignored
as in 2.0. A merge that names an unknown id without a text makes an item of that name.
"""

from typing import Any, cast

from punchlist.core.commands import Entry, Merge, Patch, Policy, Replace
from punchlist.core.merge import item_names
from punchlist.core.todo import Status, TodoList
from punchlist.dialects.base import FOUR, IN_FOUR, Dialect, Invalid, Parsed, Reply, Result, shown_items
from punchlist.dialects.repair import as_id, as_list, as_status, mend, read_fields
from punchlist.dialects.tool_descriptions import TEXT, Tool, list_of, object_of, one_of

POLICY = Policy(dialect="cursor", shown=IN_FOUR)
FEWEST = 2

TOOL = Tool(
    name="todo_write",
    description=(
        "Keep a todo list for work of several steps. merge=false replaces the list; merge=true changes the items "
        "named by id and adds new ones, unchanged fields may be left out. Begin with the first item in_progress; "
        "complete each at once when done."
    ),
    input_schema=object_of(
        {
            "merge": {"type": "boolean"},
            "todos": list_of(object_of({"id": TEXT, "content": TEXT, "status": one_of(FOUR)}), minItems=FEWEST),
        }
    ),
)


def parse(_tool: str, args: Any) -> Parsed:
    given = read_fields(args)
    merges, todos = given.get("merge"), as_list(given.get("todos"))
    if not isinstance(merges, bool):
        return Invalid("merge must be true or false")
    if not isinstance(todos, list):
        return Invalid("todos must be an array")
    items = cast("list[Any]", todos)
    if not merges and len(items) < FEWEST:
        return Invalid(f"todos must have at least {FEWEST} items")
    patches: list[Patch] = []
    for index, todo in enumerate(items):
        patch = _read_patch(todo)
        if isinstance(patch, str):
            return Invalid(f"todos[{index}] {patch}")
        if not merges and (patch.content is None or patch.status is None):
            return Invalid(f"todos[{index}] needs id, content and status")
        patches.append(patch)
    if merges:
        return Merge(tuple(patches))
    return Replace(
        tuple(Entry(patch.content or "", patch.status or Status.PENDING, alias=patch.alias) for patch in patches)
    )


def _read_patch(todo: Any) -> Patch | str:
    fields = read_fields(todo)
    name, content, word = as_id(fields.get("id")), fields.get("content"), fields.get("status")
    if name is None:
        return "needs an id"
    if not isinstance(content, str | None):
        return "has a content that is no string"
    status = as_status(word[:80]) if isinstance(word, str) else None
    if word is not None and (status is None or status.value not in FOUR):
        return f"has an unknown status; use {', '.join(FOUR)}"
    return Patch(alias=name, content=None if content is None else mend(content), status=status)


def render(result: Result) -> Reply:
    if result.refusals:
        return result.refuse()
    todos = rows_of(result.after)
    done = sum(todo["status"] == "completed" for todo in todos)
    return result.reply(f"Todo list updated: {done} of {len(todos)} completed.", {"todos": todos})


def rows_of(todos: TodoList) -> list[dict[str, str]]:
    """Return the list as the model writes it."""
    shown = shown_items(todos, POLICY)
    names = item_names([item for item, _ in shown], "cursor")
    return [
        {"id": name, "content": item.content, "status": near.value}
        for name, (item, near) in zip(names, shown, strict=True)
    ]


DIALECT = Dialect(
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    has_ids=True,
    statuses=tuple(FOUR),
    repairs=frozenset({"json_string", "bare_object", "numeric_id", "status_spelling"}),
    lossy=(
        "blocked and failed show as in_progress",
        "no active forms, phases, notes, priorities, parents or explanation",
    ),
    limits=("at least 2 items in a new list",),
)
