"""Plans in OpenClaw's logs and its event ledger."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from punchlist.transcripts.formats import open_transcript
from punchlist.transcripts.values import Transcript
from tests.transcripts.records import save, todos, told


def entries(*items: str) -> list[dict[str, str]]:
    return [{"content": item["content"], "status": item["status"], "priority": "medium"} for item in todos(*items)]


def v1(*items: str) -> dict[str, Any]:
    return {"sessionUpdate": "plan", "entries": entries(*items)}


def v2(*items: str, plan_id: str = "main", **more: Any) -> dict[str, Any]:
    return {
        "sessionUpdate": "plan_update",
        "plan": {"type": "items", "planId": plan_id, "entries": entries(*items), **more},
    }


def logged(update: dict[str, Any], kind: str = "acp", second: int = 0) -> dict[str, Any]:
    head = {
        "ts": f"2026-03-01T09:00:{second:02}Z",
        "epochMs": 1772355600000 + second * 1000,
        "runId": "r1",
        "kind": kind,
    }
    return {
        **head,
        "parentSessionKey": "agent:main",
        "childSessionKey": "agent:mole",
        "agentId": "mole",
        "update": update,
    }


@pytest.fixture(params=["records", "stream", "json", "sqlite"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The same updates in each of their homes."""

    def open_updates(*updates: dict[str, Any]) -> Transcript:
        records = [logged(update, second=place) for place, update in enumerate(updates)]
        if request.param == "records":
            return open_transcript(records)
        if request.param == "stream":
            return open_transcript(save(tmp_path / "s1.acp-stream.jsonl", records))
        if request.param == "json":
            events = [{"seq": place, "at": 1772355600000, "update": update} for place, update in enumerate(updates)]
            session = {"sessionId": "s1", "cwd": "/projects/shed", "updatedAt": 5, "complete": True, "events": events}
            path = tmp_path / "event-ledger.json"
            path.write_text(
                json.dumps({"version": 1, "sessions": {"s1": session, "s0": {"updatedAt": 9, "events": []}}})
            )
            return open_transcript(path)
        path = tmp_path / "openclaw.sqlite"
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.executescript("""
                CREATE TABLE acp_replay_sessions (session_id TEXT, cwd TEXT, updated_at INTEGER);
                CREATE TABLE acp_replay_events (session_id TEXT, seq INTEGER, at INTEGER, update_json TEXT);
                INSERT INTO acp_replay_sessions VALUES ('s1', '/projects/shed', 5);
            """)
            for place, update in enumerate(updates):
                row = ("s1", place, 1772355600000, json.dumps(update))
                connection.execute("INSERT INTO acp_replay_events VALUES (?, ?, ?, ?)", row)
        return open_transcript(path)

    return open_updates


@pytest.mark.requirement("openclaw.restore-plan")
def test_each_plan_replaces_the_one_before(opened: Any) -> None:
    found = opened(v1("> Saw"), {"sessionUpdate": "agent_message_chunk", "content": {}}, v1("x Saw", "> Glue"))
    assert told(found.latest()) == ["x Saw", "> Glue"]
    assert found.latest().command.entries[0].priority == "medium"
    assert [told(written) for written in found.history()] == [["> Saw"], ["x Saw", "> Glue"]]


@pytest.mark.requirement("openclaw.restore-plan")
def test_the_draft_of_version_2_is_read_and_a_removed_plan_is_an_empty_list(opened: Any) -> None:
    assert told(opened(v1("> Saw"), v2("x Saw")).latest()) == ["x Saw"]
    assert told(opened(v2("> Saw"), v2(type="markdown")).latest()) == ["> Saw"]
    assert told(opened(v2("> Saw"), {"sessionUpdate": "plan_removed", "id": "main"}).latest()) == []


def test_a_plan_that_is_none_is_passed_over(opened: Any) -> None:
    bad = (
        {"sessionUpdate": "plan"},
        {"sessionUpdate": "plan", "entries": [1]},
        v1("") | {"entries": [{"content": " "}]},
    )
    assert told(opened(v1("> Saw"), *bad).latest()) == ["> Saw"]


def test_its_own_tool_counts_once_it_is_completed(opened: Any) -> None:
    steps = {"plan": [{"step": "Saw", "status": "in_progress"}]}
    start = {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "update_plan: plan: [...]", "rawInput": steps}
    done = {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed"}
    assert told(opened(start, done).latest()) == ["> Saw"]
    assert opened(start).latest() is None
    assert opened(start, {**done, "status": "failed"}).latest() is None


def test_the_events_of_an_agent_hold_steps_with_their_status() -> None:
    data = {
        "phase": "update",
        "explanation": "why",
        "steps": ["Saw (completed)", "Glue (in_progress)", "Oil (2 coats)"],
    }
    event = {"runId": "r1", "ts": 1772355600000, "stream": "plan", "data": data}
    assert told(open_transcript([event]).latest()) == ["x Saw", "> Glue", "Oil (2 coats)"]


def test_who_and_where_are_known(tmp_path: Path) -> None:
    written = open_transcript(save(tmp_path / "s1.acp-stream.jsonl", [logged(v1("Saw"), second=3)])).latest()
    assert written is not None
    assert written.origin.session == "agent:mole"
    assert written.origin.at is not None
    assert written.origin.at.second == 3
