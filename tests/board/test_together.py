"""An agent that writes from memory and a person who edits, on one list: what neither may lose."""

from collections.abc import Iterator
from typing import Any

import pytest

from punchlist import Agent, Board
from punchlist.errors import InvalidInput


def row(content: str, status: str = "pending", form: str = "") -> dict[str, str]:
    return {"content": content, "status": status, "activeForm": form or f"{content}…"}


@pytest.fixture
def board() -> Iterator[Board]:
    with Board.open("memory:") as board:
        yield board


@pytest.fixture
def agent(board: Board) -> Agent:
    agent = board.agent("main", session="s", dialect="claude-code")
    agent.call("TodoWrite", {"todos": LIST})
    return agent


LIST = [row("Fix A", "in_progress", "Fixing A"), row("Run B", "pending", "Running B")]


def contents(agent: Agent) -> list[tuple[str, str]]:
    return [(item.content, item.status.value) for item in agent.todos.items]


def test_new_words_stay_however_often_the_agent_repeats_the_old_ones(agent: Agent) -> None:
    agent.edit({"op": "reword", "item": "1", "text": "Ship the website"}, by="ada")
    for _ in range(3):
        agent.call("TodoWrite", {"todos": LIST})
    focus = agent.todos.focus
    assert focus is not None
    assert (focus.content, focus.label, agent.todos.revision) == ("Ship the website", "Ship the website", 2)


def test_an_agent_that_uses_the_new_words_means_the_same_item(agent: Agent) -> None:
    agent.edit({"op": "reword", "item": "1", "text": "Ship the website"}, by="ada")
    agent.call("TodoWrite", {"todos": [row("Ship the website", "completed"), row("Run B", "in_progress")]})
    assert contents(agent) == [("Ship the website", "completed"), ("Run B", "in_progress")]


def test_new_words_without_an_active_form_take_the_old_one_away(agent: Agent) -> None:
    todos = agent.todos
    codex = agent.board.agent("main", session="s", dialect="codex")
    step = {"step": "Fix A now", "status": "in_progress"}
    codex.call("update_plan", {"plan": [step, {"step": "Run B", "status": "pending"}]})
    assert agent.todos.items[0].id == todos.items[0].id
    assert agent.todos.items[0].label == "Fix A now"


def test_what_a_person_added_stays_behind_a_list_that_is_all_new(board: Board) -> None:
    agent = board.agent("own", session="s")
    agent.call("todo", {"set": ["A one", "B two"]})
    agent.edit({"op": "append", "items": ["Person thing"]}, by="ada")
    agent.call("todo", {"set": ["C three", "D four", "E five"]})
    assert contents(agent) == [
        ("C three", "in_progress"),
        ("D four", "pending"),
        ("E five", "pending"),
        ("Person thing", "pending"),
    ]


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "item": ["1"]},
        {"op": "remove", "itme": "1"},
        {"op": "remove", "item": ""},
        {"op": "done", "content": "Fix A"},
        {"op": "done", "item": True},
        {"op": "done", "phase": ""},
        {"op": "drop", "item": None},
    ],
)
def test_a_target_that_cannot_be_read_is_never_the_whole_list(agent: Agent, operation: dict[str, Any]) -> None:
    before = agent.todos
    with pytest.raises(InvalidInput):
        agent.edit(operation, by="ada")
    assert agent.todos == before


def test_odd_names_and_call_ids_get_an_answer(agent: Agent) -> None:
    odd: Any = None
    assert agent.call(odd, {}).is_error
    number: Any = 5
    first = agent.call("TodoWrite", {"todos": LIST}, call_id=number)
    assert agent.call("TodoWrite", {"todos": LIST}, call_id="5") == first


def test_a_child_whose_name_does_not_fit_is_not_made(agent: Agent) -> None:
    agent.spawn("n" * 200)
    with pytest.raises(InvalidInput):
        agent.spawn("n" * 200)
    assert len(agent.board.lists(session="s")) == 2


def test_a_cursor_that_is_none_is_said_so(board: Board, agent: Agent) -> None:
    assert agent.todos.items
    with pytest.raises(InvalidInput):
        list(board.events("x"))
    assert list(board.events(10**30)) == []


def test_pending_says_nothing_about_an_item_that_the_agent_was_never_shown(agent: Agent) -> None:
    agent.edit([{"op": "append", "items": ["Mine"]}, {"op": "start", "item": "3"}], by="ada")
    agent.call("TodoWrite", {"todos": [*LIST, row("Mine")]})
    assert contents(agent) == [("Fix A", "pending"), ("Run B", "pending"), ("Mine", "in_progress")]


def test_a_call_id_is_never_answered_in_another_dialect(board: Board) -> None:
    todos = {"todos": [row("A", "completed")]}
    gencode = board.agent("main", session="s", dialect="gencode").call("TodoWrite", todos, call_id="1")
    nexo = board.agent("main", session="s", dialect="nexo").call("TodoWrite", todos, call_id="1")
    assert (gencode.is_error, nexo.is_error, nexo.problems[0].code) == (False, True, "call_id_reused")


def test_clearing_a_note_clears_it_whatever_else_changes(board: Board) -> None:
    agent = board.agent("main", session="s", dialect="openhands")
    plan = [{"title": "a", "notes": "keep"}, {"title": "b"}]
    agent.call("task_tracker", {"command": "plan", "task_list": plan})
    cleared = [{"title": "a", "status": "in_progress"}, {"title": "b"}]
    agent.call("task_tracker", {"command": "plan", "task_list": cleared})
    assert agent.todos.items[0].notes == ()
    agent.edit({"op": "note", "item": "1", "text": "From ada"}, by="ada")
    agent.call("task_tracker", {"command": "plan", "task_list": cleared})
    assert agent.todos.items[0].notes == ("From ada",)
