"""`todo_write` of qwen-code: ids, and `blockedBy` between them.

What an item is to be begun after is kept as its blocker. The original's reply also orders the model not to tell the
user of the list; that sentence is left out here, as in every text that we put before a model.
"""

from __future__ import annotations

import json
from typing import Any, cast

from punchlist.core.commands import Command, Entry, Policy, Query, Replace
from punchlist.core.todo import WORDS, Blocker
from punchlist.dialects.base import IN_THREE, LOST_IN_THREE, THREE, Dialect, Invalid, Reply, Result, Tool, sound
from punchlist.dialects.claude_code import SUCCESS
from punchlist.dialects.repair import type_name

LONGEST_ID = 500
POLICY = Policy(dialect="qwen", refuse_unknown_fields=True, shown=IN_THREE)
_FIELDS = ("id", "content", "status", "blockedBy")

TOOL = Tool(
    name="todo_write",
    description=(
        "Write the whole todo list of the session. For work of three or more steps, not for a simple request. "
        "Keep one item in_progress and complete it as soon as it is done; blockedBy names the ids "
        "that must be finished first."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "todos": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string", "maxLength": LONGEST_ID},
                        "content": {"type": "string", "minLength": 1},
                        "status": {"type": "string", "enum": list(THREE)},
                        "blockedBy": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
                    },
                    "required": ["id", "content", "status"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["todos"],
        "additionalProperties": False,
    },
)


def parse(_tool: str, args: Any) -> Command | Query | Invalid:
    given = cast("dict[str, Any]", args) if isinstance(args, dict) else {}
    todos = given.get("todos")
    if not isinstance(todos, list):
        return Invalid('Parameter "todos" must be an array.')
    extra = next((key for key in given if key != "todos"), None)
    if extra is not None:
        return Invalid(f'Unknown parameter "{sound(str(extra))[:80]}".')
    entries: list[Entry] = []
    edges: dict[str, list[str]] = {}
    for index, todo in enumerate(cast("list[Any]", todos)):
        problem = _problem(todo)
        if problem is not None:
            return Invalid(f"Todo {index}: {problem}")
        fields = cast("dict[str, Any]", todo)
        name = sound(fields["id"])
        if name in edges:
            return Invalid("Todo IDs must be unique within the list.")
        edges[name] = [sound(other) for other in fields.get("blockedBy", [])]
        entries.append(Entry(sound(fields["content"]), THREE[fields["status"]], alias=name))
    problem = _edge_problem(edges)
    if problem is not None:
        return Invalid(problem)
    return Replace(tuple(_after(entry, edges[cast("str", entry.alias)]) for entry in entries))


def _problem(todo: Any) -> str | None:
    if not isinstance(todo, dict):
        return f"expected an object, got {type_name(todo)}"
    fields = cast("dict[str, Any]", todo)
    name, after = fields.get("id"), fields.get("blockedBy", [])
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_ID:
        return f'"id" must be a string of 1 to {LONGEST_ID} characters.'
    if not isinstance(fields.get("content"), str) or not fields["content"].strip():
        return '"content" must be a non-empty string.'
    if not isinstance(fields.get("status"), str) or fields["status"] not in THREE:
        return f'"status" must be one of {", ".join(THREE)}.'
    others = cast("list[Any]", after) if isinstance(after, list) else [None]
    if not all(isinstance(other, str) for other in others):
        return '"blockedBy" must be an array of ids.'
    if len(set(others)) != len(others):
        return '"blockedBy" must not name an id twice.'
    extra = next((key for key in fields if key not in _FIELDS), None)
    return None if extra is None else f'unknown field "{sound(str(extra))[:80]}".'


def _edge_problem(edges: dict[str, list[str]]) -> str | None:
    for name, others in edges.items():
        for other in others:
            if other == name:
                return f'Todo "{name}" must not depend on itself.'
            if other not in edges:
                return f'Todo "{name}" references unknown dependency "{other}".'
    waiting = {name: set(others) for name, others in edges.items()}
    free = [name for name, others in waiting.items() if not others]
    blocks: dict[str, list[str]] = {}
    for name, others in edges.items():
        for other in others:
            blocks.setdefault(other, []).append(name)
    while free:
        done = free.pop()
        del waiting[done]
        for name in blocks.get(done, ()):
            waiting[name].discard(done)
            if not waiting[name]:
                free.append(name)
    return "Todo dependencies must not contain a cycle." if waiting else None


def _after(entry: Entry, others: list[str]) -> Entry:
    """The entry with what it is to be begun after: for people as its blocker, for the echo as it was sent."""
    if not others:
        return entry._replace(blocker=Blocker())
    return entry._replace(blocker=Blocker(f"after {', '.join(others)}"), word=json.dumps(others, ensure_ascii=False))


def render(result: Result) -> Reply:
    if result.refusals:
        return Reply(f"Failed to modify todos. {result.refusals[0].text}", is_error=True, problems=result.problems)
    todos = [_todo(entry) for entry in cast("Replace", result.command).entries]
    said = "The latest contents of your todo list:" if todos else "Your todo list is now empty."
    rows = f"\n\n{json.dumps(todos, ensure_ascii=False)}" if todos else ""
    return Reply(f"{SUCCESS}\n\n{said}{rows}", {"todos": todos}, problems=result.problems)


def _todo(entry: Entry) -> dict[str, Any]:
    todo: dict[str, Any] = {"id": entry.alias, "content": entry.content, "status": WORDS[entry.status]}
    if entry.word is not None:
        todo["blockedBy"] = json.loads(entry.word)
    return todo


DIALECT = Dialect(
    name="qwen",
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    statuses=tuple(THREE),
    lossy=(*LOST_IN_THREE, "no active forms, phases, notes, priorities or explanation"),
)
