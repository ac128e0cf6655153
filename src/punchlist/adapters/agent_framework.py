"""Microsoft's Agent Framework: `TodoProvider(store=TodoStore())` keeps its list on the board, by session id.

The framework brings tools, texts and the loop (`AgentLoopMiddleware` with `todos_remaining()`). `Reports(store)`
in an agent's `middleware` adds the reports of its tools, for the grades.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, cast
from uuid import uuid4

import agent_framework as framework

from punchlist import aio
from punchlist.adapters import Conversations
from punchlist.board import Board
from punchlist.core.merge import item_names
from punchlist.core.todo import Status, TodoItem, TodoList

_IDS: Final = "agent-framework"
_OTHERS: Final = 1_000_000
"""Added to the id of an item that another author added: its number has to be free, and stay."""


class TodoStore(framework.TodoStore):
    """The list of each session on the board. What a person adds or completes there is in the next request."""

    def __init__(self, board: Board | None = None, **options: Any) -> None:
        """`options` are those of `board.agent`."""
        self._conversations = Conversations(board, **options)

    def find(self, session: Any) -> aio.Conversation:
        """Return the conversation of a session of the framework."""
        return self._conversations.find(session.session_id)

    async def load_state(self, session: Any, *, source_id: str) -> tuple[list[Any], int]:
        todos = await self.find(session).todos  # without a board the empty list: a write after that only adds items
        session.state[f"{source_id}.punchlist"] = todos.revision
        numbered = _number(todos)
        items = [
            framework.TodoItem(number, item.content, "\n".join(item.notes) or None, not item.is_open)
            for number, item in numbered.items()
        ]
        return items, max((number for number in numbered if number < _OTHERS), default=0) + 1

    async def save_state(self, session: Any, items: Iterable[Any], *, next_id: int, source_id: str) -> None:
        agent, seen = self.find(session).agent, session.state.get(f"{source_id}.punchlist")
        read = (None if seen is None else await agent.at(seen)) or await agent.todos
        known, names = _number(read), dict(zip(_number(read), item_names(read.items, _IDS), strict=True))
        written = [_describe(item, names.get(item.id, str(item.id)), known.get(item.id)) for item in items]
        session.state[f"{source_id}.punchlist"] = (await agent.write(written, ids=_IDS, seen=seen)).revision


def _number(todos: TodoList) -> Mapping[int, TodoItem]:
    """Return the items by the numbers that the framework knows them by."""
    return {int(item.aliases[_IDS]) if _IDS in item.aliases else _OTHERS + int(item.id): item for item in todos.items}


def _describe(item: Any, name: str, known: TodoItem | None) -> dict[str, Any]:
    """Return an item as it is written. The framework knows open and complete only: else a status stays as it is."""
    written = {"id": name, "content": item.title, "notes": item.description}
    if known is not None and item.is_complete is not known.is_open:
        return written
    return {**written, "status": Status.COMPLETED if item.is_complete else Status.PENDING}


class Reports(framework.FunctionMiddleware):
    """Reports the calls of an agent's tools to the session of its list."""

    def __init__(self, store: TodoStore) -> None:
        self._store = store

    async def process(self, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
        name = context.function.name
        if context.session is None or name.startswith("todos_"):
            await call_next()
            return
        async with self._store.find(context.session).tool(uuid4().hex, name, context.arguments) as outcome:
            await call_next()
            outcome.result = _as_text(context.result)


def _as_text(result: Any) -> str:
    """Return the text of a result, which is a list of contents once the framework has taken it."""
    parts = cast("list[Any]", result) if isinstance(result, list) else [result]
    return "\n".join(str(getattr(part, "text", part)) for part in parts)
