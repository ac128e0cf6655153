"""Lists that are kept as they are: opencode's and qwen-code's."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from punchlist.transcripts.formats import open_transcript
from tests.transcripts.records import told

TODOS: list[dict[str, Any]] = [
    {"content": "Saw", "status": "completed", "priority": "high"},
    {"content": "Glue", "status": "in_progress", "priority": "low"},
]


@pytest.mark.requirement("opencode.restore-store")
def test_opencodes_table_is_read_by_session(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript("""
            CREATE TABLE session (id TEXT PRIMARY KEY, directory TEXT);
            CREATE TABLE todo (session_id TEXT, content TEXT, status TEXT, priority TEXT, position INTEGER,
                time_created INTEGER, time_updated INTEGER);
            INSERT INTO session VALUES ('ses_1', '/projects/shed');
        """)
        for place, todo in ((1, TODOS[1]), (0, TODOS[0])):
            row = ("ses_1", todo["content"], todo["status"], todo["priority"], place, 1772355600000)
            connection.execute("INSERT INTO todo VALUES (?, ?, ?, ?, ?, 0, ?)", row)
        connection.execute("INSERT INTO todo VALUES ('ses_0', 'Old', 'pending', 'low', 0, 0, 1)")
    found = open_transcript(path)
    assert found.sessions == ("ses_1", "ses_0")
    written = found.latest()
    assert told(written) == ["x Saw", "> Glue"]
    assert written is not None
    assert (written.origin.cwd, written.command.entries[0].priority) == ("/projects/shed", "high")
    assert told(found.latest(session="ses_0")) == ["Old"]
    assert found.latest(session="nope") is None


@pytest.mark.requirement("opencode.restore-store")
def test_opencodes_older_files_are_a_list_each(tmp_path: Path) -> None:
    path = tmp_path / "ses_9.json"
    path.write_text(json.dumps([{**TODOS[0], "id": "1"}, {"content": "Glue", "status": "pending"}]))
    found = open_transcript(path)
    assert (found.format, found.sessions, told(found.latest())) == ("opencode", ("ses_9",), ["x Saw", "Glue"])


@pytest.mark.requirement("qwen.restore-store")
def test_qwens_file_is_the_list_of_its_session(tmp_path: Path) -> None:
    path = tmp_path / "s1.json"
    items = [
        {"id": "1", "content": "Saw", "status": "completed"},
        {"id": "2", "content": "Glue", "status": "pending", "blockedBy": ["1"]},
    ]
    path.write_text(json.dumps({"planId": "p", "todos": items, "sessionId": "s7"}, indent=2))
    found = open_transcript(path)
    assert (found.format, found.sessions, told(found.latest())) == ("qwen", ("s7",), ["x Saw", "Glue"])
    written = found.latest()
    assert written is not None
    assert [entry.alias for entry in written.command.entries] == ["1", "2"]
    assert [told(one) for one in found.history()] == [["x Saw", "Glue"]]


@pytest.mark.parametrize("body", ['{"todos": [{"id": 1}], "planId": "p"}', '{"todos": "x", "sessionId": "s"}'])
def test_a_file_that_is_no_list_is_counted_as_broken(tmp_path: Path, body: str) -> None:
    path = tmp_path / "s1.json"
    path.write_text(body)
    found = open_transcript(path, "qwen")
    assert (found.latest(), found.skipped) == (None, 1)
