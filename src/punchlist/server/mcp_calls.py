"""Run MCP requests that came to `/mcp` on the board: those that the SDK gives on, and those of a team's machines.

A machine's relay sends bare requests of JSON-RPC. They are answered here: the SDK need not be installed for them, and
an agent does not wait for the second that its import takes.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from punchlist.dialects.repair import read_fields
from punchlist.errors import InvalidInput, PunchlistError, StoreBusy
from punchlist.mcp.server import McpServer, ToolSet
from punchlist.mcp.stdio import INVALID_PARAMS, RpcCall, RpcError
from punchlist.server.problems import respond_to_error
from punchlist.server.state import ServerState, grant_of, run_read, state_of
from punchlist.settings.environment import Folder
from punchlist.settings.table import load_settings

_LONGEST_NAME: Final = 200
_FOR_MACHINES: Final = ("initialize", "tools/list", "tools/call")
"""Methods that the token of a machine reaches: resources and prompts show more than its own sessions."""


async def answer_machine(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request of a machine, as JSON."""
    request = Request(scope, receive)
    await (await _answer(request, await request.body()))(scope, receive, send)


async def _answer(request: Request, body: bytes) -> Response:
    try:
        message = read_fields(json.loads(body))
    except (ValueError, RecursionError):
        message = {}
    method, number = message.get("method"), message.get("id")
    if not isinstance(method, str):
        return respond_to_error(InvalidInput(problem="The body is no request of JSON-RPC."), request.headers)
    if number is None:  # a notification
        return Response(status_code=202)
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": number}
    try:
        reply["result"] = await run_call(state_of(request), request, method, read_fields(message.get("params")))
    except StoreBusy as error:
        return respond_to_error(error, Headers(scope=request.scope))
    except RpcError as error:
        reply["error"] = error.to_json()
    return Response(json.dumps(reply), media_type="application/json")


async def run_call(state: ServerState, request: Request, method: str, params: dict[str, Any]) -> Any:
    """Return the result of a request; raise `RpcError` for one that is refused, `StoreBusy` for one to repeat."""
    try:
        # On a thread for reads first: only a call that has to write waits with the other writes.
        result = await run_read(_run, state, request, method, params, False)
        if result is None:
            result = await state.writes.run(_run, state, request, method, params, True)
    except StoreBusy:
        raise
    except PunchlistError as error:
        raise RpcError(INVALID_PARAMS, str(error)) from error
    return result


def _run(state: ServerState, request: Request, method: str, params: dict[str, Any], may_write: bool) -> Any | None:
    """Return the result of a request; None if it has to write and may not."""
    query, grant = request.query_params, grant_of(request)
    session = query.get("session") or name_session(grant.name)
    if not session.isprintable() or len(session) > _LONGEST_NAME:
        raise InvalidInput(problem="`session` in the address is no name of a session.")
    tools = ToolSet(query.getlist("dialect") or load_settings().dialect)
    environment = {"PUNCHLIST_SESSION": session}
    where: Folder = query.get("project")
    if grant.machine:
        where = grant.find_place(query.get("project") or "")
        if where is None or method not in _FOR_MACHINES or tools.has_layer("flows"):
            raise InvalidInput(problem="The token of this machine was not made for this.")
    server = McpServer(lambda: state.board, tools, environment=environment, project=where, machine=grant.machine)
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
