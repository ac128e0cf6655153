"""Another agent continues a session: same list, same ids, both named in its history."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import punchlist_statusline
from punchlist import Board
from punchlist.cli import main
from punchlist.conversations.bindings import find_session
from punchlist.hooks.inbox import ingest
from tests.hooks.hosts import Host

PASSWORD = "hunter2-and-more"


@pytest.fixture
def board(host: Host) -> Iterator[Board]:
    with Board.open(host.board) as board:
        yield board


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def attached(home: Path, host: Host) -> None:
    assert main(["attach", "codex", "--yes", "--force", "--db", str(host.board)]) == 0


def write_list(host: Host, board: Board) -> None:
    host.hook("UserPromptSubmit", prompt="Ship it")
    host.write_todos("t1", Build="completed", Fix="in_progress", Deploy="pending")
    host.hook("PreToolUse", tool_name="Bash", tool_input={"command": "pytest -q"}, tool_use_id="b1")
    error = "Exit code 1\n1 failed, 2 passed in 0.1s"
    fields = {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "tool_use_id": "b1", "error": error}
    host.hook("PostToolUseFailure", **fields)
    ingest(board)
    agent = board.agent("main", session=host.session)
    agent.ask("Deploy", "Which region?")
    db = str(host.board)
    assert main(["todo", "note", "Fix", f"export PASSWORD={PASSWORD}", "--session", host.session, "--db", db]) == 0


def hand_off(host: Host, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    capsys.readouterr()
    command = ["handoff", host.session, "--to", "codex", "--by", "ada", *options, "--db", str(host.board)]
    assert main(command) == 0
    return capsys.readouterr().out


@pytest.mark.usefixtures("attached")
def test_the_prompt_holds_what_is_open_and_no_secret(
    host: Host, board: Board, capsys: pytest.CaptureFixture[str]
) -> None:
    write_list(host, board)
    prompt = json.loads(hand_off(host, capsys, "--json"))["prompt"]
    assert "- 2 [in_progress] Fix" in prompt
    assert "- 3 [blocked] Deploy\n    waits on a person: Which region?" in prompt
    assert "Build" not in prompt
    assert "Last failing check: pytest -q\n    Exit code 1\n    1 failed, 2 passed" in prompt
    assert "note: export PASSWORD=" in prompt
    assert PASSWORD not in prompt


@pytest.mark.usefixtures("attached")
def test_the_conversation_with_the_token_continues_the_list(
    host: Host, board: Board, capsys: pytest.CaptureFixture[str]
) -> None:
    write_list(host, board)
    words = shlex.split(hand_off(host, capsys))
    assert words[:4] == ["cd", str(host.project), "&&", "codex"]
    codex = Host(host.board, host.project, session="thread-9", host="codex")
    codex.hook("SessionStart", source="startup")
    codex.hook("UserPromptSubmit", prompt=words[4])
    assert find_session(board, "codex", "thread-9") == host.session
    plan = [{"step": "Build", "status": "completed"}, {"step": "Fix", "status": "completed"}]
    given = {"plan": [*plan, {"step": "Deploy", "status": "in_progress"}]}
    codex.call("u1", "update_plan", given, "Plan updated")
    ingest(board)
    items = board.agent("main", session=host.session).todos.items
    assert [(item.id, item.status.value) for item in items[:2]] == [("1", "completed"), ("2", "completed")]
    told = [event for event in board.events() if event.kind.startswith("session.")]
    assert [(event.kind, event.by, event.session) for event in told] == [
        ("session.handed_off", "ada", host.session),
        ("session.continued", "codex", host.session),
    ]
    assert told[0].data == {"from": "claude-code", "to": "codex"}
    assert told[1].data == {"from": "claude-code", "host": "codex", "conversation": "thread-9"}


def test_the_rows_of_a_bound_conversation_are_those_of_its_session(host: Host, board: Board) -> None:
    write_list(host, board)
    now, session = board.now(), host.session
    board.store.transact(lambda tx: tx.hosts.bind_conversation("claude-code", "c-2", session, project="/p", at=now))
    command = [sys.executable, "-I", "-S", punchlist_statusline.__file__, "--board", str(host.board)]
    done = subprocess.run(command, input=b'{"session_id":"c-2"}', capture_output=True, check=True, timeout=60)
    assert "Fix" in done.stdout.decode()


@pytest.mark.usefixtures("attached")
def test_a_token_binds_only_the_first_prompt_of_its_own_host(
    host: Host, board: Board, capsys: pytest.CaptureFixture[str]
) -> None:
    write_list(host, board)
    prompt = json.loads(hand_off(host, capsys, "--json"))["prompt"]
    later = Host(host.board, host.project, session="later", host="codex")
    later.hook("UserPromptSubmit", prompt="hello")
    later.hook("UserPromptSubmit", prompt=prompt)
    other = Host(host.board, host.project, session="other")
    other.hook("UserPromptSubmit", prompt=prompt)
    unknown = Host(host.board, host.project, session="unknown", host="codex")
    unknown.hook("UserPromptSubmit", prompt=f"punchlist-handoff-{'0' * 16}")
    found = [find_session(board, one.host, one.session) for one in (later, other, unknown)]
    assert found == ["later", "other", "unknown"]


@pytest.mark.usefixtures("home")
def test_an_unattached_agent_and_an_unknown_session_are_refused_in_one_sentence(
    host: Host, board: Board, capsys: pytest.CaptureFixture[str]
) -> None:
    write_list(host, board)
    capsys.readouterr()
    before = board.store.last_seq()
    assert main(["handoff", host.session, "--to", "codex", "--db", str(host.board)]) == 1
    assert "`punchlist attach codex` attaches it." in capsys.readouterr().err
    assert main(["handoff", "nobody", "--to", "codex", "--db", str(host.board)]) == 1
    assert "`punchlist sessions` lists them." in capsys.readouterr().err
    assert board.store.last_seq() == before
