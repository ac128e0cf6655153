"""Agents that are attached to a board in PostgreSQL: their settings, their hooks and their tool server."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from punchlist import Board
from punchlist.cli import main
from punchlist.conversations.bindings import load_receipt
from punchlist.errors import StoreUncertain
from punchlist.hooks.inbox import ingest
from punchlist.hooks.sockets import HookServer
from punchlist.logs.watcher import Watcher
from punchlist.people.back_channel import BackChannel
from punchlist.store import side_path
from punchlist_hook import append_line, make_line
from tests.hooks.hosts import Host
from tests.logs.machine import catch_up, make_machine
from tests.mcp_server.client import Client
from tests.people.test_back_channel import NOTIFICATION, Monitor, read_context, start_idle_session
from tests.postgres.proxy import Proxy
from tests.transcripts.sessions import ClaudeSession


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture
def host(url: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """An agent whose hooks know the board by a file with its address, in a folder of a short name."""
    monkeypatch.setenv("CLAUDE_PID", str(os.getpid()))
    return Host(Path(side_path(url)), project)


def _read_files(folder: Path) -> str:
    return "\n".join(path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_attach_writes_no_password_into_the_settings_of_an_agent(
    url: str,
    board: Board,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    home = tmp_path / "agent"
    home.mkdir()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))
    monkeypatch.setenv("CODEX_HOME", str(home))
    secret = url.replace("//postgres:", "//postgres:hunter2")
    assert "hunter2" in secret
    assert main(["--db", secret, "attach", name, "--yes", "--force"]) == 0
    written = _read_files(home)
    assert side_path(secret) in written
    assert "hunter2" not in written + capsys.readouterr().out
    assert main(["--db", secret, "detach", name, "--yes"]) == 0
    assert side_path(secret) not in _read_files(home)


def test_hooks_reach_the_board_and_an_answer_reaches_the_idle_agent(host: Host, board: Board) -> None:
    channel = BackChannel(board, os.getpid())
    with HookServer(board, os.getpid(), channel=channel):
        monitor = Monitor(host)
        try:
            assert channel.has_monitor.wait(20)
            start_idle_session(host, board)
            before = board.store.last_seq()
            with Board.open(host.board) as elsewhere:
                elsewhere.agent("main", session="s-1").answer("Deploy", "Use eu-west", by="ada", person=True)
            assert "ada answered" in monitor.read()
            assert "Use eu-west" in read_context(host.hook("UserPromptSubmit", prompt=NOTIFICATION))
            host.hook("Stop", last_assistant_message="Deploying to eu-west?")
            assert load_receipt(board, "s-1", before + 1).state == "seen by the model"
        finally:
            monitor.close()
    assert host.problems() == []


def test_hooks_wait_in_the_inbox_while_the_database_is_away(host: Host, url: str, proxy: Proxy, project: Path) -> None:
    away = Host(Path(side_path(proxy.find_url(url))), project)
    with Board.open(proxy.find_url(url)) as board:
        proxy.is_cut = True
        away.hook("SessionStart", source="startup")  # it ends well, whatever becomes of the board
        away.write_todos("t1", Fix="in_progress", Deploy="pending")
        proxy.end_connections()
        proxy.is_cut = False
        ingest(board)
        (row,) = board.lists(session="s-1")
        assert [item.content for item in row.todos.items] == ["Fix", "Deploy"]


@pytest.mark.parametrize("word", [b"SELECT project, folder FROM sessions", b"COMMIT\0"])
def test_a_log_that_is_watched_loses_no_line_when_its_connection_breaks(
    url: str, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: bytes
) -> None:
    machine = make_machine(tmp_path, monkeypatch)
    session = ClaudeSession()
    session.user("Add a login page")
    session.todo("> Write the form")
    session.bash("ls", "src")
    machine.write(session)
    with Board.open(proxy.find_url(url)) as board:
        watcher = Watcher(board)
        proxy.breaks_at = word
        with suppress(StoreUncertain):
            catch_up(watcher)
        assert proxy.breaks_at is None
        catch_up(Watcher(board))
        assert [row.label for row in board.lists()] == ["Add a login page"]
        assert [event.kind for event in board.events()].count("tool.started") == 1


def test_the_tool_server_keeps_its_list_in_the_database(url: str, board: Board, project: Path) -> None:
    with Client(project, "--db", url) as client:
        client.initialize()
        assert "Paint" in client.text("todo", {"set": ["Paint", "Sweep"]})
        (row,) = board.lists()
        board.agent(row.agent, session=row.session).edit({"op": "append", "items": "Mop"}, by="ada")
        assert "Mop" in client.text("todo", {})
    assert client.close() == 0


def test_events_stay_in_the_inbox_while_a_table_is_locked(host: Host, board: Board, url: str) -> None:
    event = host.event("PreToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="t1")
    append_line(str(host.board), make_line("claude-code", event))
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE tool_calls IN ACCESS EXCLUSIVE MODE")
        ingest(board)
        assert host.inbox.exists()
    ingest(board)
    assert [event.kind for event in board.events()].count("tool.started") == 1


def test_lines_are_applied_once_when_the_answer_to_their_commit_gets_lost(
    url: str, proxy: Proxy, project: Path
) -> None:
    away = Host(Path(side_path(proxy.find_url(url))), project)
    with Board.open(proxy.find_url(url)) as board:
        for number in range(3):
            call = {"tool_name": "Read", "tool_input": {"file_path": "a"}, "tool_use_id": f"t{number}"}
            append_line(str(away.board), make_line("claude-code", away.event("PreToolUse", **call)))
        proxy.breaks_at = b"COMMIT\0"
        with suppress(StoreUncertain):
            ingest(board)
        assert proxy.breaks_at is None
        ingest(board)
        assert [e.data["call_id"] for e in board.events() if e.kind == "tool.started"] == ["t0", "t1", "t2"]
        assert not away.inbox.exists()


def test_a_line_that_the_database_refuses_costs_no_other(host: Host, board: Board, url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("ALTER TABLE tool_calls ADD CHECK (id <> 't2')")
    for number in range(1, 5):
        call = {"tool_name": "Read", "tool_input": {"file_path": "a"}, "tool_use_id": f"t{number}"}
        append_line(str(host.board), make_line("claude-code", host.event("PreToolUse", **call)))
    append_line(str(host.board), json.dumps({"id": "a\0b", "host": "claude-code", "event": {}}).encode() + b"\n")
    ingest(board)
    assert [e.data["call_id"] for e in board.events() if e.kind == "tool.started"] == ["t1", "t3", "t4"]
    assert not host.inbox.exists()
    *refused, unreadable = host.problems()
    assert all("violates check constraint" in problem for problem in refused)
    assert "line of the inbox" in unreadable


def test_a_nul_in_the_ids_of_a_host_costs_no_event(host: Host, board: Board) -> None:
    host.hook("PreToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="t1", agent_id="a\0b")
    ingest(board)
    assert "tool.started" in [event.kind for event in board.events()]
