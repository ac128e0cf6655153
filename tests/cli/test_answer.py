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
    assert json.loads(run("answer", "--json").out) == []


def test_without_arguments_it_lists_all_that_waits_and_how_to_answer(run: Run, asked: Board):
    everything_waits(asked)
    flow = asked.waits()[-1].id[:8]
    assert run("answer").out.splitlines() == [
        "Deploy · main · session s1 · just now",
        "  Which region?",
        "    punchlist answer 1 TEXT",
        "Paint the region · main · session s1 · just now",
        "  blocked: No paint",
        "    punchlist answer 2 [TEXT]",
        "Move it · main · session s1 · just now",
        "  a plan to approve or reject; `punchlist plan show --session s1` shows it",
        "    punchlist answer plan approve",
        "    punchlist answer plan reject REASON",
        "Ship it · the tasks of errands · just now",
        "  a task that waits for a person",
        "    punchlist answer task-1 [TEXT]",
        "Send mail · main · session s1 · just now",
        "  a flow that waits for a person",
        f"    punchlist answer flow-{flow} [TEXT]",
    ]


def everything_waits(board: Board) -> None:
    """One of each kind, besides the question."""
    agent = board.agent("main", session="s1")
    agent.call("todo", {"block": {"2": "No paint"}})
    agent.propose_plan("# Move it")
    tasks = board.tasks("errands")
    tasks.wait(tasks.create("Ship it").id)
    flows = board.flows(agent=agent)
    flows.set_waiting(flows.create_mirrored("post", "Send mail").id, {"kind": "manual"})


@pytest.mark.parametrize(
    ("kind", "words", "outcome"),
    [
        ("question", ("1", "eu"), "answered"),
        ("item", ("2",), "unblocked"),
        ("item", ("paint", "Take", "mine"), "unblocked"),
        ("plan", ("plan", "approve"), "approved"),
        ("plan", ("Move it", "reject", "Tests", "first"), "rejected"),
        ("task", ("task-1",), "resumed"),
        ("task", ("ship", "yes"), "resumed"),
        ("flow", ("send mail", "yes"), "resumed"),
    ],
)
def test_each_kind_is_listed_and_resolved(run: Run, asked: Board, kind: str, words: tuple[str, ...], outcome: str):
    everything_waits(asked)
    listed = json.loads(run("answer", "--json").out)
    assert [wait["kind"] for wait in listed] == ["question", "item", "plan", "task", "flow"]
    (one,) = (wait for wait in listed if wait["kind"] == kind)
    assert one["since"].endswith("Z")
    assert one["answer"][0].startswith("punchlist answer ")
    said = run("answer", *words, "--json")
    assert (said.code, json.loads(said.out)["outcome"]) == (0, outcome)
    assert [wait.kind for wait in asked.waits()] == [wait["kind"] for wait in listed if wait["kind"] != kind]


def test_a_text_goes_with_what_goes_on(run: Run, asked: Board):
    everything_waits(asked)
    flow = asked.waits()[-1].id
    run("answer", "2", "Take", "mine")
    run("answer", "task-1", "at noon")
    run("answer", f"flow-{flow[:8]}", "go")
    run("answer", "plan", "reject", "Tests first")
    agent = asked.agent("main", session="s1")
    assert agent.todos.items[1].notes == ("Take mine",)
    assert agent.plans[-1].reason == "Tests first"
    task, found = asked.tasks("errands").get("1"), asked.flows().get(flow)
    assert task is not None
    assert found is not None
    assert (task.status.value, task.state) == ("pending", {"answer": "at noon"})
    assert (found.status.value, found.state) == ("running", {"answer": "go"})


@pytest.mark.parametrize("words", [(), ("maybe",), ("reject",), ("approve", "it")])
def test_a_plan_is_approved_or_rejected_with_a_reason(run: Run, asked: Board, words: tuple[str, ...]):
    everything_waits(asked)
    said = run("answer", "plan", *words)
    assert said.code == 1
    assert "`punchlist answer plan approve` or `punchlist answer plan reject REASON`" in said.err
    assert len(asked.waits()) == 5


def test_an_item_that_waits_on_another_agent_or_item_does_not_wait_on_you(run: Run, board: Board):
    agent = board.agent("main", session="s1")
    agent.spawn("painter")
    agent.call("todo", {"set": ["Deploy", "Paint", "Sweep"]})
    agent.edit({"op": "block", "item": "2", "text": "colour", "on": "painter"}, by="main")
    agent.edit({"op": "block", "item": "3", "text": "after 2"}, by="main")
    assert board.waits() == []
    agent.edit({"op": "block", "item": "1", "text": "key", "on": "ada"}, by="main")
    assert [wait.title for wait in board.waits()] == ["Deploy"]


@pytest.mark.parametrize("name", ["1", "#1", "deploy", "depl", "Which region"])
def test_an_answer_finds_its_item_by_a_few_letters(run: Run, asked: Board, name: str):
    said = run("answer", name, "Use", "eu-west")
    assert (said.code, said.out) == (0, "Answered: Deploy. main is told at its next turn.\n")
    told = asked.agent("main", session="s1").take_answers()
    assert told is not None
    assert "anna answered: Use eu-west" in told


def test_an_answer_as_json(run: Run, asked: Board):
    said = json.loads(run("answer", "deploy", "eu", "--by", "bob", "--json").out)
    assert (said["agent"], said["id"], said["answer"], said["by"]) == ("main", "1", "eu", "bob")


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
    assert "`punchlist answer 1 TEXT --session s2 --agent main`" in said.err
    assert run("answer", "deploy", "now", "--session", "s2").code == 0


def test_questions_of_other_projects_are_seen_with_all(run: Run, board: Board, tmp_path: Path):
    agent = board.agent("main", session="far", project=tmp_path / "elsewhere")
    agent.call("todo", {"set": ["Cook"]})
    agent.ask("1", "Salt?")
    assert "Nothing waits" in run("answer").out
    assert "Salt?" in run("answer", "--all").out
    assert run("answer", "cook", "yes", "--all").code == 0
