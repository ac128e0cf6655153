"""Conversations of opencode that run: by its processes, and the store that they have open."""

import json
import sqlite3
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from punchlist.presence.running_agents import find_presence
from tests.presence.test_running_agents import Start, find_one, milliseconds, run_program, start_processes


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def start() -> Iterator[Start]:
    with start_processes() as run:
        yield run


def write_store(home: Path, session: str, messages: Sequence[dict[str, Any]], pieces: Sequence[dict[str, Any]]) -> Path:
    """Write the tables of opencode's store that tell of a conversation."""
    file = home / ".local" / "share" / "opencode" / "opencode.db"
    file.parent.mkdir(parents=True, exist_ok=True)
    now = milliseconds(datetime.now(UTC))
    with closing(sqlite3.connect(file)) as store, store:
        for table in ("message", "part"):
            store.execute(f"CREATE TABLE IF NOT EXISTS {table} (id, session_id, time_created INTEGER, data)")
        columns = "id, parent_id, directory, title, time_updated INTEGER"
        store.execute(f"CREATE TABLE IF NOT EXISTS session ({columns})")
        store.execute(
            "INSERT INTO session VALUES (?, NULL, ?, ?, ?)", (session, str(home / "shop"), "Door", now + 1000)
        )
        for table, rows in (("message", messages), ("part", pieces)):
            for number, row in enumerate(rows):
                store.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", (number, session, number, json.dumps(row)))
    return file


def run_opencode(home: Path, start: Start, store: Path) -> subprocess.Popen[bytes]:
    return run_program(home, start, "opencode", store)


ASKED = {"role": "user", "time": {"created": 1_794_831_143_560}}
ANSWERED = {"role": "assistant", "finish": "stop", "time": {"created": 1, "completed": 1_794_831_155_303}}
CALLING = {"role": "assistant", "finish": "tool-calls", "time": {"created": 1, "completed": 2}}
ABORTED = {"role": "assistant", "error": {"name": "MessageAbortedError"}, "time": {"created": 1_794_831_143_560}}
SHELL = {"type": "tool", "tool": "bash", "state": {"status": "running", "input": {"command": "pytest -q"}}}
QUESTION = {
    "type": "tool",
    "tool": "question",
    "state": {"status": "running", "input": {"questions": [{"question": "Which region?"}]}},
}


@pytest.mark.parametrize(
    ("messages", "pieces", "wanted"),
    [
        ([ASKED], [], ("busy", "", "")),
        ([ASKED, CALLING], [SHELL], ("busy", "", "pytest -q")),
        ([ASKED, CALLING], [SHELL, QUESTION], ("waiting", "Which region?", "question")),
        ([ASKED, CALLING, ANSWERED], [SHELL], ("idle", "", "")),
        ([ASKED, ABORTED], [QUESTION], ("idle", "", "")),
        ([], [], ("idle", "", "")),
    ],
)
def test_opencode_has_the_state_of_its_last_message(
    home: Path, start: Start, messages: list[dict[str, Any]], pieces: list[dict[str, Any]], wanted: tuple[str, str, str]
):
    store = write_store(home, "ses_1", messages, pieces)
    assert find_presence() == []  # no process has it open
    process = run_opencode(home, start, store)
    found = find_one()
    assert (found.state, found.waits_for, found.doing) == wanted
    assert (found.host, found.session, found.project) == ("opencode", "ses_1", str(home / "shop"))
    assert (found.pid, found.title) == (process.pid, "Door")


def test_a_store_of_another_form_is_passed_over(home: Path, start: Start):
    store = write_store(home, "ses_1", [], [])
    with closing(sqlite3.connect(store)) as opened:
        opened.execute("DROP TABLE message")
    run_opencode(home, start, store)
    assert find_presence() == []
