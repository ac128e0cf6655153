"""`TodoWrite` as in Claude Code of late 2025, before 2.0.64: the whole list in each call, both forms of each text.

Lost in this dialect: `blocked` and `failed` show as `in_progress`, cancelled items are not shown; ids, phases,
notes, priorities and the explanation stay in our state and are neither shown nor touched. With `plan_tools` it also has
the tools of plan mode, see plans.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from punchlist.core.approval import PlanState
from punchlist.core.commands import Command, Entry, Policy, Query, Replace
from punchlist.core.todo import Status, TodoItem
from punchlist.dialects.advice import TEXT, object_of, verbose
from punchlist.dialects.base import (
    IN_THREE,
    LOST_IN_THREE,
    THREE,
    Dialect,
    Entered,
    EnterPlan,
    Exit,
    Invalid,
    PlanCall,
    Reply,
    Result,
    SubmitPlan,
    Tool,
    outcome,
    reply_invalid,
    sound,
)
from punchlist.dialects.repair import key_name, type_name

POLICY = Policy(
    dialect="claude-code",
    wipe_finished=True,
    refuse_unknown_fields=True,
    shown=IN_THREE,
)

_SHOWN = {status: None if (near := POLICY.shows(status)) is None else near.value for status in Status}

SUCCESS = (
    "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. "
    "Please proceed with the current tasks if applicable"
)

_TODO_ITEM = {
    "type": "object",
    "properties": {
        "content": {"type": "string", "minLength": 1},
        "status": {"type": "string", "enum": list(THREE)},
        "activeForm": {"type": "string", "minLength": 1},
    },
    "required": ["content", "status", "activeForm"],
}

_EXAMPLE = {
    "todos": [
        {"content": "Add a login page", "status": "in_progress", "activeForm": "Adding a login page"},
        {"content": "Cover it with tests", "status": "pending", "activeForm": "Covering it with tests"},
    ]
}

TOOL = Tool(
    name="TodoWrite",
    description=(
        "Write the session's whole todo list. Use it for work of three or more steps, not for a single easy one. "
        "Keep one item in_progress, mark it completed at once when it is really done. "
        "content says what to do (Run tests), activeForm what is being done (Running tests)."
    ),
    input_schema={
        "type": "object",
        "properties": {"todos": {"type": "array", "items": _TODO_ITEM, "description": "The updated todo list"}},
        "required": ["todos"],
        "additionalProperties": False,
    },
    annotations={
        "strict": True,
        "enabled": True,
        "permission": "allow",
        "silent": True,
        "readOnly": False,
        "concurrencySafe": False,
    },
    examples=(_EXAMPLE,),
    verbose=verbose("Writes the todo list of this session.", _EXAMPLE, forms=("content", "activeForm")),
)


def parse(_tool: str, args: Any) -> Command | Query | Invalid:
    issues = list(_issues(args))
    if not issues:
        return Replace(tuple(_entry(todo) for todo in args["todos"]))
    plural = "issue" if len(issues) == 1 else "issues"
    said = "\n".join(issues)
    return Invalid(f"InputValidationError: TodoWrite failed due to the following {plural}:\n{said}")


def _entry(todo: dict[str, str]) -> Entry:
    return Entry(sound(todo["content"]), THREE[todo["status"]], sound(todo["activeForm"]))


def _issues(args: Any) -> Iterator[str]:
    """What is wrong with the arguments, the list before its items; the first 20 items' worth is enough to mend it."""
    if not isinstance(args, dict):
        yield f"The input type is expected as `object` but provided as `{type_name(args)}`"
        return
    given = cast("dict[Any, Any]", args)
    if "todos" not in given:
        yield "The required parameter `todos` is missing"
    elif not isinstance(given["todos"], list):
        yield f"The parameter `todos` type is expected as `array` but provided as `{type_name(given['todos'])}`"
    else:
        yield from _first(_item_issues(cast("list[Any]", given["todos"])), 20)
    for key in list(given)[:20]:
        if key != "todos":
            yield f"An unexpected parameter `{key_name(key)}` was provided"


def _first(issues: Iterator[str], count: int) -> Iterator[str]:
    for _ in range(count):
        issue = next(issues, None)
        if issue is None:
            return
        yield issue


def _item_issues(todos: list[Any]) -> Iterator[str]:
    for index, todo in enumerate(todos):
        if not isinstance(todo, dict):
            yield f"todos[{index}]: expected an object, received {type_name(todo)}"
            continue
        given = cast("dict[Any, Any]", todo)
        for key, empty in (("content", "Content cannot be empty"), ("activeForm", "Active form cannot be empty")):
            value = given.get(key)
            if not isinstance(value, str):
                yield _not_text(index, key, given)
            elif not value:
                yield f"todos[{index}].{key}: {empty}"
        status = given.get("status")
        if not isinstance(status, str):
            yield _not_text(index, "status", given)
        elif status not in THREE:
            expected = "|".join(f"'{name}'" for name in THREE)
            yield f"todos[{index}].status: invalid value, expected one of {expected}"


