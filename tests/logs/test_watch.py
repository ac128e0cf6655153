"""Logs of agents that are watched: each fact is on the board once, whatever happens to the files and to us."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import zstandard

from punchlist import Board
from punchlist.core.events import Event
from punchlist.hooks.inbox import ingest
from punchlist.logs.watcher import Watcher
from tests.hooks.hosts import Host
from tests.logs.machine import Machine, catch_up, counts, make_machine, snapshot
from tests.sizes import size
from tests.transcripts.sessions import ClaudeSession, CodexSession

KILLS = size(12, 200)
SESSION = "9f1d6c1e-0000-4000-8000-000000000001"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return make_machine(tmp_path, monkeypatch)


def long_session() -> ClaudeSession:
    session = ClaudeSession()
    session.user("Add a login page")
    session.todo("> Write the form", "Test it")
    session.edit("src/login.py")
    with session.subagent("Look at the tests", "a1", "Explore") as child:
        child.grep("login")
        child.bash("pytest -q", "1 failed", 1)
    session.bash("pytest -q", "3 passed in 0.1s")
    session.todo("x Write the form", "> Test it")
    session.user("Go on")
    session.bash("ls", "src")
    session.todo("x Write the form", "x Test it", "> Ship it")
    return session


def facts(events: list[Event]) -> list[tuple[Any, ...]]:
    """Return calls and list writes as the log tells them, without numbers."""
    return sorted(
        (event.kind, event.agent or "", str(event.data.get("call_id", "")), str(event.data.get("revision", "")))
        for event in events
        if event.kind.startswith(("tool.", "list.", "agent.spawned", "agent.copied", "turn."))
    )


# What is read.


def test_a_session_of_claude_code_is_on_the_board_with_its_calls_lists_and_grades(machine: Machine) -> None:
    machine.write(long_session())
    machine.watch()
    with Board.open(machine.board) as board:
        agent = board.agent("main", session=SESSION)
        assert [item.content for item in agent.todos.items] == ["Write the form", "Test it", "Ship it"]
        report = board.report(session=SESSION)
        assert [item.grade for item in report.items] == ["verified", "unchecked", None]
        assert report.state == "green"
        assert next(row.label for row in board.lists(session=SESSION)) == "Add a login page"  # its first prompt
    found = counts(machine.events())
    assert (found["tool.started"], found["tool.finished"]) == (6, 6)
    assert found["agent.copied"] == 2
    assert machine.problems == []


def test_a_session_of_codex_and_its_subagent_are_on_the_board(machine: Machine) -> None:
    session = CodexSession()
    session.user("Go")
    session.plan("> Fix it")
    session.patch("src/a.py")
    with session.subagent("Look", "0198f2aa-0000-7000-8000-0000000000aa", "scout") as child:
        child.exec("ls", "src")
    session.exec("pytest -q", "3 passed in 0.1s")
    session.plan("x Fix it")
    machine.write(session)
    machine.watch()
    with Board.open(machine.board) as board:
        report = board.report(session=session.thread)
        assert [item.grade for item in report.items] == ["verified"]
        assert {row.agent for row in board.store.lists(session=session.thread)} == {"main", "scout"}


def test_a_compressed_rollout_is_read_once(machine: Machine) -> None:
    session = CodexSession()
    session.plan("> Fix it")
    for number in range(300):
        session.exec(f"echo {number}", "x")
    plain = machine.write(session)
    plain.with_name(plain.name + ".zst").write_bytes(zstandard.ZstdCompressor().compress(plain.read_bytes()))
    plain.unlink()
    machine.watch()
    before = machine.events()
    assert counts(before)["tool.started"] == 300
    machine.watch()
    assert len(machine.events()) == len(before)


def test_tasks_of_claude_code_are_on_the_board(machine: Machine) -> None:
    session = ClaudeSession()
    session.add_task("1", "Paint")
    session.add_task("2", "Dry")
    session.set_task("1", "completed")
    machine.write(session)
    machine.watch()
    with Board.open(machine.board) as board:
        tasks = board.tasks(f"session:{SESSION}").list()
        assert [(task.id, task.subject, str(task.status)) for task in tasks] == [
            ("1", "Paint", "completed"),
            ("2", "Dry", "pending"),
        ]


def test_a_plan_that_claude_code_proposes_is_decided_as_the_person_did(machine: Machine) -> None:
    session = ClaudeSession()
    session.user("Plan it")
    session.tool("ExitPlanMode", {"plan": "# Paint it"}, "User has approved your plan.")
    machine.write(session)
    machine.watch()
    found = counts(machine.events())
    assert (found["approval.proposed"], found["approval.approved"], found["tool.started"]) == (1, 1, 0)


def test_calls_of_our_own_tool_in_a_log_change_the_list_and_are_no_tool_calls(machine: Machine) -> None:
    session = ClaudeSession()
    given = {"set": [{"text": "Fix the bug", "status": "in_progress"}]}
    session.tool("mcp__plugin_punchlist_punchlist__todo", given, "1 item")
    machine.write(session)
    rollout = CodexSession()
    rollout.calls += 1
    call = {"type": "function_call", "name": "todo", "namespace": "mcp__punchlist", "call_id": "call_1"}
    rollout.record("response_item", {**call, "arguments": json.dumps(given)})
    rollout.record("response_item", {"type": "function_call_output", "call_id": "call_1", "output": "1 item"})
    machine.write(rollout)
    machine.watch()
    with Board.open(machine.board) as board:
        for name in (SESSION, rollout.thread):
            assert [item.content for item in board.agent("main", session=name).todos.items] == ["Fix the bug"]
    assert counts(machine.events())["tool.started"] == 0


# What happens to files.


def test_a_log_that_grows_line_by_line_tells_the_same_as_a_whole_one(machine: Machine, tmp_path: Path) -> None:
    session = long_session()
    machine.write(session)
    machine.watch()
    whole = facts(machine.events())
    other = Machine(tmp_path / "other")
    other.home = machine.home
    path, child = machine.write(session), machine.claude / SESSION / "subagents" / "agent-a1.jsonl"
    lines = sorted(
        [(json.loads(line)["timestamp"], path, line) for line in session.lines]
        + [(json.loads(line)["timestamp"], child, line) for line in session.children["a1"].lines],
        key=lambda entry: entry[0],
    )
    path.write_text("")
    child.write_text("")
    other.board.parent.mkdir(parents=True)
    for _, file, line in lines:
        with file.open("a") as log:
            log.write(line + "\n")
        other.watch()
    assert facts(other.events()) == whole


def test_a_half_written_line_is_read_once_it_is_whole(machine: Machine) -> None:
    session = long_session()
    path = machine.write(session)
    text = path.read_bytes()
    cut = text.index(b"3 passed")
    path.write_bytes(text[:cut])
    machine.watch()
    assert counts(machine.events())["tool.finished"] == 4
    path.write_bytes(text)
    machine.watch()
    assert counts(machine.events())["tool.finished"] == 6
    assert machine.problems == []


@pytest.mark.parametrize("how", ["rotated", "truncated", "rewritten"])
def test_a_log_that_is_replaced_is_read_from_its_beginning_and_nothing_twice(machine: Machine, how: str) -> None:
    session = long_session()
    path = machine.write(session)
    machine.watch()
    before = facts(machine.events())
    if how == "rotated":
        path.rename(path.with_suffix(".old"))
        machine.write(session)
    elif how == "truncated":
        machine.write(session, 4)
        machine.watch()
        machine.write(session)
    else:
        path.write_text("\n".join(['{"type":"summary"}', *session.lines]) + "\n")
    machine.watch()
    assert facts(machine.events()) == before


def test_lines_that_are_no_records_and_lines_without_end_are_passed_over(machine: Machine) -> None:
    session = ClaudeSession()
    session.bash("ls", "src")
    path = machine.write(session)
    with path.open("ab") as log:
        log.write(b'\xff\xfe\n[1]\n"x"\n{"type":"assistant","message":7}\n' + b"x" * (17 << 20) + b"\n")
    session.bash("pwd", "/projects")
    with path.open("a") as log:
        log.write("\n".join(session.lines[2:]) + "\n")
    machine.watch()
    assert counts(machine.events())["tool.finished"] == 2


def test_links_are_not_followed_and_nothing_is_written(machine: Machine, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    outside = long_session().save(elsewhere)
    machine.claude.mkdir(parents=True)
    (machine.claude / outside.name).symlink_to(outside)
    (machine.claude.parent / "linked").symlink_to(elsewhere)
    os.mkfifo(machine.claude / "fifo.jsonl")
    before = snapshot(machine.home)
    machine.watch()
    assert machine.events() == []
    assert snapshot(machine.home) == before


def test_the_place_in_a_log_that_was_deleted_is_forgotten_after_a_day(machine: Machine) -> None:
    path = machine.write(long_session())
    machine.watch()
    path.unlink()
    for days, names in ((0, ["agent-a1.jsonl", path.name]), (2, ["agent-a1.jsonl"])):
        now = datetime.now(UTC) + timedelta(days=days)
        with Board.open(machine.board, clock=lambda now=now: now) as board:
            catch_up(Watcher(board))
            places = board.store.read(lambda tx: tx.hosts.list_file_places())
        assert sorted(Path(file).name for file in places) == sorted(names)


def test_a_log_that_was_moved_away_and_back_is_not_told_again(machine: Machine) -> None:
    path = machine.write(long_session())
    machine.watch()
    before = counts(machine.events())
    away = path.rename(path.with_suffix(".away"))
    machine.watch()
    away.rename(path)
    machine.watch()
    assert counts(machine.events()) == before


def test_logs_before_a_time_wait_until_they_grow(machine: Machine) -> None:
    path = machine.write(long_session())
    os.utime(path, (0, 0))
    for child in (machine.claude / SESSION).rglob("*.jsonl"):
        os.utime(child, (0, 0))
    with Board.open(machine.board) as board:
        watcher = Watcher(board, since=board.now())
        assert not watcher.is_behind
        with path.open("a") as log:
            log.write("\n")
        watcher.wait(10)
        catch_up(watcher)
    assert counts(machine.events())["tool.started"] == 4


@pytest.mark.parametrize("native", [True, False])
def test_new_lines_new_folders_and_new_agents_are_noticed(machine: Machine, native: bool) -> None:
    with Board.open(machine.board) as board:
        watcher = Watcher(board, native=native)
        assert watcher.roots == {}
        machine.write(long_session(), 3)
        watcher.find_roots()
        while watcher.is_behind:
            watcher.take_slice()
        machine.write(long_session())
        other = ClaudeSession(session="9f1d6c1e-0000-4000-8000-000000000002")
        other.bash("ls", "src")
        folder = machine.claude.parent / "-projects-other"
        folder.mkdir()
        other.save(folder)
        wanted = {SESSION: 6, other.session: 1}
        found = Counter[str | None]()
        for _ in range(100):
            watcher.wait(1)
            while watcher.is_behind:
                watcher.take_slice()
            found = Counter(event.session for event in board.events(0) if event.kind == "tool.finished")
            if found == wanted:
                break
        assert found == wanted
        watcher.close()


# One fact, one event.


def tell_by_hooks(host: Host, session: ClaudeSession) -> None:
    """Run the hooks that Claude Code would have run, as far as tool calls go."""
    host.hook("SessionStart", source="startup")
    open_calls: dict[str, tuple[str, Any]] = {}
    for line in session.lines:
        content: Any = json.loads(line)["message"]["content"]
        blocks: list[Any] = [] if isinstance(content, str) else content
        for block in blocks:
            if block["type"] == "tool_use":
                open_calls[block["id"]] = block["name"], block["input"]
                host.hook("PreToolUse", tool_name=block["name"], tool_input=block["input"], tool_use_id=block["id"])
            elif block["type"] == "tool_result":
                name, given = open_calls[block["tool_use_id"]]
                told: dict[str, Any] = {"tool_name": name, "tool_input": given, "tool_use_id": block["tool_use_id"]}
                host.hook("PostToolUse", **told, tool_response=block["content"])
    with Board.open(host.board) as board:
        ingest(board)


@pytest.mark.parametrize("first", ["hooks", "log"])
def test_an_agent_that_is_attached_and_watched_tells_each_fact_once(machine: Machine, first: str) -> None:
    session = ClaudeSession()
    session.todo("> Write the form")
    session.edit("src/login.py")
    session.bash("pytest -q", "3 passed in 0.1s")
    session.todo("x Write the form")
    machine.write(session)
    host = Host(machine.board, machine.home, session=SESSION)
    if first == "log":
        machine.watch()
    tell_by_hooks(host, session)
    machine.watch()
    found = counts(machine.events())
    assert (found["tool.started"], found["tool.finished"]) == (2, 2)
    assert found["list.replaced"] == 2
    assert found["agent.attached"] == (first == "log")
    with Board.open(machine.board) as board:
        assert [item.grade for item in board.report(session=SESSION).items] == ["verified"]


def test_a_late_record_never_rolls_back_a_newer_list(machine: Machine) -> None:
    session = ClaudeSession()
    session.todo("> Old")
    machine.write(session)
    with Board.open(machine.board) as board:
        agent = board.agent("main", session=SESSION, dialect="claude-code")
        agent.call("TodoWrite", {"todos": [{"content": "New", "status": "pending", "activeForm": "New"}]})
    machine.watch()
    with Board.open(machine.board) as board:
        assert [item.content for item in board.agent("main", session=SESSION).todos.items] == ["New"]
    assert counts(machine.events())["transcript.write"] == 1
    machine.watch()
    assert counts(machine.events())["transcript.write"] == 1


def test_a_list_that_is_only_watched_is_read_only_until_its_agent_is_attached(machine: Machine) -> None:
    session = ClaudeSession(cwd=str(machine.home))
    session.todo("> Write the form")
    machine.write(session)
    machine.watch()
    command = [sys.executable, "-m", "punchlist", "--db", str(machine.board), "todo", "done", "Write the form"]
    refused = subprocess.run(command, capture_output=True, text=True, cwd=machine.home, check=False)
    assert refused.returncode == 1
    assert "punchlist attach claude-code" in refused.stderr
    session.bash("ls", "src")
    machine.write(session)
    machine.watch()
    assert subprocess.run(command, capture_output=True, cwd=machine.home, check=False).returncode == 1
    Host(machine.board, machine.home, session=SESSION).hook("SessionStart", source="resume")
    done = subprocess.run(command, capture_output=True, text=True, cwd=machine.home, check=False)
    assert done.returncode == 0, done.stderr


def test_watchers_at_the_same_time_record_each_fact_once(machine: Machine) -> None:
    session = long_session()
    machine.write(session)
    machine.watch()
    alone = facts(machine.events())
    machine.board.unlink()
    command = [sys.executable, "-m", "punchlist", "--db", str(machine.board), "watch", "--once", "--since", "9000d"]
    programs = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(4)]
    assert [program.wait(60) for program in programs] == [0, 0, 0, 0]
    assert facts(machine.events()) == alone


_KILLED = """
import os, random, signal, sys
from punchlist import Board
from punchlist.logs.watcher import Watcher
from punchlist.store.sqlite import SqliteStore

