"""`/mcp`: the tools of `punchlist mcp` over HTTP. The official SDK speaks the protocol, our own server answers.

Each request stands for itself: no state is kept between two of them, so any client may retry, and a restart of the
server is not noticed. A client names the session of its list in the address, `/mcp?session=…`, and its project.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from punchlist import __version__
from punchlist.errors import ExtraMissing, StoreBusy
from punchlist.mcp.stdio import INTERNAL_ERROR, RpcError
from punchlist.server.access import LONGEST_BODY
from punchlist.server.mcp_calls import run_call
from punchlist.server.problems import respond_to_error
from punchlist.server.state import ServerState

try:
    import mcp_types as types
    from mcp import MCPError
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from pydantic import BaseModel
except ModuleNotFoundError as error:
    raise ExtraMissing(what="MCP over HTTP", extra="mcp") from error

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
            try:
                result = await run_call(self._state, context.request, method, dict(context.params or {}))
                return kind.model_validate(result)
            except StoreBusy as error:
                context.request.state.busy = error
                raise MCPError(INTERNAL_ERROR, str(error)) from error
            except RpcError as error:
                raise MCPError(error.code, error.message, error.data) from error

        return answer
