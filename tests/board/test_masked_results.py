"""Of the output of a command that prints a secret nothing is kept: no event, no row, no hash, no name of a failure."""

from typing import Any

import pytest

from punchlist import Agent, Board
from punchlist.store import Transaction
from punchlist.store.runtime import CallRow
from punchlist.text.redaction import MARK

SECRET = "Zqhunter/two.py"
READ = {"command": ["bash", "-lc", "op read op://a/b/c"]}
LEFT = "Command running in background with ID: bash_1"
RED = f"FAILED {SECRET}::test_x - {SECRET}\n1 failed in 0.1s"


@pytest.fixture
def board() -> Board:
    return Board.open("memory:")


@pytest.fixture
def agent(board: Board) -> Agent:
    return board.agent("main", session="s", dialect="claude-code")


def rows_of(board: Board) -> list[CallRow | None]:
    def read(tx: Transaction) -> list[CallRow | None]:
        row = tx.agent("s", "main")
        calls = () if row is None else tx.tool_calls.of_agent(row.number)
        return [tx.tool_calls.find(row.number, call.id) for call in calls if row is not None]

    return board.store.read(read)


def read_all(board: Board) -> str:
    """Return all that the board holds of tool calls: events, rows with what the loop detector has, and the report."""
    return repr((list(board.events()), rows_of(board), board.report(session="s")))


def results(board: Board) -> list[Any]:
    return [event.data.get("result") for event in board.events() if event.kind in ("tool.finished", "tool.failed")]


@pytest.mark.parametrize(
    "result",
    [SECRET, {"stdout": SECRET, "path": SECRET, "exit_code": 0}, {"output": SECRET, "files": [{"path": SECRET}]}],
)
def test_a_result_is_masked_whatever_its_form(board: Board, agent: Agent, result: Any) -> None:
    agent.tool_started("c1", "shell", READ)
    agent.tool_updated("c1", SECRET)
    agent.tool_finished("c1", result)
    assert SECRET not in read_all(board)
    assert results(board) == [MARK]


def test_two_secrets_have_one_mark_for_the_loop_detector(board: Board, agent: Agent) -> None:
    for number, secret in enumerate((SECRET, "another")):
        agent.tool_started(f"c{number}", "shell", READ)
        agent.tool_finished(f"c{number}", secret, exit_code=0)
    outcomes = [row.loop.outcome for row in rows_of(board) if row is not None and row.loop is not None]
    assert len(outcomes) == 2
    assert len(set(outcomes)) == 1


def test_what_another_call_reads_of_it_is_masked(board: Board, agent: Agent) -> None:
    agent.tool_started("c1", "Bash", {"command": "op read op://a/b/c", "run_in_background": True})
    agent.tool_finished("c1", LEFT, exit_code=0)
    agent.tool_started("c2", "BashOutput", {"bash_id": "bash_1"})
    agent.tool_updated("c2", SECRET)
    agent.tool_finished("c2", SECRET, is_error=False)
    assert SECRET not in read_all(board)
    assert results(board) == [MARK, MARK]


def test_a_check_beside_a_secret_keeps_its_outcome_alone(board: Board, agent: Agent) -> None:
    agent.tool_started("c1", "Bash", {"command": "op read op://a/b/c; pytest -q"})
    agent.tool_finished("c1", RED, exit_code=1)
    assert SECRET not in read_all(board)
    (end,) = [event.data for event in board.events() if event.kind == "tool.finished"]
    assert end["check_outcome"] == "failed"
    assert [row[1][4] for row in end["check_ends"]] == [[]]


def test_a_check_in_the_background_beside_a_secret_keeps_no_lines(board: Board, agent: Agent) -> None:
    agent.tool_started("c1", "Bash", {"command": "op read op://a/b/c; pytest -q", "run_in_background": True})
    agent.tool_finished("c1", LEFT, is_error=False)
    agent.tool_started("c2", "BashOutput", {"bash_id": "bash_1"})
    agent.tool_finished("c2", {"exit_code": 1, "stdout": RED}, is_error=False)
    assert SECRET not in read_all(board)
    (check,) = board.report(session="s").checks
    assert check.outcome == "failed"


def test_an_end_that_is_reported_before_its_start_keeps_no_result(board: Board, agent: Agent) -> None:
    agent.tool_finished("c1", {"stdout": SECRET, "path": SECRET})
    agent.tool_started("c1", "shell", READ)
    agent.tool_failed("c1", SECRET)
    assert SECRET not in read_all(board)


def test_a_second_end_is_masked_as_the_first_one(board: Board, agent: Agent) -> None:
    agent.tool_started("c1", "shell", READ)
    agent.tool_finished("c1", SECRET, exit_code=0)
    agent.tool_failed("c1", SECRET)
    assert SECRET not in read_all(board)
    assert results(board) == [MARK, MARK]


def test_arguments_that_come_in_pieces_are_read_to_their_end(board: Board, agent: Agent) -> None:
    agent.tool_started("c1", "Bash", {})
    agent.tool_started("c1", "Bash", {"command": "op read op://a/b/c"})
    agent.tool_finished("c1", SECRET, exit_code=0)
    assert SECRET not in read_all(board)
