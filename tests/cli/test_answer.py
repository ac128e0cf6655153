"""`punchlist answer`: what waits on a person, and the answer."""

import json
from pathlib import Path

import pytest

from punchlist import Board
from tests.cli.conftest import Run


@pytest.fixture
def asked(board: Board) -> Board:
    agent = board.agent("main", session="s1")
    agent.call("todo", {"set": ["Deploy", "Paint the region"]})
    agent.ask("1", "Which region?")
    return board


def test_where_nothing_waits_it_says_so(run: Run):
    assert run("answer").out == "Nothing waits on you; `punchlist answer --all` looks in every project.\n"
    assert run("answer", "--all").out == "Nothing waits on you.\n"
    assert json.loads(run("answer", "--json").out) == {"questions": [], "plans": []}


def test_without_arguments_it_lists_questions_and_plans(run: Run, asked: Board):
    asked.agent("main", session="s1").propose_plan("# Move it")
    assert run("answer").out.splitlines() == [
        "1 Deploy · main · session s1 · just now",
        "  Which region?",
        "plan Move it · main · session s1 · see `punchlist plan show`",
        "",
        "punchlist answer 1 TEXT",
    ]
    listed = json.loads(run("answer", "--json").out)
    assert [one["question"] for one in listed["questions"]] == ["Which region?"]
    assert [one["revision"] for one in listed["plans"]] == [1]


@pytest.mark.parametrize("name", ["1", "#1", "deploy", "depl", "Which region"])
def test_an_answer_finds_its_item_by_a_few_letters(run: Run, asked: Board, name: str):
    said = run("answer", name, "Use", "eu-west")
    assert (said.code, said.out) == (0, "Answered: Deploy. main is told at its next turn.\n")
    told = asked.agent("main", session="s1").take_answers()
    assert told is not None
    assert "anna answered: Use eu-west" in told


def test_an_answer_as_json(run: Run, asked: Board):
    said = json.loads(run("answer", "deploy", "eu", "--by", "bob", "--json").out)
    assert (said["agent"], said["item"], said["answer"], said["answered_by"]) == ("main", "1", "eu", "bob")


def test_what_cannot_be_answered_says_why(run: Run, asked: Board):
    assert "Say the answer too" in run("answer", "deploy").err
    assert "No question matched" in run("answer", "nothing", "x").err
    assert "has no question" in run("answer", "paint", "x").err
    run("answer", "deploy", "eu")
    assert "answered by `anna` already" in run("answer", "deploy", "us").err


def test_of_several_that_match_one_has_to_be_named(run: Run, asked: Board):
    other = asked.agent("main", session="s2")
    other.call("todo", {"set": ["Deploy"]})
    other.ask("1", "When?")
    said = run("answer", "deploy", "now")
    assert said.code == 1
    assert "--session s2 --agent main, item 1" in said.err
    assert run("answer", "deploy", "now", "--session", "s2").code == 0


def test_questions_of_other_projects_are_seen_with_all(run: Run, board: Board, tmp_path: Path):
    agent = board.agent("main", session="far", project=tmp_path / "elsewhere")
    agent.call("todo", {"set": ["Cook"]})
    agent.ask("1", "Salt?")
    assert "Nothing waits" in run("answer").out
    assert "Salt?" in run("answer", "--all").out
    assert run("answer", "cook", "yes", "--all").code == 0
