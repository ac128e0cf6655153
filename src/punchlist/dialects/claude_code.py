"""`TodoWrite` as in Claude Code of late 2025, before 2.0.64: the whole list in each call, both forms of each text.

What this dialect cannot show stays in our state, untouched. With `plan_tools` it also has the tools of plan mode, see
plans.md.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, cast

from punchlist.core.approval import Plan, PlanState
from punchlist.core.commands import Entry, Policy, Replace
from punchlist.dialects import base
from punchlist.dialects.repair import key_name, read_fields, type_name
from punchlist.dialects.tool_descriptions import TEXT, Tool, object_of, one_of
from punchlist.text import repair

POLICY = Policy(dialect="claude-code", wipe_finished=True, shown=base.IN_THREE)

MOST_ISSUES = 20
"""Issues that one refusal names: enough to mend a call, and no more than a model reads."""

SUCCESS = (
    "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. "
    "Please proceed with the current tasks if applicable"
)

_NOT_EMPTY = {"type": "string", "minLength": 1}
_TODO_ITEM = object_of({"content": _NOT_EMPTY, "status": one_of(base.THREE), "activeForm": _NOT_EMPTY})

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
    input_schema=object_of(
        {"todos": {"type": "array", "items": _TODO_ITEM, "description": "The updated todo list"}}, others=False
    ),
    annotations={
        "strict": True,
        "enabled": True,
        "permission": "allow",
        "silent": True,
        "readOnly": False,
        "concurrencySafe": False,
    },
    examples=(_EXAMPLE,),
)


def parse(_tool: str, args: Any) -> base.Parsed:
    if issues := list(_find_issues(args)):
        return report_issues("TodoWrite", issues)
    return Replace(
        tuple(
            Entry(repair(todo["content"]), base.THREE[todo["status"]], repair(todo["activeForm"]))
            for todo in args["todos"]
        )
    )


def report_issues(tool: str, issues: Sequence[str]) -> base.Invalid:
    plural = "issue" if len(issues) == 1 else "issues"
    said = "\n".join(issues)
    return base.Invalid(f"InputValidationError: {tool} failed due to the following {plural}:\n{said}")


def describe_type(name: str | None, expected: str, value: Any) -> str:
    """Return the issue of a wrong type; without a name, of the whole input."""
    subject = "The input type" if name is None else f"The parameter `{name}` type"
    return f"{subject} is expected as `{expected}` but provided as `{type_name(value)}`"


def _find_issues(args: Any) -> Iterator[str]:
    """Yield what is wrong with the arguments, the list before its items; 20 issues are enough to mend them."""
    if not isinstance(args, dict):
        yield describe_type(None, "object", args)
        return
    given = cast("dict[str, Any]", args)
    if "todos" not in given:
        yield "The required parameter `todos` is missing"
    elif not isinstance(given["todos"], list):
        yield describe_type("todos", "array", given["todos"])
    else:
        yield from islice(_find_item_issues(cast("list[Any]", given["todos"])), MOST_ISSUES)
    for key in islice(given, MOST_ISSUES):
        if key != "todos":
            yield f"An unexpected parameter `{key_name(key)}` was provided"


def _find_item_issues(todos: list[Any]) -> Iterator[str]:
    for index, todo in enumerate(todos):
        if not isinstance(todo, dict):
            yield f"todos[{index}]: expected an object, received {type_name(todo)}"
            continue
        given = cast("dict[Any, Any]", todo)
        for key, empty in (("content", "Content cannot be empty"), ("activeForm", "Active form cannot be empty")):
            value = given.get(key)
            if not isinstance(value, str):
                yield _describe_missing_text(f"todos[{index}].{key}", given, key)
            elif not value:
                yield f"todos[{index}].{key}: {empty}"
        status = given.get("status")
        if not isinstance(status, str):
            yield _describe_missing_text(f"todos[{index}].status", given, "status")
        elif status not in base.THREE:
            expected = "|".join(f"'{name}'" for name in base.THREE)
            yield f"todos[{index}].status: invalid value, expected one of {expected}"


def _describe_missing_text(name: str, given: dict[str, Any], key: str) -> str:
    return describe_type(name, "string", given[key]) if key in given else f"The required parameter `{name}` is missing"


def render(result: base.Result) -> base.Reply:
    if refusals := result.refusals:
        return result.refuse("\n".join(problem.text for problem in refusals))
    new = [
        {"content": entry.content, "status": entry.status.value, "activeForm": entry.active_form}
        for entry in result.entries
    ]
    old = [
        {"content": item.content, "status": near.value, "activeForm": item.label}
        for item in result.before.items
        if (near := POLICY.shows(item.status)) is not None
    ]
    return result.reply(SUCCESS, {"oldTodos": old, "newTodos": new})


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
)
EXIT = Tool(
    name="ExitPlanMode",
    description=(
        "Show your finished plan to the person and ask to begin with it. Only for plans of work that changes "
        "something, and only once nothing is left to be asked. plan is Markdown."
    ),
    input_schema=object_of({"plan": TEXT}),
    annotations={"permission": "ask", "readOnly": False},
)


class ClaudeCodePlans:
    """Claude Code's plan tools. A plan is not begun before a person approved it."""

    tools = (ENTER, EXIT)
    operator_tools = ()
    require_approval = True
    takes_blank = False
    unavailable = "EnterPlanMode is not for agents that another one started: no person would see their plan."
    outside = "ExitPlanMode is for plan mode, which is off. If a plan was approved, go on with it."

    def parse(self, tool: str, args: Any) -> base.PlanCall | base.Invalid:
        is_entering = tool == ENTER.name
        if not isinstance(args, dict) and not (is_entering and args is None):
            return report_issues(tool, [describe_type(None, "object", args)])
        if is_entering:
            return base.EnterPlan()
        given = read_fields(args)
        plan = given.get("plan")
        if not isinstance(plan, str):
            return report_issues(tool, [_describe_missing_text("plan", given, "plan")])
        return base.SubmitPlan(repair(plan))

    def reply_entered(self, at: datetime, reason: str | None, *, already: bool) -> base.Reply:
        return base.Reply(ENTERED, {"message": ENTERED})

    def reply_exited(self, plan: Plan, entered_at: datetime, now: datetime, *, required: bool = True) -> base.Reply:
        if plan.state is PlanState.APPROVED:
            return base.Reply(APPROVED, {"plan": plan.text, "isAgent": False})
        return base.reply_plan_state(plan, now)

    def reply_resolved(self, id: str, *, done: bool) -> base.Reply:
        raise NotImplementedError  # it has no tool for that


DIALECT = base.Dialect(
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    refused_in_plan_mode=(
        "TodoWrite is not available in plan mode: it changes state, and plan mode only reads. "
        "Write the list once the plan is approved."
    ),
    withheld_in=frozenset({"commit", "pull_request"}),
    plans=ClaudeCodePlans(),
    lossy=(*base.LOST_IN_THREE, "no ids, phases, notes, priorities, parents or explanation"),
)
