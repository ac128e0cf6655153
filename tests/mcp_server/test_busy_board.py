"""While another process holds the board's lock, `punchlist mcp` answers what only reads, and loses no record."""

from __future__ import annotations

from typing import Any

import pytest

from punchlist.board import Board
from tests.mcp_server.client import Client, call_params
from tests.mcp_server.conftest import Start
from tests.store.writers import held_lock

SESSION = {"PUNCHLIST_SESSION": "s1"}
VIEWS: dict[str, tuple[str, Any, str]] = {
    "punchlist": ("todo", {}, "Paint"),
    "punchlist-tasks": ("task", {}, "Clean up"),
    "claude-tasks": ("TaskList", {}, "Clean up"),
    "kimi": ("SetTodoList", {"todos": None}, "Paint"),
    "taskflow": ("taskflow", {"action": "list_mine"}, "Sort the inbox"),
}


def write_some(board: Board, project: str) -> None:
    """Write a list, a task in each list that a tool may read, and a flow."""
    board.agent(session="s1", project=project).call("todo", {"set": [{"text": "Paint"}]})
    board.tasks("session:s1").create("Clean up")
    board.tasks(f"project:{project}", project=project).create("Clean up")
    flow = {"action": "start", "controller_id": "kate", "goal": "Sort the inbox"}
    board.agent(session="s1", project=project, dialect="taskflow").call("taskflow", flow)


@pytest.mark.parametrize("dialect", VIEWS)
def test_a_view_is_answered_without_the_lock(start: Start, board: Board, project: Any, dialect: str) -> None:
    write_some(board, str(project))
    tool, arguments, expected = VIEWS[dialect]
    with held_lock(board.store.path):
        assert expected in start("--dialect", dialect, **SESSION).text(tool, arguments)


def test_a_view_of_a_session_that_has_no_list_yet_is_answered_without_the_lock(start: Start, board: Board) -> None:
    client = start(**SESSION)
    with held_lock(board.store.path):
        said = client.text("todo", {}), client.text("task", {})
    assert (client.text("todo", {}), client.text("task", {})) == said


def test_resources_and_prompts_are_answered_without_the_lock(start: Start, board: Board, project: Any) -> None:
    write_some(board, str(project))
    client = start(**SESSION)
    with held_lock(board.store.path):
        for uri in ("punchlist://list", "punchlist://work", "punchlist://sessions/s1/list"):
            assert "Paint" in str(client.result("resources/read", {"uri": uri}))
        assert client.result("resources/read", {"uri": "punchlist://brief"})
        assert "Paint" in str(client.result("prompts/get", {"name": "resume"}))


def test_a_view_and_the_news_that_it_could_not_tell_come_one_after_the_other(start: Start, board: Board) -> None:
    agent = board.agent(session="s1")
    agent.call("todo", {"set": [{"text": "Paint"}]})
    agent.call("todo", {"ask": {"1": "Which colour?"}})
    agent.answer("1", "Green", by="anna")
    agent.call("todo", {})
    client = start(**SESSION)
    with held_lock(board.store.path):
        assert "Green" not in client.text("todo", {})
    while "Green" not in client.text("todo", {}):
        pass  # a thread that gave up may get the lock first
    assert "Green" not in client.text("todo", {})


def test_a_view_of_what_a_person_changed_waits_until_it_is_recorded(start: Start, board: Board) -> None:
    write = {"todos": [{"title": "Paint", "status": "pending"}]}
    client: Client = start("--dialect", "kimi", **SESSION)
    client.text("SetTodoList", write)
    board.agent(session="s1").edit([{"op": "append", "items": ["Sweep"]}], by="anna")
    with held_lock(board.store.path):
        number = client.start_request("tools/call", call_params("SetTodoList", {}))
    answer = client.read()
    assert (answer["id"], answer["result"]["isError"]) == (number, False)
    assert "Sweep" in answer["result"]["content"][0]["text"]
    # The model has seen the person's item, and leaves it out: so it goes.
    client.text("SetTodoList", write)
    assert [item.content for item in board.agent(session="s1").todos.items if item.is_open] == ["Paint"]


def test_a_call_that_was_answered_before_gets_the_same_answer_without_the_lock(start: Start, board: Board) -> None:
    meta = {"claudecode/toolUseId": "toolu_1"}
    client = start(**SESSION)
    first = client.text("todo", {}, meta)
    board.agent(session="s1").call("todo", {"set": [{"text": "Paint"}]})
    with held_lock(board.store.path):
        assert client.text("todo", {}, meta) == first
        assert "Paint" in client.text("todo", {}, {"claudecode/toolUseId": "toolu_2"})
