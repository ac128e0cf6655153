"""`todo_write` of oh-my-pi v15.8.3: ordered operations on tasks named by their text, in phases.

A mistake in one operation is reported and the others still apply; one task is in progress after each call. Blocked and
failed items show as pending, cancelled ones as `abandoned`. Active forms, priorities and parents are not shown.
Closed tasks leave the model's list after a while (`CLEAR_DELAY`), never the person's view.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import Any, cast

from punchlist.core import commands as do
from punchlist.core.commands import (
    Append,
    Command,
    Edit,
    Entry,
    Group,
    Init,
    Operation,
    Policy,
    Problem,
    Query,
    Refuse,
    Target,
)
from punchlist.core.todo import Status
from punchlist.dialects.advice import verbose
from punchlist.dialects.base import Dialect, Invalid, Reply, Result, Tool, sound
from punchlist.dialects.oh_my_pi_reply import ORPHANS, completed, phases_of, summary
from punchlist.dialects.repair import type_name
from punchlist.text import cut, repair

CLEAR_DELAY = 60.0
"""Seconds after which a closed task leaves the model's list; below 0 never, 0 at once."""

POLICY = Policy(
    dialect="oh-my-pi",
    focus="first",
    promote=True,
    atomic=False,
    sweep=True,
    hide_closed_after=CLEAR_DELAY,
    orphans=ORPHANS,
    shown={Status.BLOCKED: Status.PENDING, Status.FAILED: Status.PENDING},
)

_VERBS = ("init", "start", "done", "rm", "drop", "append", "note")
_TEXTS = {"type": "array", "minItems": 1, "items": {"type": "string"}}

_EXAMPLE = {
    "ops": [
        {"op": "init", "list": [{"phase": "Repair", "items": ["Read the parser", "Fix the loop"]}]},
        {"op": "start", "task": "Read the parser"},
    ]
}

TOOL = Tool(
    name="todo_write",
    description=(
        "Change the session's todo list by ordered ops: init {list: [{phase, items}]}, start, done, drop, rm "
        "{task | phase}, append {phase, items}, note {task, text}. A task is named by its exact text. "
        "Use it for work of several steps; start a task before working on it, mark it done at once."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "ops": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": {
                        "op": {"type": "string", "enum": list(_VERBS)},
                        "list": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {"phase": {"type": "string"}, "items": _TEXTS},
                                "required": ["phase", "items"],
                            },
                        },
                        "task": {"type": "string"},
                        "phase": {"type": "string"},
                        "items": _TEXTS,
                        "text": {"type": "string"},
                    },
                    "required": ["op"],
                },
            }
        },
        "required": ["ops"],
    },
    annotations={
        "label": "Todo Write",
        "concurrency": "exclusive",
        "strict": True,
        "loadMode": "discoverable",
        "approval": "read",
    },
    examples=(_EXAMPLE, {"ops": [{"op": "done", "task": "Read the parser"}]}),
    verbose=verbose(
        "Changes the todo list of this session by ops, in order: init {list: [{phase, items}]} writes it anew, start, "
        "done, drop and rm take a task or a phase, append adds items to a phase, note adds a text to a task.",
        _EXAMPLE,
        doing="the current one with start",
        done="done",
        whole=False,
        rules="A task is named by its exact text. A wrong op is reported, and the others still count.",
    ),
)


class _Malformed(Exception):
    """Arguments that the schema refuses before any operation runs."""


def parse(_tool: str, args: Any) -> Command | Query | Invalid:
    try:
        ops = _field(args, "ops", list, "ops")
        if not ops:
            raise _Malformed("ops: expected at least 1 entry")
        entries = enumerate(cast("list[Any]", ops))
        return Edit(tuple(chain.from_iterable(_operations(f"ops[{index}]", entry) for index, entry in entries)))
    except _Malformed as problem:
        return Invalid(f"Invalid todo_write arguments: {problem}")


def _field(value: Any, key: str, kind: type, path: str) -> Any:
    """The field of an object; None when it is absent."""
    if not isinstance(value, dict):
        raise _Malformed(f"{path}: expected an object, got {type_name(value)}")
    found = cast("dict[str, Any]", value).get(key)
    if key == "ops" and found is None:
        raise _Malformed("ops is required")
    if found is not None and not isinstance(found, kind):
        raise _Malformed(f"{path}.{key}: unexpected {type_name(found)}")
    return found


