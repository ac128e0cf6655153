"""What is off unless asked for: Hermes' guardrail beside loop detection, and rounds that bring nothing."""

import json
from collections.abc import Callable
from typing import Any, Unpack

import pytest

from punchlist import Agent, Board
from punchlist.agent import AgentOptions
from punchlist.errors import ConfigInvalid

HARD = {"hard_stop_enabled": True}


def agent_on(board: Board, **options: Unpack[AgentOptions]) -> Agent:
    return board.agent("main", session="s1", **options)


def findings(board: Board) -> list[tuple[str, str, str]]:
    return [
        (event.kind, event.data["detector"], event.data["level"])
        for event in board.events()
        if event.kind.startswith("finding.")
    ]


def use(agent: Agent, call_id: str, name: str, args: Any = None, *, result: str = "same", failed: bool = False) -> str:
    verdict = agent.tool_started(call_id, name, args)
    agent.tool_finished(call_id, result=result, is_error=failed)
    return verdict.detector or ""


def test_without_the_option_there_is_no_guardrail_and_rounds_are_not_counted() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board)
        for number in range(5):
            use(agent, f"c{number}", "terminal", {"command": "make"}, failed=True)
            agent.assistant_turn(["terminal"])
        assert findings(board) == []


def test_the_same_failure_again_is_a_finding_once_a_turn() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, guardrail=True)
        for number in range(5):
            assert use(agent, f"c{number}", "terminal", {"command": "make"}, failed=True) == ""
        exact = ("finding.raised", "repeated_exact_failure_warning", "warning")
        assert findings(board) == [exact]
        agent.user_turn()
        assert findings(board)[1:] == [("finding.cleared", "repeated_exact_failure_warning", "ok")]
        for number in range(5, 8):
            use(agent, f"c{number}", "terminal", {"command": "make"}, failed=True)
        assert findings(board)[2:] == [exact]


def test_with_hard_stops_the_call_is_judged_critical() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, guardrail=HARD)
        for number in range(5):
            assert use(agent, f"c{number}", "terminal", {"command": "make"}, failed=True) == ""
        verdict = agent.tool_started("c5", "terminal", {"command": "make"})
        assert (verdict.level, verdict.detector) == ("critical", "repeated_exact_failure_block")
        assert agent.tool_started("c6", "terminal", {"command": "ls"}).level == "ok"


def test_a_turn_that_was_halted_stays_so_until_the_person_speaks() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, guardrail=HARD)
        for number in range(8):
            use(agent, f"c{number}", "terminal", {"command": f"make {number}"}, failed=True)
        assert ("finding.raised", "same_tool_failure_halt", "critical") in findings(board)
        assert use(agent, "c8", "read_file", {"path": "a"}) == "same_tool_failure_halt"
        agent.user_turn()
        assert use(agent, "c9", "read_file", {"path": "a"}) == ""


REFUSALS: dict[str, Callable[[Agent, str, str], None]] = {
    "a failure": lambda agent, call_id, said: agent.tool_failed(call_id, said),
    "a failure without a word": lambda agent, call_id, said: agent.tool_failed(call_id),
    "a result": lambda agent, call_id, said: agent.tool_finished(call_id, said),
    "an object": lambda agent, call_id, said: agent.tool_finished(call_id, {"error": said}, is_error=True),
    "JSON": lambda agent, call_id, said: agent.tool_finished(call_id, json.dumps({"error": said})),
}


@pytest.mark.requirement("guardrail.refused")
@pytest.mark.parametrize("refuse", REFUSALS.values(), ids=REFUSALS)
def test_a_call_that_was_refused_did_not_run_and_is_no_failure(refuse: Callable[[Agent, str, str], None]) -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, guardrail=HARD)
        for number in range(5):
            use(agent, f"c{number}", "terminal", {"command": "make"}, failed=True)
        for number in range(5, 15):
            verdict = agent.tool_started(f"c{number}", "terminal", {"command": "make"})
            assert (verdict.level, verdict.detector, verdict.count) == ("critical", "repeated_exact_failure_block", 5)
            refuse(agent, f"c{number}", verdict.message)
        assert use(agent, "c15", "terminal", {"command": "ls"}) == ""
        assert not [name for _, name, _ in findings(board) if name == "same_tool_failure_halt"]


