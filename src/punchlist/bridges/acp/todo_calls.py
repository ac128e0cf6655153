"""A call of a todo tool, as Hermes shows it: how many items, the first of them, and the list that came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from punchlist.core.todo import Status, TodoList
from punchlist.text import clean

_LISTS: Final = ("todos", "plan", "items", "set", "add", "todoList", "task_list")
_TEXTS: Final = ("content", "step", "text", "title", "description", "subject")
_MOST_LINES: Final = 8
_MARKS: Final = {Status.COMPLETED: "✅", Status.IN_PROGRESS: "🔄", Status.CANCELLED: "✗"}
_WAITING: Final = "⏳"


def todo_title(name: str, arguments: Any) -> str:
    """`todo`, or `todo (2 items)` if it writes some."""
    entries = _entries(arguments)
    if entries is None:
        return name
    return f"{name} (1 item)" if len(entries) == 1 else f"{name} ({len(entries)} items)"


def todo_start(arguments: Any) -> str:
    """What the call is about to do."""
    entries = _entries(arguments)
    if entries is None:
        return "Updating todo list" if arguments else "Reading todo list"
    lines = [_line(entry) for entry in entries[:_MOST_LINES]]
    more = [f"... {len(entries) - _MOST_LINES} more"] if len(entries) > _MOST_LINES else []
    return "\n".join(["Updating todo list", "", *lines, *more])


def todo_end(todos: TodoList) -> str:
    """The list as it is now, in Markdown, and how far it is. Blocked and failed items are pending."""
    lines = [f"- {_MARKS.get(item.status, _WAITING)} {_words(item.content)}" for item in todos.items]
    done, now, gone = (
        sum(item.status is status for item in todos.items)
        for status in (Status.COMPLETED, Status.IN_PROGRESS, Status.CANCELLED)
    )
    progress = f"**Progress:** {done} completed, {now} in progress, {len(todos.items) - done - now - gone} pending"
    return "\n".join(["**Todo list**", "", *lines, "", progress + (f", {gone} cancelled" if gone else "")])


def _entries(arguments: Any) -> list[Any] | None:
    if not isinstance(arguments, Mapping):
        return None
    fields = cast("Mapping[Any, Any]", arguments)
    for key in _LISTS:
        found = fields.get(key)
        if isinstance(found, list):
            return cast("list[Any]", found)
    return None


def _line(entry: Any) -> str:
    fields = cast("Mapping[Any, Any]", entry) if isinstance(entry, Mapping) else {"content": entry}
    text = next((value for key in _TEXTS if isinstance(value := fields.get(key), str)), "")
    return f"- {_words(str(fields.get('status', 'pending')))}: {_words(text)}"


def _words(text: str) -> str:
    return clean(text, lines=False).text
