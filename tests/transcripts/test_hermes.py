"""The list in Hermes' messages, exports and store."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from punchlist.errors import TranscriptError
from punchlist.transcripts.formats import open_transcript
from tests.transcripts.records import told


def call(call_id: str, tool: str = "todo") -> dict[str, Any]:
    function = {"name": tool, "arguments": "{}"}
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def answer(call_id: str, *items: str, content: Any = None) -> dict[str, Any]:
    todos = [{"id": str(place), "content": item, "status": "pending"} for place, item in enumerate(items)]
    return {"role": "tool", "tool_call_id": call_id, "content": content or json.dumps({"todos": todos, "summary": {}})}


USER, SYSTEM = {"role": "user", "content": "go on"}, {"role": "system", "content": "be brief"}
BASE = [USER, call("c1"), answer("c1", "Saw")]


@pytest.mark.requirement("hermes.restore-paired")
def test_the_newest_result_that_is_paired_with_its_call_is_the_list() -> None:
    messages = [*BASE, call("c2"), answer("c2", "Saw", "Glue"), {"role": "assistant", "content": "ok"}, USER]
    assert told(open_transcript(messages).latest()) == ["Saw", "Glue"]


@pytest.mark.requirement("hermes.restore-paired")
@pytest.mark.parametrize(
    "tail",
    [
        [answer("c9", "Burn")],
        [call("c2"), USER, answer("c2", "Burn")],
        [call("c2"), SYSTEM, answer("c2", "Burn")],
        [call("c2"), {"role": "assistant", "content": "so"}, answer("c2", "Burn")],
        [call("c2", "shell"), answer("c2", "Burn")],
        [call("c2"), answer("c2", content='{"error": "todos must be a list, got int"}')],
        [call("c2"), answer("c2", content='{"todos": "none"}')],
        [call("c2"), answer("c2", content='{"todos": [')],
        [call("c2"), answer("c2", content=[{"type": "text", "text": '{"todos": []}'}])],
        [call("c2"), {**answer("c2", "Burn"), "active": 0}],
    ],
    ids=["alone", "user", "system", "assistant", "tool", "error", "no list", "broken", "parts", "inactive"],
)
def test_what_is_not_paired_or_is_no_list_is_passed_over(tail: list[Any]) -> None:
    assert told(open_transcript([*BASE, *tail]).latest()) == ["Saw"]


@pytest.mark.requirement("hermes.restore-paired")
def test_other_results_between_a_call_and_its_answer_do_not_part_them() -> None:
    both = call("c2")
    both["tool_calls"].append({"id": "c3", "type": "function", "function": {"name": "shell", "arguments": "{}"}})
    assert told(open_transcript([*BASE, both, answer("c3", "x"), answer("c2", "Glue")]).latest()) == ["Glue"]
    assert told(open_transcript([*BASE, both, answer("c2", "Glue"), answer("c3", "x")]).latest()) == ["Glue"]


@pytest.mark.requirement("hermes.restore-cap")
def test_a_result_beyond_the_cap_is_passed_over() -> None:
    body = json.dumps({"todos": [{"id": "1", "content": "Burn", "status": "pending"}], "pad": ""})
    for length, list_ in ((512_000, ["Burn"]), (512_001, ["Saw"])):
        padded = body[:-2] + "x" * (length - len(body)) + body[-2:]
        assert len(padded) == length
        assert told(open_transcript([*BASE, call("c2"), answer("c2", content=padded)]).latest()) == list_


def test_both_names_of_the_tool_and_finished_items_are_known() -> None:
    done = json.dumps(
        {
            "todos": [
                {"id": "1", "content": "Saw", "status": "completed"},
                {"id": "2", "content": "x", "status": "cancelled"},
            ]
        }
    )
    assert told(open_transcript([call("c1", "todo_list"), answer("c1", content=done)]).latest()) == ["x Saw", "- x"]


def test_history_has_every_paired_result() -> None:
    found = open_transcript([*BASE, call("c2"), answer("c2", "Saw", "Glue")])
    assert [told(written) for written in found.history()] == [["Saw"], ["Saw", "Glue"]]


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_an_export_a_snapshot_and_a_file_of_messages_are_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"session_s1{suffix}"
    lines = "\n".join(map(json.dumps, BASE))
    path.write_text(json.dumps({"session_id": "s1", "messages": BASE}) if suffix == ".json" else lines)
    found = open_transcript(path)
    assert (found.format, told(found.latest())) == ("hermes", ["Saw"])
    if suffix == ".json":
        assert found.sessions == ("s1",)


# The store.


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            PRAGMA journal_mode = WAL;
            CREATE TABLE sessions (id TEXT PRIMARY KEY);
            CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, tool_call_id TEXT,
                tool_calls TEXT, tool_name TEXT, timestamp REAL, active INTEGER DEFAULT 1);
        """)
    return path