def _text(entry: Any, key: str, path: str) -> str:
    return sound(_field(entry, key, str, path) or "")


def _texts(entry: Any, path: str) -> tuple[Entry, ...] | None:
    items = _field(entry, "items", list, path)
    if items is None:
        return None
    if not items or any(not isinstance(text, str) for text in items):
        raise _Malformed(f"{path}.items: expected one or more strings")
    return tuple(Entry(sound(text)) for text in items)


def _operations(path: str, entry: Any) -> list[Operation]:
    """An op as operations of core; what its original refuses is refused in its turn, with its words."""
    verb = _field(entry, "op", str, path)
    if verb not in _VERBS:
        raise _Malformed(f"{path}.op: expected one of {', '.join(_VERBS)}")
    task, phase, text = (_text(entry, key, path) for key in ("task", "phase", "text"))
    groups, items = _field(entry, "list", list, path), _texts(entry, path)
    target = Target(item=task or None, phase=phase or None, by="text")
    match verb:
        case "init" if groups is None:
            return [Init(()), Refuse("Missing list for init operation")]
        case "init":
            return [Init(_groups(groups, path))]
        case "append" if not phase:
            return [Refuse("Missing phase name for append operation")]
        case "append" if not items:
            return [Refuse("Missing items for append operation")]
        case "append":
            return [Append(items or (), phase=phase, unique=True)]
        case "start" | "note" if not task:
            return [Refuse("Missing task content")]
        case "start":
            return [do.Start(target)]
        case "note":
            return [do.Note(target, text)]
        case "done":
            return [do.Done(target)]
        case "drop":
            return [do.Drop(target)]
        case _:
            return [do.Remove(target)]


def _groups(groups: Any, path: str) -> tuple[Group, ...]:
    found: list[Group] = []
    for index, group in enumerate(cast("list[Any]", groups or [])):
        items = _texts(group, f"{path}.list[{index}]")
        name = _field(group, "phase", str, f"{path}.list[{index}]")
        if items is None or name is None:
            raise _Malformed(f"{path}.list[{index}]: expected phase and items")
        found.append(Group(sound(name), items))
    return tuple(found)


_BY_ID = re.compile(r"task-[0-9]+")


def _said(problem: Problem) -> str:
    match problem.code:
        case "not_found":
            name = _named(problem.data["item"])
            if _BY_ID.fullmatch(name):
                return (
                    f'Task "{name}" not found. Tasks are referenced by content, not by IDs — '
                    "pass the task's full text from the previous result."
                )
            hint = " (todo list is empty — was it replaced or not yet created?)" if problem.data["empty"] else ""
            return f'Task "{name}" not found{hint}'
        case "phase_not_found":
            return f'Phase "{_named(problem.data["phase"])}" not found'
        case "duplicate":
            return f'Task "{_named(problem.data["item"])}" already exists'
        case "missing_text":
            return "Missing text for note operation"
        case _:
            return problem.text


def _named(text: str) -> str:
    """A text of the input in an error: in full, as in the original, short of thousands of characters."""
    return repair(cut(text, 4000))


def render(result: Result) -> Reply:
    errors = [_said(problem) for problem in result.refusals]
    policy, now = result.policy or POLICY, result.now
    same = result.before.plan_id == result.after.plan_id
    hidden = {item.id for item in result.before.items if same and now is not None and policy.hides(item, now)}
    phases = phases_of(result.after, policy, hidden)
    details: dict[str, Any] = {"phases": phases, "storage": "session" if result.durable else "memory"}
    if transitions := completed(phases_of(result.before, policy), phases):
        details["completedTasks"] = transitions
    text = summary(phases, errors)
    return Reply(text, details, is_error=bool(errors), problems=result.problems, shows_list=not errors)


DIALECT = Dialect(
    name="oh-my-pi",
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    statuses=("pending", "in_progress", "completed", "abandoned"),
    subagents="withheld",
    withheld_in=frozenset({"yield"}),
    lossy=("blocked and failed show as pending", "no ids, active forms, priorities, parents or explanation"),
)
