"""`punchlist prune` of a session or a project: it asks, says what it would delete, and names what it cannot reach."""

from pathlib import Path

import pytest

from punchlist import Board
from tests.cli.conftest import Run


@pytest.fixture
def board(project: Path) -> Path:
    path = project / "board.db"
    with Board.open(path) as board:
        for session in ("alpha-0001", "beta-0002"):
            board.agent("main", session=session, project=project).call("todo", {"set": ["Paint"]})
    return path


def list_sessions(path: Path) -> list[str]:
    with Board.open(path) as board:
        return sorted(row.id for row in board.sessions())


def test_one_session_goes_by_a_part_of_its_id(run: Run, board: Path):
    ran = run("prune", "--db", str(board), "--session", "alpha", "--yes")
    assert (ran.code, ran.out) == (0, "Deleted 1 agent with their lists and events.\n")
    assert list_sessions(board) == ["beta-0002"]


def test_a_project_goes_by_its_folder_and_nothing_without_an_answer(run: Run, board: Path, project: Path):
    ran = run("prune", "--db", str(board), "--project", str(project))
    assert (ran.code, ran.err) == (1, "punchlist: Nothing was deleted; --yes deletes without a question.\n")
    assert run("prune", "--db", str(board), "--project", str(project), "--dry-run").out.startswith(
        "Would delete 2 agents"
    )
    assert len(list_sessions(board)) == 2
    assert run("prune", "--db", str(board), "--project", str(project), "--yes").code == 0
    assert list_sessions(board) == []


def test_a_copy_from_before_an_upgrade_is_named(run: Run, board: Path):
    copy = board.with_name("board.db.before-111")
    copy.touch()
    assert (
        f"{copy}, a copy from before an upgrade" in run("prune", "--db", str(board), "--session", "alpha", "--yes").err
    )


def test_a_session_that_is_not_there_is_named(run: Run, board: Path):
    ran = run("prune", "--db", str(board), "--session", "gamma-0003", "--yes")
    assert ran.code == 1
    assert "gamma-0003" in ran.err
