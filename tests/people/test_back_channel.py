"""What a person says reaches an idle session: by the monitor of Claude Code, by a queued message of Codex."""

from __future__ import annotations

import json
import os
import selectors
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from punchlist import Board
from punchlist.cli import main
from punchlist.conversations.bindings import load_receipt, note_reply
from punchlist.hooks.inbox import ingest
from punchlist.hooks.sockets import HookServer
from punchlist.people.back_channel import BackChannel, deliver, describe_hearing
from tests.hooks.hosts import HOOK, Host

NOTIFICATION = "<task-notification><event>Punchlist: …</event></task-notification>"


class Monitor:
    """The monitor of the plugin, as Claude Code runs it."""

    def __init__(self, host: Host) -> None:
        command = [sys.executable, "-I", "-S", HOOK, "monitor", "claude-code", "--board", str(host.board)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=host.project)

    def read(self, seconds: float = 20) -> str:
        """Return the next line; empty if none comes in time."""
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            return os.read(self.process.stdout.fileno(), 10_000).decode() if selector.select(seconds) else ""

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def board(host: Host) -> Iterator[Board]:
    with Board.open(host.board) as board:
        yield board


@pytest.fixture
def channel(board: Board) -> BackChannel:
    return BackChannel(board, os.getpid())


@pytest.fixture
def server(host: Host, board: Board, channel: BackChannel, monkeypatch: pytest.MonkeyPatch) -> Iterator[HookServer]:
    """The socket of a running `punchlist mcp`, in the process that the hooks take for the agent's."""
    monkeypatch.setenv("CLAUDE_PID", str(os.getpid()))
    with HookServer(board, os.getpid(), channel=channel) as served:
        yield served


@pytest.fixture
def monitor(host: Host, server: HookServer, channel: BackChannel) -> Iterator[Monitor]:
    made = Monitor(host)
    channel.has_monitor.wait(20)
    yield made
    made.close()


def start_idle_session(host: Host, board: Board) -> None:
    """Let the agent write its list, ask about an item, and stop."""
    host.hook("SessionStart", source="startup")
    host.hook("UserPromptSubmit", prompt="Ship it")
    host.write_todos("t1", Fix="in_progress", Deploy="pending")
    ingest(board)
    board.agent("main", session=host.session).ask("Deploy", "Which region?")
    host.hook("Stop", last_assistant_message="Which region?")


def steps(board: Board) -> list[str]:
    return [event.kind for event in board.events() if event.kind.startswith("news.")]


def read_context(answer: dict[str, Any]) -> str:
    return answer.get("hookSpecificOutput", {}).get("additionalContext", "")


def test_an_answer_wakes_an_idle_session_and_its_receipt_says_so(host: Host, board: Board, monitor: Monitor) -> None:
    start_idle_session(host, board)
    before = board.store.last_seq()
    board.agent("main", session="s-1").answer("Deploy", "Use eu-west", by="ada", person=True)
    line = monitor.read()
    assert line == "Punchlist: ada answered your question on item 2; see the context of this message.\n"
    told = read_context(host.hook("UserPromptSubmit", prompt=NOTIFICATION))
    assert "Use eu-west" in told
    assert steps(board) == ["news.sent", "news.accepted"]
    host.hook("Stop", last_assistant_message="Deploying to eu-west?")
    assert steps(board) == ["news.sent", "news.accepted", "news.seen"]
    receipt = load_receipt(board, "s-1", before + 1)
    assert receipt.state == "seen by the model"
    times = [receipt.sent, receipt.accepted, receipt.seen]
    assert times == sorted(one for one in times if one is not None)


def test_facts_of_one_moment_are_one_line_and_none_is_told_twice(host: Host, board: Board, monitor: Monitor) -> None:
    start_idle_session(host, board)
    agent = board.agent("main", session="s-1")
    agent.answer("Deploy", "Use eu-west", by="ada")
    assert main(["todo", "append", "Write the docs", "--session", "s-1", "--by", "ada", "--db", str(host.board)]) == 0
    assert monitor.read().count("\n") == 1
    told = read_context(host.hook("UserPromptSubmit", prompt=NOTIFICATION))
    assert "Use eu-west" in told
    assert "Write the docs" in told
    assert monitor.read(0.3) == ""
    assert host.hook("UserPromptSubmit", prompt="go on") == {}


