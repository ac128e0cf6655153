"""A call that ended long ago is known by the log, whoever wrote it, and nothing that is told of it again counts."""

from datetime import timedelta
from pathlib import Path

from punchlist import Agent, Board
from punchlist.testing import FakeClock

MANY = 40
"""More calls than are remembered beside the log."""


def _calls(agent: Agent, who: str) -> None:
    for number in range(MANY):
        agent.tool_started(f"{who}{number}", "Edit", {"file_path": f"{who}{number}.py"})
        agent.tool_finished(f"{who}{number}", result="done")


def _begun(board: Board) -> int:
    return sum(event.kind == "tool.started" for event in board.events())


def test_each_process_knows_the_calls_that_ended_in_another(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as one, Board.open(tmp_path / "board.db") as other:
        mine, theirs = one.agent("main", session="s"), other.agent("main", session="s")
        for who in "abc":
            _calls(mine, f"mine-{who}")
            list(one.events())
            _calls(theirs, f"theirs-{who}")
            list(other.events())
        count = _begun(one)
        for agent in (mine, theirs):
            for who in ("mine-a", "theirs-a", "mine-b", "theirs-b"):
                agent.tool_started(f"{who}0", "Edit", {"file_path": f"{who}0.py"})
                agent.tool_finished(f"{who}0", result="done")
        assert _begun(one) == _begun(other) == count == 6 * MANY


def test_a_session_that_was_pruned_leaves_no_calls_to_the_next(tmp_path: Path) -> None:
    clock = FakeClock()
    with Board.open(tmp_path / "board.db", clock=clock) as one, Board.open(tmp_path / "board.db", clock=clock) as other:
        _calls(one.agent("main", session="old"), "c")
        assert _begun(one) == MANY
        other.prune(clock.advance(timedelta(days=60).total_seconds()))
        assert _begun(one) == 0
        new = one.agent("main", session="new")
        for who in ("x", "c"):
            _calls(new, who)
        assert _begun(one) == 2 * MANY
