"""`TaskCreate`, `TaskGet`, `TaskUpdate`, `TaskList` of Claude Code 2.1: one call a task, ids given by the list.

They write the durable tasks of the session (`session:<id>`), which all its agents share; another list by the option
`task_list`. Lost in this dialect: `waiting` and `failed` show as `pending`, cancelled tasks are not shown; priority,
labels, checklist, parents, leases and results stay in our state and are neither shown nor touched.

Where Claude Code's own behaviour is not on record, we chose: `TaskList` puts an owner in round brackets behind the
subject; `TaskGet` is a line a field, further lines of a description indented, so that no text can pass for a field;
`TaskGet` of an unknown id answers `Task not found` with a null task and is no error, `TaskUpdate` of one is; an empty
owner gives the task back. `updatedFields` names what really changed, and `metadata` whenever it is sent. Of a
malformed `TaskCreate` we mend input that is JSON text or wrapped in `task` or `tasks`, `title`, `content` or `name` in
place of `subject`, nulls, and a missing description.

Where we are stricter, a call is refused with the reason: what is blocked can be neither started nor completed, what
another agent has or is to have is not started, who lost its claim to another completes nothing, no task can wait for
itself, for an unknown one or in a circle, a subject is not blank. A refused update writes nothing, but what came too
late is kept beside the task.
Finished tasks stay: nothing is deleted after five seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from punchlist.core.commands import Policy
from punchlist.core.task import CreateTask, GetTask, ListTasks, TaskCommand, UpdateTask
from punchlist.dialects.base import ONE_AT_A_TIME, Dialect, Invalid, Tool, sound
from punchlist.dialects.claude_tasks_reply import SHOWN, render
from punchlist.dialects.claude_tasks_tools import CREATE, DELETED, GET, LIST, STATUSES, TOOLS, UPDATE
from punchlist.dialects.repair import as_object, from_json, key_name, type_name

_MOST_ISSUES = 20
_BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}
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
    known = _BY_NAME[tool]
    given = _repaired(known, args)
    issues = list(_first(_issues(known, given)))
    if issues:
        plural = "issue" if len(issues) == 1 else "issues"
        said = "\n".join(issues)
        return Invalid(f"InputValidationError: {tool} failed due to the following {plural}:\n{said}")
    return _command(known, cast("dict[str, Any]", given))


def _repaired(tool: Tool, args: Any) -> Any:
    """The input with its keys as they should be; of a creation, also what else can be mended."""
    if args is None and not tool.input_schema["required"]:
        return {}
    if tool is CREATE:
        args = _unwrapped(args)
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


def _unwrapped(args: Any) -> Any:
    """The object that is meant: given as JSON text, or alone within `task` or `tasks`."""
    given = as_object(args)
    if given is None or len(given) != 1:
        return args if given is None else given
    inner = from_json(given.get("task", given.get("tasks")))
    if isinstance(inner, list) and len(cast("list[Any]", inner)) == 1:
        inner = cast("list[Any]", inner)[0]
    return cast("Any", inner) if isinstance(inner, dict) else given


def _issues(tool: Tool, args: Any) -> Iterator[str]:
    """What is wrong with the input, field by field; it is as it should be if nothing is."""
    if not isinstance(args, dict):
        yield f"The input type is expected as `object` but provided as `{type_name(args)}`"
        return
    given = cast("dict[Any, Any]", args)
    properties: Mapping[str, Any] = tool.input_schema["properties"]
    for name, schema in properties.items():
        if name in given:
            yield from _field_issues(name, schema, given[name])
        elif name in tool.input_schema["required"]:
            yield f"The required parameter `{name}` is missing"
    for key in given:
        if key not in properties:
            yield f"An unexpected parameter `{key_name(key)}` was provided"


def _field_issues(name: str, schema: Mapping[str, Any], value: Any) -> Iterator[str]:
    expected, provided = schema["type"], type_name(value)
    if provided != expected or isinstance(value, tuple):
        yield f"The parameter `{name}` type is expected as `{expected}` but provided as `{provided}`"
    elif "enum" in schema and value not in schema["enum"]:
        known = "|".join(f"'{word}'" for word in schema["enum"])
        yield f"{name}: invalid value, expected one of {known}"
    elif expected == "array":
        for place, entry in enumerate(value):
            yield from _field_issues(f"{name}[{place}]", schema["items"], entry)


def _first(issues: Iterator[str]) -> Iterator[str]:
    for _ in range(_MOST_ISSUES):
        issue = next(issues, None)
        if issue is None:
            return
        yield issue


def _command(tool: Tool, given: dict[str, Any]) -> TaskCommand:
    if tool is LIST:
        return ListTasks()
    fields = {_OURS[name]: _as_sent(value) for name, value in given.items() if name in _OURS}
    if tool is CREATE:
        return CreateTask(fields.pop("subject"), fields)
    task = sound(given["taskId"])
    if tool is GET:
        return GetTask(task)
    if fields.get("status") == DELETED:
        return UpdateTask(task, delete=True)
    if fields.get("owner") == "":
        fields["owner"] = None
    same = frozenset(status for status, word in SHOWN.items() if word == fields.get("status"))
    return UpdateTask(task, fields, unless=same)


def _as_sent(value: Any) -> Any:
    if isinstance(value, list):
        return [sound(entry) for entry in cast("list[str]", value)]
    return sound(value) if isinstance(value, str) else value


DIALECT = Dialect(
    name="claude-tasks",
    tools=TOOLS,
    policy=Policy(dialect="claude-tasks", shown=ONE_AT_A_TIME),
    parse=parse,
    render=render,
    statuses=(*STATUSES, DELETED),
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
