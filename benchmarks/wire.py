"""One list as the arguments of each dialect: a full write where the dialect has one, else the change alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.work import Statuses

Write = Callable[[list[str], Statuses, Statuses], dict[str, Any]]
"""Arguments from texts, their statuses, and the statuses of the write before."""

_DONE = {"pending": "pending", "in_progress": "in_progress", "completed": "done"}
_TODO = {**_DONE, "pending": "todo"}
_HYPHENS = {"pending": "not-started", "in_progress": "in-progress", "completed": "completed"}
_BOXES = {"pending": "[ ]", "in_progress": "[-]", "completed": "[x]"}
_GOOSE = {"pending": "- [ ]", "in_progress": "- [>]", "completed": "- [x]"}
_PLAIN = {word: word for word in _BOXES}


def _items(outer: str, text: str, words: dict[str, str] | None = None, **more: Any) -> Write:
    """Objects with a text and a status; `more` maps a field to a value, or to a function of place and text."""
    spoken = words or _PLAIN

    def write(texts: list[str], statuses: Statuses, _before: Statuses) -> dict[str, Any]:
        return {
            outer: [
                {
                    text: content,
                    "status": spoken[status],
                    **{key: value(place, content) if callable(value) else value for key, value in more.items()},
                }
                for place, (content, status) in enumerate(zip(texts, statuses, strict=True))
            ]
        }

    return write


def _with(write: Write, **more: Any) -> Write:
    return lambda texts, statuses, before: {**write(texts, statuses, before), **more}


def _rows(key: str, boxes: dict[str, str]) -> Write:
    return lambda texts, statuses, _before: {
        key: "\n".join(f"{boxes[status]} {text}" for text, status in zip(texts, statuses, strict=True))
    }


def _oh_my_pi(texts: list[str], statuses: Statuses, before: Statuses) -> dict[str, Any]:
    """The first write is `init`, a later one the op that makes the change; back to pending there is none."""
    verbs = {"in_progress": "start", "completed": "done", "pending": "drop"}
    if not before:
        return {"ops": [{"op": "init", "list": [{"phase": "Work", "items": texts}]}]}
    changed = (place for place, (now, was) in enumerate(zip(statuses, before, strict=True)) if now != was)
    return {"ops": [{"op": verbs[statuses[place]], "task": texts[place]} for place in changed]}


def _name(place: int, _text: str) -> str:
    return str(place + 1)


def _doing(_place: int, text: str) -> str:
    return f"Working on: {text}"[:40]


def _number(place: int, _text: str) -> int:
    return place + 1


WRITERS: dict[str, Write] = {
    "punchlist": _with(_items("set", "text"), next=False),
    "claude-code": _items("todos", "content", activeForm=_doing),
    "nexo": _items("todos", "content", activeForm=_doing),
    "oh-my-pi": _oh_my_pi,
    "gencode": _items("todos", "content", activeForm=_doing),
    "codex": _items("plan", "step"),
    "hermes": _items("todos", "content", id=_name),
    "openclaw": _items("plan", "step"),
    "opencode": _items("todos", "content", priority="medium"),
    "gemini": _items("todos", "description"),
    "langchain": _items("todos", "content"),
    "roo": _rows("todos", _BOXES),
    "copilot": _items("todoList", "title", _HYPHENS, id=_number),
    "qwen": _items("todos", "content", id=_name),
    "kimi": _items("todos", "title", _DONE),
    "goose": _rows("content", _GOOSE),
    "openhands": _with(_items("task_list", "title", _TODO), command="plan"),
    "cursor": _with(_items("todos", "content", id=_name), merge=False),
    "crush": _items("todos", "content", active_form=_doing),
}