@pytest.mark.parametrize("wake", ["answers", "edits", "never"])
def test_an_edit_of_the_list_wakes_it_only_if_that_is_set(
    host: Host, board: Board, monitor: Monitor, monkeypatch: pytest.MonkeyPatch, wake: str
) -> None:
    monkeypatch.setenv("PUNCHLIST_WAKE", wake)
    start_idle_session(host, board)
    assert main(["todo", "append", "Write the docs", "--session", "s-1", "--by", "ada", "--db", str(host.board)]) == 0
    if wake == "edits":
        assert monitor.read() == "Punchlist: ada changed your todo list; see the context of this message.\n"
        return
    assert monitor.read(0.5) == ""
    board.agent("main", session="s-1").answer("Deploy", "Use eu-west", by="ada")
    assert bool(monitor.read(0.5 if wake == "never" else 5)) == (wake == "answers")
    assert "Write the docs" in read_context(host.hook("UserPromptSubmit", prompt="go on"))


def test_what_frees_an_item_that_waited_on_a_person_wakes_it(host: Host, board: Board, monitor: Monitor) -> None:
    start_idle_session(host, board)
    blocked = {"1": "needs the user's approval"}
    assert not board.agent("main", session="s-1").call("todo", {"block": blocked}).is_error
    assert main(["todo", "unblock", "1", "--session", "s-1", "--by", "ada", "--db", str(host.board)]) == 0
    assert monitor.read() == "Punchlist: ada changed your todo list; see the context of this message.\n"


def test_no_line_without_news_and_none_while_it_works(host: Host, board: Board, monitor: Monitor) -> None:
    start_idle_session(host, board)
    host.hook("UserPromptSubmit", prompt="go on")
    host.write_todos("t2", Fix="completed", Deploy="pending")
    board.agent("main", session="s-1").answer("Deploy", "Use eu-west", by="ada")
    assert monitor.read(0.5) == ""
    answer = host.hook("Stop", last_assistant_message="Done.")
    assert "Use eu-west" in answer["hookSpecificOutput"]["additionalContext"]
    host.hook("Stop", last_assistant_message="Which one?", stop_hook_active=True)
    assert steps(board) == ["news.accepted", "news.seen"]
    assert monitor.read(0.5) == ""


