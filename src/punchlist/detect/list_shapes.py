"""The shape of a todo list in a call that writes it: how many items, their statuses, their ids, and no words.

All the wire tools that write a whole list are known, also behind the name of a server (`mcp__board__TodoWrite`). A call
that changes single items is none of those: it counts in full.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, cast

from punchlist.detect.stable_json import CHARACTERS, KEYS, fields

_TEXTS = ("content", "text", "title", "step", "description")
_TODOS: Mapping[str, tuple[str, ...]] = {"todos": _TEXTS}
_LISTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "update_plan": {"plan": ("step",)},
    "TodoWrite": _TODOS,
    "todowrite": _TODOS,
    "todo": {"todos": _TEXTS, "set": _TEXTS},
    "todos": _TODOS,
    "todo_list": _TODOS,
    "todo_write": {"todos": _TEXTS, "content": (), "ops": ()},
    "write_todos": _TODOS,
    "update_todo_list": _TODOS,
    "SetTodoList": _TODOS,
    "manage_todo_list": {"todoList": _TEXTS},
    "task_tracker": {"task_list": _TEXTS},
}
"""Tools that write a list: where it is in their arguments, and where the text of an item is."""

_WORDS = frozenset({"note", "evidence"})
_SERVERS = ("mcp_", "mcp-", "punchlist_", "punchlist-")
_BETWEEN = re.compile(r"__|[.:/]")
_LONGEST = 200
_BOX = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?\[([^\[\]\n]{0,2})\]")
_JSON = re.compile(r"\s*\[\s*[{\"]")


def writes_list(tool: str) -> bool:
    """Whether a call of that tool may write a whole list."""
    return bool(_own_name(tool))


def list_shape(tool: str, args: object) -> object:
    """The shape of the list that a call writes; None for a call that writes no whole list."""
    name = _own_name(tool)
    if not name or not isinstance(args, Mapping):
        return None
    given = fields(cast("object", args))
    if name == "update_plan":
        return plan_shape(given)
    for key, texts in _LISTS[name].items():
        if key in given:
            shape = _shape(key, given, texts)
            if shape is not None:
                return shape
    return None


def plan_shape(args: Mapping[str, Any]) -> object:
    """The original's reduction of `update_plan`, which makes of anything else a plan without steps."""
    given = args.get("plan")
    return _of_entries(cast("list[Any]", given) if isinstance(given, list) else [], args, ("step",))


def _own_name(tool: str) -> str:
    """What a tool is called without its server; empty if it writes no list."""
    return tool if tool in _LISTS else _behind_server(tool) if len(tool) <= _LONGEST else ""


@lru_cache(maxsize=512)
def _behind_server(tool: str) -> str:
    name = _BETWEEN.split(tool)[-1]
    if name in _LISTS:
        return name
    ends = [known for known in _LISTS if tool.endswith((f"_{known}", f"-{known}"))] if tool.startswith(_SERVERS) else []
    return max(ends, key=len, default="")


def _shape(key: str, args: Mapping[str, Any], texts: tuple[str, ...]) -> object:
    given: object = args[key]
    if isinstance(given, str):
        given = _read(given)
    if isinstance(given, str):
        return _of_text(given)
    if key == "ops":
        return _of_operations(cast("list[Any]", given)) if isinstance(given, list) else None
    if key == "set":
        return _of_set(given, args, texts)
    return _of_entries(cast("list[Any]", given), args, texts) if isinstance(given, list) else None


def _of_entries(entries: list[Any], args: Mapping[str, Any], texts: tuple[str, ...]) -> dict[str, object]:
    """The statuses of a list and which steps have a text; the ids too, where the steps have some."""
    objects = [fields(entry) for entry in islice(entries, KEYS)]
    statuses = [entry.get("status") for entry in objects]
    shape: dict[str, object] = {
        "planLength": len(entries),
        "statuses": [status if isinstance(status, str) else None for status in statuses],
        "stepPresence": [
            any(_is_text(one.get(name)) for name in texts) or (texts is _TEXTS and _is_text(entry))
            for one, entry in zip(objects, entries, strict=False)
        ],
        "hasExplanation": _is_text(args.get("explanation")),
    }
    if any("id" in entry for entry in objects):
        shape["ids"] = [entry.get("id") for entry in objects]
    return shape


def _of_set(given: object, args: Mapping[str, Any], texts: tuple[str, ...]) -> object:
    """Our own tool: a whole list, or new words by id; with whatever else the call does."""
    rest = {name: value for name, value in args.items() if name != "set" and name not in _WORDS}
    if isinstance(given, list):
        return {**_of_entries(cast("list[Any]", given), args, texts), "rest": rest}
    if isinstance(given, Mapping):
        return {"reworded": sorted(map(str, islice(cast("Mapping[Any, Any]", given), KEYS))), "rest": rest}
    return None


def _of_operations(operations: list[Any]) -> object:
    """oh-my-pi: a new list counts by its length in phases, other operations count in full."""
    made = [_of_operation(operation) for operation in islice(operations, KEYS)]
    return {"ops": made} if any(isinstance(one, _Init) for one in made) else None


class _Init(dict[str, object]):
    """The operation that puts a new list in place of the old one."""


def _of_operation(operation: Any) -> object:
    given = fields(operation)
    if given.get("op") != "init":
        return operation
    phases = given.get("list")
    sizes = (
        [_size(fields(phase).get("items")) for phase in islice(cast("list[Any]", phases), KEYS)]
        if (isinstance(phases, list))
        else []
    )
    return _Init(op="init", phases=sizes, items=_size(given.get("items")))


def _of_text(text: str) -> object:
    """A checklist as text: the boxes of its lines. A text without any box is no list."""
    lines = [line for line in text[:CHARACTERS].splitlines() if line and not line.isspace()]
    boxes = [found[1] if (found := _BOX.match(line)) else None for line in lines[:KEYS]]
    return {"lines": len(lines), "boxes": boxes} if any(box is not None for box in boxes) else None


def _read(text: str) -> object:
    """The list in a text that is JSON, as some models send it; else the text."""
    if len(text) > CHARACTERS or not _JSON.match(text):
        return text
    try:
        return cast("object", json.loads(text))
    except (ValueError, RecursionError):
        return text


def _size(value: object) -> int | None:
    return len(cast("list[Any]", value)) if isinstance(value, list) else None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
