"""`update_plan` of Codex (main of 2026-08-22): any number of steps in progress, unknown fields refused.

The tool is refused in Plan mode before its arguments are read. No limits on count or length; empty steps pass.
"""

from __future__ import annotations

from typing import Any, cast

from punchlist.core.commands import Command, Entry, Policy, Query, Replace
from punchlist.dialects.base import IN_THREE, LOST_IN_THREE, THREE, Dialect, Invalid, Reply, Result, Tool, sound
from punchlist.dialects.repair import from_json
from punchlist.dialects.serde import Reader, SerdeError

POLICY = Policy(dialect="codex", refuse_unknown_fields=True, shown=IN_THREE)

TOOL = Tool(
    name="update_plan",
    description=(
        "Write the task plan: short steps, each with a status, and an explanation if something changed. "
        "For work of several steps, not for a single easy one. Keep at most one step in_progress and "
        "mark it completed before going on."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "explanation": {"type": "string"},
            "plan": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "step": {"type": "string"},
                        "status": {"type": "string", "enum": list(THREE)},
                    },
                    "required": ["step", "status"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["plan"],
        "additionalProperties": False,
    },
    annotations={"strict": False},
)


def parse(_tool: str, args: Any) -> Command | Query | Invalid:
    try:
        return _command(from_json(args))
    except SerdeError as error:
        return Invalid(f"failed to parse function arguments: {sound(str(error))}")


def _command(args: Any) -> Replace:
    reader = Reader()

    def step(value: Any) -> Entry:
        fields = reader.struct(value, "PlanItemArg", [("step", reader.string), ("status", _status)])
        for name in ("step", "status"):
            if name not in fields:
                raise reader.missing(name)
        return Entry(sound(fields["step"]), THREE[fields["status"]])

    def _status(value: Any) -> str:
        return reader.variant(value, list(THREE))

    def plan(value: Any) -> list[Entry]:
        return reader.array(value, step)

    given = reader.struct(args, "UpdatePlanArgs", [("explanation", reader.optional), ("plan", plan)])
    if "plan" not in given:
        raise reader.missing("plan")
    return Replace(tuple(cast("list[Entry]", given["plan"])), explanation=sound(given.get("explanation") or ""))


def render(result: Result) -> Reply:
    if result.refusals:
        return Reply(result.refusals[0].text, is_error=True, problems=result.problems)
    return Reply("Plan updated", {}, problems=result.problems)


DIALECT = Dialect(
    name="codex",
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    statuses=tuple(THREE),
    refused_in_plan_mode="update_plan is a TODO/checklist tool and is not allowed in Plan mode",
    repairs=frozenset({"json_string"}),
    lossy=(*LOST_IN_THREE, "no ids, active forms, phases, notes, priorities or parents"),
)
