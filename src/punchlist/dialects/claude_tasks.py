"""`TaskCreate`, `TaskGet`, `TaskUpdate`, `TaskList` of Claude Code 2.1: one call per task, ids given by the list.

They write the durable tasks of the session (`session:<id>`), which all its agents share; the option `task_list` names
another list. What this dialect cannot show stays in our state, untouched.

Where Claude Code's own behaviour is not on record, we chose: `TaskList` puts an owner in round brackets after the
subject; `TaskGet` has one line per field, further lines of a description indented, so that no text passes for a field;
`TaskGet` of an unknown id answers `Task not found` with a null task and is no error, `TaskUpdate` of one is; an empty
owner releases the task. `updatedFields` names what really changed, and `metadata` whenever it is sent. Of a malformed
`TaskCreate` we repair input that is JSON text or wrapped in `task` or `tasks`, `title`, `content` or `name` in place of
`subject`, nulls, and a missing description.

Where we are stricter, a call is refused with the reason: a blocked task can be neither started nor completed; a task
that another agent owns is not started; an agent that lost its claim to another completes nothing; no task can wait for
itself, for an unknown one or in a cycle; a subject is not blank. A refused update writes nothing, but a late result is
stored with the task. Finished tasks stay: nothing is deleted after five seconds.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, assert_never, cast

from punchlist.core import task as do
from punchlist.core.commands import Policy, Problem
from punchlist.core.task import Task, TaskCommand, TaskResult, TaskStatus
from punchlist.dialects.base import ONE_AT_A_TIME, THREE, Dialect, Invalid, Reply
from punchlist.dialects.claude_code import MOST_ISSUES, describe_type, report_issues
from punchlist.dialects.repair import as_object, from_json, key_name, mend, read_fields, type_name
from punchlist.dialects.tool_descriptions import TEXT, Schema, Tool, add_description, list_of, object_of, one_of
from punchlist.errors import PunchlistError, TaskUnknown
from punchlist.text import clean

DELETED: Final = "deleted"
_OBJECT: Schema = {"type": "object", "additionalProperties": {}}


def _make_annotations(*, reads: bool) -> dict[str, Any]:
    return {"readOnly": reads, "concurrencySafe": True, "enabled": True, "permission": "allow", "silent": True}


CREATE = Tool(
    name="TaskCreate",
    description=(
        "Add a task to the session's task list. Use it for work of three or more steps, one task a step, not for a "
        "single easy one. subject says what to do (Run tests), activeForm what is being done (Running tests)."
    ),
    input_schema=object_of(
        {
            "subject": add_description(TEXT, "What to do, in a few words"),
            "description": add_description(TEXT, "What exactly, and when it is done"),
            "activeForm": add_description(TEXT, "What is being done, shown meanwhile: Running tests"),
            "metadata": add_description(_OBJECT, "Anything to keep with the task"),
        },
        required=("subject", "description"),
        others=False,
    ),
    annotations=_make_annotations(reads=False),
)

GET = Tool(
    name="TaskGet",
    description="Read one task in full: its description, and what it blocks and is blocked by.",
    input_schema=object_of({"taskId": add_description(TEXT, "The number of the task")}, others=False),
    annotations=_make_annotations(reads=True),
)

UPDATE = Tool(
    name="TaskUpdate",
    description=(
        "Change a task: in_progress when you begin it, completed at once when it is really done, deleted to take it "
        "off. It may get new words, an owner, or other tasks to wait for (addBlockedBy, addBlocks)."
    ),
    input_schema=object_of(
        {
            "taskId": add_description(TEXT, "The number of the task"),
            "subject": TEXT,
            "description": TEXT,
            "activeForm": TEXT,
            "status": one_of((*THREE, DELETED)),
            "addBlocks": add_description(list_of(TEXT), "Tasks that wait for this one"),
            "addBlockedBy": add_description(list_of(TEXT), "Tasks that this one waits for"),
            "owner": add_description(TEXT, "Who works on it"),
            "metadata": add_description(_OBJECT, "Keys to set; null takes a key away"),
        },
        required=("taskId",),
        others=False,
    ),
    annotations=_make_annotations(reads=False),
)

LIST = Tool(
    name="TaskList",
    description="Read the session's task list: number, status, subject, owner, and what each task still waits for.",
    input_schema=object_of({}, others=False),
    annotations=_make_annotations(reads=True),
)

TOOLS: Final = (CREATE, GET, UPDATE, LIST)


_ALIASES: Mapping[str, tuple[str, ...]] = {
    "taskId": ("id", "task_id"),
    "activeForm": ("active_form",),
    "subject": ("title", "content", "name"),
}
_OURS: Mapping[str, str] = {
    "subject": "subject",
    "description": "description",
    "activeForm": "active_form",
    "status": "status",
    "owner": "owner",
    "metadata": "metadata",
    "addBlocks": "add_blocks",
    "addBlockedBy": "add_blocked_by",
}
"""The fields of the input, and what we call them."""


def parse(tool: str, args: Any) -> TaskCommand | Invalid:
    known = next(each for each in TOOLS if each.name == tool)
    given = _repair_input(known, args)
    if issues := list(islice(_find_issues(known, given), MOST_ISSUES)):
        return report_issues(tool, issues)
    return _make_command(known, read_fields(given))


def _repair_input(tool: Tool, args: Any) -> Any:
    """Return the input with the keys of the schema; of a creation, mend what else can be mended."""
    if args is None and not tool.input_schema["required"]:
        return {}
    if tool is CREATE:
        args = _unwrap(args)
    if not isinstance(args, dict):
        return args
    given = cast("dict[Any, Any]", args)
    for name, others in _ALIASES.items():
        if name in tool.input_schema["properties"] and name not in given and (name != "subject" or tool is CREATE):
            other = next((other for other in others if other in given), None)
            if other is not None:
                given = {name: given[other], **{key: value for key, value in given.items() if key != other}}
    if tool is CREATE:
        given = {key: value for key, value in given.items() if value is not None}
        if "subject" in given:
            given.setdefault("description", "")
        if "metadata" in given:
            given["metadata"] = from_json(given["metadata"])
    return given


def _unwrap(args: Any) -> Any:
    """Return the object that is meant: given as JSON text, or alone within `task` or `tasks`."""
    given = as_object(args)
    if given is None or len(given) != 1:
        return args if given is None else given
    inner = from_json(given.get("task", given.get("tasks")))
    if isinstance(inner, list) and len(cast("list[Any]", inner)) == 1:
        inner = cast("list[Any]", inner)[0]
    return cast("Any", inner) if isinstance(inner, dict) else given


def _find_issues(tool: Tool, args: Any) -> Iterator[str]:
    if not isinstance(args, dict):
        yield describe_type(None, "object", args)
        return
    given = cast("dict[Any, Any]", args)
    properties: Mapping[str, Any] = tool.input_schema["properties"]
    for name, schema in properties.items():
        if name in given:
            yield from _find_field_issues(name, schema, given[name])
        elif name in tool.input_schema["required"]:
            yield f"The required parameter `{name}` is missing"
    for key in given:
        if key not in properties:
            yield f"An unexpected parameter `{key_name(key)}` was provided"


def _find_field_issues(name: str, schema: Mapping[str, Any], value: Any) -> Iterator[str]:
    expected = schema["type"]
    if type_name(value) != expected or isinstance(value, tuple):
        yield describe_type(name, expected, value)
    elif "enum" in schema and value not in schema["enum"]:
        known = "|".join(f"'{word}'" for word in schema["enum"])
        yield f"{name}: invalid value, expected one of {known}"
    elif expected == "array":
        for place, entry in enumerate(value):
            yield from _find_field_issues(f"{name}[{place}]", schema["items"], entry)


def _make_command(tool: Tool, given: dict[str, Any]) -> TaskCommand:
    if tool is LIST:
        return do.ListTasks()
    fields = {_OURS[name]: _repair_text(value) for name, value in given.items() if name in _OURS}
    if tool is CREATE:
        return do.CreateTask(fields.pop("subject"), fields)
    task = mend(given["taskId"])
    if tool is GET:
        return do.GetTask(task)
    if fields.get("status") == DELETED:
        return do.UpdateTask(task, delete=True)
    if fields.get("owner") == "":
        fields["owner"] = None
    same = frozenset(status for status, word in SHOWN.items() if word == fields.get("status"))
    return do.UpdateTask(task, fields, unless=same)


def _repair_text(value: Any) -> Any:
    if isinstance(value, list):
        return [mend(entry) for entry in cast("list[str]", value)]
    return mend(value) if isinstance(value, str) else value


NOT_FOUND = "Task not found"

SHOWN: Mapping[TaskStatus, str | None] = {
    TaskStatus.PENDING: "pending",
    TaskStatus.IN_PROGRESS: "in_progress",
    TaskStatus.WAITING: "pending",
    TaskStatus.COMPLETED: "completed",
    TaskStatus.FAILED: "pending",
    TaskStatus.CANCELLED: None,
}
"""How each status shows; a task with none is not shown."""


def render(result: TaskResult) -> Reply:
    command, error = result.command, result.error
    match command:
        case do.CreateTask():
            return _reply_created(command, result.after) if error is None else _reply_refused(error)
        case do.UpdateTask():
            return _reply_updated(command, result) if error is None else _reply_refused(error, command.id)
        case do.GetTask() | do.ClaimTask() | do.BlockTask():  # the last two are commands of our own tool
            return _reply_task(result.after)
        case do.ListTasks():
            return _reply_list(result.tasks)
        case _:
            assert_never(command)


def _reply_refused(error: PunchlistError, task: str | None = None) -> Reply:
    """Reply with the reason. A refused update has a result object, a refused creation has none."""
    said = NOT_FOUND if isinstance(error, TaskUnknown) and error.data["id"] == (task or "")[:80] else str(error)
    data: Any = None if task is None else {"success": False, "taskId": task, "updatedFields": [], "error": said}
    return Reply(said, data, is_error=True, problems=(Problem(error.code, said, fatal=True),))


def _reply_created(command: do.CreateTask, task: Task | None) -> Reply:
    number = "" if task is None else task.id
    text = f"Task #{number} created successfully: {command.subject}"
    return Reply(text, {"task": {"id": number, "subject": command.subject}}, problems=_find_removed(command.subject))


def _reply_updated(command: do.UpdateTask, result: TaskResult) -> Reply:
    fields = _find_changed_fields(command, result.before, result.after)
    data: dict[str, Any] = {"success": True, "taskId": command.id, "updatedFields": fields}
    was = None if result.before is None else SHOWN[result.before.status]
    if command.delete:
        data["statusChange"] = {"from": was, "to": DELETED}
    elif "status" in fields and result.after is not None:
        data["statusChange"] = {"from": was, "to": SHOWN[result.after.status]}
    return Reply(f"Updated task #{command.id} {', '.join(fields)}", data)


def _find_changed_fields(command: do.UpdateTask, before: Task | None, after: Task | None) -> list[str]:
    """Return the fields that changed, in the order of Claude Code's result."""
    if command.delete or before is None or after is None:
        return [DELETED]
    changed = {
        "subject": before.subject != after.subject,
        "description": before.description != after.description,
        "activeForm": before.active_form != after.active_form,
        "status": SHOWN[before.status] != SHOWN[after.status],
        "owner": before.owner != after.owner and "owner" in command.fields,
        "blocks": before.blocks != after.blocks,
        "blockedBy": before.blocked_by != after.blocked_by,
        "metadata": "metadata" in command.fields,
    }
    return [name for name, is_so in changed.items() if is_so]


