"""Closed tasks leave oh-my-pi's list after a while, and never the person's."""

from collections.abc import Iterator
from typing import Any

import pytest

from punchlist import Agent, Board, Reply
from punchlist.testing import FakeClock
from tests.dialects.boards import lines

LIST = [{"phase": "A", "items": ["a1", "a2"]}, {"phase": "B", "items": ["b1"]}]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def board(clock: FakeClock) -> Iterator[Board]:
    with Board.open("memory:", clock=clock) as board:
        yield board


def begun(board: Board, **options: Any) -> Agent:
    agent = board.agent("main", session="s", dialect="oh-my-pi", **options)
    ops(agent, {"op": "init", "list": LIST})
    return agent


def ops(agent: Agent, *entries: dict[str, Any]) -> Reply:
    return agent.call("todo_write", {"ops": list(entries)})


def seen(reply: Reply) -> dict[str, list[str]]:
    return {phase["name"]: [task["content"] for task in phase["tasks"]] for phase in reply.data["phases"]}


NOTE = {"op": "note", "task": "b1", "text": "n"}


@pytest.mark.requirement("oh-my-pi.clear-delay")
def test_a_closed_task_is_hidden_from_the_model_after_a_minute(board: Board, clock: FakeClock) -> None:
    agent = begun(board)
    ops(agent, {"op": "done", "task": "a1"}, {"op": "drop", "task": "a2"})
    clock.advance(59)
    assert seen(ops(agent, NOTE)) == {"A": ["a1", "a2"], "B": ["b1"]}
    clock.advance(1)
    reply = ops(agent, NOTE)
    assert seen(reply) == {"B": ["b1"]}
    assert 'Phase 1/1 "B" — 0/1 tasks complete' in reply.text
    assert lines(agent.todos) == ["1 x a1", "2 - a2", "3 > b1"]


@pytest.mark.requirement("oh-my-pi.clear-delay")
def test_a_hidden_task_cannot_be_named_nor_reached_and_its_text_is_free_again(board: Board, clock: FakeClock) -> None:
    agent = begun(board)
    ops(agent, {"op": "done", "task": "a1"})
    clock.advance(60)
    assert ops(agent, {"op": "start", "task": "a1"}).text.startswith('Errors: Task "a1" not found\n')
    assert seen(ops(agent, {"op": "drop"})) == {"A": ["a2"], "B": ["b1"]}
    reply = ops(agent, {"op": "append", "phase": "A", "items": ["a1"]})
    assert (seen(reply)["A"], reply.is_error) == (["a2", "a1"], False)
    assert lines(agent.todos)[0] == "1 x a1"


@pytest.mark.requirement("oh-my-pi.clear-delay", "oh-my-pi.cleared")
def test_a_list_of_hidden_tasks_is_empty_to_the_model(board: Board, clock: FakeClock) -> None:
    agent = begun(board)
    ops(agent, {"op": "done"})
    clock.advance(3600)
    assert "(todo list is empty" in ops(agent, NOTE).text
    assert ops(agent, {"op": "done"}).text == "Todo list cleared."
    assert len(agent.todos.items) == 3


@pytest.mark.requirement("oh-my-pi.clear-delay-set")
def test_below_zero_nothing_is_ever_hidden(board: Board, clock: FakeClock) -> None:
    agent = begun(board, clear_delay=-1)
    ops(agent, {"op": "done", "task": "a1"})
    clock.advance(10**7)
    assert seen(ops(agent, NOTE)) == {"A": ["a1", "a2"], "B": ["b1"]}


@pytest.mark.requirement("oh-my-pi.clear-delay-set")
def test_at_zero_a_closed_task_is_in_the_reply_and_gone_from_the_next(board: Board) -> None:
    agent = begun(board, clear_delay=0)
    reply = ops(agent, {"op": "done", "task": "a1"}, {"op": "note", "task": "a1", "text": "n"})
    assert (seen(reply)["A"], reply.is_error) == (["a1", "a2"], False)
    assert reply.data["completedTasks"] == [{"phase": "A", "content": "a1"}]
    assert seen(ops(agent, NOTE))["A"] == ["a2"]


@pytest.mark.requirement("oh-my-pi.clear-delay-set")
def test_a_task_that_is_started_again_is_seen_again(board: Board, clock: FakeClock) -> None:
    agent = begun(board, clear_delay=300)
    ops(agent, {"op": "done", "task": "a1"})
    clock.advance(200)
    ops(agent, {"op": "start", "task": "a1"})
    clock.advance(200)
    assert seen(ops(agent, NOTE))["A"] == ["a1", "a2"]
