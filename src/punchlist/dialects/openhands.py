"""`task_tracker` of OpenHands: `view` and `plan`, notes for each task, `todo` and `done` as statuses.

Errors in the arguments are pydantic's, whose layout is not the tool's own: ours give field and sentence. A task
has one note in this dialect; several show as one, and when that is sent again they stay several.
"""

from typing import Any, cast

from punchlist.core.commands import Entry, Policy, Query, Replace
from punchlist.core.todo import Status, TodoList
from punchlist.dialects.base import IN_THREE, LOST_IN_THREE, Dialect, Invalid, Parsed, Reply, Result, shown_items
from punchlist.dialects.repair import mend, type_name
from punchlist.dialects.tool_descriptions import TEXT, Tool, list_of, object_of, one_of

_STATUSES = {"todo": Status.PENDING, "in_progress": Status.IN_PROGRESS, "done": Status.COMPLETED}
_WORDS = {status: word for word, status in _STATUSES.items()}
_SYMBOLS = {"todo": "⏳", "in_progress": "🔄", "done": "✅"}
POLICY = Policy(dialect="openhands", shown=IN_THREE)

TOOL = Tool(
    name="task_tracker",
    description=(
        "Track work of several steps. view shows the list; plan replaces it with task_list, each task with a title, "
        "notes if they help, and a status. Not for a simple request. Work on one task at a time and "
        "mark it done as soon as it is."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "command": {**one_of(("view", "plan")), "default": "view"},
            "task_list": list_of(
                object_of(
                    {
                        "title": TEXT,
                        "notes": {"type": "string", "default": ""},
                        "status": {**one_of(_STATUSES), "default": "todo"},
                    },
                    required=["title"],
                )
            ),
        },
    },
    annotations={"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
)


def parse(_tool: str, args: Any) -> Parsed:
    if not isinstance(args, dict | None):
        return Invalid("Input should be a valid dictionary")
    given = cast("dict[str, Any]", args or {})
    command = given.get("command", "view")
    if command == "view":
        return Query()
    if command != "plan":
        name = mend(command[:80]) if isinstance(command, str) else type_name(command)
        return Invalid(f'Unknown command: {name}. Supported commands are "view" and "plan".')
    tasks = given.get("task_list", [])
    if not isinstance(tasks, list):
        return Invalid("task_list: Input should be a valid list")
    entries: list[Entry] = []
    for index, task in enumerate(cast("list[Any]", tasks)):
        if not isinstance(task, dict):
            return Invalid(f"task_list.{index}: Input should be a valid dictionary")
        fields = cast("dict[str, Any]", task)
        if "title" not in fields:
            return Invalid(f"task_list.{index}.title: Field required")
        title, notes, status = fields["title"], fields.get("notes", ""), fields.get("status", "todo")
        for name, text in (("title", title), ("notes", notes)):
            if not isinstance(text, str):
                return Invalid(f"task_list.{index}.{name}: Input should be a valid string")
        if not isinstance(status, str) or status not in _STATUSES:
            return Invalid(f"task_list.{index}.status: Input should be 'todo', 'in_progress' or 'done'")
        entries.append(Entry(mend(title), _STATUSES[status], notes=(mend(notes),) if notes else ()))
    return Replace(tuple(entries))


def render(result: Result) -> Reply:
    if result.refusals:
        return result.refuse()
    if isinstance(result.command, Query):
        tasks = tasks_of(result.after)
        return Reply(_render_list(tasks), {"command": "view", "task_list": tasks}, shows_list=True)
    tasks = [_show_task(entry.content, entry.notes or (), entry.status) for entry in result.entries]
    text = f"Task list has been updated with {len(tasks)} item(s)."
    return result.reply(text, {"command": "plan", "task_list": tasks})


def tasks_of(todos: TodoList) -> list[dict[str, str]]:
    """Return the list as the model writes it."""
    return [_show_task(item.content, item.notes, near) for item, near in shown_items(todos, POLICY)]


def _show_task(title: str, notes: tuple[str, ...], status: Status) -> dict[str, str]:
    return {"title": title, "notes": " ".join(notes), "status": _WORDS[status]}


def _render_list(tasks: list[dict[str, str]]) -> str:
    if not tasks:
        return 'No task list found. Use the "plan" command to create one.'
    rows = [
        f"{number}. {_SYMBOLS[task['status']]} {task['title']}" + (f"\n   {task['notes']}" if task["notes"] else "")
        for number, task in enumerate(tasks, 1)
    ]
    return "\n\n".join(["# Task List", *rows])


DIALECT = Dialect(
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    statuses=tuple(_STATUSES),
    words=_WORDS,
    lossy=(
        *LOST_IN_THREE,
        "several notes show as one",
        "no ids, active forms, phases, priorities, parents or explanation",
    ),
)
