"""How Codex tells others about its plan: the core event, the app server's notification, and exec's JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
