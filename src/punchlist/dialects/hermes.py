"""`todo` of Hermes v2026.8.18: replace or merge by id, read without arguments, the whole list as JSON in each reply.

Two items in progress are kept.
"""

import json
from collections.abc import Mapping
from itertools import islice
from typing import Any, cast

from punchlist.core.commands import Entry, Limits, Merge, Patch, Policy, Query, Replace
from punchlist.core.merge import item_names
from punchlist.core.todo import Status
from punchlist.dialects.base import FOUR, IN_FOUR, Dialect, Invalid, Parsed, Reply, Result, shown_items
from punchlist.dialects.repair import as_object, mend, read_fields
from punchlist.dialects.tool_descriptions import TEXT, Tool, list_of, object_of, one_of
from punchlist.text import repair

ITEMS = 256
CHARACTERS = 4000
_TRUNCATED = "… [truncated]"
_PLACEHOLDER = "(no description)"
POLICY = Policy(dialect="hermes", limits=Limits(items=ITEMS), lead_with_focus=True, shown=IN_FOUR)


TOOL = Tool(
    name="todo",
    description=(
        "Keep the session's task list. Without todos: read it. With todos: write the whole list, or with merge "
        "only the items named by id. For work of three or more steps. Keep one item in_progress, "
        "complete it at once when done, cancel what is no longer needed."
    ),
    input_schema=object_of(
        {
            "todos": list_of(object_of({"id": TEXT, "content": TEXT, "status": one_of(FOUR)})),
            "merge": {"type": "boolean", "default": False},
        },
        required=[],
    ),
    annotations={"emoji": "📋", "enabled": True},
)


def parse(_tool: str, args: Any) -> Parsed:
    given = as_object(args) or {}
    todos = given.get("todos")
    if todos is None:
        return Query()
    if isinstance(todos, str):
        try:
            todos = json.loads(todos)
        except (ValueError, RecursionError):
            return _refuse("todos must be a list of objects, got unparseable string")
    if not isinstance(todos, list):
        return _refuse(f"todos must be a list, got {type(todos).__name__}")
    items = _drop_repeated(cast("list[Any]", todos))
    return _read_merge(items) if given.get("merge") else _read_list(items)


def _refuse(problem: str) -> Invalid:
    data = {"error": problem}
    return Invalid(json.dumps(data), data)


def _drop_repeated(todos: list[Any]) -> list[Any]:
    """Keep the last item of each id. A missing id is an id like any other; a value that is no object has none."""
    last = {
        _read_word(cast("dict[str, Any]", todo), "id") or "?" if isinstance(todo, dict) else place: place
        for place, todo in enumerate(todos)
    }
    return [todos[place] for place in sorted(last.values())]


def _read_list(todos: list[Any]) -> Replace:
    """Return the first items in their order; of the rest only one in progress counts, which may become the first."""
    entries = [_read_entry(todo) for todo in todos[:ITEMS]]
    if len(todos) > ITEMS:
        rest = (_read_entry(todo) for todo in todos[ITEMS:] if isinstance(todo, dict))
        entries.extend(islice((entry for entry in rest if entry.status is Status.IN_PROGRESS), 1))
    return Replace(tuple(_move_focus_first(entries)[:ITEMS]))


def _move_focus_first(entries: list[Entry]) -> list[Entry]:
    """Move the first item in progress before the first pending one, as core does with the stored list."""
    busy = next((place for place, entry in enumerate(entries) if entry.status is Status.IN_PROGRESS), None)
    first = next((place for place, entry in enumerate(entries) if entry.status is Status.PENDING), None)
    if busy is None or first is None or first > busy:
        return entries
    return [*entries[:first], entries[busy], *entries[first:busy], *entries[busy + 1 :]]


def _read_entry(todo: Any) -> Entry:
    if not isinstance(todo, dict):
        return Entry("(invalid item)", alias="?")
    given = cast("Mapping[str, Any]", todo)
    status = FOUR.get(_read_word(given, "status").lower(), Status.PENDING)
    return Entry(_read_content(given) or _PLACEHOLDER, status, alias=_read_word(given, "id") or "?")


def _read_word(given: Mapping[str, Any], key: str) -> str:
    """Return the field as text, as Python writes it: null is `None`."""
    value = given.get(key, "")
    try:
        return mend(str(value)).strip()
    except (ValueError, RecursionError):  # a number of thousands of digits, or values too deep
        return ""


def _read_content(given: Mapping[str, Any]) -> str:
    text = _read_word(given, "content")
    return text if len(text) <= CHARACTERS else repair(text[: CHARACTERS - len(_TRUNCATED)]) + _TRUNCATED


def _read_merge(todos: list[Any]) -> Merge:
    patches: list[Patch] = []
    for todo in todos:
        given = read_fields(todo)
        name = _read_word(given, "id")
        if name:
            content = _read_content(given) if given.get("content") else None
            status = FOUR.get(_read_word(given, "status").lower())
            patches.append(Patch(alias=name, content=content or None, status=status))
    return Merge(tuple(patches), placeholder=_PLACEHOLDER)


def render(result: Result) -> Reply:
    if result.refusals:
        data: dict[str, Any] = {"error": result.refusals[0].text}
        return result.refuse(json.dumps(data, ensure_ascii=False), data)
    is_whole = isinstance(result.command, Replace)
    if is_whole:
        rows = [(entry.alias, entry.content, entry.status) for entry in result.entries]
    else:
        shown = shown_items(result.after, POLICY)
        names = item_names([item for item, _ in shown], "hermes")
        rows = [(name, item.content, near) for name, (item, near) in zip(names, shown, strict=True)]
    counts = {word: sum(status.value == word for *_, status in rows) for word in FOUR}
    data = {
        "todos": [{"id": name, "content": content, "status": status.value} for name, content, status in rows],
        "summary": {"total": len(rows), **counts},
    }
    return result.reply(json.dumps(data, ensure_ascii=False), data, shows_list=not is_whole)


DIALECT = Dialect(
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    has_ids=True,
    statuses=tuple(FOUR),
    repairs=frozenset({"json_string", "numeric_id", "status_spelling"}),
    lossy=("blocked and failed show as in_progress", "no active forms, phases, notes or explanation"),
    limits=("longer texts are cut at 4,000 characters",),
)
