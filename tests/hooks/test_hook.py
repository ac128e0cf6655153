"""The hook as a process: what it imports, hands over, leaves alone, and that it never breaks the agent."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import punchlist_hook
from punchlist import Board
from punchlist.core.task import Task
from punchlist.hooks.inbox import ingest
from punchlist.hooks.sockets import HookServer
from tests.hooks.hosts import HOOK, OWN_SERVER, OWN_TOOL, Host
from tests.packages import WEB_PACKAGES

SMALL = {"tool_name": "Read", "tool_input": {"file_path": "a"}, "tool_use_id": "1"}


def _lines(host: Host) -> list[dict[str, Any]]:
    return [json.loads(line) for line in host.inbox.read_text().splitlines()[1:]]


def _imported(host: Host, body: dict[str, Any]) -> set[str]:
    host.is_patient = False
    command = [sys.executable, "-X", "importtime", *host.command()[1:]]
    done = subprocess.run(command, input=json.dumps(body).encode(), capture_output=True, check=True)
    return {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}


# What it imports and where it puts an event.


def test_a_silent_event_imports_only_the_standard_library(host: Host) -> None:
    names = {name.partition(".")[0] for name in _imported(host, host.event("PreToolUse", **SMALL))}
    assert "json" in names
    assert not {name for name in names if name.startswith(("punchlist", "msgspec", "site-packages"))}
    assert not names & {"site", "typing", "socket", "subprocess", "logging", "sqlite3"}


def test_an_answered_event_loads_the_package_without_what_it_does_not_need(host: Host) -> None:
    names = _imported(host, host.event("Stop", last_assistant_message="Done."))
    assert "punchlist.hooks.inbox" in names
    slow = {"hashlib", "logging", "subprocess", "urllib.parse", "inspect", "punchlist.transcripts.formats"}
    assert not names & slow
    assert not {name.partition(".")[0] for name in names} & WEB_PACKAGES


def test_an_event_lies_in_the_inbox_as_a_line_that_only_the_user_can_read(host: Host) -> None:
    host.hook("PreToolUse", **SMALL)
    host.hook("PostToolUse", **SMALL)
    lines = _lines(host)
    assert [line["event"]["hook_event_name"] for line in lines] == ["PreToolUse", "PostToolUse"]
    assert {line["host"] for line in lines} == {"claude-code"}
    assert len({line["id"] for line in lines}) == 2
    assert host.inbox.stat().st_mode & 0o777 == 0o600
    assert "generation" in json.loads(host.inbox.read_text().splitlines()[0])


def test_a_hostile_project_folder_has_no_say(host: Host) -> None:
    for name in ("json.py", "punchlist.py", "site.py", "sitecustomize.py", "_socket.py", "msgspec.py"):
        (host.project / name).write_text("import os; os.abort()")
    (host.project / "punchlist").mkdir()
    (host.project / "punchlist/__init__.py").write_text("import os; os.abort()")
    (host.project / ".mcp.json").write_text('{"mcpServers":{"punchlist":{"command":"false"}}}')
    env = {"PYTHONPATH": str(host.project), "PYTHONSTARTUP": str(host.project / "json.py")}
    host.write_todos("t1", Fix="in_progress")
    answer = host.run(json.dumps(host.event("Stop", last_assistant_message="Done.")).encode(), env)
    assert "still open" in answer["hookSpecificOutput"]["additionalContext"]
    assert host.problems() == []


def test_a_prompt_is_not_kept(host: Host) -> None:
    event = host.event("UserPromptSubmit", prompt="Z" * 10_000)
    line = punchlist_hook.make_line("claude-code", event)
    assert line.count(b"Z") < 300
    notification = host.event("UserPromptSubmit", prompt="<task-notification>" + "Z" * 10_000)
    assert punchlist_hook.make_line("claude-code", notification).count(b"Z") == 10_000


# Input that is too large, or no event.


@pytest.mark.parametrize(
    "response",
    [
        {"stdout": "a" * 3_000_000 + "tail", "stderr": ""},
        {"files": [f"file {number}" for number in range(300_000)]},
        {str(number): "x" * 1000 for number in range(3000)},
    ],
    ids=["one long text", "many short texts", "many fields"],
)
def test_a_large_result_is_cut_to_head_and_tail(host: Host, response: dict[str, Any]) -> None:
    host.hook("PreToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="1")
    host.hook("PostToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_response=response, tool_use_id="1")
    assert max(len(line) for line in host.inbox.read_bytes().splitlines()) <= punchlist_hook.LONGEST_LINE
    assert _lines(host)[1]["event"]["tool_use_id"] == "1"
    if "stdout" in response:
        assert _lines(host)[1]["event"]["tool_response"]["stdout"].endswith("tail")
    with Board.open(host.board) as board:
        assert ingest(board) == 2
        kinds = [event.kind for event in board.events()]
        assert kinds == ["agent.joined", "tool.started", "tool.finished"]


def test_an_event_with_nothing_but_large_fields_keeps_the_small_ones(host: Host) -> None:
    fields = {f"field {number}": ["x" * 60_000] for number in range(100)}
    host.hook("PreToolUse", **SMALL, **fields)
    (line,) = _lines(host)
    assert line["event"]["session_id"] == "s-1"


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"{}", b'{"hook_event_name": 7}', b"[" * 100_000, b"{" * 100],
)
def test_what_is_no_event_is_logged_and_breaks_nothing(host: Host, body: bytes) -> None:
    assert host.run(body) == {}
    if host.inbox.exists():
        with Board.open(host.board) as board:
            ingest(board)
            assert not board.sessions()
    assert host.problems()


@pytest.mark.parametrize(
    "fields",
    [
        {"session_id": ""},
        {"session_id": "x" * 5000},
        {"session_id": "a\nb"},
        {"session_id": ["s"]},
        {"session_id": "\ud800"},
        {"hook_event_name": "Stop\x00"},
        {"cwd": 7, "tool_name": None, "tool_use_id": {}},
        {"cwd": "\0", **SMALL},
        {"cwd": "~root", **SMALL},
        {"tool_name": "Bash", "tool_input": "\ud800", "tool_use_id": "\udfff" * 1000},
        {"agent_id": "x" * 10_000, "agent_type": "\x1b[31m" * 100, **SMALL},
    ],
)
def test_odd_fields_break_nothing(host: Host, fields: dict[str, Any]) -> None:
    host.run(json.dumps({**host.event("PreToolUse"), **fields}).encode())
    host.hook("PreToolUse", **SMALL)
    with Board.open(host.board) as board:
        assert ingest(board) >= 1
        assert "tool.started" in [event.kind for event in board.events()]
    assert not host.inbox.exists()


# Files that are not ours.


@pytest.mark.parametrize("suffix", [".inbox", ".hooks.log", ".run"])
@pytest.mark.parametrize("target", ["file", "folder", "nothing"])
def test_links_in_place_of_our_files_are_not_followed(host: Host, tmp_path: Path, suffix: str, target: str) -> None:
    aim = tmp_path / "aim"
    if target == "file":
        aim.write_text("precious")
    if target == "folder":
        aim.mkdir(mode=0o700)
    os.symlink(aim, f"{host.board}{suffix}")
    host.hook("PreToolUse", **SMALL)
    host.hook("Stop", last_assistant_message="x")
    host.run(b"{")
    if target == "file":
        assert aim.read_text() == "precious"
    elif target == "folder":
        assert not list(aim.iterdir())
    else:
        assert not aim.exists()
    if suffix == ".run":
        with Board.open(host.board) as board, pytest.raises(OSError):
            HookServer(board, os.getpid())


def test_a_fifo_or_a_shared_file_in_place_of_the_inbox_is_left_alone(host: Host, tmp_path: Path) -> None:
    os.mkfifo(host.inbox)
    host.hook("PreToolUse", **SMALL)
    host.inbox.unlink()
    other = tmp_path / "other"
    other.write_text("precious")
    os.link(other, host.inbox)
    host.hook("PreToolUse", **SMALL)
    with Board.open(host.board) as board:
        assert ingest(board) == 0
    assert other.read_text() == "precious"
    assert len(host.problems()) == 3


def test_without_the_boards_folder_nothing_is_made(tmp_path: Path) -> None:
    host = Host(tmp_path / "gone" / "board.db", tmp_path)
    for name in ("PreToolUse", "Stop", "SessionStart"):
        assert host.hook(name, **SMALL, source="resume") == {}
    assert not (tmp_path / "gone").exists()
    answer = host.hook("PreToolUse", tool_name=OWN_TOOL, tool_input={}, tool_use_id="1", mcp_server=OWN_SERVER)
    assert answer["hookSpecificOutput"]["permissionDecision"] == "allow"


def test_a_file_that_is_no_board_gets_an_empty_answer_and_a_line_in_the_log(host: Host) -> None:
    host.board.write_text("no database at all" * 100)
    assert host.hook("Stop", last_assistant_message="Done.") == {}
    assert host.problems()
    assert host.board.read_text().startswith("no database")


def test_a_folder_that_cannot_be_written_breaks_nothing(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    host = Host(Path("/proc/board.db"), project)
    for name in ("PreToolUse", "Stop"):
        assert host.hook(name, **SMALL) == {}


@pytest.mark.parametrize("words", [[], ["a", "b"], ["--board"], ["--board", "/tmp/x"], ["claude-code", "--board"]])
def test_wrong_arguments_break_nothing(words: list[str], tmp_path: Path) -> None:
    env = {**os.environ, "PUNCHLIST_DB": str(tmp_path / "board.db")}
    command = [sys.executable, "-I", "-S", HOOK, *words]
    done = subprocess.run(command, input=b"{}", capture_output=True, env=env, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_log_is_bounded(host: Host) -> None:
    for number in range(3000):
        punchlist_hook.log_error(str(host.board), f"{number} " + "x" * 1000)
    sizes = [os.path.getsize(f"{host.board}.hooks.log{suffix}") for suffix in ("", ".1")]
    assert max(sizes) < 70_000
    assert host.problems()[-1].startswith("2999")


# The socket of a running server.


def test_a_running_server_takes_the_events_and_answers(host: Host) -> None:
    with Board.open(host.board) as board:
        with HookServer(board, os.getpid()) as server:
            assert os.stat(server.path).st_mode & 0o777 == 0o600
            assert os.stat(os.path.dirname(server.path)).st_mode & 0o777 == 0o700
            host.write_todos("t1", Fix="in_progress")
            assert [item.content for item in board.agent("main", session="s-1").todos.items] == ["Fix"]
            assert (
                "still open"
                in host.hook("Stop", last_assistant_message="Done.")["hookSpecificOutput"]["additionalContext"]
            )
            assert host.hook("Stop", last_assistant_message="Done.") == {}
        assert not host.inbox.exists()
        assert not os.path.exists(server.path)
    assert host.problems() == []


def test_a_server_first_takes_what_lies_in_the_inbox(host: Host) -> None:
    host.write_todos("t1", Fix="in_progress")
    with Board.open(host.board) as board, HookServer(board, os.getpid()):
        assert (
            "still open" in host.hook("Stop", last_assistant_message="Done.")["hookSpecificOutput"]["additionalContext"]
        )
        assert not host.inbox.exists()


def test_a_server_of_another_agent_is_not_asked(host: Host) -> None:
    with Board.open(host.board) as board, HookServer(board, 1):
        host.hook("PreToolUse", **SMALL)
        assert host.inbox.exists()


def _listen(host: Host) -> tuple[socket.socket, Path]:
    folder = Path(punchlist_hook.socket_folder(str(host.board)))
    folder.mkdir(mode=0o700)
    path = folder / f"{os.getpid()}.99.sock"
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(str(path))
    return server, path


def test_a_socket_of_a_killed_server_is_removed(host: Host) -> None:
    server, path = _listen(host)
    server.close()
    host.hook("PreToolUse", **SMALL)
    assert not path.exists()
    assert len(_lines(host)) == 1


def test_a_server_that_does_not_reply_is_given_up_and_the_event_is_in_the_inbox(host: Host) -> None:
    host.is_patient = False
    server, _ = _listen(host)
    server.listen()
    host.write_todos("t1", Fix="in_progress")
    assert "still open" in str(host.hook("Stop", last_assistant_message="Done."))
    server.close()
    assert host.problems() == []


def test_a_silent_hook_that_is_killed_while_a_server_does_not_reply_has_left_its_line(host: Host) -> None:
    server, _ = _listen(host)
    server.listen()
    body = json.dumps(host.event("PreToolUse", **SMALL)).encode()
    with subprocess.Popen(host.command(), stdin=subprocess.PIPE, cwd=host.project) as hook:
        assert hook.stdin is not None
        hook.stdin.write(body)
        hook.stdin.close()
        taken, _ = server.accept()
        with taken:
            assert b"PreToolUse" in taken.recv(65_536)
            hook.kill()
    server.close()
    assert len(_lines(host)) == 1
    with Board.open(host.board) as board:
        assert ingest(board) == 1
        assert [event.kind for event in board.events()] == ["agent.joined", "tool.started"]


def test_a_server_asks_a_gate_once_about_an_event(host: Host) -> None:
    asked: list[str] = []

    def refuse(task: Task) -> str:
        asked.append(task.subject)
        return "Not today"

    with Board.open(host.board) as board, HookServer(board, os.getpid()):
        board.gate("create", refuse)
        answer = host.hook("TaskCreated", task_id="1", task_subject="Paint", task_description="")
    assert asked == ["Paint"]
    assert "Not today" in json.dumps(answer)


def test_a_server_takes_an_event_whose_hook_cannot_write_to_the_inbox(host: Host) -> None:
    host.inbox.symlink_to(host.project / "elsewhere")
    with Board.open(host.board) as board, HookServer(board, os.getpid()):
        host.hook("PreToolUse", **SMALL)
        assert [event.kind for event in board.events()] == ["agent.joined", "tool.started"]


@pytest.mark.parametrize("reply", [b"", b"x\n", b"[]\n", b'{"a":', b"x" * 2_000_000])
def test_a_server_that_replies_nonsense_is_no_answer(host: Host, reply: bytes) -> None:
    server, _ = _listen(host)
    server.listen()

    def serve() -> None:
        taken, _ = server.accept()
        with taken:
            taken.recv(65_536)
            try:
                taken.sendall(reply)
            except OSError:
                return

    thread = threading.Thread(target=serve)
    thread.start()
    assert host.hook("PreToolUse", **SMALL) == {}
    thread.join()
    server.close()
    assert len(_lines(host)) == 1


def test_an_event_that_a_server_took_without_replying_is_not_taken_twice(host: Host) -> None:
    line = punchlist_hook.make_line("claude-code", host.event("PreToolUse", **SMALL))
    with Board.open(host.board) as board:
        with HookServer(board, os.getpid()) as server, socket.socket(socket.AF_UNIX) as hook:
            hook.connect(server.path)
            hook.sendall(line)
            assert hook.recv(100) == b"{}\n"
        punchlist_hook.append_line(str(host.board), line)
        assert ingest(board) == 0
        assert [event.kind for event in board.events()].count("tool.started") == 1
    assert not host.inbox.exists()


def test_a_client_that_sends_nonsense_or_nothing_does_not_stop_the_server(host: Host) -> None:
    with Board.open(host.board) as board, HookServer(board, os.getpid()) as server:
        for body in (b"", b"nonsense\n", b"{}\n", b'{"id":"1","host":"x","event":{}}\n'):
            with socket.socket(socket.AF_UNIX) as hook:
                hook.connect(server.path)
                hook.sendall(body)
                hook.shutdown(socket.SHUT_WR)
                hook.recv(100)
        assert host.hook("SubagentStop", agent_id="a", last_assistant_message="x") == {}
        assert not host.inbox.exists()


def test_a_board_with_a_long_path_has_its_sockets_in_a_short_folder(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    host = Host(folder / "board.db", tmp_path)
    where = punchlist_hook.socket_folder(str(host.board))
    with Board.open(host.board) as board, HookServer(board, os.getpid()) as server:
        assert os.path.dirname(server.path) == where
        host.hook("PreToolUse", **SMALL)
        assert not host.inbox.exists()
    assert not os.path.exists(where)


def test_the_command_hook_does_the_same(host: Host) -> None:
    host.write_todos("t1", Fix="in_progress")
    command = [sys.executable, "-I", "-m", "punchlist", "hook", "claude-code", "--db", str(host.board)]
    body = json.dumps(host.event("Stop", last_assistant_message="Done.")).encode()
    done = subprocess.run(command, input=body, capture_output=True, check=True)
    assert "still open" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    done = subprocess.run(command, input=b"{", capture_output=True, check=True)
    assert done.stdout == b""
    assert host.problems()


def test_a_hook_that_names_no_board_leaves_its_event_for_the_users_own(tmp_path: Path):
    """The plugin of a marketplace names none, and nobody has run `attach`."""
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    event = json.dumps(
        {"hook_event_name": "PostToolUse", "session_id": "s1", "cwd": str(tmp_path), "tool_name": "Read"}
    )
    command = [sys.executable, "-m", "punchlist_hook", "claude-code"]
    subprocess.run(command, input=event, text=True, env=environment, check=True)
    (inbox,) = tmp_path.rglob("board.db.inbox")
    assert "PostToolUse" in inbox.read_text()