@pytest.mark.requirement("guardrail.refused")
def test_a_call_that_loop_detection_refused_is_no_answer_for_the_guardrail() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, guardrail=True, loop_detection={"warning_threshold": 2, "critical_threshold": 3})
        for number in range(3):
            use(agent, f"c{number}", "terminal", {"command": f"make {number}"}, failed=True)
            use(agent, f"d{number}", "Edit", {"path": "a"})
        before = findings(board)
        for number in range(3, 9):
            verdict = agent.tool_started(f"d{number}", "Edit", {"path": "a"})
            assert verdict.detector == "generic_repeat"
            agent.tool_failed(f"d{number}", verdict.message)
        assert [name for _, name, _ in findings(board)[len(before) :]] == ["generic_repeat"]


@pytest.mark.requirement("guardrail.refused")
def test_a_call_that_ran_although_it_was_to_be_refused_counts() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, guardrail=HARD)
        for number in range(8):
            use(agent, f"c{number}", "terminal", {"command": "make"}, result="no", failed=True)
        assert ("finding.raised", "same_tool_failure_halt", "critical") in findings(board)


def test_a_reading_tool_of_any_host_that_brings_nothing_new_is_warned_of() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, guardrail=True)
        for number in range(3):
            use(agent, f"c{number}", "Grep", {"pattern": "x"})
        for number in range(3, 6):
            use(agent, f"c{number}", "Edit", {"file_path": "x"})
        assert findings(board) == [("finding.raised", "idempotent_no_progress_warning", "warning")]


def test_what_the_guardrail_counts_is_known_to_the_next_handle_and_a_report_again_changes_nothing() -> None:
    with Board.open("memory:") as board:
        for number in (0, 0, 0, 1):
            use(agent_on(board, guardrail=HARD), f"c{number}", "terminal", {"command": "make"}, failed=True)
        assert len(findings(board)) == 1
        counted = [event.data["count"] for event in board.events() if event.kind == "finding.raised"]
        assert counted == [2]


def test_caps_hold_without_hard_stops() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, guardrail={"loop_caps": {"max_web_searches": 2}})
        seen = [use(agent, f"c{number}", "web_search", {"q": number}, result=str(number)) for number in range(3)]
        assert seen == ["", "", "loop_web_search_cap"]


def test_rounds_that_bring_nothing_are_a_finding_until_one_brings_something() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, rounds=True, guidance={"tell_findings": True})
        agent.call("todo", {"set": ["Paint", "Sand"]})
        agent.assistant_turn(["todo"])
        said: list[str] = []
        for number in range(3):
            use(agent, f"c{number}", "Bash", {"command": f"make {number}"}, failed=True)
            said += [one.kind for one in agent.assistant_turn(["Bash"])]
        assert findings(board) == [("finding.raised", "stalled_rounds", "warning")]
        assert said == ["finding"]
        use(agent, "c9", "Bash", {"command": "ls"})
        agent.assistant_turn(["Bash"])
        assert findings(board)[1:] == [("finding.cleared", "stalled_rounds", "ok")]


def test_a_list_that_moves_on_is_progress_without_any_report_on_tools() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, rounds={"max_stalls": 1})
        agent.call("todo", {"set": ["Paint", "Sand", "Sweep"]})
        for number in range(1, 4):
            agent.assistant_turn(["todo"])
            agent.call("todo", {"done": str(number)})
        assert findings(board) == []
        agent.assistant_turn()
        agent.assistant_turn()
        assert findings(board) == [("finding.raised", "stalled_rounds", "warning")]


def test_a_round_within_a_loop_brings_nothing() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, rounds=True, loop_detection={"warning_threshold": 2})
        for number in range(6):
            use(agent, f"c{number}", "read", {"path": "a"})
            agent.assistant_turn(["read"])
        assert ("finding.raised", "stalled_rounds", "warning") in findings(board)


def test_with_max_rounds_their_end_is_told_once_until_the_person_speaks() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, rounds={"max_rounds": 2, "max_stalls": 99})
        for _ in range(4):
            agent.assistant_turn()
        assert findings(board) == [("finding.raised", "rounds_over", "critical")]
        agent.user_turn()
        assert findings(board)[1:] == [("finding.cleared", "rounds_over", "ok")]


@pytest.mark.parametrize("options", [{"guardrail": {"warn": 1}}, {"rounds": {"max": 1}}, {"guardrail": 3}])
def test_an_option_that_cannot_be_is_named_when_the_handle_is_made(options: Any) -> None:
    with Board.open("memory:") as board, pytest.raises(ConfigInvalid):
        agent_on(board, **options)
