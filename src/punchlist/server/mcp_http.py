"""`/mcp`: the tools of `punchlist mcp` over HTTP. The official SDK speaks the protocol, our own server answers.

Each request stands for itself: no state is kept between two of them, so any client may retry, and a restart of the
server is not noticed. A client names the session of its list in the address, `/mcp?session=…`, and its project.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from punchlist import __version__
from punchlist.board import Board
from punchlist.errors import ExtraMissing, InvalidInput, PunchlistError
from punchlist.mcp.server import McpServer
from punchlist.mcp.stdio import INVALID_PARAMS, Call, RpcError
from punchlist.mcp.tools import ToolSet
from punchlist.server.access import LONGEST_BODY
from punchlist.server.state import grant_of
from punchlist.settings import load_settings

try:
    import mcp_types as types
    from mcp import MCPError
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from pydantic import BaseModel
except ModuleNotFoundError as error:
    raise ExtraMissing(what="MCP over HTTP", extra="mcp") from error

_LONGEST_NAME: Final = 200
Result = TypeVar("Result", bound=BaseModel)
Context = ServerRequestContext[dict[str, Any], Request]


class McpFront:
    """Answers MCP requests on a board. `handle` is an ASGI application, once `run` has begun."""

    def __init__(self, board: Board) -> None:
        self._board = board
        server: Server[dict[str, Any]] = Server(
            "punchlist",
            title="Punchlist",
            version=__version__,
            on_list_tools=self._answer("tools/list", types.ListToolsResult),
            on_call_tool=self._answer("tools/call", types.CallToolResult),
            on_list_resources=self._answer("resources/list", types.ListResourcesResult),
            on_list_resource_templates=self._answer("resources/templates/list", types.ListResourceTemplatesResult),
            on_read_resource=self._answer("resources/read", types.ReadResourceResult),
            on_list_prompts=self._answer("prompts/list", types.ListPromptsResult),
            on_get_prompt=self._answer("prompts/get", types.GetPromptResult),
        )
        self._manager = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=LONGEST_BODY
        )
        self._is_ready = asyncio.Event()

    async def run(self) -> None:
        """Keep what the SDK needs between requests, until this task is cancelled."""
        async with self._manager.run():
            self._is_ready.set()
            await asyncio.get_running_loop().create_future()

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._is_ready.wait()
        await self._manager.handle_request(scope, receive, send)

    def _answer(self, method: str, kind: type[Result]) -> Callable[[Context, Any], Any]:
        """Return the handler of a method, which gives the request to our own server as it came."""

        async def answer(context: Context, _params: Any) -> Result:
            assert context.request is not None
            params = dict(context.params or {})
            return kind.model_validate(await run_in_threadpool(self._run, context.request, method, params))

        return answer

    def _run(self, request: Request, method: str, params: dict[str, Any]) -> Any:
        query, grant = request.query_params, grant_of(request)
        session = query.get("session") or name_session(grant.name)
        try:
            if not session.isprintable() or len(session) > _LONGEST_NAME:
                raise InvalidInput(problem="`session` in the address is no name of a session.")
            tools = ToolSet(query.getlist("dialect") or load_settings().dialect)
            environment = {"PUNCHLIST_SESSION": session}
            server = McpServer(lambda: self._board, tools, environment=environment, project=query.get("project"))
            return server.run(Call("", method, params, lambda _answer: None))
        except RpcError as error:
            raise MCPError(error.code, error.message, error.data) from error
        except PunchlistError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error


def name_session(token: str) -> str:
    """Return the session of a client that names none: one per token."""
    return f"mcp-{re.sub('[^A-Za-z0-9]+', '-', token).strip('-')[:40] or 'client'}"
