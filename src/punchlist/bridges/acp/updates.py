"""Turn the events of a board into the updates of one ACP session: live, or replayed from a record.

The plan of a session is the list of its agent. Lists of its children are plans of their own, for clients that can show
several; tool calls are shown of all. An unchanged plan is not sent again.

Version 1 of the protocol knows `pending`, `in_progress` and `completed`. As in Hermes a cancelled item is completed and
its text says so; blocked and failed items are pending. Other fields are in `_meta`, under `punchlist/…`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

from punchlist.bridges.acp.calls import OURS, AcpCalls, Update, preview_title
from punchlist.bridges.lists import Lists, Look
from punchlist.core.approval import Plan
from punchlist.core.events import REPORTS, TURN_ENDS, Event
from punchlist.core.grounding.observe import call_from
from punchlist.core.grounding.places import Place
from punchlist.core.grounding.tool_call import ToolCall
from punchlist.core.todo import Status, TodoItem, TodoList

# A list as a plan.


CANCELLED: Final = "[cancelled] "
_SHOWN: Final = {Status.CANCELLED: "completed", Status.BLOCKED: "pending", Status.FAILED: "pending"}
_PRIORITIES: Final = frozenset({"high", "medium", "low"})


def plan(todos: TodoList) -> Update:
    """Return the list as the one plan of a session; an empty list clears it."""
    return {"sessionUpdate": "plan", "entries": plan_entries(todos), "_meta": _make_list_meta(todos)}


def plan_update(todos: TodoList, *, plan_id: str) -> Update:
    """Return the list as one plan of several, for clients that said `clientCapabilities.plan`."""
    items = {"type": "items", "planId": plan_id, "entries": plan_entries(todos)}
    return {"sessionUpdate": "plan_update", "plan": items, "_meta": _make_list_meta(todos)}


def plan_text(text: str, *, plan_id: str) -> Update:
    """Return a plan that waits for approval, as Markdown; for the same clients."""
    return {"sessionUpdate": "plan_update", "plan": {"type": "markdown", "planId": plan_id, "content": text}}


def plan_removed(plan_id: str) -> Update:
    return {"sessionUpdate": "plan_removed", "planId": plan_id}


def plan_entries(todos: TodoList) -> list[dict[str, Any]]:
    return [_make_entry(item) for item in todos.items]


def _make_entry(item: TodoItem) -> dict[str, Any]:
    content = item.content if item.content.strip() else item.aliases.get("hermes", item.id)
    given = (item.priority or "").lower()
    return {
        "content": f"{CANCELLED}{content}" if item.status is Status.CANCELLED else content,
        "priority": given if given in _PRIORITIES else "medium",
        "status": _SHOWN.get(item.status, item.status.value),
        "_meta": _make_item_meta(item, given),
    }


def _make_item_meta(item: TodoItem, priority: str) -> dict[str, Any]:
    known: dict[str, Any] = {
        "id": item.id,
        "active_form": item.active_form,
        "status": item.status.value if item.status in _SHOWN else None,
        "priority": item.priority if priority not in _PRIORITIES else None,
        "phase": item.phase,
        "parent": item.parent,
        "blocker": item.blocker.reason if item.blocker is not None else None,
        "waits_on": item.blocker.on if item.blocker is not None else None,
        "evidence": [evidence.text for evidence in item.evidence],
        "grade": item.grade,
    }
    return {f"{OURS}{name}": value for name, value in known.items() if value}


def _make_list_meta(todos: TodoList) -> dict[str, Any]:
    meta: dict[str, Any] = {f"{OURS}revision": todos.revision}
    return meta | ({f"{OURS}explanation": todos.explanation} if todos.explanation else {})


_UNDECIDED: Final = frozenset({"approval.rejected", "approval.superseded"})


class Updates:
    """The updates of one session. `plans`: the client takes `plan_update`.

    `look` is asked for a list of which events are missing.
    """

    def __init__(self, session: str, agent: str = "main", *, plans: bool = False, look: Look | None = None) -> None:
        self.session = session
        self.agent = agent
        self.plans = plans
        self.calls = AcpCalls()
        self.lists = Lists(look)
        self._open: dict[str, dict[str, None]] = {}
        self._sent: dict[str, Any] = {}
        self._texts: dict[str, str] = {}

    def begin(
        self, todos: TodoList, others: Mapping[str, TodoList] | None = None, waiting: Iterable[Plan] = ()
    ) -> list[Update]:
        """Return the present list, before anything else is sent; earlier events are skipped then.

        A client that takes plans is also sent those of `others`, by their names, and plans that wait for approval.
        """
        self._open[self.agent] = dict.fromkeys(self.calls.running)
        lists = {self.agent: todos, **(others or {})}
        for agent, known in lists.items():
            self.lists.know(self.session, agent, known)
        updates = [update for agent, known in lists.items() if known.items for update in self._show_plan(agent, known)]
        texts = [update for plan in waiting for update in self._show_waiting(plan.id, plan.text)] if self.plans else []
        return updates + texts

    def add(self, event: Event) -> list[Update]:
        """Return the updates of one event, in order."""
        if event.session != self.session or event.agent is None:
            return []
        if event.kind in REPORTS:
            return self._show_call(event.agent, event)
        if event.kind in TURN_ENDS:
            return self.calls.give_up(self._open.pop(event.agent, {}))
        if event.kind.startswith("approval."):
            return self._show_approval(event.kind, event.data) if self.plans else []
        change = self.lists.add(event)
        if change is not None:
            return self._show_plan(event.agent, change.shown)
        if event.kind == "list.confirmed" and event.agent in self._sent:  # a finished list is no longer shown
            return self._show_plan(event.agent, self.lists.known(self.session, event.agent))
        return []

    def _show_plan(self, agent: str, todos: TodoList) -> list[Update]:
        if agent != self.agent and not self.plans:
            return []
        update = plan_update(todos, plan_id=agent) if self.plans else plan(todos)
        said = update["plan"] if self.plans else update["entries"]
        if self._sent.get(agent) == said:
            return []
        self._sent[agent] = said
        return [update]

    def _show_approval(self, kind: str, data: Mapping[str, Any]) -> list[Update]:
        plan = str(data.get("plan", ""))
        if kind == "approval.proposed":
            return self._show_waiting(plan, str(data.get("text", "")))
        if kind not in _UNDECIDED:
            return []
        self._texts.pop(plan, None)
        return [plan_removed(f"plan:{plan}")]

    def _show_waiting(self, plan: str, text: str) -> list[Update]:
        if self._texts.get(plan) == text:
            return []
        self._texts[plan] = text
        return [plan_text(text, plan_id=f"plan:{plan}")]

    def _show_call(self, agent: str, event: Event) -> list[Update]:
        report = call_from(event.kind, event.data, event.at, event.seq)
        call_id = report.id if agent == self.agent else f"{agent}/{report.id}"
        meta = _make_meta(agent if agent != self.agent else "", report)
        updates: list[Update | None] = []
        if not self.calls.knows(call_id) and report.name:
            title = preview_title(report.name, report.preview, is_command=report.kind == "shell")
            found = [*_read_places(event.data), *({"path": path} for path in report.files)]
            updates.append(self.calls.start(call_id, report.name, title=title, found=found, meta=meta))
        if call_id in self.calls.running:  # perhaps started by the host itself
            self._open.setdefault(agent, {})[call_id] = None
        if report.finished is not None:
            self._open.get(agent, {}).pop(call_id, None)
            failed = report.outcome == "failed"
            updates.append(
                self.calls.finish(
                    call_id, report.result or None, is_error=failed, found=_read_places(event.data), meta=meta
                )
            )
        elif report.started is None:
            updates.append(self.calls.update(call_id, report.preview or None, meta=meta))
        return [update for update in updates if update is not None]


def replay(
    events: Iterable[Event], session: str, agent: str = "main", *, plans: bool = False, look: Look | None = None
) -> Iterator[Update]:
    """Yield all updates of a session, from a record that begins with it. Calls still open are given up at the end."""
    updates = Updates(session, agent, plans=plans, look=look)
    for event in events:
        yield from updates.add(event)
    yield from updates.calls.give_up()


def _read_places(data: Mapping[str, Any]) -> list[Place]:
    found = data.get("places")
    return [place for place in cast("list[Any]", found) if isinstance(place, dict)] if isinstance(found, list) else []


def _make_meta(agent: str, report: ToolCall) -> dict[str, Any] | None:
    """Return whose call it is, if another agent's; the item that it belongs to; the outcome of a check."""
    known = {"agent": agent, "item": report.item, "check_outcome": report.check_outcome}
    return {f"{OURS}{name}": value for name, value in known.items() if value} or None
