"""What a model of each dialect is shown of a list, as rows; and rows as the arguments of a write in that dialect."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from punchlist import TodoList
from punchlist.core.merge import item_names
from punchlist.core.todo import Status
from punchlist.dialects import copilot, cursor, dialect, goose, openhands, qwen, roo
from punchlist.dialects.base import shown_items
from punchlist.dialects.oh_my_pi import ORPHANS

P, A, C, X, B = Status.PENDING, Status.IN_PROGRESS, Status.COMPLETED, Status.CANCELLED, Status.BLOCKED
PLAIN = {status: status.value for status in Status}
WORDS: Mapping[str, Mapping[Status, str]] = {
    "kimi": {P: "pending", A: "in_progress", C: "done"},
    "openhands": {P: "todo", A: "in_progress", C: "done"},
    "copilot": {P: "not-started", A: "in-progress", C: "completed"},
    "roo": {P: "[ ]", A: "[-]", C: "[x]"},
    "goose": {P: "[ ]", A: "[>]", C: "[x]"},
}


@dataclass
class Row:
    """An item as a model sees it. `was` is the status that it was shown in; None for one that the model adds."""

    text: str
    status: Status
    was: Status | None = None
    form: str | None = None
    name: str | None = None
    notes: tuple[str, ...] = ()
    priority: str | None = None
    phase: str | None = None
    more: dict[str, Any] = field(default_factory=dict[str, Any])


def rows(name: str, todos: TodoList) -> list[Row]:
    """The list as a model of the dialect is shown it."""
    shown = shown_items(todos, dialect(name).policy)
    made = [
        Row(item.content, near, near, item.active_form, None, item.notes, item.priority, item.phase)
        for item, near in shown
    ]
    for row, called in zip(made, item_names([item for item, _ in shown], name), strict=True):
        row.name = called
    if name == "copilot":
        for row, seen in zip(made, copilot.rows_of(todos), strict=True):
            row.name = seen["id"]
    if name == "qwen":
        names = {str(row.name) for row in made}
        for row, (item, _) in zip(made, shown, strict=True):
            before = qwen.find_predecessors(item, names)
            row.more = {"blockedBy": before} if before else {}
    return made


def arguments(name: str, written: Sequence[Row], todos: TodoList) -> dict[str, Any]:
    """A write of these rows in the dialect, by a model that is shown the list."""
    words = WORDS.get(name, PLAIN)
    return _WRITERS[name](list(written), words, todos)


Words = Mapping[Status, str]
Writer = Callable[[list[Row], Words, TodoList], dict[str, Any]]


def _forms(key: str) -> Writer:
    def write(written: list[Row], words: Words, _todos: TodoList) -> dict[str, Any]:
        return {
            "todos": [{"content": row.text, "status": words[row.status], key: row.form or row.text} for row in written]
        }

    return write


def _texts(outer: str, text: str) -> Writer:
    def write(written: list[Row], words: Words, _todos: TodoList) -> dict[str, Any]:
        return {outer: [{text: row.text, "status": words[row.status]} for row in written]}

    return write


def _named(outer: str, text: str, **more: Any) -> Writer:
    def write(written: list[Row], words: Words, _todos: TodoList) -> dict[str, Any]:
        taken = {str(row.name) for row in written}
        fresh = (number for number in range(1, 10_000) if str(number) not in taken)
        return {
            outer: [
                {
                    "id": row.name or (next(fresh) if outer == "todoList" else str(next(fresh))),
                    text: row.text,
                    "status": words[row.status],
                    **row.more,
                }
                for row in written
            ],
            **more,
        }

    return write


def _plan(written: list[Row], words: Words, todos: TodoList) -> dict[str, Any]:
    said = {"explanation": todos.explanation} if todos.explanation else {}
    return {"plan": [{"step": row.text, "status": words[row.status]} for row in written], **said}


def _punchlist(written: list[Row], words: Words, _todos: TodoList) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    for row in written:
        item = {"text": row.text, "status": words[row.status]}
        if row.was is not None:
            item["id"] = row.name or ""
        if row.phase is not None:
            item["phase"] = row.phase
        items.append(item)
    return {"set": items, "next": False}


def _opencode(written: list[Row], words: Words, _todos: TodoList) -> dict[str, Any]:
    return {
        "todos": [
            {"content": row.text, "status": words[row.status], "priority": row.priority or "medium"} for row in written
        ]
    }


def _openhands(written: list[Row], words: Words, todos: TodoList) -> dict[str, Any]:
    notes = {task["title"]: task["notes"] for task in openhands.tasks_of(todos)}
    return {
        "command": "plan",
        "task_list": [
            {
                "title": row.text,
                "notes": notes.get(row.text, " ".join(row.notes)),
                "status": words[row.status],
            }
            for row in written
        ],
    }


def _cursor(written: list[Row], words: Words, todos: TodoList) -> dict[str, Any]:
    if written and all(row.was is not None for row in written):
        assert [(row.name, row.text) for row in written] == [
            (row["id"], row["content"]) for row in cursor.rows_of(todos)
        ]
    return _named("todos", "content", merge=len(written) < cursor.FEWEST)(written, words, todos)


def _roo(written: list[Row], words: Words, todos: TodoList) -> dict[str, Any]:
    lines = [f"{words[row.status]} {' '.join(row.text.split())}" for row in written]
    if all(row.status is row.was for row in written):
        assert "\n".join(lines) == roo.checklist(todos)
    return {"todos": "\n".join(lines)}


def _goose(written: list[Row], words: Words, todos: TodoList) -> dict[str, Any]:
    text = goose.text_of(todos)
    for row in written:
        line = " ".join(row.text.split())
        if row.was is None:
            text += f"\n- {words[row.status]} {line}"
        elif row.status is not row.was:
            text = text.replace(f"{words[row.was]} {line}\n", f"{words[row.status]} {line}\n", 1)
            if text.endswith(f"{words[row.was]} {line}"):
                text = text.removesuffix(f"{words[row.was]} {line}") + f"{words[row.status]} {line}"
    return {"content": text}


def _oh_my_pi(written: list[Row], _words: Words, todos: TodoList) -> dict[str, Any]:
    """Not the whole list: only what is new to it."""
    verbs = {A: "start", C: "done", X: "drop"}
    ops: list[dict[str, Any]] = []
    for row in written:
        if row.was is None:
            phase = row.phase or (todos.phases[-1].name if todos.phases else ORPHANS)
            ops.append({"op": "append", "phase": phase, "items": [row.text]})
            ops.extend({"op": "note", "task": row.text, "text": note} for note in row.notes)
        if row.status is not row.was and row.status in verbs:
            ops.append({"op": verbs[row.status], "task": row.text})
    busy = [{"op": "start", "task": row.text} for row in written if row.status is A]
    return {"ops": ops or busy[:1]}


_WRITERS: dict[str, Writer] = {
    "punchlist": _punchlist,
    "claude-code": _forms("activeForm"),
    "nexo": _forms("activeForm"),
    "oh-my-pi": _oh_my_pi,
    "gencode": _forms("activeForm"),
    "codex": _plan,
    "hermes": _named("todos", "content"),
    "openclaw": _plan,
    "opencode": _opencode,
    "gemini": _texts("todos", "description"),
    "langchain": _texts("todos", "content"),
    "roo": _roo,
    "copilot": _named("todoList", "title"),
    "qwen": _named("todos", "content"),
    "kimi": _texts("todos", "title"),
    "goose": _goose,
    "openhands": _openhands,
    "cursor": _cursor,
    "crush": _forms("active_form"),
}
