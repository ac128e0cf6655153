"""`punchlist answer`: what waits on a person, and the answer."""

import json
import shlex
from pathlib import Path

import pytest

from punchlist import Board
from tests.cli.conftest import Run

pytestmark = pytest.mark.usefixtures("person")


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
        "Deploy · project · main s1 · just now",
        "  Which region?",
        "    punchlist answer 1 TEXT --session s1",
        "Paint the region · project · main s1 · just now",
        "  blocked: No paint",
        "    punchlist answer 2 [TEXT] --session s1",
        "Move it · project · main s1 · just now",
        "  a plan to approve or reject; `punchlist plan show --session s1` shows it",
        "    punchlist answer plan-1 approve --session s1",
        "    punchlist answer plan-1 reject REASON --session s1",
        "Ship it · the tasks of errands · just now",
        "  a task that waits for a person",
        "    punchlist answer task-1 [TEXT] --list errands",
        "Send mail · project · main s1 · just now",
        "  a flow that waits for a person",
        f"    punchlist answer flow-{flow} [TEXT] --session s1",
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
        ("plan", ("plan-1", "approve"), "approved"),
        ("plan", ("Plan-1", "reject", "Tests", "first"), "rejected"),
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
    run("answer", "plan-1", "reject", "Tests first")
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
    said = run("answer", "plan-1", *words)
    assert said.code == 1
    assert "`punchlist answer plan-1 approve --session s1`" in said.err
    assert len(asked.waits()) == 5


@pytest.mark.parametrize("name", ["plan-1", "plan", "Move it", "move", "PLAN-1"])
@pytest.mark.parametrize("place", [(), ("--session", "s1"), ("--session", "s1", "--agent", "main")])
def test_a_plan_is_decided_by_the_revision_that_was_shown(run: Run, asked: Board, name: str, place: tuple[str, ...]):
    agent = asked.agent("main", session="s1")
    agent.propose_plan("# Move it")
    assert "punchlist answer plan-1 approve" in run("answer").out
    agent.propose_plan("# Move it\n\n1. Delete the disk")
    said = run("answer", name, "approve", *place)
    assert said.code == 1
    assert "Revision 2 of the plan waits" in said.err
    assert "`punchlist answer plan-2 approve --session s1`" in said.err
    assert agent.plans[-1].state == "proposed"
    assert run("answer", "plan-2", "approve", *place).code == 0
    assert agent.plans[-1].state == "approved"


def test_a_revision_alone_does_not_decide_on_the_plan_of_another_agent(run: Run, board: Board):
    for session, text in (("s1", "# Move it"), ("s1", "# Move it all"), ("s2", "# Burn it")):
        board.agent("main", session=session).propose_plan(text)
    said = run("answer", "plan-1", "approve")  # read when it was that of s1
    assert said.code == 1
    assert "`punchlist answer plan-1 approve --session s2`" in said.err
    assert len(board.waits()) == 2
    assert run("answer", "plan-1", "approve", "--session", "s2").code == 0


@pytest.mark.parametrize("name", ["", "  ", "\t", "flow-", "plan-"])
@pytest.mark.parametrize("kind", ["task", "plan", "flow"])
def test_an_answer_to_no_name_resolves_nothing(run: Run, board: Board, name: str, kind: str):
    flows, tasks = board.flows(), board.tasks()
    if kind == "flow":
        flows.set_waiting(flows.create_mirrored("post", "Send mail").id, {"kind": "manual"})
    elif kind == "task":
        tasks.wait(tasks.create("Ship it").id)
    else:
        board.agent("main", session="s1").propose_plan("# Move it")
    for words in ((), ("approve",)):
        said = run("answer", name, *words)
        assert said.code == 1
        assert name.strip() or "Name what you answer" in said.err
    assert [wait.kind for wait in board.waits()] == [kind]


def test_the_printed_command_resolves_its_own_task_from_any_project(
    run: Run, board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (elsewhere := tmp_path / "else where").mkdir()
    run("tasks", "add", "Here")
    run("tasks", "wait", "1")
    run("tasks", "add", "Errand", "--list", "errands")
    run("tasks", "wait", "1", "--list", "errands")
    monkeypatch.chdir(elsewhere)
    run("tasks", "add", "There")
    run("tasks", "wait", "1")
    listed = json.loads(run("answer", "--all", "--json").out)
    assert {wait["title"] for wait in listed} == {"Here", "Errand", "There"}
    for wait in listed:
        (command,) = wait["answer"]
        assert f"    {command}\n" in run("answer", "--all").out
        words = [word for word in shlex.split(command) if word != "[TEXT]"]
        assert run(*words[1:]).out == f"Resumed: {wait['title']} (task 1).\n"
    assert board.waits() == []


def test_a_place_that_is_named_is_the_only_one_that_is_looked_at(run: Run, asked: Board, tmp_path: Path):
    (elsewhere := tmp_path / "elsewhere").mkdir()
    for place in (("--project", str(elsewhere)), ("--list", "errands")):
        said = run("answer", "deploy", "eu", *place)
        assert said.code == 1
        assert "Nothing that waits matched" in said.err
    assert [wait.title for wait in asked.waits()] == ["Deploy"]


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
    assert (said.code, said.out) == (0, "Answered: Deploy. project · main s1 hears it at its next turn.\n")
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
    assert "`punchlist answer 1 TEXT --session s2`" in said.err
    assert run("answer", "deploy", "now", "--session", "s2").code == 0


def test_questions_of_other_projects_are_seen_with_all(run: Run, board: Board, tmp_path: Path):
    agent = board.agent("main", session="far", project=tmp_path / "elsewhere")
    agent.call("todo", {"set": ["Cook"]})
    agent.ask("1", "Salt?")
    assert "Nothing waits" in run("answer").out
    assert "Salt?" in run("answer", "--all").out
    assert run("answer", "cook", "yes", "--all").code == 0
