"""What our own tool mends in its input, instead of sending a model round again."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from punchlist import Agent, Board
from punchlist.dialects import dialect, repair
from punchlist.dialects.repair import as_id, as_status
from tests.dialects.boards import lines, memory_board, todo


@pytest.fixture
def agent() -> Iterator[Agent]:
    with memory_board() as board:
        agent = board.agent("main", session="s")
        todo(agent, set=["Paint", "Sweep", "Lock up"])
        yield agent


def fresh(board: Board) -> Agent:
    return board.agent("fresh", session="s")


@pytest.mark.requirement("punchlist.all-repairs")
def test_our_own_dialect_makes_every_repair() -> None:
    assert dialect("punchlist").repairs == repair.ALL


@pytest.mark.requirement("punchlist.repair-json-string")
@pytest.mark.parametrize(
    "args",
    [
        '{"done": ["1", "2"]}',
        {"done": '["1", "2"]'},
        {"done": " [1, 2] "},
        {"set": '[{"text": "Paint", "status": "done"}, {"text": "Sweep", "status": "done"}, "Lock up"]'},
        {"set": ['{"text": "Paint", "status": "done"}', '{"text": "Sweep", "status": "done"}', "Lock up"]},
    ],
)
def test_a_json_string_is_taken_for_what_it_says(agent: Agent, args: Any) -> None:
    assert not agent.call("todo", args).is_error
    assert lines(agent.todos) == ["1 x Paint", "2 x Sweep", "3 > Lock up"]


@pytest.mark.requirement("punchlist.repair-json-string")
def test_a_json_string_of_an_object_is_taken_for_it(agent: Agent) -> None:
    todo(agent, note=json.dumps({"1": "x"}), set='{"2": "Sweep all"}')
    assert (agent.todos.items[0].notes, agent.todos.items[1].content) == (("x",), "Sweep all")


@pytest.mark.requirement("punchlist.repair-json-string")
@pytest.mark.parametrize("text", ["[WIP] sort this", "{name} must go", "[1, 2", '{"a": 1'])
def test_a_text_that_only_looks_like_json_is_a_text(agent: Agent, text: str) -> None:
    todo(agent, add=[text])
    todo(agent, add=text)
    assert [item.content for item in agent.todos.items[3:]] == [text, text]


@pytest.mark.requirement("punchlist.repair-json-string")
def test_the_last_of_doubled_keys_counts(agent: Agent) -> None:
    assert not agent.call("todo", '{"done": "1", "done": "2"}').is_error
    assert lines(agent.todos)[:2] == ["1 > Paint", "2 x Sweep"]


@pytest.mark.requirement("punchlist.repair-bare-object")
@pytest.mark.parametrize("one", ["Check", {"text": "Check"}, '{"text": "Check"}'])
def test_one_item_is_taken_for_a_list_of_one(agent: Agent, one: Any) -> None:
    todo(agent, add=one)
    assert lines(agent.todos)[3] == "4   Check"


@pytest.mark.requirement("punchlist.repair-bare-object")
def test_one_id_is_taken_for_a_list_of_one_and_the_other_way_round(agent: Agent) -> None:
    todo(agent, done="1", start=["3"])
    assert lines(agent.todos) == ["1 x Paint", "2   Sweep", "3 > Lock up"]


@pytest.mark.requirement("punchlist.repair-active-form")
@pytest.mark.parametrize("name", ["doing", "activeForm", "active_form"])
@pytest.mark.parametrize("text", ["text", "content", "title", "step"])
def test_names_of_other_dialects_are_taken(agent: Agent, name: str, text: str) -> None:
    todo(agent, add=[{text: "Check", name: "Checking"}])
    assert (agent.todos.items[3].content, agent.todos.items[3].active_form) == ("Check", "Checking")


@pytest.mark.requirement("punchlist.repair-status")
@pytest.mark.parametrize(
    ("spelling", "status"),
    [
        ("done", "completed"),
        ("complete", "completed"),
        ("Completed", "completed"),
        ("FINISHED", "completed"),
        ("todo", "pending"),
        ("to-do", "pending"),
        ("To Do", "pending"),
        ("not started", "pending"),
        ("open", "pending"),
        ("in-progress", "in_progress"),
        ("In Progress", "in_progress"),
        ("inProgress", "in_progress"),
        ("IN_PROGRESS", "in_progress"),
        ("doing", "in_progress"),
        ("canceled", "cancelled"),
        ("abandoned", "cancelled"),
        ("waiting", "blocked"),
        (" blocked ", "blocked"),
        ("failed", "failed"),
    ],
)
def test_usual_spellings_of_a_status_are_taken(agent: Agent, spelling: str, status: str) -> None:
    todo(agent, done="1", next=False)
    todo(agent, add=[{"text": "Check", "status": spelling}])
    assert agent.todos.items[3].status.value == status


@pytest.mark.parametrize("spelling", ["", "perhaps", "undone", None, 3, ["done"]])
def test_an_unknown_status_is_none(spelling: Any) -> None:
    assert as_status(spelling) is None


@pytest.mark.requirement("punchlist.repair-ids")
@pytest.mark.parametrize("given", [3, 3.0, "3", "#3", " 3 ", "# 3", [3], ["#3"]])
def test_an_id_may_be_a_number_or_carry_a_hash(agent: Agent, given: Any) -> None:
    todo(agent, start=given)
    assert lines(agent.todos)[2] == "3 > Lock up"


@pytest.mark.requirement("punchlist.repair-ids")
def test_ids_may_be_given_with_commas(agent: Agent) -> None:
    todo(agent, done="1, #2,3")
    assert agent.todos.is_finished


@pytest.mark.parametrize("given", [True, 1.5, float("nan"), float("inf"), 10**400, "", "#", None, [], {}])
def test_what_is_no_id_is_none(given: Any) -> None:
    assert as_id(given) is None


def test_flags_may_be_spelt_out(agent: Agent) -> None:
    todo(agent, done="1", next="False")
    assert agent.todos.focus is None