def fill(path: Path, session: str, messages: list[dict[str, Any]]) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for message in messages:
            calls = message.get("tool_calls")
            row = (session, message["role"], message["content"], message.get("tool_call_id"))
            more = (None if calls is None else json.dumps(calls), 1768000002.0, message.get("active", 1))
            connection.execute(
                "INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls, timestamp, active) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*row, *more),
            )


def test_the_store_is_read_by_session(store: Path) -> None:
    fill(store, "s1", BASE)
    fill(store, "s2", [call("c1"), answer("c1", "Glue")])
    fill(store, "s1", [USER])
    found = open_transcript(store)
    assert found.sessions == ("s1", "s2")
    assert told(found.latest(session="s1")) == ["Saw"]
    assert told(found.latest(session="s2")) == ["Glue"]
    assert found.latest(session="s3") is None
    written = found.latest()
    assert written is not None
    assert (written.origin.session, written.origin.at is not None) == ("s1", True)
    assert [told(one) for one in found.history(session="s2")] == [["Glue"]]


def test_structured_content_and_messages_that_are_gone_are_no_list(store: Path) -> None:
    hidden = [{**message, "active": 0} for message in (call("c2"), answer("c2", "Burn"))]
    structured = "\0json:" + json.dumps([{"type": "text", "text": '{"todos": []}'}])
    fill(store, "s1", [*BASE, *hidden, call("c3"), answer("c3", content=structured)])
    assert told(open_transcript(store).latest()) == ["Saw"]


def test_the_store_is_read_while_another_connection_writes(store: Path) -> None:
    fill(store, "s1", BASE)
    with closing(sqlite3.connect(store)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO messages (session_id, role, content) VALUES ('s1', 'user', 'x')")
        assert told(open_transcript(store).latest()) == ["Saw"]
        writer.commit()
    before = store.read_bytes()
    open_transcript(store).latest()
    assert store.read_bytes() == before


@pytest.mark.parametrize("damage", ["gone", "folder", "no database", "no column"])
def test_a_store_that_cannot_be_read_is_a_clear_error(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "state.db"
    if damage == "folder":
        path.mkdir()
    elif damage == "no database":
        path.write_bytes(b"not a database at all, and long enough to be one, too" * 100)
    elif damage == "no column":
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript("CREATE TABLE sessions (id TEXT); CREATE TABLE messages (id INTEGER, role TEXT);")
    with pytest.raises(TranscriptError) as caught:
        open_transcript(path).latest()
    assert caught.value.code == "transcript_unreadable"
    assert str(path) in str(caught.value)


def test_a_store_that_is_held_is_said_to_be_held(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("punchlist.transcripts.stores._PATIENCE", 0.0)
    with closing(sqlite3.connect(store)) as holder:
        holder.execute("PRAGMA journal_mode = DELETE")
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(TranscriptError, match="another program holds it"):
            open_transcript(store)
