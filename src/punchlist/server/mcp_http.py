"""`/mcp`: the tools of `punchlist mcp` over HTTP. The official SDK speaks the protocol, our own server answers.

Each request stands for itself: no state is kept between two of them, so any client may retry, and a restart of the
server is not noticed. A client names the session of its list in the address, `/mcp?session=…`, and its project.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from punchlist import __version__
from punchlist.errors import ExtraMissing, InvalidInput, PunchlistError, StoreBusy
from punchlist.mcp.server import McpServer, ToolSet
from punchlist.mcp.stdio import INTERNAL_ERROR, INVALID_PARAMS, RpcCall, RpcError
from punchlist.server.access import LONGEST_BODY
from punchlist.server.problems import respond_to_error
from punchlist.server.state import ServerState, grant_of, run_read
from punchlist.settings.table import load_settings

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

    def __init__(self, state: ServerState) -> None:
        self._state = state
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
        # The body is read here: the SDK answers a client that left, and a body that is refused, with a fault of ours.
        request = Request(scope, receive)
        body = [{"type": "http.request", "body": await request.body()}]

        async def receive_read() -> Message:
            return body.pop() if body else await receive()

        async def send_reply(message: Message) -> None:
            busy: StoreBusy | None = scope["state"].get("busy")
            if busy is None:
                await send(message)
            elif message["type"] == "http.response.start":  # a problem with status 503 in place of the whole reply
                await respond_to_error(busy, Headers(scope=scope))(scope, receive, send)

        await self._is_ready.wait()
        await self._manager.handle_request(scope, receive_read, send_reply)

    def _answer(self, method: str, kind: type[Result]) -> Callable[[Context, Any], Any]:
        """Return the handler of a method, which gives the request to our own server as it came."""

        async def answer(context: Context, _params: Any) -> Result:
            assert context.request is not None
            params = dict(context.params or {})
            try:
                # On a thread for reads first: only a call that has to write waits with the other writes.
                result = await run_read(self._run, context.request, method, params, False)
                if result is None:
                    result = await self._state.writes.run(self._run, context.request, method, params, True)
                return kind.model_validate(result)
            except StoreBusy as error:
                context.request.state.busy = error
                raise MCPError(INTERNAL_ERROR, str(error)) from error
            except RpcError as error:
                raise MCPError(error.code, error.message, error.data) from error
            except PunchlistError as error:
                raise MCPError(INVALID_PARAMS, str(error)) from error

        return answer

    def _run(self, request: Request, method: str, params: dict[str, Any], may_write: bool) -> Any | None:
        """Return the result of a request; None if it has to write and may not."""
        query, grant = request.query_params, grant_of(request)
        session = query.get("session") or name_session(grant.name)
        if not session.isprintable() or len(session) > _LONGEST_NAME:
            raise InvalidInput(problem="`session` in the address is no name of a session.")
        tools = ToolSet(query.getlist("dialect") or load_settings().dialect)
        board, environment = self._state.board, {"PUNCHLIST_SESSION": session}
        server = McpServer(lambda: board, tools, environment=environment, project=query.get("project"))
        is_read = method != "tools/call" or tools.only_reads(params.get("name"), params.get("arguments"))
        if not is_read and not may_write:
            return None
        try:
            return server.run(RpcCall("", method, params))
        except StoreBusy:  # also in a view, of a list that others changed: that the model has seen it is recorded
            if may_write:
                raise
            return None


def name_session(token: str) -> str:
    """Return the session of a client that names none: one per token."""
    return f"mcp-{re.sub('[^A-Za-z0-9]+', '-', token).strip('-')[:40] or 'client'}"
