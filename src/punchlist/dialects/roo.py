"""`update_todo_list` of Roo Code: one Markdown checklist as a string, `[-]` and `[~]` for in progress.

Lines that are no checklist rows are dropped silently, as in the original. Its error mentions JSON too, so a JSON array
of items is accepted, with the original's checks of an item. Its ids change with the status, so they identify nothing
and we do not use them. The original lets a person edit the list before it counts, and then shows the edited one; ours
does so when others changed the list since the model last saw it. The host asks a person who may decline the write;
`DECLINED` is its answer then. Whitespace around and line breaks within a row make no difference.
"""

from typing import Any, cast

from punchlist.core.commands import Entry, Limits, Policy, Replace
from punchlist.core.todo import Status, TodoList
from punchlist.dialects.base import IN_THREE, LOST_IN_THREE, THREE, Dialect, Invalid, Parsed, Reply, Result, shown_items
from punchlist.dialects.repair import from_json, mend, read_fields
from punchlist.dialects.tool_descriptions import TEXT, Tool, object_of
from punchlist.markdown import loads
from punchlist.text import clean

POLICY = Policy(dialect="roo", limits=Limits(refuse_blank=True), shown=IN_THREE, one_line=True)
LONGEST = 200_000
"""Characters beyond which a text is no list that anybody means; the original has no limit."""

DECLINED = "User declined to update the todoList."
_NOT_A_LIST = "The todos parameter is not valid markdown checklist or JSON"
_MARKS = {Status.PENDING: " ", Status.IN_PROGRESS: "-", Status.COMPLETED: "x"}

TOOL = Tool(
    name="update_todo_list",
    description=(
        "Replace the todo list with a Markdown checklist, one flat row an item: [ ] pending, [-] in progress, "
        "[x] completed. For work of several steps. Mark a row completed as soon as it is done; "
        "add new rows when new work turns up."
    ),
    input_schema=object_of({"todos": TEXT}, others=False),
)


def parse(_tool: str, args: Any) -> Parsed:
    todos = read_fields(args).get("todos")
    if not isinstance(todos, str) or len(todos) > LONGEST:
        return Invalid(_NOT_A_LIST)
    given = from_json(todos)
    if isinstance(given, list):
        return _read_items(cast("list[Any]", given))
    found, _ = loads(mend(todos), markers="roo")
    return Replace(tuple(Entry(item.content, item.status) for item in found.items))


def _read_items(items: list[Any]) -> Replace | Invalid:
    entries: list[Entry] = []
    for number, item in enumerate(items, 1):
        if not isinstance(item, dict):
            return Invalid(f"Item {number} is not an object")
        fields = cast("dict[str, Any]", item)
        status = fields.get("status")
        if not isinstance(fields.get("id"), str) or not fields["id"]:
            return Invalid(f"Item {number} is missing id")
        if not isinstance(fields.get("content"), str) or not fields["content"].strip():
            return Invalid(f"Item {number} is missing content")
        if status and (not isinstance(status, str) or status not in THREE):
            return Invalid(f"Item {number} has invalid status")
        entries.append(Entry(mend(fields["content"]), THREE[status] if status else Status.PENDING))
    return Replace(tuple(entries))


def render(result: Result) -> Reply:
    if result.refusals:
        return result.refuse()
    sent = _render_rows((entry.status, clean(entry.content).text) for entry in result.entries)
    kept = checklist(result.after)
    if result.behind and sent.split() != kept.split():
        text = f"User edits todo:\n\n{kept}"
        return result.reply(text, {"todos": kept}, shows_list=True)
    return result.reply("Todo list updated successfully.", {"todos": sent})


def checklist(todos: TodoList) -> str:
    """Return the list as the model writes it."""
    return _render_rows((near, " ".join(item.content.split())) for item, near in shown_items(todos, POLICY))


def _render_rows(rows: Any) -> str:
    return "\n".join(f"[{_MARKS[status]}] {content}" for status, content in rows)


DIALECT = Dialect(
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    statuses=("[ ]", "[-]", "[x]"),
    words={status: f"[{mark}]" for status, mark in _MARKS.items()},
    repairs=frozenset({"json_string"}),
    lossy=(*LOST_IN_THREE, "no ids, active forms, phases, notes, priorities, parents or explanation"),
    limits=("a text of 200,000 characters",),
)
