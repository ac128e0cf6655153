"""Two servers on one database: a token works at both, both show a change, and one lives on without the other."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from punchlist import Board
from punchlist.cli import main
from tests.postgres.proxy import Proxy
from tests.server.streams import open_stream

_AGENT = "/api/v1/sessions/s1/agents/main"


class Server:
    """`punchlist serve` on a machine of its own, as far as its side files go."""

    def __init__(self, url: str, home: Path) -> None:
        words = [sys.executable, "-m", "punchlist", "--db", url, "serve", "--port", "0", "--no-watch"]
        variables = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
        self.process = subprocess.Popen(words, env=variables, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        found = re.search(r"http://[^/]+", self.process.stdout.readline())
        assert found is not None
        self.origin = found[0]
        self._clients: list[httpx.Client] = []

    def connect(self, token: str) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"}
        self._clients.append(httpx.Client(base_url=self.origin, headers=headers, timeout=60))
        return self._clients[-1]

    def close(self) -> None:
        for client in self._clients:
            client.close()
        if self.process.poll() is None:
            self.stop()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(number)
        self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def servers(url: str, board: Board, tmp_path: Path) -> Iterator[list[Server]]:
    running = [Server(url, tmp_path / name) for name in ("one", "two")]
    yield running
    for server in running:
        server.close()


@pytest.fixture
def token(url: str, board: Board, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["--db", url, "token", "create", "ci", "--scope", "edit"]) == 0
    found = re.search(r"pl_[\w-]+", capsys.readouterr().out)
    assert found is not None
    return found[0]


def test_a_token_works_at_both_and_one_lives_on_without_the_other(
    servers: list[Server], board: Board, token: str
) -> None:
    agent = board.agent("main", session="s1", project="/projects/shop")
    agent.call("todo", {"set": ["Paint the fence"]})
    clients = [server.connect(token) for server in servers]
    assert all("Paint the fence" in client.get(f"{_AGENT}/todos").text for client in clients)
    servers[0].stop(signal.SIGKILL)
    agent.call("todo", {"set": ["Paint the fence", "Sand the floor"]})
    assert "Sand the floor" in clients[1].get(f"{_AGENT}/todos").text


def test_followers_of_a_killed_server_go_on_at_the_other_without_a_gap(
    servers: list[Server], board: Board, token: str
) -> None:
    clients = [server.connect(token) for server in servers]
    agent = board.agent("main", session="s1", project="/projects/shop")
    seen: dict[int, list[int]] = {0: [], 1: []}

    def read(number: int, count: int, stream: Any) -> None:
        seen[number] += [int(frame.id) for frame in stream.take(count)]

    with open_stream(clients[1], after=0) as staying:
        with open_stream(clients[0], after=0) as leaving:
            for number in range(10):
                agent.edit({"op": "append", "items": f"item {number}"}, by="ada")
            before = board.store.last_seq()
            read(0, before, leaving)
            read(1, before, staying)
            servers[0].stop(signal.SIGKILL)
        for number in range(10):
            agent.edit({"op": "append", "items": f"more {number}"}, by="ada")
        last = board.store.last_seq()
        read(1, last - before, staying)
        with open_stream(clients[1], after=seen[0][-1]) as back:
            read(0, last - before, back)
    assert seen[0] == seen[1] == list(range(1, last + 1))


def test_an_answer_typed_at_one_server_reaches_an_agent_at_the_other(servers: list[Server], token: str) -> None:
    person, other = (server.connect(token) for server in servers)

    async def talk() -> str:
        async with httpx.AsyncClient(headers=other.headers, timeout=60) as http:
            address = f"{servers[1].origin}/mcp?session=s1"
            async with Client(streamable_http_client(address, http_client=http)) as agent:  # pyright: ignore[reportArgumentType]
                await agent.call_tool("todo", {"set": ["Deploy"]})
                await agent.call_tool("todo", {"ask": {"1": "Which region?"}})
                answered = person.post(f"{_AGENT}/answers", json={"item": "1", "text": "Use eu-west"})
                assert answered.json()["outcome"] == "answered", answered.text
                reply = await agent.call_tool("todo", {"add": ["Tell the team"]})
        return "\n".join(getattr(block, "text", "") for block in reply.content)

    assert "Use eu-west" in asyncio.run(talk())
    with open_stream(other, after=0) as stream:
        assert any(frame.data["kind"] == "question.answered" for frame in stream)


def test_a_server_that_is_cut_off_from_its_database_says_so_and_comes_back(
    proxy: Proxy, url: str, board: Board, token: str, tmp_path: Path
) -> None:
    board.agent("main", session="s1", project="/projects/shop").call("todo", {"set": ["Paint the fence"]})
    server = Server(proxy.find_url(url), tmp_path / "one")
    try:
        client = server.connect(token)
        edit = {"operations": [{"op": "append", "items": ["Sand the floor"]}]}
        assert "Paint" in client.get(f"{_AGENT}/todos").text
        proxy.is_cut = True
        for reply in (client.get(f"{_AGENT}/todos"), client.patch(f"{_AGENT}/todos", json=edit)):
            assert (reply.status_code, reply.json()["code"]) == (503, "store_unavailable")
        proxy.end_connections()
        proxy.is_cut = False
        assert [item["content"] for item in client.get(f"{_AGENT}/todos").json()["items"]] == ["Paint the fence"]
        assert client.patch(f"{_AGENT}/todos", json=edit).status_code == 200
    finally:
        server.close()
