"""`todo_write` of oh-my-pi v15.8.3: ordered operations on tasks named by their text, in phases.

A mistake in one operation is reported and the others still apply; one task is in progress after each call. Cancelled
items show as `abandoned`. Closed tasks leave the model's list after a delay (`CLEAR_DELAY`), never the person's view.
"""

import re
from collections.abc import Set
from itertools import chain
from typing import Any, cast

from punchlist.core import commands as do
from punchlist.core.commands import Append, Edit, Entry, Group, Init, Operation, Policy, Problem, Refuse, Target
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.dialects.base import THREE, Dialect, Invalid, Malformed, Parsed, Reply, Result
from punchlist.dialects.repair import mend, type_name
from punchlist.dialects.tool_descriptions import TEXT, Tool, list_of, object_of, one_of
from punchlist.text import cut, repair

ORPHANS = "Todos"
"""The phase under which items without one are shown."""

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
_TEXTS = list_of(TEXT, minItems=1)


TOOL = Tool(
    name="todo_write",
    description=(
        "Change the session's todo list by ordered ops: init {list: [{phase, items}]}, start, done, drop, rm "
        "{task | phase}, append {phase, items}, note {task, text}. A task is named by its exact text. "
        "Use it for work of several steps; start a task before working on it, mark it done at once."
    ),
    input_schema=object_of(
        {
            "ops": list_of(
                object_of(
                    {
                        "op": one_of(_VERBS),
                        "list": list_of(object_of({"phase": TEXT, "items": _TEXTS})),
                        "task": TEXT,
                        "phase": TEXT,
                        "items": _TEXTS,
                        "text": TEXT,
                    },
                    required=["op"],
                ),
                minItems=1,
            )
        }
    ),
    annotations={
        "label": "Todo Write",
        "concurrency": "exclusive",
        "strict": True,
        "loadMode": "discoverable",
        "approval": "read",
    },
)


def parse(_tool: str, args: Any) -> Parsed:
    try:
        ops = _read_field(args, "ops", list, "ops")
        if not ops:
            raise Malformed("ops: expected at least 1 entry")
        entries = enumerate(cast("list[Any]", ops))
        return Edit(tuple(chain.from_iterable(_read_operations(f"ops[{index}]", entry) for index, entry in entries)))
    except Malformed as problem:
        return Invalid(f"Invalid todo_write arguments: {problem}")


def _read_field(value: Any, key: str, kind: type, path: str) -> Any:
    """Return the field of an object; None when it is absent."""
    if not isinstance(value, dict):
        raise Malformed(f"{path}: expected an object, got {type_name(value)}")
    found = cast("dict[str, Any]", value).get(key)
    if key == "ops" and found is None:
        raise Malformed("ops is required")
    if found is not None and not isinstance(found, kind):
        raise Malformed(f"{path}.{key}: unexpected {type_name(found)}")
    return found


def _read_texts(entry: Any, path: str) -> tuple[Entry, ...] | None:
    items = _read_field(entry, "items", list, path)
    if items is None:
        return None
    if not items or any(not isinstance(text, str) for text in items):
        raise Malformed(f"{path}.items: expected one or more strings")
    return tuple(Entry(mend(text)) for text in items)


def _read_operations(path: str, entry: Any) -> list[Operation]:
    """Return an op as operations of core; what the original refuses becomes a refusal in its words."""
    verb = _read_field(entry, "op", str, path)
    if verb not in _VERBS:
        raise Malformed(f"{path}.op: expected one of {', '.join(_VERBS)}")
    task, phase, text = (mend(_read_field(entry, key, str, path) or "") for key in ("task", "phase", "text"))
    groups, items = _read_field(entry, "list", list, path), _read_texts(entry, path)
    target = Target(item=task or None, phase=phase or None, by="text")
    match verb:
        case "init" if groups is None:
            return [Init(()), Refuse("Missing list for init operation")]
        case "init":
            return [Init(_read_groups(groups, path))]
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


def _read_groups(groups: Any, path: str) -> tuple[Group, ...]:
    found: list[Group] = []
    for index, group in enumerate(cast("list[Any]", groups or [])):
        items = _read_texts(group, f"{path}.list[{index}]")
        name = _read_field(group, "phase", str, f"{path}.list[{index}]")
        if items is None or name is None:
            raise Malformed(f"{path}.list[{index}]: expected phase and items")
        found.append(Group(mend(name), items))
    return tuple(found)


_BY_ID = re.compile(r"task-[0-9]+")


def _describe_problem(problem: Problem) -> str:
    match problem.code:
        case "not_found":
            name = _quote(problem.data["item"])
            if _BY_ID.fullmatch(name):
                return (
                    f'Task "{name}" not found. Tasks are referenced by content, not by IDs — '
                    "pass the task's full text from the previous result."
                )
            hint = " (todo list is empty — was it replaced or not yet created?)" if problem.data["empty"] else ""
            return f'Task "{name}" not found{hint}'
        case "phase_not_found":
            return f'Phase "{_quote(problem.data["phase"])}" not found'
        case "duplicate":
            return f'Task "{_quote(problem.data["item"])}" already exists'
        case "missing_text":
            return "Missing text for note operation"
        case _:
            return problem.text


