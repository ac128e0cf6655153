"""How Codex tells others about its plan: the core event, the app server's notification, and exec's JSON lines.

The checklist of `update_plan` and the proposed plan of Plan mode go by channels of their own. A proposed plan is not
in exec's lines, and takes no id of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from punchlist.core.plan import Step
from punchlist.core.todo import WORDS, Status, TodoList
from punchlist.dialects.base import shown_items
from punchlist.dialects.codex import POLICY

_CAMEL = {Status.PENDING: "pending", Status.IN_PROGRESS: "inProgress", Status.COMPLETED: "completed"}


def plan_update(todos: TodoList) -> dict[str, Any]:
    """The core event `plan_update`."""
    plan = [{"step": item.content, "status": WORDS[near]} for item, near in shown_items(todos, POLICY)]
    return {"type": "plan_update", "explanation": todos.explanation, "plan": plan}


def turn_plan_updated(todos: TodoList, *, thread_id: str, turn_id: str) -> dict[str, Any]:
    """The app server's notification, with camelCase statuses; `explanation` is always there."""
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
        """An id from the counter that all items of the thread share."""
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
        """What comes before the turn's own closing event, however it ended."""
        if self._running is not None:
            yield {"type": "item.completed", "item": self._running}
            self._running = None


# The proposed plan.


def plan_step(kind: str, data: Mapping[str, Any]) -> tuple[str, Step] | None:
    """The item and the step of its stream that an event of the board stands for; None if it is another event.

    Steps that come straight from a `PlanStream` need no such reading.
    """
    item = data.get("item")
    if not isinstance(item, str):
        return None
    match kind:
        case "approval.started":
            return item, Step("started")
        case "approval.delta":
            return item, Step("delta", str(data.get("delta", "")))
        case "approval.proposed":
            return item, Step("completed", str(data.get("text", "")))
        case _:
            return None


def plan_event(
    step: Step, *, thread_id: str, turn_id: str, item_id: str, at: datetime | None = None
) -> dict[str, Any] | None:
    """The core event of a step: `item_started`, `plan_delta` or `item_completed`; None for visible text.

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


def plan_notification(step: Step, *, thread_id: str, turn_id: str, item_id: str) -> dict[str, Any] | None:
    """The app server's notification of a step: `item/started`, `item/plan/delta` or `item/completed`.

    The pieces put together need not be the text of the completed item; that is the one that counts.
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
