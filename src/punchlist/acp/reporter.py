"""Send updates to an ACP client, over a connection of the protocol's official SDK (`pip install punchlist[acp]`).

A host that speaks ACP makes a `Reporter` for each session. An update that cannot be sent is logged and never raised
into the agent. If the client is gone, nothing more is sent. `ask_approval` asks the person at the client about a plan,
with `session/request_permission`.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import Any, Final, Protocol, cast

from punchlist.acp.updates import Update, Updates, call_content, raw
from punchlist.agent import Agent
from punchlist.core.approval import Plan, PlanState
from punchlist.core.todo import Status, TodoList
from punchlist.errors import ExtraMissing, PlanMissing, PunchlistError, StoreClosed
from punchlist.guidance.tools import kind as known_kind
from punchlist.projections.followed_lists import Lists, looking_into
from punchlist.text import clean, repair

logger = logging.getLogger(__name__)


# Calls of todo tools, shown as Hermes shows them.


_LISTS: Final = ("todos", "plan", "items", "set", "add", "todoList", "task_list")
_TEXTS: Final = ("content", "step", "text", "title", "description", "subject")
_MOST_LINES: Final = 8
_MARKS: Final = {Status.COMPLETED: "✅", Status.IN_PROGRESS: "🔄", Status.CANCELLED: "✗"}
_WAITING: Final = "⏳"


def todo_title(name: str, arguments: Any) -> str:
    """Return `todo`, or `todo (2 items)` if it writes some."""
    entries = _find_entries(arguments)
    if entries is None:
        return name
    return f"{name} (1 item)" if len(entries) == 1 else f"{name} ({len(entries)} items)"


def todo_start(arguments: Any) -> str:
    """Describe what the call is about to do."""
    entries = _find_entries(arguments)
    if entries is None:
        return "Updating todo list" if arguments else "Reading todo list"
    lines = [_show_entry(entry) for entry in entries[:_MOST_LINES]]
    more = [f"... {len(entries) - _MOST_LINES} more"] if len(entries) > _MOST_LINES else []
    return "\n".join(["Updating todo list", "", *lines, *more])


def todo_end(todos: TodoList) -> str:
    """Return the list in Markdown, and its progress. Blocked and failed items are pending."""
    lines = [f"- {_MARKS.get(item.status, _WAITING)} {_to_line(item.content)}" for item in todos.items]
    done, now, gone = (
        sum(item.status is status for item in todos.items)
        for status in (Status.COMPLETED, Status.IN_PROGRESS, Status.CANCELLED)
    )
    progress = f"**Progress:** {done} completed, {now} in progress, {len(todos.items) - done - now - gone} pending"
    return "\n".join(["**Todo list**", "", *lines, "", progress + (f", {gone} cancelled" if gone else "")])


def _find_entries(arguments: Any) -> list[Any] | None:
    if not isinstance(arguments, Mapping):
        return None
    fields = cast("Mapping[Any, Any]", arguments)
    for key in _LISTS:
        found = fields.get(key)
        if isinstance(found, list):
            return cast("list[Any]", found)
    return None


def _show_entry(entry: Any) -> str:
    fields = cast("Mapping[Any, Any]", entry) if isinstance(entry, Mapping) else {"content": entry}
    text = next((value for key in _TEXTS if isinstance(value := fields.get(key), str)), "")
    return f"- {_to_line(str(fields.get('status', 'pending')))}: {_to_line(text)}"


def _to_line(text: str) -> str:
    return clean(text, lines=False).text


_PAGE = 1_000
_WAIT = 1.0
"""Seconds that a thread waits for news, so that a cancelled `follow` does not hold it for long."""

_MOST_TODO_CALLS = 64
"""Open calls that are remembered: a host may never report an end."""


class UpdateConnection(Protocol):
    """The part of the SDK's `AgentSideConnection` that sends updates."""

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None: ...


def takes_plans(capabilities: object) -> bool:
    """True if a client said `clientCapabilities.plan`, in the SDK's own object or in a mapping of the wire."""
    if isinstance(capabilities, Mapping):
        return cast("Mapping[str, Any]", capabilities).get("plan") is not None
    return getattr(capabilities, "plan", None) is not None


