"""`TodoWrite` of gencode's proposal: 20 items, 500 characters, one in progress, the rendered list as reply.

The proposal leaves the text of an over-limit error to its schema library; ours says it in plain words.
"""

from typing import Any, cast

from punchlist.core.commands import Entry, Limits, Policy, Problem, Replace
from punchlist.core.todo import Status
from punchlist.dialects.base import LOST_ONE_AT_A_TIME, ONE_AT_A_TIME, THREE, Dialect, Invalid, Parsed, Reply, Result
from punchlist.dialects.repair import mend, read_fields
from punchlist.dialects.tool_descriptions import Tool, list_of, object_of, one_of

POLICY = Policy(dialect="gencode", limits=Limits(items=20, characters=500), focus="refuse", shown=ONE_AT_A_TIME)

_TEXT = {"type": "string", "minLength": 1, "maxLength": 500}


TOOL = Tool(
    name="TodoWrite",
    description=(
        "Replace the session's todo list. Use it for work of three or more steps; skip it for a single easy one. "
        "One item is in_progress at a time; mark it completed as soon as it is done. "
        "content says what to do (Run tests), activeForm what is being done (Running tests). At most 20 items."
    ),
    input_schema=object_of(
        {"todos": list_of(object_of({"content": _TEXT, "status": one_of(THREE), "activeForm": _TEXT}), maxItems=20)}
    ),
)


def parse(_tool: str, args: Any) -> Parsed:
    todos = read_fields(args).get("todos")
    if not isinstance(todos, list):
        return _refuse("todos: expected an array")
    entries: list[Entry] = []
    for index, todo in enumerate(cast("list[Any]", todos)):
        if not isinstance(todo, dict):
            return _refuse(f"todos[{index}]: expected an object")
        given = cast("dict[str, Any]", todo)
        content, status, form = given.get("content"), given.get("status"), given.get("activeForm")
        if not isinstance(content, str) or not content:
            return _refuse(f"todos[{index}].content: expected a string of 1 to 500 characters")
        if not isinstance(status, str) or status not in THREE:
            return _refuse(f"todos[{index}].status: expected one of {', '.join(THREE)}")
        if not isinstance(form, str) or not form:
            return _refuse(f"todos[{index}].activeForm: expected a string of 1 to 500 characters")
        entries.append(Entry(mend(content), THREE[status], mend(form)))
    return Replace(tuple(entries))


def _refuse(problem: str) -> Invalid:
    return Invalid(problem, data=_show_failure(problem))


def _show_failure(problem: str) -> dict[str, Any]:
    return {"success": False, "output": "", "error": problem}


def render(result: Result) -> Reply:
    if result.refusals:
        problem = _describe_refusal(result.refusals[0])
        return result.refuse(problem, _show_failure(problem))
    output = _render_list(result.entries)
    return result.reply(output, {"success": True, "output": output})


def _describe_refusal(problem: Problem) -> str:
    match problem.code:
        case "several_in_progress":
            return "Only one task can be in_progress at a time"
        case "too_many_items":
            return f"todos: at most {problem.data['max']} items"
        case "too_long":
            field = "activeForm" if problem.data["field"] == "active_form" else problem.data["field"]
            return f"todos[{problem.at}].{field}: expected a string of 1 to {problem.data['max']} characters"
        case _:
            return problem.text


def _render_list(entries: tuple[Entry, ...]) -> str:
    if not entries:
        return "No todos."
    rows = [_render_row(entry) for entry in entries]
    done = sum(entry.status is Status.COMPLETED for entry in entries)
    return "\n".join([*rows, f"\n({done}/{len(entries)} completed)"])


def _render_row(entry: Entry) -> str:
    if entry.status is Status.IN_PROGRESS:
        return f"[>] {entry.content} <- {entry.active_form}"
    return f"[{'x' if entry.status is Status.COMPLETED else ' '}] {entry.content}"


DIALECT = Dialect(
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    lossy=(*LOST_ONE_AT_A_TIME, "no ids, phases, notes, priorities, parents or explanation"),
)