def _quote(text: str) -> str:
    """Return a text of the input for an error: in full, as in the original, up to thousands of characters."""
    return repair(cut(text, 4000))


def render(result: Result) -> Reply:
    errors = [_describe_problem(problem) for problem in result.refusals]
    policy, now = result.policy or POLICY, result.now
    same = result.before.plan_id == result.after.plan_id
    hidden = {item.id for item in result.before.items if same and now is not None and policy.hides(item, now)}
    phases = phases_of(result.after, policy, hidden)
    details: dict[str, Any] = {"phases": phases, "storage": "session" if result.durable else "memory"}
    if transitions := find_completed(phases_of(result.before, policy), phases):
        details["completedTasks"] = transitions
    text = write_summary(phases, errors)
    return Reply(text, details, is_error=bool(errors), problems=result.problems, shows_list=not errors)


STATUSES = {**THREE, "abandoned": Status.CANCELLED}
_WORDS = {status: word for word, status in STATUSES.items()}
_SYMBOLS = {"completed": "✓", "in_progress": "→", "abandoned": "✗", "pending": "○"}
_OPEN = ("pending", "in_progress")
Phase = dict[str, Any]


def phases_of(todos: TodoList, policy: Policy, hidden: Set[str] = frozenset()) -> list[Phase]:
    """Return the list as phases with their tasks, empty phases too; items without a phase come first.

    `hidden` are ids of closed tasks that left the model's list, with a phase that held nothing else.
    """
    tasks: dict[str | None, list[dict[str, Any]]] = {phase.id: [] for phase in todos.phases}
    left: set[str | None] = set()
    for item in todos.items:
        status = policy.shows(item.status)
        if item.id in hidden and not item.is_open:
            left.add(item.phase_id)
        elif status is not None:
            known = item.phase_id if item.phase_id in tasks else None
            tasks.setdefault(known, []).append(_show_task(item, status))
    named: list[Phase] = [
        {"name": phase.name, "tasks": tasks[phase.id]}
        for phase in todos.phases
        if tasks[phase.id] or phase.id not in left
    ]
    return [{"name": ORPHANS, "tasks": tasks[None]}, *named] if None in tasks else named


def _show_task(item: TodoItem, status: Status) -> dict[str, Any]:
    task: dict[str, Any] = {"content": item.content, "status": _WORDS[status]}
    if item.notes:
        task["notes"] = list(item.notes)
    return task


def find_completed(before: list[Phase], after: list[Phase]) -> list[dict[str, str]]:
    """Return tasks that are completed now and were not before, by phase and text."""
    statuses = {(phase["name"], task["content"]): task["status"] for phase in before for task in phase["tasks"]}
    return [
        {"phase": phase["name"], "content": task["content"]}
        for phase in after
        for task in phase["tasks"]
        if task["status"] == "completed" and statuses.get((phase["name"], task["content"]), "completed") != "completed"
    ]


def write_summary(phases: list[Phase], errors: list[str]) -> str:
    """Return the text that the model reads."""
    said = [f"Errors: {'; '.join(errors)}"] if errors else []
    tasks = [(phase["name"], task) for phase in phases for task in phase["tasks"]]
    if not tasks:
        return said[0] if said else "Todo list cleared."
    remaining = [(name, task) for name, task in tasks if task["status"] in _OPEN]
    said.append(f"Remaining items ({len(remaining)}):" if remaining else "Remaining items: none.")
    said.extend(f"  - {task['content']} [{task['status']}] ({name})" for name, task in remaining)
    said.append(_describe_current_phase(phases))
    for phase in phases:
        said.append(f"  {phase['name']}:")
        for task in phase["tasks"]:
            said.extend(_render_task(task))
    return "\n".join(said)


def _describe_current_phase(phases: list[Phase]) -> str:
    at = next(
        (index for index, phase in enumerate(phases) if any(task["status"] in _OPEN for task in phase["tasks"])),
        len(phases) - 1,
    )
    tasks = phases[at]["tasks"]
    done = sum(task["status"] not in _OPEN for task in tasks)
    return f'Phase {at + 1}/{len(phases)} "{phases[at]["name"]}" — {done}/{len(tasks)} tasks complete'


def _render_task(task: dict[str, Any]) -> list[str]:
    notes: list[str] = task.get("notes", [])
    count = f" (+{len(notes)} note{'s' if len(notes) != 1 else ''})" if notes else ""
    rows = [f"    {_SYMBOLS[task['status']]} {task['content']}{count}"]
    if task["status"] == "in_progress":
        for index, note in enumerate(notes):
            if index:
                rows.append("        ---")
            rows.extend(f"        {line}" for line in note.split("\n"))
    return rows


DIALECT = Dialect(
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    statuses=tuple(STATUSES),
    words=_WORDS,
    subagents="withheld",
    withheld_in=frozenset({"yield"}),
    lossy=("blocked and failed show as pending", "no ids, active forms, priorities, parents or explanation"),
)
