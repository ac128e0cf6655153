"""Make a board with a row in every table, through the roads that agents and people use.

A later version of Punchlist has to migrate the board of each version that people have. Before a change of the schema:

    mkdir /projects && python -m tests.store.boards.make_board /projects

writes `schema-N.db.xz` next to this file, N being the schema of the program that runs. The folder is for the homes and
projects whose paths the board then holds, so name one that says nothing about your machine.
"""

from __future__ import annotations

import lzma
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

from punchlist import Board
from punchlist.hooks.inbox import ingest
from punchlist.logs.watcher import Watcher
from punchlist.people.notices import PersonNotifier
from punchlist.settings.table import NotifySettings
from punchlist.store import Transaction
from punchlist.views.now import AgentNow, Roster
from tests.hooks.hosts import OWN_TOOL, Host
from tests.logs.machine import Machine, catch_up
from tests.server.conftest import Running
from tests.transcripts.sessions import ClaudeSession, CodexSession

SHOP = "/projects/shop"


def make_board(folder: Path) -> Path:
    """Make a board in a folder and return its path."""
    machine = Machine(folder)
    machine.home.mkdir()
    os.environ.update(LOGNAME="ada", HOME=str(machine.home), XDG_DATA_HOME=str(machine.home / "data"))
    with Board.open(machine.board) as board:
        _write_lists(board)
        _complete_with_checks(board)
        _propose_plans(board)
        _work_on_tasks(board)
        _run_flows(board)
        _restore_tasks(board, machine)
        _notify_person(board)
        join_team(board)
    _run_hooks(machine)
    _watch_logs(machine)
    _run_commands(machine)
    _serve_requests(machine)
    return machine.board


def _write_lists(board: Board) -> None:
    """Write lists in several dialects: finished plans, notes, phases, items left out, many revisions, an undo."""
    claude = board.agent("main", session="night", dialect="claude-code", project=SHOP)
    for number in range(60):  # a snapshot is kept at each 50th revision
        steps = [{"content": f"Step {number}", "status": "in_progress", "activeForm": f"Taking step {number}"}]
        claude.call("TodoWrite", {"todos": [*steps, {"content": "Ship", "status": "pending", "activeForm": "Ship"}]})
    done = [{"content": "Ship", "status": "completed", "activeForm": "Shipping"}]
    claude.call("TodoWrite", {"todos": done}, call_id="toolu_finish")
    fresh = [{"content": "Next plan", "status": "in_progress", "activeForm": "Planning"}]
    claude.call("TodoWrite", {"todos": fresh}, call_id="toolu_fresh")
    claude.edit([{"op": "append", "items": ["Ask the users", "Überprüfe die Preise"]}], by="ada")
    claude.edit([{"op": "append", "items": ["A mistake"]}], by="ada")
    claude.undo(by="ada")
    phased = board.agent("pi", session="phases", dialect="oh-my-pi", project=SHOP)
    phases = [{"phase": "Build", "items": ["Lay bricks", "Paint"]}, {"phase": "Check", "items": ["Look"]}]
    phased.call("todo", {"op": "init", "list": phases})
    phased.call("todo", {"op": "drop", "task": "Paint"})


def _complete_with_checks(board: Board) -> None:
    """Complete items with and without checks, with a subagent, a question, a loop and a silent call."""
    agent = board.agent("main", session="checked", project=SHOP)
    agent.user_turn()
    agent.call("todo", {"set": ["Fix the form", "Test it", "Write it down", "Ship it"]}, call_id="own-1")
    agent.call("todo", {"start": "1"})
    agent.tool_started("edit-1", "Edit", {"file_path": f"{SHOP}/form.py", "old_string": "a", "new_string": "b"})
    agent.tool_finished("edit-1", result="ok")
    agent.tool_started("test-1", "Bash", {"command": "pytest -q"})
    agent.tool_finished("test-1", result="3 passed in 0.1s")
    agent.call("todo", {"done": "1"}, call_id="own-2")
    child = agent.spawn("explore", label="Explore the code")
    child.tool_started("grep-1", "Grep", {"pattern": "form"})
    child.tool_finished("grep-1", result="form.py")
    child.call("todo", {"set": ["Read the code"]})
    for number in range(6):
        agent.tool_started(f"again-{number}", "Read", {"file_path": f"{SHOP}/form.py"})
        agent.tool_finished(f"again-{number}", result="the same")
    agent.tool_started("test-2", "Bash", {"command": "pytest -q"})
    agent.tool_finished("test-2", result="1 failed, 2 passed in 0.1s", is_error=True)
    agent.call("todo", {"done": "2"})
    agent.call("todo", {"done": "3"})
    agent.assistant_turn(tools_used=["Bash"])
    agent.ask("4", "Ship it today?")
    agent.tool_started("open-1", "Bash", {"command": "make watch"})
    answered = board.agent("main", session="answered", project=SHOP)
    answered.call("todo", {"set": ["Choose a colour"]})
    answered.ask("1", "Which one?")
    answered.answer("1", "Green", by="ada")


