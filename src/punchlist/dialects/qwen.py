"""`todo_write` of qwen-code: ids, and `blockedBy` between them.

The order between items is stored as a blocker. As in the original, an item that leaves `blockedBy` out keeps its order,
and an empty one removes it; ids that left the list are forgotten there. The original's reply also orders the model not
to tell the user of the list; that sentence is left out here, as in every text that we put before a model. Unknown
parameters are refused, like the unknown fields that the schema refuses. Hooks that may block a creation or a completion
are the host's.
"""

import json
from graphlib import CycleError, TopologicalSorter
from typing import Any, cast

from punchlist.core.commands import Entry, Limits, Policy, Replace
from punchlist.core.todo import Blocker, TodoItem
from punchlist.dialects.base import IN_THREE, LOST_IN_THREE, THREE, Dialect, Invalid, Parsed, Reply, Result
from punchlist.dialects.claude_code import SUCCESS
from punchlist.dialects.repair import key_name, mend, read_fields
from punchlist.dialects.tool_descriptions import TEXT, Tool, list_of, object_of, one_of

LONGEST_ID = 500
POLICY = Policy(dialect="qwen", limits=Limits(refuse_blank=True), shown=IN_THREE)
_FIELDS = ("id", "content", "status", "blockedBy")
_TODO = object_of(
    {
        "id": {"type": "string", "maxLength": LONGEST_ID},
        "content": {"type": "string", "minLength": 1},
        "status": one_of(THREE),
        "blockedBy": {"type": "array", "items": TEXT, "uniqueItems": True},
    },
    required=["id", "content", "status"],
    others=False,
)

TOOL = Tool(
    name="todo_write",
    description=(
        "Write the whole todo list of the session. For work of three or more steps, not for a simple request. "
        "Keep one item in_progress and complete it as soon as it is done; blockedBy names the ids "
        "that must be finished first."
    ),
    input_schema=object_of({"todos": list_of(_TODO)}, others=False),
)


def parse(_tool: str, args: Any) -> Parsed:
    given = read_fields(args)
    todos = given.get("todos")
    if not isinstance(todos, list):
        return Invalid('Parameter "todos" must be an array.')
    extra = next((key for key in given if key != "todos"), None)
    if extra is not None:
        return Invalid(f'Unknown parameter "{key_name(extra)}".')
    entries: list[Entry] = []
    edges: dict[str, list[str]] = {}
    for todo in cast("list[Any]", todos):
        problem = _find_problem(todo)
        if problem is not None:
            return Invalid(problem)
        fields = cast("dict[str, Any]", todo)
        name, others = mend(fields["id"]), fields.get("blockedBy")
        if name in edges:
            return Invalid("Todo IDs must be unique within the array.")
        edges[name] = [mend(other) for other in others or ()]
        blocker = word = None
        if others is not None:  # an empty blocker removes an earlier order
            blocker = Blocker(f"after {', '.join(edges[name])}" if others else "")
            word = json.dumps(edges[name], ensure_ascii=False)
        entries.append(Entry(mend(fields["content"]), THREE[fields["status"]], alias=name, blocker=blocker, word=word))
    problem = _find_edge_problem(edges)
    return Replace(tuple(entries)) if problem is None else Invalid(problem)


def _find_problem(todo: Any) -> str | None:
    if not isinstance(todo, dict):
        return "Each todo must be an object."
    fields = cast("dict[str, Any]", todo)
    name, after = fields.get("id"), fields.get("blockedBy", [])
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_ID:
        return f'Each todo must have a non-empty "id" string of at most {LONGEST_ID} characters.'
    if not isinstance(fields.get("content"), str) or not fields["content"].strip():
        return 'Each todo must have a non-empty "content" string.'
    if not isinstance(fields.get("status"), str) or fields["status"] not in THREE:
        return f'Each todo must have a valid "status" ({", ".join(THREE)}).'
    others = cast("list[Any]", after) if isinstance(after, list) else [None]
    if any(not isinstance(other, str) or not other.strip() or len(other) > LONGEST_ID for other in others):
        return f'Each todo "blockedBy" value must be an array of non-empty Todo IDs of at most {LONGEST_ID} characters.'
    extra = next((key for key in fields if key not in _FIELDS), None)
    return None if extra is None else f'Unknown field "{key_name(extra)}" of a todo.'


def _find_edge_problem(edges: dict[str, list[str]]) -> str | None:
    for name, others in edges.items():
        if len(set(others)) != len(others):
            return f'Todo "{name}" must not contain duplicate blockedBy references.'
        for other in others:
            if other == name:
                return f'Todo "{name}" must not depend on itself.'
            if other not in edges:
                return f'Todo "{name}" references unknown dependency "{other}".'
    try:
        TopologicalSorter(edges).prepare()
    except CycleError:
        return "Todo dependencies must not contain a cycle."
    return None


def render(result: Result) -> Reply:
    if result.refusals:
        said = (
            f"Todo list modification failed with error: {result.refusals[0].text.removesuffix('.')}. "
            "You may need to retry or handle this error appropriately."
        )
        text = f"Failed to modify todos. An error occurred during the operation.\n\n{_write_reminder(said)}"
        return result.refuse(text)
    kept = {item.aliases["qwen"]: item for item in result.after.items if "qwen" in item.aliases}
    entries = result.entries
    names = {cast("str", entry.alias) for entry in entries}
    todos = [_show_todo(entry, kept.get(cast("str", entry.alias)), names) for entry in entries]
    if todos:
        said = (
            "Your todo list has changed. Here are the latest contents of your todo list:\n\n"
            f"{json.dumps(todos, ensure_ascii=False, separators=(',', ':'))}. "
            "Continue on with the tasks at hand if applicable."
        )
        text = f"{SUCCESS}\n\n{_write_reminder(said)}"
    else:
        said = "Your todo list is now empty. You have no pending tasks in your todo list."
        text = f"Todo list has been cleared.\n\n{_write_reminder(said)}"
    return result.reply(text, {"type": "todo_list", "todos": todos})


def _write_reminder(text: str) -> str:
    return f"<system-reminder>\n{text}\n</system-reminder>"


def _show_todo(entry: Entry, kept: TodoItem | None, names: set[str]) -> dict[str, Any]:
    todo: dict[str, Any] = {"id": entry.alias, "content": entry.content, "status": entry.status.value}
    if entry.word is not None:
        todo["blockedBy"] = json.loads(entry.word)
    elif kept is not None and (before := find_predecessors(kept, names)):
        todo["blockedBy"] = before
    return todo


def find_predecessors(item: TodoItem, names: set[str]) -> list[str]:
    """Return the ids in use that come before the item."""
    if item.blocker is None or not item.blocker.is_order:
        return []
    return [name for name in item.blocker.reason.removeprefix("after ").split(", ") if name in names]


DIALECT = Dialect(
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    has_ids=True,
    lossy=(*LOST_IN_THREE, "no active forms, phases, notes, priorities or explanation"),
    limits=("ids of 500 characters",),
)