left = int(sys.argv[2])
step = SqliteStore._run_step

def count(self, whole, work):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self, whole, work)

SqliteStore._run_step = count
commit = SqliteStore.joined
def joined(self, work, **options):
    done = commit(self, work, **options)
    if random.Random(left).random() < 0.1:
        os.kill(os.getpid(), signal.SIGKILL)
    return done
SqliteStore.joined = joined
with Board.open(sys.argv[1]) as board:
    watcher = Watcher(board)
    while watcher.is_behind:
        watcher.take_slice()
"""


def test_a_kill_at_any_point_loses_and_doubles_nothing(machine: Machine, tmp_path: Path) -> None:
    session = long_session()
    for number in range(60):
        session.bash(f"echo {number}", "x")
        session.todo("x Write the form", f"> Test it {number}")
    machine.write(session)
    machine.watch()
    whole = facts(machine.events())
    machine.board.unlink()
    chance = random.Random(17)
    killed = 0
    for _ in range(KILLS):
        points = str(chance.randrange(1, 120))
        done = subprocess.run([sys.executable, "-c", _KILLED, str(machine.board), points], check=False, timeout=60)
        killed += done.returncode == -signal.SIGKILL
    assert killed > 0
    machine.watch()
    assert facts(machine.events()) == whole


def test_hostile_text_in_a_log_reaches_no_terminal(machine: Machine) -> None:
    session = ClaudeSession(cwd=str(machine.home))
    evil = "\x1b]52;c;eA==\x07\x9b2J\u202e[/red]"
    session.todo(f"> {evil}Paint")
    session.bash(f"echo '{evil}'", evil)
    session.tool(f"mcp__{evil}", {"x": evil}, evil, error=True)
    machine.write(session)
    command = [sys.executable, "-m", "punchlist", "--db", str(machine.board)]
    for words in (["watch", "--once", "--since", "9000d"], ["events"], ["todos", "--all"]):
        done = subprocess.run([*command, *words], capture_output=True, text=True, cwd=machine.home, check=False)
        assert done.returncode == 0, done.stderr
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(done.stdout + done.stderr)


# Lists of agents whose tool calls are not read.


def write_opencode(machine: Machine, *items: tuple[str, str]) -> Path:
    path = machine.home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript("""
            PRAGMA journal_mode = WAL;
            CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, directory TEXT);
            CREATE TABLE IF NOT EXISTS todo (session_id TEXT, content TEXT, status TEXT, priority TEXT,
                position INTEGER, time_created INTEGER, time_updated INTEGER);
            INSERT OR IGNORE INTO session VALUES ('ses_1', '/projects/shed');
            DELETE FROM todo;
        """)
        for place, (content, status) in enumerate(items):
            row = ("ses_1", content, status, "low", place, 0, 1772355600000)
            connection.execute("INSERT INTO todo VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    return path


def contents(machine: Machine, session: str) -> list[tuple[str, str]]:
    with Board.open(machine.board) as board:
        return [(item.content, str(item.status)) for item in board.agent("main", session=session).todos.items]


def test_lists_of_other_agents_are_on_the_board_and_read_only(machine: Machine) -> None:
    write_opencode(machine, ("Saw", "in_progress"), ("Glue", "pending"))
    qwen = machine.home / ".qwen" / "todos" / "s7.json"
    qwen.parent.mkdir(parents=True)
    qwen.write_text(json.dumps({"sessionId": "s7", "todos": [{"id": "1", "content": "Cut", "status": "pending"}]}))
    before = snapshot(machine.home)
    machine.watch()
    machine.watch()
    assert snapshot(machine.home) == before
    assert contents(machine, "ses_1") == [("Saw", "in_progress"), ("Glue", "pending")]
    assert contents(machine, "s7") == [("Cut", "pending")]
    found = counts(machine.events())
    assert (found["list.restored"], found["agent.copied"]) == (2, 2)
    with Board.open(machine.board) as board:
        copies = board.store.read(lambda tx: [tx.overviews.load_activity(row.number) for row in tx.lists()])
    assert {(copy.copy_format, bool(copy.copy_of)) for copy in copies} == {("opencode", True), ("qwen", True)}
    assert machine.problems == []


def test_a_list_of_another_agent_that_changes_is_taken_over(machine: Machine) -> None:
    path = write_opencode(machine, ("Saw", "in_progress"))
    machine.watch()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE todo SET status = 'completed', time_updated = 1772355700000")
        machine.watch()
    machine.watch()
    assert contents(machine, "ses_1") == [("Saw", "completed")]
    assert counts(machine.events())["list.restored"] == 2


def write_piece(path: Path, id: str, at: int, status: str, command: str, **more: Any) -> None:
    state = {"status": status, "input": {"command": command}, "time": {"start": at, "end": at + 5}, **more}
    data = json.dumps({"type": "tool", "tool": "bash", "callID": id, "state": state})
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE session SET time_updated = ?", (at,))
        connection.execute("INSERT OR REPLACE INTO part VALUES (?, 'ses_1', ?, ?)", (id, at, data))


def make_opencode(machine: Machine) -> Path:
    path = machine.home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript("""
            CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, time_updated INTEGER);
            CREATE TABLE todo (session_id TEXT, content TEXT, status TEXT, priority TEXT,
                position INTEGER, time_created INTEGER, time_updated INTEGER);
            CREATE TABLE part (id TEXT PRIMARY KEY, session_id TEXT, time_updated INTEGER, data TEXT);
            INSERT INTO session VALUES ('ses_1', NULL, '/projects/shed', 0);
        """)
    return path


def test_calls_of_opencode_are_read_as_they_begin_and_end(machine: Machine) -> None:
    path = make_opencode(machine)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO part VALUES ('broken', 'ses_1', 1772355600000, '{\"type\":\"tool\",\"state\":7}')"
        )
    write_piece(path, "call_1", 1772355600000, "completed", "touch a.py", output="", metadata={"exit": 0})
    write_piece(path, "call_2", 1772355600000, "running", "pytest -q")
    machine.watch()
    assert counts(machine.events())["tool.finished"] == 1
    write_piece(path, "call_2", 1772355601000, "completed", "pytest -q", output="1 failed", metadata={"exit": 1})
    machine.watch()
    machine.watch()
    found = counts(machine.events())
    assert (found["tool.started"], found["tool.finished"]) == (2, 2)
    with Board.open(machine.board) as board:
        assert board.report(session="ses_1").state == "red"
    assert machine.problems == []


def test_a_command_of_opencode_without_an_exit_code_proves_nothing(machine: Machine) -> None:
    path = make_opencode(machine)
    write_piece(path, "call_1", 1772355600000, "completed", "touch a.py", output="", metadata={"exit": 0})
    write_piece(path, "call_2", 1772355601000, "completed", "pytest -q", output="collecting", metadata={"exit": None})
    machine.watch()
    with Board.open(machine.board) as board:
        assert board.report(session="ses_1").state == "unchecked"