def _propose_plans(board: Board) -> None:
    """Leave one plan proposed, one approved and one rejected."""
    for session, decide in (("plan-open", None), ("plan-good", True), ("plan-bad", False)):
        agent = board.agent("main", session=session, project=SHOP)
        agent.enter_plan_mode()
        agent.propose_plan("# Move to typed routes\n\n1. Read\n2. Change\n")
        if decide is True:
            agent.approve_plan(by="ada")
        elif decide is False:
            agent.reject_plan("Too large", by="ada")


def _work_on_tasks(board: Board) -> None:
    """Make tasks with edges, labels, a parent, a lease, a retry, waits, a kept signal and a list worked under one."""
    tasks = board.tasks("default", project=SHOP, by="ada")
    tasks.create("Design", priority=1, labels=["api"], call_id="create-1")
    tasks.create("Build", blocked_by=["1"], labels=["api", "web"])
    tasks.create("Build the form", parent="2")
    tasks.create("Release", blocked_by=["2"])
    tasks.create("Wait for the bank")
    tasks.create("Try the import")
    tasks.claim("worker-1", id="1")
    tasks.complete("1", fence=tasks.get("1").fence)
    tasks.claim("worker-2", id="2")
    tasks.heartbeat("2", fence=tasks.get("2").fence)
    tasks.claim("worker-3", id="6")
    tasks.fail("6", "The file is broken", fence=tasks.get("6").fence)
    tasks.wait("5", topic="bank", correlation_id="42")
    tasks.signal("stock", "7", {"left": 3}, keep=True)
    tasks.todos("2", board.agent("builder", session="build", project=SHOP))
    claude = board.agent("main", session="durable", dialect="claude-tasks", project=SHOP)
    claude.call("TaskCreate", {"subject": "Read the specification", "description": "All of it"})
    claude.call("TaskUpdate", {"taskId": "1", "status": "in_progress"})


def _run_flows(board: Board) -> None:
    """Leave a flow that waits, one that ended and one after another, with steps that were seen."""
    flows = board.agent("kate", session="inbox", project=SHOP).flows()
    waiting = flows.create_managed("kate/inbox", "Sort the inbox", state={"messages": 10}, current_step="read")
    flows.start_running(waiting.id)
    flows.record_step_observation(waiting.id, "run-1", "read", "succeeded")
    flows.set_waiting(waiting.id, {"kind": "manual"})
    ended = flows.create_managed("kate/inbox", "Answer the bank")
    flows.start_running(ended.id)
    flows.finish(ended.id, {"answered": True})
    flows.come_after(flows.create_managed("kate/inbox", "Tidy up").id, waiting.id)


def _restore_tasks(board: Board, machine: Machine) -> None:
    """Replay the task calls of a transcript; where it was read to is kept."""
    session = ClaudeSession(session="9f1d6c1e-0000-4000-8000-0000000000aa")
    session.user("Paint the house")
    session.add_task("1", "Buy paint")
    session.set_task("1", "completed")
    board.agent("main", session=session.session, dialect="claude-tasks", project=SHOP).restore(
        str(machine.write(session))
    )


def _notify_person(board: Board) -> None:
    """Hold a fact back in quiet hours, and remember what was seen."""
    at = board.now()
    agent = AgentNow(
        project=SHOP, host="codex", session="told", agent="", state="waiting", since=at, waits_for="Run make deploy?"
    )
    settings = NotifySettings(terminal=(), quiet="00:00-23:59")
    with PersonNotifier(board, settings, report=print) as notifier:
        notifier.look(Roster(at=at, agents=(), waits=()))
        notifier.look(Roster(at=board.now(), agents=(agent,), waits=()))


def join_team(board: Board) -> None:
    """Be a machine that sends its lines to a team's server, and the server that another one reports to."""

    def join(tx: Transaction) -> None:
        now = board.now()
        tx.machines.save("m1", "laptop", "ada", "owner", "[]", at=now)
        tx.tokens.add("laptop", b"digest", "report", None, at=now, machine="m1", owner="ada")
        tx.tokens.add_sign_in(b"link", tx.tokens.list()[0].id, expires_at=now + timedelta(days=1))
        tx.outbox.add("line-1", "Stop", b"{}", tx.outbox.load_state(), until=0)
        tx.outbox.save_call("s-1/main", "toolu_1", b"{}", background="b1")
        tx.outbox.save_line("s-1", "{}")

    board.store.transact(join)