def _reply_task(task: Task | None) -> Reply:
    status = None if task is None else SHOWN[task.status]
    if task is None or status is None:
        return Reply(NOT_FOUND, {"task": None})
    edges = (("Blocked by", task.blocked_by), ("Blocks", task.blocks))
    lines = [f"Task #{task.id}: {_to_line(task.subject)}", f"Status: {status}"]
    lines.append("Description: " + "\n  ".join(clean(task.description).text.splitlines()))
    lines += [f"{name}: {_join_ids(ids)}" for name, ids in edges if ids]
    shown = {
        "id": task.id,
        "subject": task.subject,
        "description": task.description,
        "status": status,
        "blocks": list(task.blocks),
        "blockedBy": list(task.blocked_by),
    }
    return Reply("\n".join(lines), {"task": shown})


def _reply_list(tasks: tuple[Task, ...]) -> Reply:
    """Leave out blockers that no longer hold a task back; the tasks themselves keep them."""
    lines: list[str] = []
    shown: list[dict[str, Any]] = []
    for task in tasks:
        status = SHOWN[task.status]
        if status is None:
            continue
        waits_for = tuple(blocker.id for blocker in task.held_by)
        owner = "" if task.owner is None else f" ({_to_line(task.owner)})"
        blocked = f" [blocked by {_join_ids(waits_for)}]" if waits_for else ""
        lines.append(f"#{task.id} [{status}] {_to_line(task.subject)}{owner}{blocked}")
        told: dict[str, Any] = {"id": task.id, "subject": task.subject, "status": status}
        if task.owner is not None:
            told["owner"] = task.owner
        shown.append({**told, "blockedBy": list(waits_for)})
    return Reply("\n".join(lines) or "No tasks found", {"tasks": shown})


def _join_ids(ids: tuple[str, ...]) -> str:
    return ", ".join(f"#{each}" for each in ids)


def _to_line(text: str) -> str:
    """Put a text on one line, so that it cannot pass for a row of the list."""
    return clean(text, lines=False).text


def _find_removed(*texts: str) -> tuple[Problem, ...]:
    """Return a problem that names the characters which the state does not hold."""
    removed = sorted({each for text in texts for each in clean(text).removed})
    if not removed:
        return ()
    return (Problem("cleaned", f"Removed from the text: {', '.join(removed)}.", data={"removed": removed}),)


DIALECT = Dialect(
    tools=TOOLS,
    policy=Policy(dialect="claude-tasks", shown=ONE_AT_A_TIME),
    parse=parse,
    render=render,
    statuses=(*THREE, DELETED),
    repairs=frozenset({"active_form", "task_id", "new_task"}),
    lossy=(
        "waiting and failed show as pending",
        "cancelled tasks are not shown",
        "no priority, labels, checklist, parents, leases or results",
    ),
    limits=("subjects of 1,000 characters", "descriptions of 100,000 characters"),
    layer="tasks",
    writers=(CREATE.name, UPDATE.name),
)