def _not_text(index: int, key: str, given: dict[Any, Any]) -> str:
    if key not in given:
        return f"The required parameter `todos[{index}].{key}` is missing"
    provided = type_name(given[key])
    return f"The parameter `todos[{index}].{key}` type is expected as `string` but provided as `{provided}`"


def shown(items: Iterable[TodoItem]) -> list[dict[str, str]]:
    """Items as this dialect shows them, without those that it cannot show."""
    return [
        {"content": item.content, "status": word, "activeForm": item.active_form or item.content}
        for item in items
        if (word := _SHOWN[item.status]) is not None
    ]


def render(result: Result) -> Reply:
    if result.problems and (refusals := result.refusals):
        return Reply("\n".join(problem.text for problem in refusals), is_error=True, problems=result.problems)
    written = cast("Replace", result.command)
    return Reply(SUCCESS, _echo(result.before.items, written.entries), problems=result.problems)


def _echo(before: Iterable[TodoItem], written: Iterable[Entry]) -> dict[str, Any]:
    return {
        "oldTodos": shown(before),
        "newTodos": [
            {"content": entry.content, "status": entry.status.value, "activeForm": entry.active_form}
            for entry in written
        ],
    }


# Plan mode: `EnterPlanMode` and `ExitPlanMode`. Known, and kept: the names; that entering only reads while leaving does
# not; that a person confirms both (`permission` is `ask`: the host asks before it calls); the sentences of success, as
# transcripts show them; the fields `plan` and `planFilePath` of the input. Not known, hence in our words: the text of a
# refusal, and everything that the original puts before the model besides these sentences.

ENTERED = "Entered plan mode. You should now focus on exploring the codebase and designing an implementation approach."
APPROVED = "User has approved your plan. You can now start coding. Start with updating your todo list if applicable"

ENTER = Tool(
    name="EnterPlanMode",
    description=(
        "Ask to plan before you change anything. In plan mode you read and think, and write nothing but the plan; "
        "TodoWrite is off. For work that can be done in several ways, not for a small fix."
    ),
    input_schema=object_of({}, others=False),
    annotations={"permission": "ask", "readOnly": True, "concurrencySafe": True},
    examples=({},),
)
EXIT = Tool(
    name="ExitPlanMode",
    description=(
        "Show your finished plan to the person and ask to begin with it. Only for plans of work that changes "
        "something, and only once nothing is left to be asked. plan is Markdown."
    ),
    input_schema=object_of({"plan": TEXT}),
    annotations={"permission": "ask", "readOnly": False},
    examples=({"plan": "# Sessions\n\n1. Add the table\n2. Move the handlers over\n3. Run the tests"},),
)


class ClaudeCodePlans:
    """Claude Code's plan tools. A plan is not begun before a person approved it."""

    tools = (ENTER, EXIT)
    operator_tools = ()
    require_approval = True
    takes_blank = False

    def parse(self, tool: str, args: Any) -> PlanCall | Invalid:
        if args is None and tool == "EnterPlanMode":
            return EnterPlan()
        if not isinstance(args, dict):
            return _issue(tool, f"The input type is expected as `object` but provided as `{type_name(args)}`")
        given = cast("dict[Any, Any]", args)
        if tool == "EnterPlanMode":
            return EnterPlan()
        if "plan" not in given:
            return _issue(tool, "The required parameter `plan` is missing")
        plan = given["plan"]
        if not isinstance(plan, str):
            return _issue(
                tool, f"The parameter `plan` type is expected as `string` but provided as `{type_name(plan)}`"
            )
        return SubmitPlan(sound(plan))

    def entered(self, entered: Entered) -> Reply:
        return Reply(ENTERED, {"message": ENTERED})

    def unavailable(self) -> Reply:
        text = "EnterPlanMode is not for agents that another one started: no person would see their plan."
        return reply_invalid(Invalid(text, code="plan_mode_unavailable"))

    def outside(self) -> Reply:
        text = "ExitPlanMode is for plan mode, which is off. If a plan was approved, go on with it."
        return reply_invalid(Invalid(text, code="outside_plan_mode"))

    def exited(self, exit: Exit) -> Reply:
        if exit.plan.state is PlanState.APPROVED:
            return Reply(APPROVED, {"plan": exit.plan.text, "isAgent": False})
        return outcome(exit.plan, exit.now)

    def resolved(self, id: str, *, done: bool) -> Reply:
        raise NotImplementedError  # it has no tool for that


def _issue(tool: str, issue: str) -> Invalid:
    return Invalid(f"InputValidationError: {tool} failed due to the following issue:\n{issue}")


DIALECT = Dialect(
    name="claude-code",
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    statuses=tuple(THREE),
    refused_in_plan_mode=(
        "TodoWrite is not available in plan mode: it changes state, and plan mode only reads. "
        "Write the list once the plan is approved."
    ),
    withheld_in=frozenset({"commit", "pull_request"}),
    plans=ClaudeCodePlans(),
    lossy=(*LOST_IN_THREE, "no ids, phases, notes, priorities, parents or explanation"),
)