class Reporter:
    """One ACP session that shows one agent and its children.

    `session_id` is the protocol's; by default it is the agent's session. `capabilities` are those that the client gave
    with `initialize`. The first updates are the present plans; `replay` sends all that is recorded instead.
    Raises `ExtraMissing` without the SDK.
    """

    def __init__(
        self, connection: UpdateConnection, agent: Agent, *, session_id: str | None = None, capabilities: object = None
    ) -> None:
        if find_spec("acp") is None:
            raise ExtraMissing(what="The Agent Client Protocol", extra="acp")
        self.session_id = agent.session if session_id is None else session_id
        self.is_broken = False
        self._connection = connection
        self._agent = agent
        self._plans = takes_plans(capabilities)
        self._updates = self._make_updates()
        self._cursor: int | None = None
        self._todo_calls: dict[str, None] = {}
        self._alone = asyncio.Lock()  # `send` and `replay` share the cursor, and updates keep their order

    async def send(self) -> int:
        """Send what is new since the last time, and return the number of updates."""
        async with self._alone:
            if self._cursor is None:
                return await self._deliver(await asyncio.to_thread(self._begin))
            return await self._send_events()

    async def replay(self) -> int:
        """Send everything that is recorded of the session, for `session/load`; `send` continues from there."""
        async with self._alone:
            self._updates, self._cursor = self._make_updates(), 0
            sent = await self._send_events()
            return sent + await self._deliver(self._updates.calls.give_up())

    async def follow(self) -> None:
        """Send news as it happens, until the board is closed, the client is gone, or this task is cancelled."""
        store = self._agent.board.store
        try:
            await self.send()
            while not self.is_broken:
                await asyncio.to_thread(store.wait, self._cursor or 0, _WAIT)
                await self.send()
        except StoreClosed:
            return

    # For a host that shows more of a call than the board keeps: its arguments and its result.

    async def tool_started(self, call_id: str, name: str, arguments: Any = None) -> None:
        """Begin a call. One of a todo tool is shown as in Hermes: the list, not the arguments that write it."""
        calls, call_id, name, arguments = self._updates.calls, _to_text(call_id), _to_text(name), raw(arguments)
        if known_kind(name) != "todo":
            await self._deliver([calls.start(call_id, name, arguments)])
            return
        update = calls.start(call_id, name, title=todo_title(name, arguments))
        if update is not None:
            self._todo_calls[call_id] = None
            if len(self._todo_calls) > _MOST_TODO_CALLS:
                del self._todo_calls[next(iter(self._todo_calls))]
            await self._deliver([update | {"content": call_content(todo_start(arguments))}])

    async def tool_updated(self, call_id: str, partial: Any = None) -> None:
        await self._deliver([self._updates.calls.update(_to_text(call_id), partial)])

    async def tool_finished(self, call_id: str, result: Any = None, *, is_error: bool = False) -> None:
        call_id = _to_text(call_id)
        if self._todo_calls.pop(call_id, "") is None and not is_error:
            update = self._updates.calls.finish(call_id)
            content = call_content(todo_end(await asyncio.to_thread(self._read_list)))
            await self._deliver([] if update is None else [update | {"content": content}])
            return
        await self._deliver([self._updates.calls.finish(call_id, result, is_error=is_error)])

    def _make_updates(self) -> Updates:
        agent = self._agent
        return Updates(agent.session, agent.name, plans=self._plans, look=looking_into(agent.board))

    def _read_list(self) -> TodoList:
        """Return the list, or the finished one that its dialect has cleared just now."""
        agent = self._agent
        todos, lists = agent.todos, Lists(looking_into(agent.board))
        for event in agent.board.events(self._cursor or 0) if not todos.items else ():
            if (event.session, event.agent) == (agent.session, agent.name) and (change := lists.add(event)) is not None:
                todos = change.shown
        return todos

    def _begin(self) -> list[Update]:
        agent, board = self._agent, self._agent.board
        self._cursor = board.store.last_seq()  # before the lists, so that no change falls between
        if not self._plans:
            return self._updates.begin(agent.todos)
        others = {row.agent: row.todos for row in board.lists(session=agent.session) if row.agent != agent.name}
        waiting = [row.plan for row in board.plans() if row.session == agent.session]
        return self._updates.begin(agent.todos, others, waiting)

    async def _send_events(self) -> int:
        sent = 0
        store = self._agent.board.store
        while page := await asyncio.to_thread(store.events_after, self._cursor or 0, _PAGE):
            for event in page:
                self._cursor = event.seq
                sent += await self._deliver(self._updates.add(event))
        return sent

    async def _deliver(self, updates: Iterable[Update | None]) -> int:
        sent = 0
        for update in updates:
            if update is not None and not self.is_broken:
                sent += await self._send_one(update)
        return sent

    async def _send_one(self, update: Update) -> bool:
        """Send an update; True if it went out. One that cannot be encoded is not the client's fault."""
        try:
            await self._connection.session_update(self.session_id, _make_model(self.session_id, update))
        except Exception:
            self.is_broken = _is_writable(self.session_id, update)
            logger.exception("an update for the ACP session `%s` could not be sent", self.session_id)
            return False
        return True


