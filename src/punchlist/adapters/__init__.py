"""Adapters: Punchlist in a Python agent framework, in one line. Each module imports its framework, and only that one.

agent = create_agent(model, tools, middleware=[punchlist.adapters.langchain.Punchlist()])
"""

from __future__ import annotations

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
        with self._lock:
            found = self._known.pop(session, None) or aio.Conversation(self._board, session, **self._options)
            self._known[session] = found
            if len(self._known) > _MOST:  # all that is lost is which texts a request was given that nobody answered
                del self._known[next(iter(self._known))]
            return found
