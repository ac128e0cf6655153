"""qwen-code's lists: `~/.qwen/todos/<session>.json`, an object with `todos`."""

from __future__ import annotations

from typing import Any

from punchlist.core.commands import Replace
from punchlist.dialects.qwen import parse
from punchlist.transcripts.decoding import object_at, objects
from punchlist.transcripts.values import admitted

NAME = "qwen"
_FIELDS = ("id", "content", "status", "blockedBy")


def knows(value: Any) -> bool:
    given = object_at(value)
    todos: Any = given.get("todos")
    return (
        isinstance(todos, list)
        and "messages" not in given
        and ("sessionId" in given or "planId" in given or _ids(todos))
    )


def _ids(todos: Any) -> bool:
    return bool(todos) and all("id" in todo and "content" in todo for todo in objects(todos))


def todos_of(value: Any) -> Replace | None:
    """The list of a file; None if it is none. What later versions add to an item is passed over."""
    todos: Any = object_at(value).get("todos")
    if not isinstance(todos, list):
        return None
    known = [{key: todo[key] for key in _FIELDS if key in todo} for todo in objects(todos)]
    return admitted(parse("todo_write", {"todos": known}), NAME)