def _run_hooks(machine: Machine) -> None:
    """Run the hook as Claude Code and Codex do, with a subagent and a call of our own tool."""
    project = machine.home.parent / "site"
    project.mkdir()
    host = Host(machine.board, project, session="hooked")
    host.hook("SessionStart", source="startup")
    host.hook("UserPromptSubmit", prompt="Add a page about prices")
    host.write_todos("toolu_1", **{"Write the page": "in_progress", "Link it": "pending"})
    host.call("toolu_2", "Bash", {"command": "pytest -q"}, {"stdout": "5 passed in 0.2s", "exitCode": 0})
    host.hook("PreToolUse", tool_name=OWN_TOOL, tool_input={"add": ["One more"]}, tool_use_id="toolu_3")
    spawn = {"description": "Look around", "prompt": "Look", "subagent_type": "Explore"}
    host.hook("PreToolUse", tool_name="Task", tool_input=spawn, tool_use_id="toolu_4")
    host.hook("Stop", last_assistant_message="I wait.")
    codex = Host(machine.board, project, session="0198f2aa-0000-7000-8000-0000000000cc", host="codex")
    codex.hook("SessionStart", source="startup")
    with Board.open(machine.board) as board:
        ingest(board)


def _watch_logs(machine: Machine) -> None:
    """Read the logs that Claude Code and Codex wrote themselves."""
    claude = ClaudeSession()
    claude.user("Add a login page")
    claude.todo("> Write the form", "Test it")
    claude.edit("src/login.py")
    with claude.subagent("Look at the tests", "a1", "Explore") as child:
        child.grep("login")
    claude.bash("pytest -q", "3 passed in 0.1s")
    claude.todo("x Write the form", "> Test it")
    machine.write(claude)
    codex = CodexSession()
    codex.user("Go")
    codex.plan("> Fix it")
    codex.exec("ls", "src")
    machine.write(codex)
    with Board.open(machine.board) as board:
        catch_up(Watcher(board, report=machine.problems.append))
    assert machine.problems == []


def _run_commands(machine: Machine) -> None:
    """Type what people type: tokens, a handoff, a brief whose mark stays."""
    _punchlist(machine, "token", "create", "phone", "--scope", "answer", "--person")
    _punchlist(machine, "token", "create", "ci", "--scope", "look", "--project", SHOP)
    _punchlist(machine, "attach", "codex", "--yes", "--force")
    _punchlist(machine, "handoff", "checked", "--to", "codex", "--by", "ada")
    _punchlist(machine, "brief", "--all", "--by", "ada")


def _punchlist(machine: Machine, *words: str) -> None:
    command = [sys.executable, "-m", "punchlist", *words, "--db", str(machine.board)]
    ours, theirs = os.openpty()  # a person types it
    subprocess.run(command, check=True, stdin=theirs, stdout=subprocess.DEVNULL, cwd=machine.home)
    os.close(ours)
    os.close(theirs)


def _serve_requests(machine: Machine) -> None:
    """Create a task over HTTP with an idempotency key."""
    with Board.open(machine.board) as board:
        running = Running(board)
        running.start()
        with running.open_program() as client:
            made = client.post("/api/v1/task-lists/default/tasks", json={"subject": "From afar"}, headers=_KEY)
            assert made.status_code == httpx.codes.CREATED, made.text
        running.stop()


_KEY = {"Idempotency-Key": "made-once"}


def list_empty_tables(path: Path) -> list[str]:
    """Return the tables of a board that have no row."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return [
            name for name in tables if not connection.execute(f"SELECT EXISTS (SELECT 1 FROM {name})").fetchone()[0]
        ]


def main() -> None:
    started = datetime.now(UTC)
    path = make_board(Path(sys.argv[1]))
    assert not (empty := list_empty_tables(path)), f"no row in {', '.join(empty)}"
    with closing(sqlite3.connect(path)) as connection:
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    packed = Path(__file__).with_name(f"schema-{schema}.db.xz")
    packed.write_bytes(lzma.compress(path.read_bytes(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{packed.name}: {packed.stat().st_size:,} bytes, {datetime.now(UTC) - started}")


if __name__ == "__main__":
    main()
