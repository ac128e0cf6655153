"""Whose list a call writes: real servers of real clients, each client a process of its own."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from punchlist.board import Board
from tests.mcp.conftest import Start

HOST = """
import json, os, subprocess, sys

server = None
for line in sys.stdin:
    order = json.loads(line)
    if order == "start":
        command = [sys.executable, "-m", "punchlist", "mcp"]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        continue
    if order == "kill":
        server.kill()
        server.wait()
        continue
    server.stdin.write(json.dumps(order).encode() + b"\\n")
    server.stdin.flush()
    if "id" in order:
        sys.stdout.write(server.stdout.readline().decode())
        sys.stdout.flush()
if server is not None:
    server.stdin.close()
    server.wait()
"""


class Host:
    """A client process that starts a server, and may kill it and start another."""

    def __init__(self, folder: Path, name: str = "tester") -> None:
        command = [sys.executable, "-c", HOST]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder)
        self._name = name

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=30)

    def order(self, order: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()

    def start(self) -> Self:
        self.order("start")
        client = {"name": self._name, "version": "1"}
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        return self

    def kill(self) -> None:
        self.order("kill")

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.order({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())["result"]

    def todo(self, meta: dict[str, Any] | None = None, **arguments: Any) -> str:
        params = {"name": "todo", "arguments": arguments, "_meta": meta or {}}
        return self.request("tools/call", params)["content"][0]["text"]


@pytest.fixture
def hosts() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def sessions(board: Board) -> dict[str, list[str]]:
    return {row.session: [item.content for item in row.todos.items] for row in board.lists()}


def test_two_clients_in_one_folder_have_two_lists(hosts: ExitStack, project: Path, board: Board) -> None:
    first, second = (hosts.enter_context(Host(project)).start() for _ in range(2))
    first.todo(set=["Paint"])
    second.todo(set=["Sweep"])
    assert "Paint" in first.todo()
    assert "Sweep" in second.todo()
    assert sorted(sessions(board).values()) == [["Paint"], ["Sweep"]]


def test_a_server_that_is_killed_and_started_again_finds_its_list(
    hosts: ExitStack, project: Path, board: Board
) -> None:
    first, second = (hosts.enter_context(Host(project)).start() for _ in range(2))
    first.todo(set=["Paint"])
    second.todo(set=["Sweep"])
    first.kill()
    first.start()
    assert "Paint" in first.todo()
    assert len(sessions(board)) == 2


def test_two_servers_of_one_client_at_the_same_time_have_two_lists(start: Start, board: Board) -> None:
    first, second = start(), start()
    first.text("todo", {"set": ["Paint"]})
    second.text("todo", {"set": ["Sweep"]})
    assert "Paint" in first.text("todo")
    first.close()
    assert "Paint" in start().text("todo")
    assert len(sessions(board)) == 2


def test_one_client_has_a_list_for_each_folder(hosts: ExitStack, tmp_path: Path, board: Board) -> None:
    for name in ("one", "two"):
        (tmp_path / name / ".git").mkdir(parents=True)
        hosts.enter_context(Host(tmp_path / name)).start().todo(set=[name])
    assert sorted(sessions(board).values()) == [["one"], ["two"]]


def test_the_environment_names_the_session(start: Start, board: Board) -> None:
    start(PUNCHLIST_SESSION="mine").text("todo", {"set": ["Paint"]})
    assert sessions(board) == {"mine": ["Paint"]}


def test_only_claude_code_takes_the_session_of_claude_code(start: Start, board: Board) -> None:
    client = start(initialized=False, CLAUDE_CODE_SESSION_ID="claude-1")
    client.initialize(name="claude-code")
    client.text("todo", {"set": ["Paint"]})
    other = start(CLAUDE_CODE_SESSION_ID="claude-1")
    other.text("todo", {"set": ["Sweep"]})
    assert sessions(board)["claude-1"] == ["Paint"]
    assert len(sessions(board)) == 2


def test_codex_names_the_session_with_each_call(start: Start, board: Board) -> None:
    client = start()
    for thread in ("one", "two"):
        meta = {"x-codex-turn-metadata": {"session_id": thread, "turn_id": "1"}, "threadId": thread, "callId": "c1"}
        client.text("todo", {"set": [thread]}, meta)
    client.text("todo", {"set": ["three"]}, {"threadId": "three"})
    assert sessions(board) == {"one": ["one"], "two": ["two"], "three": ["three"]}


@pytest.mark.parametrize(
    "meta",
    [
        {"threadId": 7},
        {"threadId": ""},
        {"threadId": "x" * 1000},
        {"threadId": "a\nb"},
        {"x-codex-turn-metadata": [1]},
        {"claudecode/toolUseId": {}},
    ],
)
def test_odd_metadata_is_no_session(start: Start, board: Board, meta: dict[str, Any]) -> None:
    client = start()
    client.text("todo", {"set": ["Paint"]}, meta)
    assert "Paint" in client.text("todo", {})
    assert len(sessions(board)) == 1