def _to_text(given: object) -> str:
    """Return an id or a name as text, whatever a host took for one."""
    return repair(given if isinstance(given, str) else str(given))


def _is_writable(session_id: str, update: Update) -> bool:
    try:
        _make_model(session_id, update).model_dump_json(by_alias=True)
    except Exception:
        return False
    return True


def _make_model(session_id: str, update: Update) -> Any:
    """Return the update as the SDK's object. The SDK takes most of a second to import, so it is imported here."""
    from acp.schema import SessionNotification

    return SessionNotification.model_validate({"sessionId": session_id, "update": update}).update


# Approval of plans.


AUTHOR: Final = "acp"
REFUSED: Final = "The person at the editor wants another plan."
_APPROVE, _REJECT = "approve", "reject"


class PermissionConnection(Protocol):
    """The part of the SDK's `AgentSideConnection` that asks for permission."""

    async def request_permission(self, session_id: str, tool_call: Any, options: list[Any], **kwargs: Any) -> Any: ...


async def ask_approval(
    connection: PermissionConnection,
    agent: Agent,
    *,
    session_id: str | None = None,
    by: str = AUTHOR,
    todos: bool = False,
) -> Plan:
    """Show the plan to the person, decide as they do, and return the plan. Waits as long as they take.

    The decision is about the revision that was shown. If they do not choose, the client is gone, or the plan was
    decided elsewhere, it is left as it is. With `todos` the steps of an approved plan become the todo list.
    Raises `PlanMissing` if none waits.
    """
    plan = await asyncio.to_thread(lambda: agent.plan)
    if plan is None or plan.state is not PlanState.PROPOSED:
        raise PlanMissing
    try:
        chosen = await _ask_person(connection, agent.session if session_id is None else session_id, plan)
        return await asyncio.to_thread(_decide, agent, plan, chosen, by, todos)
    except PunchlistError as error:
        logger.info("the plan of `%s` was not decided by its editor: %s", agent.session, error)
    except Exception:
        logger.exception("the client of `%s` could not be asked about a plan", agent.session)
    return await asyncio.to_thread(lambda: agent.plan) or plan


async def _ask_person(connection: PermissionConnection, session_id: str, plan: Plan) -> str | None:
    """Return the option that the person chose; None if they chose none."""
    from acp.schema import RequestPermissionRequest

    request = RequestPermissionRequest.model_validate(
        {
            "sessionId": session_id,
            "toolCall": {
                "toolCallId": f"plan:{plan.id}:{plan.revision}",
                "title": "Approve the plan?",
                "kind": "switch_mode",
                "status": "pending",
                "content": call_content(plan.text),
            },
            "options": [
                {"optionId": _APPROVE, "name": "Approve, and begin", "kind": "allow_once"},
                {"optionId": _REJECT, "name": "Keep planning", "kind": "reject_once"},
            ],
        }
    )
    answer = await connection.request_permission(session_id, request.tool_call, request.options)
    return getattr(answer.outcome, "option_id", None)


def _decide(agent: Agent, plan: Plan, chosen: str | None, by: str, todos: bool) -> Plan:
    if chosen == _APPROVE:
        return agent.approve_plan(plan.revision, by=by, todos=todos, person=True)
    if chosen == _REJECT:
        return agent.reject_plan(REFUSED, by=by, revision=plan.revision, person=True)
    return agent.plan or plan
