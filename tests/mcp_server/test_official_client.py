"""The official Python client agrees: it validates every answer against the types of the protocol."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, MCPError, StdioServerParameters

from punchlist.board import Board

SERVER = StdioServerParameters(command=sys.executable, args=["-m", "punchlist", "mcp"])
PLAN = "# Paint the door\n- Sand it\n- Paint it"

Talk = Callable[[Client], Awaitable[None]]


def run(talk: Talk, answer: types.ElicitResult | None = None, seen: list[str] | None = None) -> None:
    """Connect, let the test talk, and disconnect. `answer` is what the person does with every dialog."""

    async def show_dialog(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert answer is not None
        if seen is not None:
            seen.append(params.message)
        return answer

    async def connect() -> None:
        server = SERVER.model_copy(update={"cwd": os.getcwd(), "env": dict(os.environ)})
        async with Client(server, elicitation_callback=show_dialog if answer else None) as client:
            await talk(client)

    asyncio.run(connect())


def read_text(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


def test_it_falls_back_to_the_handshake_and_lists_everything() -> None:
    async def talk(client: Client) -> None:
        assert client.protocol_version == "2025-11-25"
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["todo", "task"]
        assert tools[0].annotations is not None
        assert tools[0].annotations.read_only_hint is False
        assert len((await client.list_resources()).resources) == 3
        assert len((await client.list_resource_templates()).resource_templates) == 1
        assert len((await client.list_prompts()).prompts) == 3

    run(talk)


def test_calls_errors_resources_and_prompts() -> None:
    async def talk(client: Client) -> None:
        result = await client.call_tool("todo", {"set": [{"text": "Paint"}, {"text": "Sweep"}]})
        assert not result.is_error
        refused = await client.call_tool("todo", {"done": ["9"]})
        assert refused.is_error
        assert "9" in read_text(refused)
        (content,) = (await client.read_resource("punchlist://list")).contents
        assert isinstance(content, types.TextResourceContents)
        assert "Paint" in content.text
        prompt = await client.get_prompt("plan", {"goal": "A new kitchen"})
        assert "A new kitchen" in str(prompt.messages[0].content)
        with pytest.raises(MCPError):
            await client.read_resource("punchlist://none")
        with pytest.raises(MCPError):
            await client.get_prompt("plan", {})

    run(talk)


def test_an_accepted_plan_and_an_answered_question(board: Board) -> None:
    async def approve(client: Client) -> None:
        result = await client.call_tool("todo", {"plan": PLAN})
        assert not result.is_error
        assert "approved" in read_text(result)

    async def ask(client: Client) -> None:
        await client.call_tool("todo", {"set": [{"text": "Paint"}]})
        assert "answered: Red" in read_text(await client.call_tool("todo", {"ask": [{"id": "1", "text": "Colour?"}]}))

    seen: list[str] = []
    run(approve, types.ElicitResult(action="accept", content={"decision": "approve"}), seen)
    run(ask, types.ElicitResult(action="accept", content={"answer": "Red"}), seen)
    assert PLAN in seen[0]
    assert "Colour?" in seen[1]
    assert board.waits() == []


def test_a_declined_plan_and_a_declined_question(board: Board) -> None:
    async def talk(client: Client) -> None:
        await client.call_tool("todo", {"set": [{"text": "Paint"}]})
        assert "keeps waiting" in read_text(await client.call_tool("todo", {"ask": [{"id": "1", "text": "Colour?"}]}))
        result = await client.call_tool("todo", {"plan": PLAN})
        assert result.is_error
        assert "declined" in read_text(result)

    run(talk, types.ElicitResult(action="decline"))
    assert [wait.kind for wait in board.waits()] == ["question"]


@pytest.mark.parametrize("dialect", ["claude-code", "claude-tasks", "codex", "gemini", "opencode"])
def test_the_tools_of_other_dialects_are_valid_too(dialect: str) -> None:
    async def talk() -> None:
        server = SERVER.model_copy(
            update={"args": [*SERVER.args, "--dialect", dialect], "cwd": os.getcwd(), "env": dict(os.environ)}
        )
        async with Client(server) as client:
            assert (await client.list_tools()).tools

    asyncio.run(talk())
