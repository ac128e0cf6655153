"""Logs of Gemini CLI, qwen, oh-my-pi, OpenClaw and Hermes: their sessions are graded although nothing is attached."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from punchlist import Board
from punchlist.cli import main
from punchlist.core.overview import TokenTotal
from punchlist.errors import SettingsFileInvalid
from punchlist.logs.discovery import load_scope
from punchlist.logs.lists import Piece, StoreRows
from punchlist.transcripts.steps import CallEnd, CallStart, Step, TurnEnd, UserTurn
from tests.logs.machine import Machine, counts, make_machine, snapshot
from tests.transcripts.chats import CHATS, Chat, GeminiChat, HermesChat, OpenClawChat, QwenChat
from tests.transcripts.sessions import ClaudeSession, CodexSession


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return make_machine(tmp_path, monkeypatch)


@pytest.fixture(params=CHATS)
def chat(request: pytest.FixtureRequest) -> Chat:
    return CHATS[request.param]()


def work(chat: Chat) -> None:
    chat.user("Add a login page")
    chat.todo("> Write the form", "Test it")
    chat.run("echo 'x = 1' > src/login.py")
    chat.run("pytest -q", "1 failed, 2 passed in 0.1s", 1)
    chat.run("echo 'x = 2' > src/login.py")
    chat.run("pytest -q", "3 passed in 0.1s")
    chat.todo("x Write the form", "> Test it")
    chat.say("Done.")


def test_a_session_is_on_the_board_with_its_calls_its_list_and_grades(machine: Machine, chat: Chat) -> None:
    work(chat)
    chat.save(machine.home)
    before = snapshot(machine.home)
    machine.watch()
    assert snapshot(machine.home) == before
    assert machine.problems == []
    found = counts(machine.events())
    assert (found["tool.started"], found["tool.finished"] + found["tool.failed"]) == (4, 4)
    assert found["turn.ended"] == 1
    with Board.open(machine.board) as board:
        (row,) = board.store.lists(session=chat.session)
        assert row.project == chat.cwd
        report = board.report(session=chat.session)
        assert [(item.item.content, item.grade) for item in report.items] == [
            ("Write the form", "verified"),
            ("Test it", None),
        ]
        assert report.state == "green"


def test_a_log_that_grows_tells_each_fact_once(machine: Machine, chat: Chat) -> None:
    work(chat)
    whole = chat.records
    for upto in range(1, len(whole) + 1):
        chat.records = whole[:upto]
        chat.save(machine.home)
        machine.watch()
    machine.watch()
    found = counts(machine.events())
    assert (found["tool.started"], found["tool.finished"] + found["tool.failed"]) == (4, 4)
    assert found["list.replaced"] == 2
    assert not found["list.restored"]
    assert not found["transcript.write"]
    ids = Counter(event.data["call_id"] for event in machine.events() if event.kind == "tool.started")
    assert set(ids.values()) == {1}


def test_a_check_that_failed_last_makes_the_session_red(machine: Machine, chat: Chat) -> None:
    chat.todo("> Write the form")
    chat.run("echo 'x = 1' > src/login.py")
    chat.run("pytest -q", "1 failed, 2 passed in 0.1s", 1)
    chat.todo("x Write the form")
    chat.save(machine.home)
    machine.watch()
    with Board.open(machine.board) as board:
        report = board.report(session=chat.session)
        assert (report.state, [item.grade for item in report.items]) == ("red", ["failing"])


def grade(machine: Machine, session: str) -> str:
    machine.watch()
    with Board.open(machine.board) as board:
        return board.report(session=session).state


def test_a_check_that_runs_on_counts_as_what_the_agent_reads_of_it_later(machine: Machine) -> None:
    running = {"status": "running", "sessionId": "warm-reef", "pid": 12}
    failed = {"status": "failed", "exitCode": 1, "sessionId": "warm-reef"}
    chat = OpenClawChat()
    chat.todo("> Write the form")
    chat.run("echo 'x = 1' > src/login.py")
    chat.tool("exec", {"command": "pytest -q"}, "Command still running (session warm-reef, pid 12).", data=running)
    chat.todo("x Write the form")
    chat.save(machine.home)
    assert grade(machine, chat.session) == "unchecked"
    chat.tool("process", {"action": "poll", "sessionId": "warm-reef"}, "2 failed in 1s", data=failed)
    chat.save(machine.home)
    assert grade(machine, chat.session) == "red"


def test_a_background_command_of_hermes_counts_as_what_the_agent_reads_of_it_later(machine: Machine) -> None:
    chat = HermesChat()
    chat.todo("> Write the form")
    chat.run("echo 'x = 1' > src/login.py")
    begun = {"output": "Background process started", "session_id": "p1", "pid": 12, "exit_code": 0, "error": None}
    chat.tool("terminal", {"command": "pytest -q", "background": True}, json.dumps(begun))
    chat.todo("x Write the form")
    chat.save(machine.home)
    assert grade(machine, chat.session) == "unchecked"
    ended = {"session_id": "p1", "status": "exited", "exit_code": 1, "output_preview": "2 failed"}
    chat.tool("process", {"action": "poll", "session_id": "p1"}, json.dumps(ended))
    chat.save(machine.home)
    assert grade(machine, chat.session) == "red"


def test_a_success_of_gemini_or_qwen_without_an_answer_proves_nothing(machine: Machine) -> None:
    gemini, qwen = GeminiChat(), QwenChat()
    for chat in (gemini, qwen):
        chat.todo("> Write the form")
        chat.run("echo 'x = 1' > src/login.py")
        chat.run("pytest -q", "3 passed in 0.1s")
    next(one for one in reversed(gemini.records) if one.get("toolCalls"))["toolCalls"][0]["result"] = None
    qwen.records[-1]["message"]["parts"][0]["functionResponse"]["response"] = {"output": ""}
    for chat in (gemini, qwen):
        chat.todo("x Write the form")
        chat.save(machine.home)
        assert grade(machine, chat.session) == "unchecked"


@pytest.mark.parametrize("agent", ["openclaw", "oh-my-pi", "hermes", "qwen"])
def test_ids_that_come_again_each_turn_are_of_other_calls(
    machine: Machine, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = CHATS[agent]()
    monkeypatch.setattr(chat, "next_id", lambda: "functions.shell:0")
    work(chat)
    whole = chat.records
    for upto in (len(whole) // 2, len(whole) // 2 + 1, len(whole)):
        chat.records = whole[:upto]
        chat.save(machine.home)
        machine.watch()
    found = counts(machine.events())
    assert (found["tool.started"], found["tool.finished"] + found["tool.failed"]) == (4, 4)
    assert (found["list.replaced"], found["list.restored"]) == (2, 0)
    assert grade(machine, chat.session) == "green"


def test_a_past_that_gemini_writes_again_is_not_told_again(machine: Machine) -> None:
    chat = GeminiChat()
    work(chat)
    chat.user("Now the tests")
    chat.run("ls", "src")
    path = chat.save(machine.home)
    machine.watch()
    before = counts(machine.events())
    messages = {one["id"]: one for one in chat.records if "id" in one}
    with path.open("a") as file:
        file.write(json.dumps({"$set": {"messages": list(messages.values())}}) + "\n")
    machine.watch()
    assert counts(machine.events()) == before


def test_a_call_of_a_list_tool_that_failed_writes_nothing(machine: Machine) -> None:
    chat = GeminiChat()
    chat.tool("write_todos", {"todos": [{"description": "Paint", "status": "pending"}]}, "not found", error=True)
    chat.run("ls", "src")
    chat.save(machine.home)
    machine.watch()
    found = counts(machine.events())
    assert (found["list.replaced"], found["tool.started"]) == (0, 1)


@pytest.mark.parametrize(
    ("agent", "tool"),
    [("gemini", "mcp_punchlist_todo"), ("qwen", "mcp__punchlist__todo"), ("openclaw", "punchlist_todo")],
)
def test_calls_of_our_own_tool_change_the_list_and_are_no_tool_calls(machine: Machine, agent: str, tool: str) -> None:
    chat = CHATS[agent]()
    chat.tool(tool, {"set": [{"text": "Fix the bug", "status": "in_progress"}]}, "1 item")
    chat.save(machine.home)
    machine.watch()
    with Board.open(machine.board) as board:
        assert [item.content for item in board.agent("main", session=chat.session).todos.items] == ["Fix the bug"]
    assert counts(machine.events())["tool.started"] == 0


def test_subagents_of_gemini_and_qwen_are_children_of_their_session(machine: Machine) -> None:
    gemini, qwen = GeminiChat(), QwenChat()
    gemini.session = "5c1de2a0-0000-4000-8000-000000000008"
    gemini.records.clear()
    gemini.begin()
    children = GeminiChat(), QwenChat()
    for chat in (gemini, qwen, *children):
        chat.run("ls", "src")
    path = gemini.save(machine.home)
    children[0].write_lines(path.parent / gemini.session / f"{children[0].session}.jsonl")
    path = qwen.save(machine.home)
    folder = path.parent.parent / "subagents" / qwen.session
    children[1].write_lines(folder / "agent-explore-1.jsonl")
    (folder / "agent-explore-1.meta.json").write_text(json.dumps({"agentType": "explore"}))
    machine.watch()
    with Board.open(machine.board) as board:
        for chat, names in ((gemini, {"main", f"agent-{children[0].session}"}), (qwen, {"main", "explore"})):
            assert {row.agent for row in board.store.lists(session=chat.session)} == names


def test_a_list_file_of_qwen_beside_its_log_is_not_told_again(machine: Machine) -> None:
    chat = QwenChat()
    work(chat)
    chat.save(machine.home)
    todos = machine.home / ".qwen/todos" / f"{chat.session}.json"
    todos.parent.mkdir(parents=True)
    items = [{"id": "0", "content": "Write the form", "status": "completed"}]
    todos.write_text(json.dumps({"sessionId": chat.session, "todos": items}))
    machine.watch()
    assert not counts(machine.events())["list.restored"]


@pytest.mark.parametrize("seconds", [2, 60])
def test_a_call_that_our_server_answered_is_one_fact_within_five_seconds(machine: Machine, seconds: int) -> None:
    """Gemini CLI does not tell our server which conversation it is."""
    chat = GeminiChat(str(machine.home))
    given = {"set": [{"text": "Fix the bug", "status": "in_progress"}]}
    with Board.open(machine.board) as board:
        board.agent("main", session="gemini-0a1b2c", dialect="punchlist", project=chat.cwd).call("todo", given)
        chat.now = board.now() - timedelta(seconds=seconds)
    chat.tool("mcp_punchlist_todo", given, "1 item")
    chat.run("echo 'x = 1' > src/login.py")
    chat.tool("mcp_punchlist_todo", {"done": ["1"]}, "1/1")
    chat.save(machine.home)
    machine.watch()
    machine.watch()
    found = Counter((event.session, event.kind) for event in machine.events())
    is_same = seconds < 5
    assert found["gemini-0a1b2c", "tool.finished"] == is_same
    assert found[chat.session, "list.replaced"] == (not is_same)
    assert found["gemini-0a1b2c", "list.replaced"] == 1


def test_a_late_record_of_any_agent_never_rolls_back_a_newer_list(machine: Machine, chat: Chat) -> None:
    chat.todo("> Old")
    chat.save(machine.home)
    with Board.open(machine.board) as board:
        agent = board.agent("main", session=chat.session, dialect="claude-code")
        agent.call("TodoWrite", {"todos": [{"content": "New", "status": "pending", "activeForm": "New"}]})
    machine.watch()
    machine.watch()
    with Board.open(machine.board) as board:
        assert [item.content for item in board.agent("main", session=chat.session).todos.items] == ["New"]
    assert counts(machine.events())["transcript.write"] == 1


# Tokens.


def tokens(machine: Machine) -> list[dict[str, Any]]:
    return [dict(event.data) for event in machine.events() if event.kind == "agent.usage"]


@pytest.mark.parametrize("agent", ["gemini", "qwen", "oh-my-pi", "openclaw"])
def test_the_tokens_that_a_log_tells_of_are_added_up_once(machine: Machine, agent: str) -> None:
    chat = CHATS[agent]()
    chat.user("Go")
    chat.run("ls", "src")
    chat.say("Done.")
    path = chat.save(machine.home)
    machine.watch()
    read = 105 if agent in ("oh-my-pi", "openclaw") else 100
    assert tokens(machine) == [{"input": 2 * read, "output": 40, "cached": 60}]
    text = path.read_text()
    path.unlink()
    path.write_text(text)
    machine.watch()
    assert len(tokens(machine)) == 1
    chat.user("Again")
    chat.say("Done.")
    chat.save(machine.home)
    machine.watch()
    assert tokens(machine)[1:] == [{"input": 3 * read, "output": 60, "cached": 90}]
    with Board.open(machine.board) as board:
        (row,) = board.store.lists(session=chat.session)
        known = board.store.read(lambda tx: tx.overviews.load_activity(row.number)).tokens
    assert known == TokenTotal(3 * read, 60, 90)


def test_a_message_of_claude_code_in_several_lines_is_counted_once(machine: Machine) -> None:
    session = ClaudeSession()
    usage = {"input_tokens": 3, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 20, "output_tokens": 1}
    for output, end in ((1, None), (9, None), (9, "end_turn")):
        told: dict[str, Any] = {
            "id": "msg_1",
            "role": "assistant",
            "content": [],
            "usage": {**usage, "output_tokens": output},
        }
        session.record("assistant", 1, {**told, "stop_reason": end})
    machine.write(session)
    machine.watch()
    assert tokens(machine) == [{"input": 10, "output": 9, "cached": 20}]


def test_codex_tells_its_tokens_as_a_total(machine: Machine) -> None:
    session = CodexSession()
    for read in (100, 250):
        total = {"input_tokens": read, "cached_input_tokens": 50, "output_tokens": 5, "total_tokens": read + 5}
        session.record("event_msg", {"type": "token_count", "info": {"total_token_usage": total}})
    session.record("event_msg", {"type": "task_complete"})
    machine.write(session)
    machine.watch()
    assert tokens(machine) == [{"input": 200, "output": 5, "cached": 50}]


# Settings.


@pytest.fixture
def settings(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = machine.home / "config.toml"
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(path))
    return path


def test_only_the_agents_that_the_settings_name_are_watched(machine: Machine, settings: Path) -> None:
    settings.write_text('[watch]\nagents = ["gemini", "hermes"]\n')
    for made in (GeminiChat(), QwenChat(), HermesChat()):
        made.session = f"{type(made).__name__}-1"
        made.records.clear()
        made.begin()
        made.run("ls", "src")
        made.save(machine.home)
    machine.watch()
    assert {event.session for event in machine.events()} == {"GeminiChat-1", "HermesChat-1"}


def test_only_sessions_in_the_folders_that_the_settings_name_are_watched(
    machine: Machine, settings: Path, chat: Chat
) -> None:
    settings.write_text('[watch]\nfolders = ["/projects/shop"]\n')
    other = type(chat)("/projects/shopping")
    other.session = "other"
    other.records.clear()
    other.begin()
    if isinstance(other, GeminiChat):
        other.project = "shopping"
    for one in (chat, other):
        one.todo("> Paint")
        one.run("ls", "src")
        one.save(machine.home)
    machine.watch()
    assert {event.session for event in machine.events()} == {chat.session}


def test_a_relative_folder_in_the_settings_is_refused(machine: Machine, settings: Path) -> None:
    settings.write_text('[watch]\nfolders = ["shop"]\n')
    with pytest.raises(SettingsFileInvalid, match=r"watch\.folders"):
        machine.watch()


@pytest.mark.parametrize("is_timed", [True, False])
def test_two_processes_that_read_a_store_at_once_tell_each_turn_once(machine: Machine, is_timed: bool) -> None:
    store = machine.home / "state.db"
    store.touch()
    start = datetime(2026, 3, 1, 9, tzinfo=UTC)
    times = [start + timedelta(seconds=number) for number in range(6)]
    places = [int(at.timestamp() * 1000) if is_timed else number + 1 for number, at in enumerate(times)]
    pieces: list[Piece] = []
    for place, at in zip(places, times, strict=True):
        begun = CallStart(at=at, call_id=f"c{place}", name="terminal", args={"command": "ls"})
        steps: list[Step] = [
            UserTurn(at=at),
            begun,
            CallEnd(at=at, call_id=begun.call_id, result="a.py"),
            TurnEnd(at=at),
        ]
        pieces.append(Piece(place, "s1", "main", "/projects/shop", steps))
    del pieces[-1].steps[2:]  # it is still at work
    with Board.open(machine.board) as board:
        slow, fast = (StoreRows(board, "hermes", str(store), load_scope(), is_timed=is_timed) for _ in range(2))

        def read_slowly(_place: int) -> list[Piece]:
            fast.take(lambda _: pieces, lambda: 0)
            return pieces[:4]

        slow.take(read_slowly, lambda: 0)
        slow.take(lambda place: [piece for piece in pieces if piece.place >= place], lambda: 0)
    found = counts(machine.events())
    assert (found["tool.started"], found["turn.ended"]) == (6, 5)


def test_the_command_says_what_it_read_from_a_store(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    chat = HermesChat()
    work(chat)
    chat.save(machine.home)
    assert main(["--db", str(machine.board), "watch", "--once", "--since", "9000d"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Hermes: 0 logs with news, 4 new tool calls on the board, ")
