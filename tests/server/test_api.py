"""The API: what programs and the page read and change, over HTTP."""

from typing import Any

import httpx
import pytest

from punchlist import Board

ITEMS = {"op": "append", "items": ["Read the code", "Fix the bug", "Run the tests"]}
AGENT = "/api/v1/sessions/s1/agents/main"


@pytest.fixture
def todos(board: Board) -> dict[str, Any]:
    """A list of three items in session s1."""
    agent = board.agent(session="s1", dialect="claude-code", project="/work/api")
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
    assert shown["items"][1]["grade"] == "confirmed"
    back = client.post(f"{AGENT}/todos/undo")
    assert [item["status"] for item in back.json()["items"]] == ["completed", "in_progress", "pending"]


def test_everything_can_be_read(client: httpx.Client, todos: dict[str, Any], board: Board):
    board.tasks("project:/work/api", project="/work/api").create("Ship it")
    agent = board.agent(session="s1", project="/work/api")
    agent.propose_plan("# Plan\n\n1. Read\n2. Write")
    agent.ask(agent.todos.items[2].id, "Which tests?")
    for path in (
        "now", "waits", "search?q=bug", "projects", "sessions", "sessions/s1", "sessions/s1/receipt?event=1",
        "sessions/s1/agents", "sessions/s1/agents/main", "todos", "sessions/s1/agents/main/todos", "plans",
        "sessions/s1/agents/main/plan", "sessions/s1/agents/main/plan/revisions", "sessions/s1/agents/main/plan/diff",
        "task-lists", "task-lists/project:%2Fwork%2Fapi/tasks", "task-lists/project:%2Fwork%2Fapi/ready",
        "task-lists/project:%2Fwork%2Fapi/graph", "task-lists/project:%2Fwork%2Fapi/tasks/1",
        "task-lists/project:%2Fwork%2Fapi/tasks/1/history", "events", "report", "report?session=s1", "brief", "stats",
        "dialects", "dialects/claude-code",
    ):  # fmt: skip
        answer = client.get(f"/api/v1/{path}")
        assert answer.status_code == 200, (path, answer.text)
