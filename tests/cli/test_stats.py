"""`punchlist stats`: what the layer costs, read by a person and by a program."""

import json

import pytest

from punchlist.board import Board
from tests.cli.conftest import Run
from tests.dialects.boards import write


@pytest.fixture
def spent(board: Board) -> Board:
    """Two agents at work, one in each profile."""
    for profile in ("quiet", "classic"):
        agent = board.agent("main", session=f"in-{profile}", dialect="claude-code", profile=profile)
        write(agent, "> Paint", "Clean")
        for _ in range(10):
            agent.assistant_turn(tools_used=["Edit"])
        agent.about_to_stop("Done.")
        agent.call("TodoWrite", 7)
    return board


def test_an_empty_board_says_what_to_do(run: Run) -> None:
    said = run("stats")
    assert said.code == 0
    assert "agent.assistant_turn()" in said.out
    assert "--all" in said.out
    assert "--all" not in run("stats", "--all").out
    assert "sessions" in run("stats", "--session", "nobody").err
    assert json.loads(run("stats", "--json").out) == []


def test_each_dialect_and_profile_has_a_row(run: Run, spent: Board) -> None:
    said = run("stats").out
    assert said.startswith("What the todo layer cost 2 agents:")
    rows = [line for line in said.splitlines() if line.startswith("claude-code/")]
    assert {row.split()[0] for row in rows} == {"claude-code/quiet", "claude-code/classic"}
    assert all(row.split()[1:4] == ["10", "2", "17%"] for row in rows)
    assert "said: 2 × reminder; 1 call refused" in said
    assert "1 turn caused by the stop guard" in said


def test_a_program_gets_every_number(run: Run, spent: Board) -> None:
    (found,) = json.loads(run("stats", "--session", "in-quiet", "--json").out)
    assert (found["dialect"], found["profile"]) == ("claude-code", "quiet")
    assert (found["turns"], found["turns_caused"], found["calls"], found["calls_refused"]) == (10, 1, 2, 1)
    assert found["calls_of_other_tools"] == 10
    parts = ("descriptions", "said", "arguments", "replies")
    assert found["bytes"] == sum(found[part]["bytes"] for part in parts)
    assert set(found["said"]["by_kind"]) == {"stop"}


def test_two_rows_are_shown_alone(run: Run, spent: Board) -> None:
    said = run("stats", "--compare", "claude-code/quiet", "claude-code").out.splitlines()
    assert said[0].split()[:2] == ["turns", "calls"]
    rows = [line.split()[:2] for line in said if line.startswith("claude-code")]
    assert rows == [["claude-code/quiet", "10"], ["claude-code", "20"]]


def test_a_dialect_alone_stands_for_all_its_profiles(run: Run, spent: Board) -> None:
    one, other = json.loads(run("stats", "--compare", "claude-code", "claude-code/quiet", "--json").out)
    assert (one["profile"], one["turns"], other["turns"]) == (None, 20, 10)


def test_what_was_never_counted_cannot_be_compared(run: Run, spent: Board) -> None:
    said = run("stats", "--compare", "claude-code/quiet", "gemini")
    assert said.code == 1
    assert "`gemini`" in said.err
    assert "`claude-code/classic`" in said.err


def test_another_projects_agents_are_shown_with_all(run: Run, spent: Board, tmp_path: object) -> None:
    agent = spent.agent("main", session="elsewhere", dialect="gemini", project=f"{tmp_path}/other")
    agent.assistant_turn()
    assert "gemini" not in run("stats").out
    assert "gemini/quiet" in run("stats", "--all").out
