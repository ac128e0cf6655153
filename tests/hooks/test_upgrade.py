"""A newer program upgrades the board while programs of the older version run: an agent's server, hooks, the page."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from punchlist import Board
from punchlist.hooks.inbox import ingest
from punchlist.server.run_files import load_secret
from punchlist.store.files import SCHEMA
from punchlist_hook import socket_folder
from tests.cli.terminals import open_terminal
from tests.hooks.hosts import Host
from tests.mcp_server.client import Client, wait_until
from tests.store.writers import ROOT

Upgrade = Callable[[], None]
PATIENCE = 60
RESTART = f"newer than this program knows ({SCHEMA}); a newer Punchlist has upgraded it, so restart {{}}."


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program as it may be after the next migration, which changes the schema's number alone."""
    folder = tmp_path_factory.mktemp("newer")
    shutil.copytree(ROOT / "src", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    scripts = folder / "punchlist" / "store" / "migrations"
    (scripts / f"{len(list(scripts.glob('*.sql'))) + 1:04}.sql").write_text("SELECT 1;\n")
    return folder


@pytest.fixture
def upgrade(newer: Path, host: Host, monkeypatch: pytest.MonkeyPatch) -> Upgrade:
    """Return a step in which a newer program opens the board. Everything else is of the older version."""
    monkeypatch.setenv("PUNCHLIST_DB", str(host.board))

    def run() -> None:
        code = "import sys; from punchlist import Board; Board.open(sys.argv[1]).close()"
        env = {**os.environ, "PYTHONPATH": str(newer)}
        subprocess.run([sys.executable, "-c", code, str(host.board)], env=env, check=True)
        assert _schema(host) == SCHEMA + 1

    return run


def _schema(host: Host) -> int:
    with closing(sqlite3.connect(f"file:{host.board}?mode=ro", uri=True)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def _open_as_newer(host: Host) -> Board:
    """Return the board as the newer program would open it: only the number of its schema is another."""
    with closing(sqlite3.connect(host.board)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA}")
    return Board.open(host.board)


@contextmanager
def _start(*command: str) -> Generator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, *command], stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_under_a_live_server_and_hooks_nothing_is_lost_and_nothing_taken_twice(
    host: Host, upgrade: Callable[[], None]
) -> None:
    with Client(host.project, "--host", "claude-code") as client:
        client.initialize()
        client.text("todo", {"set": ["Paint", "Sand"]})
        sockets = Path(socket_folder(str(host.board)))
        wait_until(lambda: any(sockets.glob("*.sock")))
        host.hook("SessionStart", source="startup")
        host.call("before", "Read", {"file_path": "a.py"}, "ok")
        upgrade()
        for _ in range(2):
            reply = client.call("todo", {"done": "1"})
            assert reply["isError"]
            (block,) = reply["content"]
            assert block["text"].endswith(RESTART.format("the agent, which starts `punchlist mcp` again"))
        host.call("after", "Read", {"file_path": "b.py"}, "ok")
        assert not any(sockets.glob("*.sock"))  # the next hook need not ask
        host.call("last", "Read", {"file_path": "c.py"}, "ok")
        for _ in range(2):
            assert host.hook("UserPromptSubmit", prompt="Go on") == {}
        assert len(host.inbox.read_text().splitlines()) == 7  # its head, two calls, and both prompts
        assert client.close() == 0
    assert [problem.partition(": ")[0] for problem in host.problems()] == ["hooks wait in the inbox", "StoreTooNew"]
    with _open_as_newer(host) as board:
        ingest(board)
        events = list(board.events())
        todos = board.agent("main", session=events[0].session).todos
    for kind in ("tool.started", "tool.finished"):
        assert [event.data["call_id"] for event in events if event.kind == kind] == ["before", "after", "last"]
    assert todos.progress.done == 0
    assert not host.inbox.exists()


_OLDER_INGESTER = """
import sys
from punchlist import Board
from punchlist.errors import StoreError
from punchlist.hooks.inbox import answer_line, ingest
from punchlist_hook import make_line
board = Board.open(sys.argv[1])
print("open", flush=True)
sys.stdin.readline()
line = make_line("claude-code", {"session_id": "s-1", "hook_event_name": "PreToolUse"})
for step in (lambda: ingest(board), lambda: answer_line(board, line), lambda: ingest(board)):
    try:
        step()
    except StoreError as error:
        print(error.code)
"""


def test_an_older_program_that_ingests_leaves_every_line_in_the_inbox(host: Host, upgrade: Upgrade) -> None:
    with _start("-c", _OLDER_INGESTER, str(host.board)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        upgrade()
        host.call("one", "Read", {"file_path": "a.py"}, "ok")
        before = host.inbox.read_bytes()
        assert process.communicate("\n", PATIENCE)[0].split() == ["store_too_new"] * 3
    assert host.inbox.read_bytes() == before
    with _open_as_newer(host) as board:
        assert ingest(board) == 2
        assert [event.data["call_id"] for event in board.events() if event.kind == "tool.started"] == ["one"]


def test_a_server_that_first_needs_the_board_after_the_upgrade_names_both_steps(
    host: Host, upgrade: Callable[[], None]
) -> None:
    with Client(host.project) as client:
        client.initialize()
        upgrade()
        (block,) = client.call("todo", {"set": ["Paint"]})["content"]
        assert block["text"].endswith(
            "; upgrade Punchlist, then restart the agent, which starts `punchlist mcp` again."
        )


def test_the_page_and_its_api_say_what_to_restart_and_the_log_says_it_once(
    host: Host, upgrade: Callable[[], None]
) -> None:
    with _start("-m", "punchlist", "serve", "--port", "0", "--no-watch") as server, httpx.Client(timeout=120) as client:
        assert server.stdout is not None
        found = re.search(r"http://\S+", server.stdout.readline())
        assert found is not None
        address = found[0]
        link = f"{address}?token={load_secret(str(host.board))}"  # without a terminal it is not printed
        assert client.get(link).status_code == 303
        with client.stream("GET", f"{address}api/v1/events/stream") as stream:
            upgrade()
            list(stream.iter_lines())  # it ends
        sentence = RESTART.format("`punchlist serve`")
        for path in ("api/v1/now", "api/v1/sessions", "api/v1/events/stream", ""):
            answer = client.get(f"{address}{path}")
            assert (answer.status_code, answer.json()["code"]) == (503, "store_too_new")
            assert answer.json()["detail"].endswith(sentence)
        health = client.get(f"{address}healthz")
        assert (health.status_code, health.text) == (503, "store_too_new\n")
        server.terminate()
        said = server.communicate(timeout=PATIENCE)[1]
    assert said.count("\n") == said.count(sentence) == 1


def test_notify_ends_with_one_sentence(host: Host, upgrade: Upgrade) -> None:
    with _start("-m", "punchlist", "notify", "--no-watch") as process:
        assert process.stdout is not None
        assert "You are told by" in process.stdout.readline()
        upgrade()
        said = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 2
    assert said.count("\n") == 1
    assert said.endswith(RESTART.format("this program") + "\n")


def test_the_screen_ends_with_one_sentence(host: Host, upgrade: Upgrade) -> None:
    with open_terminal(80, 24, "top") as terminal:
        terminal.wait_for("Punchlist")
        upgrade()
        terminal.wait_until(lambda: b"restart this program" in terminal.shown.rpartition(b"\x1b[?1049l")[2])
        assert terminal.program.wait(PATIENCE) == 2
