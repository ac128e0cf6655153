"""`task`, our own lean tool for durable tasks: list, add, claim, done, block; one task per call.

It writes the tasks of the project, which its sessions and agents share, and which outlive them: those of
`punchlist tasks`. A claim is a lease, which the agent's activity renews. A reply names the task and what comes next.
"""

from typing import Any, Final, assert_never, cast

from punchlist.core import task as do
from punchlist.core.commands import Policy, Problem
from punchlist.core.task import REASON, Task, TaskCommand, TaskResult, TaskStatus
from punchlist.dialects import repair
from punchlist.dialects.base import Dialect, Invalid, Malformed, Reply
from punchlist.dialects.punchlist import read_arguments
from punchlist.dialects.repair import mend
from punchlist.dialects.tool_descriptions import TEXT, Tool, add_description, list_of, object_of, one_of
from punchlist.text import cut, for_prompt

_ACTIONS: Final = ("list", "add", "claim", "done", "block")
_FIELDS: Final = ("do", "id", "text", "after")
_MOST_SHOWN: Final = 50
_LONGEST: Final = 100_000

TOOL = Tool(
    name="task",
    description=(
        "Work shared by all agents of this project; it outlives the session. list: open tasks. add: text, and after: "
        "ids to be done first. claim: id, else the next ready one. done: id, with the result as text. block: id, with "
        "the reason as text, or after. For the steps of your own work use todo."
    ),
    input_schema=object_of(
        {
            "do": one_of(_ACTIONS),
            "id": TEXT,
            "text": add_description(TEXT, "add: a subject, further lines describe it"),
            "after": list_of(TEXT),
        },
        required=("do",),
        others=False,
    ),
    annotations={"readOnly": False, "concurrencySafe": True, "idempotent": False},
)


def parse(_tool: str, args: Any) -> TaskCommand | Invalid:
    return read_arguments(args, _FIELDS, _read_command)


def _read_command(given: dict[str, Any]) -> TaskCommand:
    action = given.get("do", "list" if not given else None)
    text, after = _read_text(given), _read_ids(given)
    match action:
        case "list":
            return do.ListTasks()
        case "add":
            if not text.strip():
                raise Malformed("`add` needs `text`: what is to be done.")
            subject, _, description = text.strip().partition("\n")
            return do.CreateTask(subject, {"description": description.strip(), "blocked_by": after})
        case "claim":
            return do.ClaimTask(_read_id(given, "claim") if "id" in given else None)
        case "done":
            result = {"result": text} if text.strip() else {}
            return do.UpdateTask(_read_id(given, "done"), {"status": "completed", **result}, only_own=True)
        case "block":
            name = _read_id(given, "block")
            if not after:
                return do.BlockTask(name, text.strip())
            fields = {"add_blocked_by": after, "status": "pending"}
            same = frozenset({TaskStatus.PENDING, TaskStatus.WAITING})
            return do.UpdateTask(name, fields, unless=same, only_own=True)
        case _:
            raise Malformed(f"`do` is one of {', '.join(_ACTIONS)}.")


def _read_text(given: dict[str, Any]) -> str:
    text = given.get("text", "")
    if not isinstance(text, str):
        raise Malformed("`text` is a string.")
    if len(text) > _LONGEST:
        raise Malformed(f"`text` has {len(text)} characters; at most {_LONGEST} fit.")
    return mend(text)


def _read_id(given: dict[str, Any], action: str) -> str:
    name = repair.as_id(given.get("id"))
    if name is None:
        raise Malformed(f"`{action}` needs `id`: the number of a task.")
    return name


def _read_ids(given: dict[str, Any]) -> list[str]:
    value = repair.from_json(given.get("after"))
    if value is None:
        return []
    several = cast("list[Any]", value) if isinstance(value, list) else [value]
    if len(several) > 100:
        raise Malformed("`after` names 100 tasks at most.")
    names = [repair.as_id(each) for each in several]
    if any(name is None for name in names):
        raise Malformed("`after` is a list of task numbers.")
    return [cast("str", name) for name in names]


def render(result: TaskResult) -> Reply:
    command, error, task = result.command, result.error, result.after
    if error is not None:
        text = f"Nothing changed: {error}"
        return Reply(text, is_error=True, problems=(Problem(error.code, text, fatal=True),))
    match command:
        case do.ListTasks():
            return _reply_list(result.tasks)
        case do.ClaimTask() if task is None:
            return Reply("No task is ready.", {"task": None})
        case do.CreateTask():
            return _reply_task("Added", task)
        case do.ClaimTask():
            return _reply_task("Yours", task, in_full=True)
        case do.UpdateTask():
            is_done = task is not None and task.status is TaskStatus.COMPLETED
            return _reply_task("Done" if is_done else "Blocked", task)
        case do.BlockTask():
            return _reply_task("Waits for a person", task)
        case do.GetTask():
            return _reply_task("Task", task, in_full=True)
        case _:
            assert_never(command)


def _reply_task(word: str, task: Task | None, *, in_full: bool = False) -> Reply:
    if task is None:
        return Reply(f"{word}.", {"task": None})
    text = f"{word}: {_show_task(task)}"
    if in_full and task.description:
        text = f"{text}\n{for_prompt(cut(task.description, 4000))}"
    return Reply(text, {"task": _describe(task)})


def _reply_list(tasks: tuple[Task, ...]) -> Reply:
    """Show the open tasks: those in progress first, then ready ones, then those that wait."""
    found = sorted((task for task in tasks if task.is_open), key=lambda task: (_order(task), int(task.id)))
    lines = [_show_task(task) for task in found[:_MOST_SHOWN]]
    if len(found) > _MOST_SHOWN:
        lines.append(f"and {len(found) - _MOST_SHOWN} more")
    lines = lines or ["No task is open; `add` makes one."]
    return Reply("\n".join(lines), {"tasks": [_describe(task) for task in found[:_MOST_SHOWN]]})


def _order(task: Task) -> int:
    if task.status is TaskStatus.IN_PROGRESS:
        return 0
    return 1 if task.is_ready else 2


def _show_task(task: Task) -> str:
    return f"#{task.id} [{_describe_state(task)}] {for_prompt(cut(task.subject, 200))}"


def _describe_state(task: Task) -> str:
    if task.status is TaskStatus.IN_PROGRESS and task.owner is not None:
        return f"in progress, {for_prompt(cut(task.owner, 60))}"
    if task.status is TaskStatus.WAITING:
        reason = cast("dict[str, Any]", task.state).get(REASON) if isinstance(task.state, dict) else None
        return f"waits: {for_prompt(cut(reason, 200))}" if isinstance(reason, str) else "waits"
    if task.is_blocked:
        return "after " + ", ".join(f"#{each.id}" for each in task.held_by)
    if task.is_ready:
        return "ready"
    return task.status.value.replace("_", " ")


def _describe(task: Task) -> dict[str, Any]:
    told: dict[str, Any] = {"id": task.id, "subject": task.subject, "status": task.status.value, "owner": task.owner}
    return {**told, "after": [each.id for each in task.held_by]}


DIALECT = Dialect(
    tools=(TOOL,),
    policy=Policy(dialect="punchlist-tasks"),
    parse=parse,
    render=render,
    has_ids=True,
    statuses=tuple(status.value for status in TaskStatus),
    lossy=("no priority, labels, checklist, parents or timers", "a failed, cancelled or deleted task is not made here"),
    limits=("subjects of 1,000 characters", "descriptions and results of 100,000 characters", "50 tasks in a reply"),
    layer="tasks",
    shares_tasks=True,
)
