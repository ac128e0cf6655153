"""`update_plan` of OpenClaw (main of 2026-06-25): like Codex's tool, but only one step may be in progress.

Texts are trimmed, as its reader of parameters does. The reply has no text: its details hold the plan.
"""

from typing import Any, cast

from punchlist.core.commands import Entry, Policy, Replace
from punchlist.core.todo import TodoList
from punchlist.dialects import base
from punchlist.dialects.repair import mend, read_fields
from punchlist.dialects.tool_descriptions import TEXT, Tool, list_of, object_of, one_of

POLICY = Policy(dialect="openclaw", focus="refuse", shown=base.ONE_AT_A_TIME)

TOOL = Tool(
    name="update_plan",
    description=(
        "Write the plan of the current run, all its steps each time. For work of several steps, not for a simple "
        "request. Keep short steps, at most one in_progress, and mark a step completed as soon as it is done."
    ),
    input_schema=object_of(
        {
            "explanation": TEXT,
            "plan": list_of(object_of({"step": TEXT, "status": one_of(base.THREE)}, others=True), minItems=1),
        },
        required=["plan"],
    ),
    annotations={"label": "Update Plan", "experimental": True},
)


def parse(_tool: str, args: Any) -> base.Parsed:
    given = read_fields(args)
    plan = given.get("plan")
    if not isinstance(plan, list) or not plan:
        return base.Invalid("plan required")
    entries: list[Entry] = []
    for index, step in enumerate(cast("list[Any]", plan)):
        if not isinstance(step, dict | list):  # an array is an object in JavaScript, one without a step
            return base.Invalid(f"plan[{index}] must be an object")
        fields = read_fields(step)
        text, status = _read_text(fields, "step"), _read_text(fields, "status")
        if not text:
            return base.Invalid(f"plan[{index}].step required")
        if not status:
            return base.Invalid(f"plan[{index}].status required")
        if status not in base.THREE:
            return base.Invalid(f"plan[{index}].status must be one of {', '.join(base.THREE)}")
        entries.append(Entry(text, base.THREE[status]))
    return Replace(tuple(entries), explanation=_read_text(given, "explanation"))


def _read_text(fields: dict[str, Any], key: str) -> str:
    value = fields.get(key)
    return mend(value).strip() if isinstance(value, str) else ""


def render(result: base.Result) -> base.Reply:
    if result.refusals:
        several = result.refusals[0].code == "several_in_progress"
        return result.refuse("plan can contain at most one in_progress step" if several else None)
    written = cast("Replace", result.command)
    details: dict[str, Any] = {"status": "updated"}
    if written.explanation:
        details["explanation"] = written.explanation
    details["plan"] = [{"step": entry.content, "status": entry.status.value} for entry in written.entries]
    return result.reply("", details)


def plan_event(todos: TodoList) -> dict[str, Any]:
    """Return the agent event that OpenClaw sends when the plan changed."""
    data: dict[str, Any] = {"phase": "update", "title": "Plan updated", "source": "codex-app-server"}
    if todos.explanation:
        data["explanation"] = todos.explanation
    data["steps"] = [f"{item.content} ({near.value})" for item, near in base.shown_items(todos, POLICY)]
    return {"stream": "plan", "data": data}


DIALECT = base.Dialect(
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    lossy=(*base.LOST_ONE_AT_A_TIME, "no ids, active forms, phases, notes, priorities or parents"),
    limits=("at least one step",),
)
