"""The API: what programs and the page read and change, over HTTP."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from punchlist import Board
from punchlist.cli import main
from punchlist.core.presence import Presence
from punchlist.presence.running_agents import record_states
from punchlist.presence.screen_feed import LiveRoster
from punchlist.server.access import make_owner
from punchlist.server.api.calls import ApiCall
from punchlist.server.api.reading import ProjectQuery, show_now
from tests.server.worlds import OTHERS, OURS, build

ITEMS = {"op": "append", "items": ["Read the code", "Fix the bug", "Run the tests"]}
AGENT = "/api/v1/sessions/s1/agents/main"


@pytest.fixture
def todos(board: Board) -> dict[str, Any]:
    """A list of three items in session s1."""
    agent = board.agent(session="s1", dialect="claude-code", project="/projects/api")
    texts = ("Read the code", "Fix the bug", "Run the tests")
    statuses = ("completed", "in_progress", "pending")
    given = [
        {"content": text, "status": status, "activeForm": text} for text, status in zip(texts, statuses, strict=True)
    ]
    agent.call("TodoWrite", {"todos": given})
    return {"revision": agent.todos.revision}


def test_a_list_is_read_as_it_is_and_as_it_was(client: httpx.Client, todos: dict[str, Any]):
    answer = client.get(f"{AGENT}/todos")
    assert answer.status_code == 200, answer.text
    shown = answer.json()
    assert [item["status"] for item in shown["items"]] == ["completed", "in_progress", "pending"]
    assert shown["progress"] == {"done": 1, "total": 3, "percent": 33}
    assert client.get(f"{AGENT}/todos", params={"revision": 0}).json()["items"] == []
    assert client.get(f"{AGENT}/todos", params={"revision": 99}).json()["code"] == "revision_unknown"


def test_an_edit_applies_all_operations_and_undo_rolls_them_back(client: httpx.Client, todos: dict[str, Any]):
    operations = [{"op": "done", "item": "Fix the bug"}, {"op": "append", "items": ["Write a note"]}]
    answer = client.patch(f"{AGENT}/todos", json={"operations": operations})
    assert answer.status_code == 200, answer.text
    shown = answer.json()
    assert [item["content"] for item in shown["items"]][-1] == "Write a note"
    assert shown["items"][1]["status"] == "completed"
    assert shown["items"][1]["grade"] != "confirmed"  # changed: a token that a program sends is no person
    back = client.post(f"{AGENT}/todos/undo")
    assert [item["status"] for item in back.json()["items"]] == ["completed", "in_progress", "pending"]


def test_everything_can_be_read(client: httpx.Client, todos: dict[str, Any], board: Board):
    board.tasks("project:/projects/api", project="/projects/api").create("Ship it")
    agent = board.agent(session="s1", project="/projects/api")
    agent.propose_plan("# Plan\n\n1. Read\n2. Write")
    agent.ask(agent.todos.items[2].id, "Which tests?")
    for path in (
        "now", "waits", "search?q=bug", "projects", "sessions", "sessions/s1", "sessions/s1/receipt?event=1",
        "sessions/s1/agents", "sessions/s1/agents/main", "todos", "sessions/s1/agents/main/todos", "plans",
        "sessions/s1/agents/main/plan", "sessions/s1/agents/main/plan/revisions", "sessions/s1/agents/main/plan/diff",
        "task-lists", "task-lists/project:%2Fprojects%2Fapi/tasks", "task-lists/project:%2Fprojects%2Fapi/ready",
        "task-lists/project:%2Fprojects%2Fapi/graph", "task-lists/project:%2Fprojects%2Fapi/tasks/1",
        "task-lists/project:%2Fprojects%2Fapi/tasks/1/history", "events", "report", "report?session=s1", "brief",
        "stats", "dialects", "dialects/claude-code",
    ):  # fmt: skip
        answer = client.get(f"/api/v1/{path}")
        assert answer.status_code == 200, (path, answer.text)


def test_events_come_in_pages_and_by_session_project_agent_and_kind(client: httpx.Client, board: Board):
    build(board, OURS)
    build(board, OTHERS)
    everything = [event.seq for event in board.events()]
    seen: list[int] = []
    after = "0"
    for _ in range(len(everything)):
        page = client.get("/api/v1/events", params={"after": after, "limit": 7}).json()
        seen += [event["seq"] for event in page["events"]]
        after = page["next"]
        if not page["more"]:
            break
    assert seen == everything
    nothing = client.get("/api/v1/events", params={"after": after}).json()
    assert (nothing["events"], nothing["next"], nothing["more"]) == ([], after, False)

    def find(**query: str) -> list[dict[str, Any]]:
        return client.get("/api/v1/events", params={"limit": 1000, **query}).json()["events"]

    assert {event["session"] for event in find(session=OURS.session, agent="main")} == {OURS.session}
    assert {event["project"] for event in find(project=OTHERS.project)} == {OTHERS.project}
    assert {event["kind"].partition(".")[0] for event in find(kind="item")} == {"item"}
    assert {event["kind"] for event in find(kind="task.created")} == {"task.created"}


def test_lists_of_sessions_and_tasks_come_in_pages(client: httpx.Client, board: Board):
    for number in range(5):
        board.agent(session=f"s{number}", project="/projects/api").edit([{"op": "append", "items": ["One"]}], by="ada")
        board.tasks("inbox").create(f"Task {number}")
    for path, key, name in (("sessions", "sessions", "session"), ("task-lists/inbox/tasks", "tasks", "id")):
        found: list[str] = []
        after: dict[str, str] = {}
        while True:
            page = client.get(f"/api/v1/{path}", params={"limit": "2", **after}).json()
            found += [row[name] for row in page[key]]
            if page["next"] is None:
                break
            after = {"after": page["next"]}
        assert len(found) == len(set(found)) == 5


@pytest.mark.parametrize(
    ("path", "key", "command"),
    [
        ("now", None, ["now"]),
        ("waits", "waits", ["answer", "--all"]),
        ("report", None, ["report", "--all"]),
        (f"report?session={OURS.session}", None, ["report", "--session", OURS.session]),
        ("brief?after=0", None, ["brief", "--all", "--keep", "--after", "0"]),
        ("stats", "costs", ["stats", "--all"]),
        (f"task-lists/{OURS.list.replace('/', '%2F')}/tasks", "tasks", ["tasks", "list", "--all", "--list", OURS.list]),
        (f"task-lists/{OURS.list.replace('/', '%2F')}/graph", None, ["tasks", "graph", "--all", "--list", OURS.list]),
    ],
)
def test_the_api_has_the_same_values_as_the_command(
    client: httpx.Client,
    board: Board,
    capsys: pytest.CaptureFixture[str],
    path: str,
    key: str | None,
    command: list[str],
):
    build(board, OURS)
    agent = board.agent(session=OURS.session)
    agent.tool_started("c1", "Bash", {"command": "pytest -q"})
    agent.tool_finished("c1", result="1 failed", exit_code=1)
    assert main([*command, "--json", "--db", str(board.store.path)]) == 0
    printed, served = json.loads(capsys.readouterr().out), client.get(f"/api/v1/{path}").json()
    for one in (printed, served) if path == "now" else ():
        del one["at"], one["done"]["since"]
    assert _without_seconds(served if key is None else served[key]) == _without_seconds(printed)


def _without_seconds(value: Any) -> Any:
    """Return JSON without the time that items in progress have taken, which goes on."""
    if isinstance(value, list):
        return [_without_seconds(each) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    return {name: _without_seconds(each) for name, each in fields.items() if name != "seconds"}


def test_an_agent_that_was_seen_after_the_server_asked_the_hosts_is_not_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("punchlist.presence.screen_feed.PRESENCE_SECONDS", 1_000)
    clock = [datetime.now(UTC)]
    with Board.open(tmp_path / "board.db", clock=lambda: clock[0]) as board:
        live = LiveRoster(board, watches=False)
        live.find_present()
        clock[0] += timedelta(seconds=1)
        record_states(board, [Presence(host="codex", session="t-1", state="idle", project="/shop")])
        clock[0] += timedelta(seconds=1)
        (row,) = show_now(ApiCall(board, make_owner(), live=live), ProjectQuery()).agents
        assert (row.session, row.state) == ("t-1", "idle")
