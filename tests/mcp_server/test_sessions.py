"""Whose list a call writes: real servers of real clients, each client a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from punchlist.board import Board
from punchlist_hook import inbox_path, socket_folder
from tests.hooks import hosts as hooks
from tests.hooks.hosts import find_owner
from tests.mcp_server.client import wait_until
from tests.mcp_server.conftest import Start

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
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=120)

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


# With hooks.


def send_hook(event: dict[str, Any], host: str = "claude-code") -> dict[str, Any]:
    """Run the real hook as a child of this process, as the servers of this test are."""
    told = hooks.Host(Path(os.environ["PUNCHLIST_DB"]), Path.cwd(), host=host)
    return told.run(json.dumps(event).encode())


def pre_tool_use(session: str, call_id: str, **more: Any) -> dict[str, Any]:
    tool = "mcp__plugin_punchlist_punchlist__todo"
    return {
        "hook_event_name": "PreToolUse",
        "session_id": session,
        "cwd": os.getcwd(),
        "tool_name": tool,
        "tool_input": {},
        "tool_use_id": call_id,
        "mcp_server": {"name": "plugin:punchlist:punchlist", "source": "plugin"},
        **more,
    }


def test_a_call_that_a_hook_told_of_belongs_to_its_conversation(start: Start, board: Board) -> None:
    client = start(initialized=False, CLAUDE_CODE_SESSION_ID="stale")
    client.initialize(name="claude-code")
    for number, session in enumerate(("one", "two")):
        send_hook(pre_tool_use(session, f"toolu_{number}"))
        client.text("todo", {"set": [session]}, {"claudecode/toolUseId": f"toolu_{number}"})
    assert sessions(board) == {"one": ["one"], "two": ["two"]}


def test_a_subagents_call_writes_the_subagents_list(start: Start, board: Board) -> None:
    client = start()
    send_hook(
        {"hook_event_name": "SubagentStart", "session_id": "one", "agent_id": "a1", "agent_type": "Explore"}
        | {"cwd": os.getcwd()}
    )
    send_hook(pre_tool_use("one", "toolu_1", agent_id="a1", agent_type="Explore"))
    client.text("todo", {"set": ["Look"]}, {"claudecode/toolUseId": "toolu_1"})
    (row,) = board.lists()
    assert (row.session, row.parent is None) == ("one", False)


def test_after_clear_a_call_without_a_hook_follows_the_client(start: Start, board: Board) -> None:
    client = start(initialized=False, CLAUDE_CODE_SESSION_ID="old")
    client.initialize(name="claude-code")
    client.text("todo", {"set": ["Paint"]})
    for session, event in (("old", "SessionStart"), ("old", "SessionEnd"), ("new", "SessionStart")):
        send_hook({"hook_event_name": event, "session_id": session, "cwd": os.getcwd(), "source": "clear"})
    client.text("todo", {"set": ["Sweep"]})
    assert sessions(board) == {"old": ["Paint"], "new": ["Sweep"]}


def test_hooks_are_answered_over_the_socket_of_the_running_server(start: Start, board: Board) -> None:
    client = start()
    client.text("todo", {"set": ["Paint"]})
    folder = Path(socket_folder(os.path.realpath(os.environ["PUNCHLIST_DB"])))
    wait_until(lambda: any(folder.glob("*.sock")))
    send_hook(pre_tool_use("one", "toolu_1"))
    assert not os.path.exists(inbox_path(os.environ["PUNCHLIST_DB"]))
    assert find_owner(board, "toolu_1") == ("one", "main")
    client.close()
    assert not any(folder.glob("*.sock"))


def test_an_idle_server_ingests_the_inbox(start: Start, board: Board) -> None:
    send_hook(pre_tool_use("one", "toolu_1"))
    start()
    wait_until(lambda: not os.path.exists(inbox_path(os.environ["PUNCHLIST_DB"])))
    assert find_owner(board, "toolu_1") == ("one", "main")


# Ids of calls that begin again.

CALL_1 = {"claudecode/toolUseId": "call_1"}


def test_an_id_that_begins_again_in_each_conversation_and_run_is_another_call_each_time(
    start: Start, board: Board
) -> None:
    for session in ("one", "two", "one"):
        client = start(initialized=False, CLAUDE_CODE_SESSION_ID=session)
        client.initialize(name="claude-code")
        send_hook(pre_tool_use(session, "call_1"))
        first = client.call("todo", {"add": ["Paint"]}, CALL_1)
        assert client.call("todo", {"add": ["Paint"]}, CALL_1) == first  # sent twice
        client.close()
    assert sessions(board) == {"one": ["Paint", "Paint"], "two": ["Paint"]}


def test_a_server_that_was_killed_after_its_answer_knows_the_call_that_is_sent_again(
    hosts: ExitStack, project: Path, board: Board
) -> None:
    host = hosts.enter_context(Host(project)).start()
    send_hook(pre_tool_use("one", "call_1"))
    host.todo(CALL_1, add=["Paint"])
    host.kill()
    host.start()
    host.todo(CALL_1, add=["Paint"])
    assert sessions(board) == {"one": ["Paint"]}


def test_of_two_conversations_with_the_same_ids_at_once_each_writes_its_own_list(
    hosts: ExitStack, project: Path, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients: dict[str, Host] = {}
    for session in ("one", "two"):
        monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", session)
        clients[session] = hosts.enter_context(Host(project, "claude-code")).start()
    for _ in range(2):
        for session, client in clients.items():
            monkeypatch.setenv("CLAUDE_PID", str(client.pid))
            send_hook(pre_tool_use(session, "call_1"))
        for session, client in clients.items():
            client.todo(CALL_1, add=[session])
    assert sessions(board) == {"one": ["one", "one"], "two": ["two", "two"]}


@pytest.mark.parametrize("items", [("Look", "Sweep"), ("Paint", "Paint")])
def test_of_two_subagents_with_the_same_id_at_once_each_writes_its_own_list(
    start: Start, board: Board, items: tuple[str, str]
) -> None:
    client = start(initialized=False, CLAUDE_CODE_SESSION_ID="one")
    client.initialize(name="claude-code")
    subagents = [{"agent_id": f"a{number}", "agent_type": "explore"} for number in (1, 2)]
    for child in subagents:
        started = {"hook_event_name": "SubagentStart", "session_id": "one", "cwd": os.getcwd()}
        send_hook({**started, **child})
    for _ in range(2):
        for child, item in zip(subagents, items, strict=True):
            send_hook({**pre_tool_use("one", "call_1", **child), "tool_input": {"add": [item]}})
        for item in items:
            client.call("todo", {"add": [item]}, CALL_1)
    lists = {row.agent: [item.content for item in row.todos.items] for row in board.lists()}
    assert lists == {"explore": [items[0]] * 2, "explore-2": [items[1]] * 2}
