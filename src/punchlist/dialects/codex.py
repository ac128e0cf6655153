"""`update_plan` of Codex (main of 2026-08-22): any number of steps in progress, unknown fields refused.

The tool is refused in Plan mode before its arguments are read. No limits on count or length; empty steps pass. Its
arguments are a JSON text in the original; given as an object, they are read as its compact text. A payload that is no
function's (`update_plan handler received unsupported payload`) cannot reach us: `call` only takes arguments.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import Any, cast

from punchlist.core.commands import Command, Entry, Policy, Query, Replace
from punchlist.dialects.advice import verbose
from punchlist.dialects.base import IN_THREE, LOST_IN_THREE, THREE, Dialect, Invalid, Reply, Result, Tool, sound
from punchlist.dialects.schema import TEXT, list_of, object_of, one_of
from punchlist.dialects.serde import Reader, SerdeError
from punchlist.text import repair

POLICY = Policy(dialect="codex", refuse_unknown_fields=True, shown=IN_THREE)

_EXAMPLE = {
    "explanation": "The loop is in the lexer",
    "plan": [
        {"step": "Read the lexer", "status": "in_progress"},
        {"step": "Fix the loop", "status": "pending"},
    ],
}

TOOL = Tool(
    name="update_plan",
    description=(
        "Write the task plan: short steps, each with a status, and an explanation if something changed. "
        "For work of several steps, not for a single easy one. Keep at most one step in_progress and "
        "mark it completed before going on."
    ),
    input_schema=object_of(
        {"explanation": TEXT, "plan": list_of(object_of({"step": TEXT, "status": one_of(THREE)}, others=False))},
        required=["plan"],
        others=False,
    ),
    annotations={"strict": False},
    examples=(_EXAMPLE,),
    verbose=verbose(
        "Writes the task plan: its steps with a status each, and an explanation where something changed.",
        _EXAMPLE,
        rules="Steps are short, a few words each. No other fields than these are taken.",
    ),
)


def parse(_tool: str, args: Any) -> Command | Query | Invalid:
    command = None if isinstance(args, str) else _quick(args)
    if command is not None:
        return command
    try:
        return _read(repair(args if isinstance(args, str) else _compact(args)))
    except SerdeError as error:
        return Invalid(f"failed to parse function arguments: {error}")


def _quick(args: Any) -> Replace | None:
    """The command, if the arguments are an object as it should be; None if a mistake has to be looked for."""
    given = cast("dict[Any, Any]", args) if isinstance(args, dict) else {}
    plan, explanation = given.get("plan"), given.get("explanation")
    if not isinstance(plan, list) or not given.keys() <= {"plan", "explanation"}:
        return None
    entries: list[Entry] = []
    for step in cast("list[Any]", plan):
        fields = cast("dict[Any, Any]", step) if isinstance(step, dict) else {}
        text, word = fields.get("step"), fields.get("status")
        if len(fields) != 2 or not isinstance(text, str) or not isinstance(word, str) or word not in THREE:
            return None
        entries.append(Entry(sound(text), THREE[word]))
    if explanation is None or isinstance(explanation, str):
        return Replace(tuple(entries), explanation=sound(explanation or ""))
    return None


def _compact(args: Any) -> str:
    try:
        return json.dumps(
            _first(args, 0), ensure_ascii=False, separators=(",", ":"), skipkeys=True, default=lambda _: None
        )
    except ValueError:  # a number of thousands of digits
        raise SerdeError("number out of range at line 1 column 1") from None


def _first(value: Any, depth: int) -> Any:
    """As much of the arguments as can matter: a third field is a mistake, and nothing is read five levels deep."""
    if depth > 5:
        return None
    if isinstance(value, dict):
        return {key: _first(part, depth + 1) for key, part in islice(cast("dict[Any, Any]", value).items(), 3)}
    if isinstance(value, list):
        parts = cast("list[Any]", value)
        return [_first(part, depth + 1) for part in (parts if depth == 1 else parts[:3])]
    return value


def _read(text: str) -> Replace:
    reader = Reader(text)

    def status() -> str:
        return reader.variant(list(THREE))

    def step() -> Entry:
        fields = reader.struct("PlanItemArg", {"step": reader.string, "status": status}, ("step", "status"))
        return Entry(fields["step"], THREE[fields["status"]])

    def plan() -> list[Entry]:
        return reader.array(step)

    given = reader.struct("UpdatePlanArgs", {"explanation": reader.optional, "plan": plan}, ("plan",))
    reader.end()
    return Replace(tuple(given["plan"]), explanation=given.get("explanation") or "")


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
