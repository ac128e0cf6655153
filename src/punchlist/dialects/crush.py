"""`todos` of crush: the whole list, counts as reply, and the latest changes as metadata for a user interface.

A missing field of an item is an empty text, as in Go; a missing list is refused, so that a slip does not clear it. Go's
own errors about types are not published; ours name the item. An empty active form shows as the content.
"""

from typing import Any, cast

from punchlist.core.commands import Entry, Policy, Replace
from punchlist.core.todo import Status
from punchlist.dialects.base import IN_THREE, LOST_IN_THREE, THREE, Dialect, Invalid, Parsed, Reply, Result, shown_items
from punchlist.dialects.claude_code import SUCCESS
from punchlist.dialects.repair import mend, read_fields, type_name
from punchlist.dialects.tool_descriptions import TEXT, Tool, list_of, object_of, one_of
from punchlist.text import cut

POLICY = Policy(dialect="crush", shown=IN_THREE)
_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}

TOOL = Tool(
    name="todos",
    description=(
        "Write the whole todo list. For work of several steps, not for a simple request. Keep one item in_progress, "
        "complete it as soon as it is done. content says what to do (Run tests), active_form what is being done "
        "(Running tests)."
    ),
    input_schema=object_of(
        {"todos": list_of(object_of({"content": TEXT, "status": one_of(THREE), "active_form": TEXT}))}
    ),
)


def parse(_tool: str, args: Any) -> Parsed:
    todos = read_fields(args).get("todos")
    if not isinstance(todos, list):
        return Invalid(f"invalid parameters: todos is {type_name(todos)}, not an array")
    entries: list[Entry] = []
    for index, todo in enumerate(cast("list[Any]", todos)):
        fields = read_fields(todo)
        content, status, form = fields.get("content", ""), fields.get("status", ""), fields.get("active_form", "")
        if not isinstance(todo, dict) or not all(isinstance(value, str) for value in (content, status, form)):
            return Invalid(f"invalid parameters: todos[{index}] has a field that is no string")
        if status not in THREE:
            return Invalid(f"invalid status {_quote(status)} for todo {_quote(content)}")
        entries.append(Entry(mend(content), THREE[status], mend(form) or None))
    return Replace(tuple(entries))


def _quote(text: str) -> str:
    """Quote a text as Go's `%q` does, cut where it is long."""
    return '"' + "".join(map(_escape, cut(mend(text[:2000]), 1000))) + '"'


def _escape(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if char.isprintable():
        return char
    code = ord(char)
    if char in _ESCAPES:
        return _ESCAPES[char]
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def render(result: Result) -> Reply:
    if result.refusals:
        return result.refuse()
    entries = result.entries
    counts = {status: sum(entry.status is status for entry in entries) for status in THREE.values()}
    said = (
        f"Status: {counts[Status.PENDING]} pending, {counts[Status.IN_PROGRESS]} in progress, "
        f"{counts[Status.COMPLETED]} completed"
    )
    text = f"Todo list updated successfully.\n\n{said}\n{SUCCESS}."
    return result.reply(text, _make_metadata(result, entries))


def _make_metadata(result: Result, entries: tuple[Entry, ...]) -> dict[str, Any]:
    before = {item.content: near for item, near in shown_items(result.before, POLICY)}
    finished = [entry.content for entry in entries if entry.status is Status.COMPLETED]
    started = [
        entry.active_form or entry.content
        for entry in entries
        if entry.status is Status.IN_PROGRESS and before.get(entry.content) is not Status.IN_PROGRESS
    ]
    return {
        "is_new": not before,
        "todos": [
            {"content": entry.content, "status": entry.status.value, "active_form": entry.active_form or ""}
            for entry in entries
        ],
        "just_completed": [text for text in finished if before.get(text, Status.COMPLETED) is not Status.COMPLETED],
        "just_started": started[-1] if started else "",
        "completed": len(finished),
        "total": len(entries),
    }


DIALECT = Dialect(
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    lossy=(*LOST_IN_THREE, "no ids, phases, notes, priorities, parents or explanation"),
)
