"""`update_plan` of Codex (main of 2026-08-22): any number of steps in progress, unknown fields refused.

The tool is refused in Plan mode before its arguments are read. It has no limits on count or length; empty steps pass.
The original's arguments are a JSON text; arguments given as an object are read as its compact text. A payload that is
no function's (`update_plan handler received unsupported payload`) cannot reach us: `call` only takes arguments.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, cast

from punchlist.core.commands import Entry, Policy, Replace
from punchlist.core.plan import PlanStreamStep
from punchlist.core.todo import Status, TodoList
from punchlist.dialects.advice import TEXT, Tool, list_of, object_of, one_of, verbose
from punchlist.dialects.base import IN_THREE, LOST_IN_THREE, THREE, Dialect, Invalid, Parsed, Reply, Result, shown_items
from punchlist.dialects.serde import Reader, SerdeError
from punchlist.text import repair

POLICY = Policy(dialect="codex", refuse_unknown_fields=True, shown=IN_THREE)

EXAMPLE = {
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
    examples=(EXAMPLE,),
    verbose=verbose(
        "Writes the task plan: its steps with a status each, and an explanation where something changed.",
        EXAMPLE,
        rules="Steps are short, a few words each. No other fields than these are taken.",
    ),
)


def parse(_tool: str, args: Any) -> Parsed:
    try:
        return _read_arguments(repair(args if isinstance(args, str) else _write_compact(args)))
    except SerdeError as error:
        return Invalid(f"failed to parse function arguments: {error}")


def _write_compact(args: Any) -> str:
    try:
        return json.dumps(
            _trim(args, 0), ensure_ascii=False, separators=(",", ":"), skipkeys=True, default=lambda _: None
        )
    except ValueError:  # a number of thousands of digits
        raise SerdeError("number out of range at line 1 column 1") from None


def _trim(value: Any, depth: int) -> Any:
    """Return the part of the arguments that is read: a third field is a mistake, and no value is five levels deep."""
    if depth > 5:
        return None
    if isinstance(value, dict):
        return {key: _trim(part, depth + 1) for key, part in islice(cast("dict[Any, Any]", value).items(), 3)}
    if isinstance(value, list):
        parts = cast("list[Any]", value)
        return [_trim(part, depth + 1) for part in (parts if depth == 1 else parts[:3])]
    return value


def _read_arguments(text: str) -> Replace:
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
        return result.refuse()
    return result.reply("Plan updated", {})


_CAMEL = {Status.PENDING: "pending", Status.IN_PROGRESS: "inProgress", Status.COMPLETED: "completed"}


def plan_update(todos: TodoList) -> dict[str, Any]:
    """Return the core event `plan_update`."""
    plan = [{"step": item.content, "status": near.value} for item, near in shown_items(todos, POLICY)]
    return {"type": "plan_update", "explanation": todos.explanation, "plan": plan}


def turn_plan_updated(todos: TodoList, *, thread_id: str, turn_id: str) -> dict[str, Any]:
    """Return the app server's notification, with camelCase statuses; `explanation` is always there."""
    plan = [{"step": item.content, "status": _CAMEL[near]} for item, near in shown_items(todos, POLICY)]
    params = {"threadId": thread_id, "turnId": turn_id, "explanation": todos.explanation, "plan": plan}
    return {"method": "turn/plan/updated", "params": params}


class ExecItems:
    """The JSON lines of `exec --json` for one thread.

    The first update of a turn starts an item with a fresh id from the shared counter, later ones update it, and the
    end of the turn completes it once; the next turn gets a new id.
    """

    def __init__(self) -> None:
        self._next = 0
        self._running: dict[str, Any] | None = None

    def fresh_id(self) -> str:
        """Return an id from the counter that all items of the thread share."""
        self._next += 1
        return f"item_{self._next - 1}"

    def updated(self, todos: TodoList) -> dict[str, Any]:
        started = self._running is None
        item_id = self.fresh_id() if self._running is None else self._running["id"]
        items = [
            {"text": item.content, "completed": near is Status.COMPLETED} for item, near in shown_items(todos, POLICY)
        ]
        self._running = {"id": item_id, "type": "todo_list", "items": items}
        return {"type": "item.started" if started else "item.updated", "item": self._running}

    def turn_ended(self) -> Iterator[dict[str, Any]]:
        """Yield the line before the turn's own closing event, however it ended."""
        if self._running is not None:
            yield {"type": "item.completed", "item": self._running}
            self._running = None


# The proposed plan.


def plan_step(kind: str, data: Mapping[str, Any]) -> tuple[str, PlanStreamStep] | None:
    """Return the item and the step of its stream for an event of the board; None for another event.

    Steps that come directly from a `PlanStream` do not need this.
    """
    item = data.get("item")
    if not isinstance(item, str):
        return None
    match kind:
        case "approval.started":
            return item, PlanStreamStep("started")
        case "approval.delta":
            return item, PlanStreamStep("delta", str(data.get("delta", "")))
        case "approval.proposed":
            return item, PlanStreamStep("completed", str(data.get("text", "")))
        case _:
            return None


def plan_event(
    step: PlanStreamStep, *, thread_id: str, turn_id: str, item_id: str, at: datetime | None = None
) -> dict[str, Any] | None:
    """Return the core event of a step: `item_started`, `plan_delta` or `item_completed`; None for visible text.

    With `at` a completed item carries its time, as in the records on disk.
    """
    place = {"thread_id": thread_id, "turn_id": turn_id}
    match step.kind:
        case "visible" | "dropped":
            return None
        case "delta":
            return {"type": "plan_delta", **place, "item_id": item_id, "delta": step.text}
        case "started" | "completed":
            item = {"type": "Plan", "id": item_id, "text": step.text}
            when = {} if at is None or step.kind == "started" else {"completed_at_ms": int(at.timestamp() * 1000)}
            return {"type": f"item_{step.kind}", **place, "item": item, **when}


def plan_notification(step: PlanStreamStep, *, thread_id: str, turn_id: str, item_id: str) -> dict[str, Any] | None:
    """Return the app server's notification of a step: `item/started`, `item/plan/delta` or `item/completed`.

    The deltas joined need not equal the text of the completed item; the completed text counts.
    """
    place = {"threadId": thread_id, "turnId": turn_id}
    match step.kind:
        case "visible" | "dropped":
            return None
        case "delta":
            params = {**place, "itemId": item_id, "delta": step.text}
            return {"method": "item/plan/delta", "params": params}
        case "started" | "completed":
            item = {"type": "plan", "id": item_id, "text": step.text}
            return {"method": f"item/{step.kind}", "params": {**place, "item": item}}


DIALECT = Dialect(
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    refused_in_plan_mode="update_plan is a TODO/checklist tool and is not allowed in Plan mode",
    repairs=frozenset({"json_string"}),
    lossy=(*LOST_IN_THREE, "no ids, active forms, phases, notes, priorities or parents"),
)
