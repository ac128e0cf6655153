"""Adapters: Punchlist in a Python agent framework, in one line. Each module imports its framework, and only that one.

agent = create_agent(model, tools, middleware=[punchlist.adapters.langchain.Punchlist()])
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any, Final

from punchlist import aio
from punchlist.board import Board
from punchlist.dialects.base import Tool
from punchlist.errors import ExtraMissing
from punchlist.text.hashing import blake2b

EXTRAS: Final = {
    "agent_framework": "agent-framework",
    "claude_sdk": "claude-sdk",
    "langchain": "langchain",
    "openai_agents": "openai-agents",
    "pydantic_ai": "pydantic-ai",
}
"""The extra of each adapter, by its module."""

_MOST: Final = 1_000
_LONGEST: Final = 200


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in EXTRAS:
        raise AttributeError(f"module 'punchlist.adapters' has no attribute {name!r}")
    try:
        return import_module(f"punchlist.adapters.{name}")
    except ModuleNotFoundError as error:
        raise ExtraMissing(what=f"`punchlist.adapters.{name}`", extra=EXTRAS[name]) from error


@cache
def open_board() -> Board:
    """Return the user's own board, opened once in a process."""
    return Board.open()


class Conversations:
    """The conversations of an agent of a framework, by the framework's own ids. Without a board, the user's."""

    def __init__(self, board: Board | None = None, **options: Any) -> None:
        self._board = aio.Board.around(open_board() if board is None else board)
        self._options = options
        self._known: dict[str, aio.Conversation] = {}
        self._lock = Lock()  # two requests of one conversation may come first at once, on two threads

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that each of them offers."""
        return self._board.agent(session="tools", **self._options).tools

    def find(self, id: object) -> aio.Conversation:
        """Return the conversation of an id; one that cannot be the id of a session goes by its hash."""
        session = str(id)
        if not session.strip() or not session.isprintable() or len(session) > _LONGEST:
            session = blake2b(session.encode("utf-8", "replace"), digest_size=16).hexdigest()
        return self._keep(session, lambda: aio.Conversation(self._board, session, **self._options))

    def find_child(self, parent: aio.Conversation, name: str, id: str) -> aio.Conversation:
        """Return the conversation of a child agent; where it cannot be spawned, that of its parent."""

        def spawn() -> aio.Conversation:
            agent = parent.agent.synchronous.spawn(name, id=id)
            return aio.Conversation(self._board, agent=aio.Agent(self._board, agent))

        try:
            return self._keep(f"{parent.agent.session}\n{id}", spawn)
        except Exception:  # the store cannot be written
            return parent

    def _keep(self, key: str, make: Callable[[], aio.Conversation]) -> aio.Conversation:
        made = self._known.get(key) or make()  # without the lock: it may reach the store
        with self._lock:
            self._known[key] = found = self._known.pop(key, made)
            if len(self._known) > _MOST:  # all that is lost is which texts a request was given that nobody answered
                del self._known[next(iter(self._known))]
            return found
