"""A list as an ACP plan.

Version 1 knows `pending`, `in_progress` and `completed`. As in Hermes a cancelled item is completed and its text says
what it is; blocked and failed items are pending. What the protocol has no field for is in `_meta`, under `punchlist/…`.
"""

from __future__ import annotations

from typing import Any, Final

from punchlist.core.todo import WORDS, Status, TodoItem, TodoList

Update = dict[str, Any]
"""The `update` of a `session/update` notification, as it goes over the wire."""

OURS: Final = "punchlist/"
CANCELLED: Final = "[cancelled] "
_SHOWN: Final = {Status.CANCELLED: "completed", Status.BLOCKED: "pending", Status.FAILED: "pending"}
_PRIORITIES: Final = frozenset({"high", "medium", "low"})


def plan(todos: TodoList) -> Update:
    """The whole list as the one plan of a session; an empty list clears it."""
    return {"sessionUpdate": "plan", "entries": plan_entries(todos), "_meta": _list_meta(todos)}


def plan_update(todos: TodoList, *, plan_id: str) -> Update:
    """The whole list as one plan of several; for clients that said `clientCapabilities.plan`."""
    items = {"type": "items", "planId": plan_id, "entries": plan_entries(todos)}
    return {"sessionUpdate": "plan_update", "plan": items, "_meta": _list_meta(todos)}


def plan_text(text: str, *, plan_id: str) -> Update:
    """A plan that waits for approval, as Markdown; for the same clients."""
    return {"sessionUpdate": "plan_update", "plan": {"type": "markdown", "planId": plan_id, "content": text}}


def plan_removed(plan_id: str) -> Update:
    return {"sessionUpdate": "plan_removed", "planId": plan_id}


def plan_entries(todos: TodoList) -> list[dict[str, Any]]:
    return [_entry(item) for item in todos.items]


def _entry(item: TodoItem) -> dict[str, Any]:
    content = item.content if item.content.strip() else item.aliases.get("hermes", item.id)
    given = (item.priority or "").lower()
    return {
        "content": f"{CANCELLED}{content}" if item.status is Status.CANCELLED else content,
        "priority": given if given in _PRIORITIES else "medium",
        "status": _SHOWN.get(item.status, WORDS[item.status]),
        "_meta": _item_meta(item, given),
    }


def _item_meta(item: TodoItem, priority: str) -> dict[str, Any]:
    known: dict[str, Any] = {
        "id": item.id,
        "active_form": item.active_form,
        "status": WORDS[item.status] if item.status in _SHOWN else None,
        "priority": item.priority if priority not in _PRIORITIES else None,
        "phase": item.phase,
        "parent": item.parent,
        "blocker": item.blocker.reason if item.blocker is not None else None,
        "waits_on": item.blocker.on if item.blocker is not None else None,
        "evidence": [evidence.text for evidence in item.evidence],
        "grade": item.grade,
    }
    return {f"{OURS}{name}": value for name, value in known.items() if value}


def _list_meta(todos: TodoList) -> dict[str, Any]:
    meta: dict[str, Any] = {f"{OURS}revision": todos.revision}
    return meta | ({f"{OURS}explanation": todos.explanation} if todos.explanation else {})
