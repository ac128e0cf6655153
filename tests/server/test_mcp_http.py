"""`/mcp`: the official client finds the same tools there as over standard input and output, on both wires."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from punchlist.board import Board
from punchlist.mcp.server import ToolSet
from tests.server.conftest import Running, make_token

Talk = Callable[[Client], Awaitable[None]]


def run(running: Running, talk: Talk, *, query: str = "?session=s1", mode: str = "auto") -> None:
    """Connect to the server's `/mcp`, let the test talk, and disconnect."""

    async def connect() -> None:
        headers = {"Authorization": f"Bearer {running.access.secret}"}
        async with httpx.AsyncClient(headers=headers, timeout=120) as http:
            transport = streamable_http_client(
                f"{running.origin}/mcp{query}",
                http_client=http,  # pyright: ignore[reportArgumentType]
            )
            async with Client(transport, mode=mode) as client:
                await talk(client)

    asyncio.run(connect())


def read_text(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
def test_both_wires_offer_the_tools_of_the_stdio_front(running: Running, board: Board, mode: str, version: str):
    async def talk(client: Client) -> None:
        assert client.protocol_version == version
        tools = (await client.list_tools()).tools
        described = {tool["name"]: tool["description"] for tool in ToolSet(("punchlist", "punchlist-tasks")).describe()}
        assert {tool.name: tool.description for tool in tools} == described
        assert len((await client.list_resources()).resources) == 3
        assert len((await client.list_resource_templates()).resource_templates) == 1
        assert len((await client.list_prompts()).prompts) == 3
        result = await client.call_tool("todo", {"set": [{"text": "Paint"}, {"text": "Sweep"}]})
        assert not result.is_error
        refused = await client.call_tool("todo", {"done": ["9"]})
        assert refused.is_error
        assert "9" in read_text(refused)
        (content,) = (await client.read_resource("punchlist://list")).contents
        assert "Paint" in str(content)
        assert "A new kitchen" in str((await client.get_prompt("plan", {"goal": "A new kitchen"})).messages[0].content)
        with pytest.raises(MCPError):
            await client.read_resource("punchlist://none")
        assert (await client.call_tool("nonsense", {})).is_error

    run(running, talk, mode=mode)
    assert [item.content for item in board.agent(session="s1").todos.items] == ["Paint", "Sweep"]


def test_the_address_names_session_project_and_dialect(running: Running, board: Board, tmp_path: Path):
    async def talk(client: Client) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["TodoWrite"]
        todos = [{"content": "Paint", "status": "pending", "activeForm": "Painting"}]
        await client.call_tool("TodoWrite", {"todos": todos})

    run(running, talk, query=f"?session=s2&project={tmp_path}&dialect=claude-code")
    (row,) = board.lists(session="s2")
    assert (row.project, row.todos.items[0].content) == (str(tmp_path), "Paint")


def test_a_call_that_is_sent_again_is_answered_as_before(running: Running, board: Board):
    async def talk(client: Client) -> None:
        replies = [await client.call_tool("todo", {"add": ["Paint"]}, meta={"callId": "call_1"}) for _ in range(2)]
        assert replies[0].content == replies[1].content
        assert [reply.structured_content and reply.structured_content["total"] for reply in replies] == [1, 1]
        assert (await client.call_tool("todo", {"add": ["Sweep"]}, meta={"callId": "call_1"})).is_error

    run(running, talk, query="?session=s3")
    assert [item.content for item in board.agent(session="s3").todos.items] == ["Paint"]


def test_a_client_that_names_no_session_has_one_by_its_token(running: Running, board: Board):
    async def talk(client: Client) -> None:
        await client.call_tool("todo", {"set": [{"text": "Paint"}]})

    run(running, talk, query="")
    (row,) = board.lists()
    assert row.session.startswith("mcp-")


@pytest.mark.parametrize("token", ["look", "answer", "project"])
def test_a_token_that_may_not_edit_everything_reaches_no_tool(running: Running, board: Board, token: str):
    project = "/somewhere" if token == "project" else None
    secret = make_token(board, token, "edit" if project else token, project)
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    headers = {"Authorization": f"Bearer {secret}", "Accept": "application/json, text/event-stream"}
    with running.open_client(headers=headers) as client:
        assert client.post("/mcp", json=ping).status_code == 403


def test_a_fault_of_the_client_is_answered_and_harms_no_other(running: Running, client: httpx.Client):
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    for body in (b"", b"{", b"[]", b"null", b'{"jsonrpc": "2.0"}', b'{"jsonrpc":"2.0","id":1,"method":"none"}'):
        with suppress(ValueError):
            answer = client.post("/mcp", content=body, headers=headers)
            assert answer.status_code < 500
    assert client.get("/mcp").status_code == 405
