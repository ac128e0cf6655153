"""Our own tool for durable tasks, `task`. The rules are those of manifest.toml, section punchlist-tasks."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from punchlist import Agent, Board, Reply
from tests.dialects.boards import memory_board


@pytest.fixture
def board() -> Iterator[Board]:
    with memory_board() as board:
        yield board


@pytest.fixture
def ada(board: Board) -> Agent:
    return board.agent("main", session="ada", dialect="punchlist-tasks", project="/")


@pytest.fixture
def bob(board: Board) -> Agent:
    return board.agent("main", session="bob", dialect="punchlist-tasks", project="/")


def task(agent: Agent, do: str, **args: Any) -> Reply:
    reply = agent.call("task", {"do": do, **args})
    assert not reply.is_error, reply.text
    return reply


def refuse(agent: Agent, args: Any) -> str:
    before = list(agent.tasks().list())
    reply = agent.call("task", args)
    assert reply.is_error
    assert reply.text.startswith("Nothing changed: ")
    assert list(agent.tasks().list()) == before
    return reply.text


@pytest.mark.requirement("punchlist-tasks.one-tool")
def test_there_is_one_tool_of_few_bytes(ada: Agent) -> None:
    (tool,) = ada.tools
    told = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
    assert tool.name == "task"
    assert len(json.dumps(told).encode()) <= 1500


@pytest.mark.requirement("punchlist-tasks.list", "punchlist-tasks.add")
def test_the_list_shows_open_tasks_with_their_states(ada: Agent) -> None:
    assert task(ada, "list").text == "No task is open; `add` makes one."
    assert task(ada, "add", text="Ship").text == "Added: #1 [ready] Ship"
    assert task(ada, "add", text="Announce\nIn the blog", after=["1"]).text == "Added: #2 [after #1] Announce"
    task(ada, "add", text="Rest")
    task(ada, "claim", id="3")
    task(ada, "add", text="Old")
    task(ada, "done", id="4")
    assert ada.call("task").text.splitlines() == [
        "#3 [in progress, main] Rest",
        "#1 [ready] Ship",
        "#2 [after #1] Announce",
    ]
    assert ada.tasks().get("2").description == "In the blog"


@pytest.mark.requirement("punchlist-tasks.list")
def test_a_long_list_is_cut(ada: Agent) -> None:
    for number in range(52):
        task(ada, "add", text=f"Task {number}")
    assert task(ada, "list").text.splitlines()[-1] == "and 2 more"


@pytest.mark.requirement("punchlist-tasks.claim")
def test_claim_takes_the_named_task_else_the_next_ready_one(ada: Agent) -> None:
    assert task(ada, "claim").text == "No task is ready."
    for subject in ("First\nWith care", "Second"):
        task(ada, "add", text=subject)
    assert task(ada, "claim", id="2").text == "Yours: #2 [in progress, main] Second"
    assert task(ada, "claim").text == "Yours: #1 [in progress, main] First\nWith care"
    assert task(ada, "claim", id="2").text == "Yours: #2 [in progress, main] Second"
    assert ada.tasks().get("1").lease_until is not None


@pytest.mark.requirement("punchlist-tasks.claim-once")
@pytest.mark.parametrize("do", ["claim", "done", "block"])
def test_a_task_of_another_worker_is_left_alone(ada: Agent, bob: Agent, do: str) -> None:
    task(ada, "add", text="Ship")
    task(ada, "claim")
    assert "is taken by" in refuse(bob, {"do": do, "id": "1", "text": "mine"})
    assert task(bob, "claim").text == "No task is ready."


@pytest.mark.requirement("punchlist-tasks.done")
def test_done_completes_a_task_with_its_result(ada: Agent) -> None:
    task(ada, "add", text="Ship")
    task(ada, "claim")
    assert task(ada, "done", id="1", text="shipped").text == "Done: #1 [completed] Ship"
    assert ada.tasks().get("1").result == "shipped"


@pytest.mark.requirement("punchlist-tasks.block")
def test_block_makes_a_task_wait_for_a_person_or_for_other_tasks(board: Board, ada: Agent) -> None:
    for subject in ("Ship", "Sign", "Test"):
        task(ada, "add", text=subject)
    task(ada, "claim", id="1")
    said = task(ada, "block", id="1", text="needs a key").text
    assert said == "Waits for a person: #1 [waits: needs a key] Ship"
    assert [wait.kind for wait in board.waits()] == ["task"]
    task(ada, "claim", id="2")
    assert task(ada, "block", id="2", after=["3"]).text == "Blocked: #2 [after #3] Sign"
    assert ada.tasks().get("2").owner is None


@pytest.mark.requirement("punchlist-tasks.shared")
def test_sessions_share_the_tasks_and_owe_what_they_claimed(board: Board, ada: Agent, bob: Agent) -> None:
    task(ada, "add", text="Ship")
    task(ada, "add", text="Test")
    assert task(bob, "list").text == task(ada, "list").text
    assert ada.task_list == "project:/"
    task(bob, "claim")
    assert ada.about_to_stop("Finished.") is None
    assert bob.about_to_stop("Finished.") is not None


@pytest.mark.requirement("punchlist-tasks.repairs")
def test_json_text_and_numbers_are_taken(ada: Agent) -> None:
    assert not ada.call("task", '{"do": "add", "text": "Ship"}').is_error
    assert not ada.call("task", {"do": "add", "text": "Test", "after": 1}).is_error
    assert not ada.call("task", {"do": "add", "text": "Rest", "after": '[1, "#2"]'}).is_error
    assert ada.tasks().get("3").blocked_by == ("1", "2")
    assert not ada.call("task", {"do": "claim", "id": "#1"}).is_error


@pytest.mark.requirement("punchlist-tasks.refused")
@pytest.mark.parametrize(
    "args",
    [
        7,
        "x",
        ["list"],
        {"do": "delete", "id": "1"},
        {"text": "Ship"},
        {"do": "add"},
        {"do": "add", "text": " "},
        {"do": "add", "text": 7},
        {"do": "add", "text": "x", "after": ["99"]},
        {"do": "add", "text": "x", "after": [[1]]},
        {"do": "add", "text": "x" * 200_000},
        {"do": "claim", "id": "99"},
        {"do": "claim", "id": []},
        {"do": "done"},
        {"do": "done", "id": "99"},
        {"do": "done", "id": "2"},
        {"do": "block", "id": "1", "after": ["2"]},
        {"do": "list", "more": True},
    ],
)
def test_a_bad_call_changes_nothing_and_says_why(ada: Agent, args: Any) -> None:
    task(ada, "add", text="Ship")
    task(ada, "add", text="Announce", after=["1"])
    refuse(ada, args)