@pytest.mark.parametrize(
    ("status", "session", "seconds", "wakes"),
    [
        ("shell", "s-1", 60, True),
        ("idle", "s-1", 60, True),
        ("busy", "s-1", 60, False),
        ("waiting", "s-1", 60, False),
        ("idle", "s-2", 60, False),
        ("idle", "s-1", -60, False),  # written before the prompt
    ],
)
def test_a_turn_that_the_person_broke_off_is_over_when_claude_code_says_so(
    host: Host,
    board: Board,
    monitor: Monitor,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    status: str,
    session: str,
    seconds: int,
    wakes: bool,
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    start_idle_session(host, board)
    host.hook("UserPromptSubmit", prompt="go on")
    changed = int(1000 * (time.time() + seconds))
    state = {"pid": os.getpid(), "sessionId": session, "status": status, "statusUpdatedAt": changed}
    (tmp_path / "claude" / "sessions").mkdir(parents=True)
    (tmp_path / "claude" / "sessions" / f"{os.getpid()}.json").write_text(json.dumps(state))
    board.agent("main", session="s-1").answer("Deploy", "Use eu-west", by="ada")
    assert bool(monitor.read(20 if wakes else 0.5)) is wakes


def test_an_approval_waits_for_the_persons_own_prompt(host: Host, board: Board, monitor: Monitor) -> None:
    start_idle_session(host, board)
    agent = board.agent("main", session="s-1")
    plan = agent.propose_plan("# Ship\n\n1. Build\n2. Deploy")
    agent.approve_plan(plan.revision, by="ada", todos=True, person=True)
    assert monitor.read(0.5) == ""
    assert host.hook("UserPromptSubmit", prompt=NOTIFICATION) == {}
    told = read_context(host.hook("UserPromptSubmit", prompt="go on"))
    assert "ada approved your plan" in told
    assert "Build" in told


def test_a_rejection_goes_by_the_monitor(host: Host, board: Board, monitor: Monitor) -> None:
    start_idle_session(host, board)
    agent = board.agent("main", session="s-1")
    plan = agent.propose_plan("# Ship\n\n1. Build")
    agent.reject_plan("Tests first", by="ada", revision=plan.revision)
    assert monitor.read() == "Punchlist: ada rejected your plan; see the context of this message.\n"
    assert "Tests first" in read_context(host.hook("UserPromptSubmit", prompt=NOTIFICATION))


def test_the_monitor_finds_the_next_server_and_ends_with_its_agent(
    host: Host, board: Board, monitor: Monitor, server: HookServer
) -> None:
    start_idle_session(host, board)
    server.close()
    with HookServer(board, os.getpid(), channel=BackChannel(board, os.getpid())):
        board.agent("main", session="s-1").answer("Deploy", "Use eu-west", by="ada")  # before the monitor is back
        assert "ada answered" in monitor.read()
    assert monitor.process.poll() is None
    assert host.problems() == []


def test_the_monitor_ends_when_its_parent_is_gone(host: Host) -> None:
    command = [sys.executable, "-I", "-S", HOOK, "monitor", "claude-code", "--board", str(host.board)]
    script = f"import os, subprocess\nos.environ['CLAUDE_PID'] = str(os.getpid())\nsubprocess.Popen({command!r})"
    read, write = os.pipe()
    subprocess.run([sys.executable, "-c", script], stdout=write, check=True, timeout=60)
    os.close(write)
    with os.fdopen(read, "rb") as output:
        assert output.read() == b""  # ends only once the monitor, which has it too, has ended


@pytest.mark.usefixtures("person")
def test_without_a_running_host_it_waits_for_the_next_turn(
    host: Host, board: Board, capsys: pytest.CaptureFixture[str]
) -> None:
    start_idle_session(host, board)
    host.hook("SessionEnd", reason="other")
    assert main(["answer", "Deploy", "Use eu-west", "--session", "s-1", "--json", "--db", str(host.board)]) == 0
    receipt = json.loads(capsys.readouterr().out)["receipt"]
    assert receipt == {"state": "waits for its next turn", "sent": None, "accepted": None, "seen": None}
    seq = max(event.seq for event in board.events() if event.kind == "question.answered")
    assert "Use eu-west" in read_context(host.hook("UserPromptSubmit", prompt="go on"))
    host.hook("PreToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="b1")
    ingest(board)
    assert load_receipt(board, "s-1", seq).state == "seen by the model"


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(("wake", "when"), [("answers", "now"), ("never", "at its next turn")])
def test_a_person_is_told_that_an_idle_agent_hears_it_now_only_if_it_is_woken(
    host: Host,
    board: Board,
    monitor: Monitor,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    wake: str,
    when: str,
) -> None:
    monkeypatch.setenv("PUNCHLIST_WAKE", wake)
    start_idle_session(host, board)
    assert main(["answer", "Deploy", "Use eu-west", "--session", "s-1", "--db", str(host.board)]) == 0
    assert capsys.readouterr().out.endswith(f"claude s-1 hears it {when}.\n")


@pytest.mark.usefixtures("person", "server")
def test_without_a_monitor_an_idle_agent_hears_it_at_its_next_turn(
    host: Host, board: Board, capsys: pytest.CaptureFixture[str]
) -> None:
    start_idle_session(host, board)
    assert main(["answer", "Deploy", "Use eu-west", "--session", "s-1", "--db", str(host.board)]) == 0
    assert capsys.readouterr().out.endswith("claude s-1 hears it at its next turn.\n")


def test_news_in_the_reply_of_our_own_tool_has_a_receipt_too(host: Host, board: Board) -> None:
    start_idle_session(host, board)
    host.hook("UserPromptSubmit", prompt="go on")
    agent = board.agent("main", session="s-1")
    agent.answer("Deploy", "Use eu-west", by="ada")
    assert "Use eu-west" in str(agent.take_answers())
    note_reply(agent)
    host.hook("Stop", last_assistant_message="Shall I?")
    assert steps(board) == ["news.accepted", "news.seen"]


# Codex: a program of its name that takes the message, as the real one does.

QUEUE = """#!{python}
import json, subprocess, sys
open({log!r}, "a").write(json.dumps(sys.argv[1:]) + "\\n")
if {code} is not None:
    sys.exit({code})
message = sys.argv[sys.argv.index("--message") + 1]
event = {{"session_id": "s-1", "cwd": {project!r}, "hook_event_name": "UserPromptSubmit", "prompt": message}}
done = subprocess.run({hook!r}, input=json.dumps(event).encode(), capture_output=True)
open({log!r} + ".hook", "wb").write(done.stdout)
"""


@pytest.fixture
def codex(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return Host(host.board, host.project, host="codex")


def install_codex(codex: Host, tmp_path: Path, code: int | None = None) -> Path:
    """Install a `codex` that begins a turn with the message at once, or one that ends with this code."""
    program, log = tmp_path / "bin" / "codex", tmp_path / "queued.json"
    values = {"python": sys.executable, "log": str(log), "code": code, "project": str(codex.project)}
    program.write_text(QUEUE.format(hook=codex.command(), **values))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return log


@pytest.mark.usefixtures("person")
def test_codex_gets_the_text_as_a_message_and_its_hook_does_not_repeat_it(
    codex: Host, board: Board, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = install_codex(codex, tmp_path)
    start_idle_session(codex, board)
    capsys.readouterr()
    assert main(["answer", "Deploy", "Use eu-west", "--session", "s-1", "--json", "--db", str(codex.board)]) == 0
    receipt = json.loads(capsys.readouterr().out)["receipt"]
    assert receipt["state"] == "accepted by the host"
    queued = json.loads(log.read_text())
    assert [*queued[:3], queued[-1]] == ["queue", "--thread", "s-1", "--resume"]
    assert "Use eu-west" in queued[4]
    assert (tmp_path / "queued.json.hook").read_bytes() == b""
    codex.hook("Stop", last_assistant_message="Deploying to eu-west?")
    seq = max(event.seq for event in board.events() if event.kind == "question.answered")
    assert load_receipt(board, "s-1", seq).state == "seen by the model"
    assert codex.hook("UserPromptSubmit", prompt="go on") == {}


def test_what_codex_does_not_take_is_told_at_its_next_turn(codex: Host, board: Board, tmp_path: Path) -> None:
    install_codex(codex, tmp_path, code=1)
    start_idle_session(codex, board)
    before = board.store.last_seq()
    board.agent("main", session="s-1").answer("Deploy", "Use eu-west", by="ada")
    assert deliver(board, "s-1", "main", before).state == "waits for its next turn"
    assert "Use eu-west" in read_context(codex.hook("UserPromptSubmit", prompt="go on"))


def test_a_message_that_only_waits_in_codex_queue_is_sent_and_not_accepted(
    codex: Host, board: Board, tmp_path: Path
) -> None:
    program = tmp_path / "bin" / "codex"
    warning = "Warning: message was queued, but could not resume thread s-1: start a local daemon"
    program.write_text(f"#!/bin/sh\necho 'Queued message 1 for thread s-1.'\necho '{warning}' >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    start_idle_session(codex, board)
    before = board.store.last_seq()
    board.agent("main", session="s-1").answer("Deploy", "Use eu-west", by="ada")
    receipt = deliver(board, "s-1", "main", before, wait=60)
    assert receipt.state == "sent"
    assert describe_hearing(board, "s-1", "main", receipt).endswith("hears it at its next turn.")
    assert "Use eu-west" in read_context(codex.hook("UserPromptSubmit", prompt="go on"))
    assert deliver(board, "s-1", "main", before).state == "accepted by the host"


def test_no_second_message_while_one_waits_in_codex_queue(
    codex: Host, board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PUNCHLIST_WAKE", "edits")
    log = install_codex(codex, tmp_path, code=0)
    start_idle_session(codex, board)
    for word in ("one", "two"):
        words = ["todo", "append", word, "--session", "s-1", "--by", "ada", "--db", str(codex.board)]
        assert main(words) == 0
    (queued,) = [json.loads(line) for line in log.read_text().splitlines()]
    told = read_context(codex.hook("UserPromptSubmit", prompt=queued[4]))
    assert "one" in queued[4]
    assert "two" in told
    assert codex.hook("UserPromptSubmit", prompt="go on") == {}
