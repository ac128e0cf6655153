"""Runs on a board: what the person asks for begins one, and only its own calls make a loop."""

from pathlib import Path

import pytest

from punchlist import Board
from tests.board.looping import LOOP, agent_on, call, findings, run, said


@pytest.mark.requirement("loops.per-run")
def test_what_is_done_once_in_each_turn_is_no_loop() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, loop_detection=LOOP)
        for number in range(40):
            agent.user_turn()
            assert call(agent, number) == "ok"
            agent.assistant_turn(["read"])
            agent.about_to_stop("Done.")
        assert findings(board) == []


@pytest.mark.requirement("loops.per-run")
def test_a_turn_without_a_word_of_the_person_is_one_run_however_long_it_lasts() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, loop_detection=LOOP)
        agent.user_turn()
        levels: list[str] = []
        for number in range(6):
            levels.append(call(agent, number))
            agent.assistant_turn(["read"])
            agent.output("Once more.")
            agent.about_to_stop("Let me see.")
        assert levels == ["ok", "ok", "ok", "warning", "warning", "critical"]


@pytest.mark.requirement("loops.per-run")
def test_the_person_ends_a_loop_and_the_next_one_is_told_of_again() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, loop_detection=LOOP, guidance={"tell_findings": True})
        for turn in range(2):
            for number in range(4):
                run(agent, 10 * turn + number)
            assert "WARNING" in said(agent)
            assert findings(board)[-1] == ("finding.raised", "generic_repeat", "read")
            agent.user_turn()
            assert findings(board)[-1] == ("finding.cleared", "generic_repeat", "read")
            assert board.brief().noticed == ()


def test_a_loop_that_ends_with_a_turn_makes_no_turn_of_its_own() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, loop_detection=LOOP)
        for number in range(4):
            run(agent, number)
        agent.about_to_stop("Done.")
        agent.user_turn()
        assert [event.kind for event in board.events()].count("turn.ended") == 1


@pytest.mark.requirement("loops.per-run")
def test_a_run_that_begins_is_known_to_the_next_process(tmp_path: Path) -> None:
    levels: list[str] = []
    for number in range(10):
        with Board.open(tmp_path / "board.db") as board:
            agent = agent_on(board, loop_detection=LOOP)
            if number in (3, 6):
                agent.user_turn()
            levels.append(call(agent, number))
    assert levels == [*["ok"] * 9, "warning"]


@pytest.mark.requirement("loops.per-run")
def test_what_a_call_of_the_last_turn_came_to_is_nothing_to_this_one() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, loop_detection=LOOP)
        for number in range(3):
            agent.tool_started(f"c{number}", "read", {"path": "notes.txt"})
        agent.user_turn()
        for number in range(3):
            agent.tool_finished(f"c{number}", result="the same text")
        assert [call(agent, number) for number in range(3, 7)] == ["ok", "ok", "ok", "warning"]


@pytest.mark.requirement("loops.compaction-guard", "loops.per-run")
def test_the_guard_after_a_compaction_ends_with_the_run() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board)
        for calls in (0, 2, 3):
            agent.compacted()
            for number in range(calls):
                call(agent, 10 * calls + number)
            agent.user_turn()
            assert [call(agent, 100 * calls + number + 50) for number in range(5)] == ["ok"] * 5


@pytest.mark.requirement("loops.compaction-guard")
def test_a_loop_that_goes_on_after_a_compaction_is_found_until_another_call_is_made(tmp_path: Path) -> None:
    found = ("finding.raised", "compaction_loop_persisted", "read")
    for number in range(9):
        with Board.open(tmp_path / "board.db") as board:
            agent = agent_on(board)
            if number == 0:
                agent.compacted()
            run(agent, number)
            assert findings(board) == ([found] if number >= 3 else [])
    with Board.open(tmp_path / "board.db") as board:
        run(agent_on(board), 9, path="other.txt")
        assert findings(board) == [found, ("finding.cleared", "compaction_loop_persisted", "read")]
