"""`punchlist plan`: read, approve, reject, history."""

import json
import shlex
from pathlib import Path

import pytest

from punchlist import Board
from tests.cli.conftest import Run

pytestmark = pytest.mark.usefixtures("person")

PLAN = "# Move it\n\n1. Read\n2. Write"


@pytest.fixture
def proposed(board: Board) -> Board:
    agent = board.agent("main", session="s1")
    agent.enter_plan_mode()
    agent.propose_plan(PLAN)
    return board


def test_without_a_plan_it_says_where_plans_come_from(run: Run):
    for verb in ("show", "history"):
        said = run("plan", verb)
        assert said.code == 0
        assert "plan mode" in said.out
        assert "--all" in said.out
        assert "--all" not in run("plan", verb, "--all").out
        assert "no agent `x` on this board" in run("plan", verb, "--agent", "x").err
    assert json.loads(run("plan", "show", "--json").out) is None
    assert json.loads(run("plan", "history", "--json").out) == []
    assert run("plan", "approve", "1").code == 1
    assert run("plan", "reject", "1", "no").code == 1


def test_a_plan_is_shown_with_the_way_to_decide(run: Run, proposed: Board):
    said = run("plan", "show")
    assert said.out.splitlines() == [
        "project · main s1 · revision 1 · proposed just now",
        "",
        "# Move it",
        "",
        "1. Read",
        "2. Write",
        "",
        "punchlist plan approve 1 --session s1 (--todos: 2 steps for the list)",
        "punchlist plan reject 1 REASON --session s1",
    ]
    shown = json.loads(run("plan", "show", "--json").out)
    assert (shown["agent"], shown["revision"], shown["state"], shown["waits"]) == ("main", 1, "proposed", True)


def test_an_approval_names_the_revision_and_may_make_the_list(run: Run, proposed: Board):
    said = run("plan", "approve", "1", "--todos")
    assert (said.code, said.out) == (
        0,
        (
            "Approved revision 1 and made 2 items of it; see `punchlist todos`. "
            "project · main s1 hears it at its next turn.\n"
        ),
    )
    agent = proposed.agent("main", session="s1")
    assert agent.mode == "execute"
    assert [item.content for item in agent.todos.items] == ["Read", "Write"]
    plan = agent.plan
    assert plan is not None
    assert plan.decided_by == "anna"
    assert "approved by anna" in run("plan", "show").out
    assert "punchlist plan approve" not in run("plan", "show").out


def test_a_revision_that_was_not_read_is_not_approved(run: Run, proposed: Board):
    proposed.agent("main", session="s1").propose_plan("Other")
    said = run("plan", "approve", "1")
    assert said.code == 1
    assert "revision 2" in said.err
    assert run("plan", "approve").code == 2
    assert run("plan", "approve", "two").code == 2


def test_a_rejection_says_why_and_can_be_read(run: Run, proposed: Board):
    said = run("plan", "reject", "1", "Tests", "first", "--by", "bob", "--json")
    assert json.loads(said.out)["reason"] == "Tests first"
    assert "Rejected: Tests first" in run("plan", "show").out
    assert run("plan", "reject", "1", "again").code == 1


def test_the_history_is_a_line_a_revision(run: Run, proposed: Board):
    agent = proposed.agent("main", session="s1")
    agent.propose_plan("Other")
    agent.reject_plan("no", by="ada")
    rows = run("plan", "history").out.splitlines()
    assert "superseded" in rows[0]
    assert "Move it" in rows[0]
    assert "by ada: no" in rows[1]
    assert [plan["state"] for plan in json.loads(run("plan", "history", "--json").out)] == ["superseded", "rejected"]


def test_of_several_plans_that_wait_one_has_to_be_named(run: Run, proposed: Board):
    proposed.agent("main", session="s2").propose_plan("Second")
    said = run("plan", "approve", "1")
    assert said.code == 1
    assert "--session s1" in said.err
    assert "--session s2" in said.err
    assert run("plan", "approve", "1", "--session", "s2").code == 0
    assert run("plan", "approve", "1").code == 0


def test_the_printed_command_decides_on_the_plan_that_was_shown_and_no_other(run: Run, proposed: Board):
    second = proposed.agent("main", session="s 2")
    second.propose_plan("Second")
    shown = {row.session: row.plan.title for row in proposed.plans()}
    command = next(line for line in run("plan").out.splitlines() if line.startswith("punchlist plan approve"))
    words = shlex.split(command.partition(" (")[0])[1:]
    session = words[words.index("--session") + 1]
    assert shown[session] in run("plan").out
    proposed.agent("main", session=session).approve_plan(1, by="ada")
    assert run(*words).code == 1
    assert [row.session for row in proposed.plans(waiting=True)] == [name for name in shown if name != session]


def test_a_plan_of_another_project_is_seen_with_all(run: Run, board: Board, tmp_path: Path):
    board.agent("main", session="far", project=tmp_path / "elsewhere").propose_plan("Far away")
    assert "No agent of this project" in run("plan", "show").out
    assert "Far away" in run("plan", "show", "--all").out
    assert "Far away" in run("plan", "show", "--session", "far").out


def test_the_text_of_a_plan_cannot_move_the_cursor(run: Run, board: Board):
    board.agent("main", session="s1").propose_plan("a\x1b[2Jb\n\x9b31mc")
    out = run("plan", "show").out
    assert "\x1b" not in out
    assert "\x9b" not in out
