"""Answer the requests of an MCP client: the handshake, tools, resources and prompts.

The board is opened by the first request that needs it. A client that only asks for the tools gets its answer in a
fraction of the time, and leaves no trace on the board.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from punchlist import __version__
from punchlist.dialects.base import Reply, reply_unknown_tool
from punchlist.errors import PunchlistError
from punchlist.mcp.stdio import INVALID_PARAMS, METHOD_NOT_FOUND, Call, Later, Message, RpcError
from punchlist.mcp.tools import ToolSet, describe_reply

if TYPE_CHECKING:
    from punchlist.board import Board
    from punchlist.mcp.sessions import SessionFinder

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Protocol versions with the `initialize` handshake, oldest first. Later ones have none: `server/discover` is refused,
and clients fall back to the newest of these."""

_BATCH_VERSION = "2025-03-26"
"""The only version that has batches."""


class McpServer:
    """One server for one client."""

    def __init__(
        self,
        open_board: Callable[[], Board],
        tools: ToolSet,
        *,
        host: str | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._open_board = open_board
        self._tools = tools
        self._named_host = host
        self._environment = environment
        self._opened: tuple[Board, SessionFinder] | None = None
        self.has_batches = False
        self.client = ""
        self.capabilities: Mapping[str, Any] = {}
        self._methods: Mapping[str, Callable[[Call], Message | Later]] = {
            "initialize": self._initialize,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
        }

    def run(self, call: Call) -> Message | Later:
        """Answer one request, or return the rest of it that has to wait for the client."""
        method = self._methods.get(call.method)
        if method is None:
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {call.method[:100]}")
        return method(call)

    def close(self) -> None:
        if self._opened is not None:
            self._opened[0].close()

    @property
    def host(self) -> str:
        """The name of the agent program: as it was given, else as the client calls itself."""
        return self._named_host or self.client

    def open(self) -> tuple[Board, SessionFinder]:
        """Return the board, which is opened once, and what finds the callers on it."""
        if self._opened is None:
            from punchlist.mcp.sessions import SessionFinder

            board = self._open_board()
            path = str(getattr(board.store, "path", ""))
            self._opened = board, SessionFinder("" if path == "memory:" else path, self.host, self._environment)
        return self._opened

    # The handshake.

    def _initialize(self, call: Call) -> Message:
        wanted = call.params.get("protocolVersion")
        version = wanted if wanted in VERSIONS else VERSIONS[-1]
        client, capabilities = call.params.get("clientInfo"), call.params.get("capabilities")
        if isinstance(client, dict):
            name = cast("Message", client).get("name")
            self.client = name[:100] if isinstance(name, str) else ""
        if isinstance(capabilities, dict):
            self.capabilities = cast("Message", capabilities)
        self.has_batches = version == _BATCH_VERSION
        return {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "punchlist", "title": "Punchlist", "version": __version__},
        }

    # Tools.

    def _list_tools(self, _call: Call) -> Message:
        return {"tools": self._tools.describe()}

    def _call_tool(self, call: Call) -> Message | Later:
        name, arguments = call.params.get("name"), call.params.get("arguments")
        if not isinstance(name, str):
            raise RpcError(INVALID_PARAMS, "`name` is missing: the name of a tool.")
        dialect = self._tools.find_dialect(name)
        if dialect is None:
            return describe_reply(reply_unknown_tool(self._tools.tools, name))
        try:
            board, sessions = self.open()
            caller = sessions.find(call.params.get("_meta"))
            agent = board.agent(caller.agent, session=caller.session, dialect=dialect)
            reply = agent.call(name, arguments, call_id=caller.call_id)
            news = agent.take_answers()
        except PunchlistError as error:
            return describe_reply(Reply(str(error), is_error=True))
        return describe_reply(reply, [] if news is None else [news])
