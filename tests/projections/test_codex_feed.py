"""Codex' projections of a plan, driven by the events of a board."""

from collections.abc import Iterator

import pytest

from punchlist import Agent, Board
from punchlist.projections.codex import CodexFeed, ExecFeed
from tests.dialects.boards import memory_board, todo
from tests.projections.board_events import events_of, tool


@pytest.fixture
def board() -> Iterator[Board]:
    with memory_board() as board:
        yield board


@pytest.fixture
def agent(board: Board) -> Agent:
    agent = board.agent("main", session="s1", dialect="codex")
    for status in ("pending", "in_progress", "in_progress"):
        agent.call("update_plan", {"plan": [{"step": "a", "status": status}]})
    return agent


@pytest.mark.requirement("codex.feed-notifications")
def test_each_write_is_a_notification_of_the_app_server(board: Board, agent: Agent) -> None:
    feed = CodexFeed("s1", thread_id="t")
    feed.turn = "u7"
    said = [message for event in events_of(board) for message in feed.add(event)]
    assert [message["method"] for message in said] == ["turn/plan/updated"] * 3
    assert [message["params"]["plan"][0]["status"] for message in said] == ["pending", "inProgress", "inProgress"]
    assert (said[0]["params"]["threadId"], said[0]["params"]["turnId"]) == ("t", "u7")


@pytest.mark.requirement("codex.feed-notifications")
def test_in_the_style_of_core_it_is_a_plan_update(board: Board, agent: Agent) -> None:
    feed = CodexFeed("s1", style="core")
    said = [message for event in events_of(board) for message in feed.add(event)]
    assert [message["type"] for message in said] == ["plan_update"] * 3


@pytest.mark.requirement("codex.feed-notifications")
def test_turns_are_numbered_where_nobody_names_them() -> None:
    feed = CodexFeed("s1")
    feed.add(tool("turn.ended"))
    assert feed.turn == "turn-2"


@pytest.mark.requirement("codex.feed-proposed")
def test_a_plan_that_streams_in_is_an_item_of_its_turn(board: Board) -> None:
    agent = board.agent("main", session="s1", dialect="codex")
    agent.enter_plan_mode()
    agent.plan_delta("<proposed_plan>\n- one\n", turn="u1")
    agent.plan_message("<proposed_plan>\n- one\n</proposed_plan>", turn="u1")
    said = [message for event in events_of(board) for message in CodexFeed("s1").add(event)]
    assert [message["method"] for message in said] == ["item/started", "item/plan/delta", "item/completed"]
    assert {message["params"]["turnId"] for message in said} == {"u1"}
    assert said[-1]["params"]["item"] == {"type": "plan", "id": "u1-plan", "text": "- one\n"}
    core = [message for event in events_of(board) for message in CodexFeed("s1", style="core").add(event)]
    assert [message["type"] for message in core] == ["item_started", "plan_delta", "item_completed"]


@pytest.mark.requirement("codex.feed-exec")
def test_the_lines_of_exec_start_update_and_complete_one_item_a_turn(board: Board, agent: Agent) -> None:
    feed = ExecFeed("s1")
    said = [line for event in [*events_of(board), tool("turn.ended")] for line in feed.add(event)]
    assert [(line["type"], line["item"]["id"]) for line in said] == [
        ("item.started", "item_0"),
        ("item.updated", "item_0"),
        ("item.updated", "item_0"),
        ("item.completed", "item_0"),
    ]
    assert feed.turn_ended() == []
    seen = events_of(board)[-1].seq
    agent.call("update_plan", {"plan": [{"step": "a", "status": "completed"}]})
    (line,) = [line for event in board.events(after=seen) for line in feed.add(event)]
    assert line == {
        "type": "item.started",
        "item": {"id": "item_1", "type": "todo_list", "items": [{"text": "a", "completed": True}]},
    }


def test_a_grade_is_no_write_of_the_list() -> None:
    graded = tool("list.graded", revision=1)
    assert CodexFeed("s1").add(graded) == ExecFeed("s1").add(graded) == []


def test_other_agents_are_not_told_of(board: Board, agent: Agent) -> None:
    todo(board.agent("other", session="s1"), set=["x"])
    feeds = (CodexFeed("s1", "nobody"), ExecFeed("s2"))
    assert [message for event in events_of(board) for feed in feeds for message in feed.add(event)] == []
