"""A call that is described where it runs and recorded elsewhere is on the board as if it had been reported there."""

from typing import Any

import msgspec
import pytest

from punchlist import Board
from punchlist.agent import Agent
from punchlist.agent.described_calls import EndedCall, StartedCall

SECRET = "ghp_" + "a1B2c3D4e5" * 4
CALLS: list[tuple[str, dict[str, str], str, dict[str, Any]]] = [
    ("Bash", {"command": "pytest -q"}, "1 passed in 0.01s", {"exit_code": 0}),
    ("Bash", {"command": "pytest -q"}, "FAILED tests/test_a.py::test_b\n1 failed in 0.1s", {"exit_code": 1}),
    ("Edit", {"file_path": "/shop/basket.py", "old_string": "a", "new_string": "b"}, "ok", {"is_error": False}),
    ("Bash", {"command": f"curl -H 'Authorization: Bearer {SECRET}' http://x.example"}, "hello", {"exit_code": 0}),
    ("Bash", {"command": "cat .env"}, f"TOKEN={SECRET}", {"exit_code": 0}),
    ("Read", {"file_path": "/shop/basket.py"}, "x" * 10_000, {"is_error": False}),
    ("terminal", {"command": "ls"}, '{"exit_code": 2}', {}),
]


def agent_on(board: Board) -> Agent:
    return board.agent("main", session="s1", dialect="hermes", project="/shop", guardrail=True)


def tell_of(board: Board) -> list[tuple[str, dict[str, object]]]:
    return [(event.kind, {**event.data, "seconds": 0, "hash": ""}) for event in board.events()]


@pytest.mark.parametrize("rounds", [1, 12])
def test_described_calls_leave_the_events_findings_and_verdicts_of_reported_ones(rounds: int) -> None:
    with Board.open("memory:") as near, Board.open("memory:") as far, Board.open("memory:") as machine:
        here, there, describer = agent_on(near), agent_on(far), agent_on(machine)
        for number in range(rounds):
            for place, (tool, args, result, how) in enumerate(CALLS):
                call_id = f"c{number}.{place}"
                started = msgspec.json.decode(
                    msgspec.json.encode(describer.describe_start(tool, args)), type=StartedCall
                )
                said = here.tool_started(call_id, tool, args)
                assert there.record_start(call_id, started) == said
                here.tool_finished(call_id, result, **how)
                ended = describer.describe_end(tool, result, started=started, **how)
                there.record_end(call_id, msgspec.json.decode(msgspec.json.encode(ended), type=EndedCall))
        assert tell_of(near) == tell_of(far)
        assert near.report(session="s1").state == far.report(session="s1").state
        assert [*machine.events()] == []


def test_a_description_holds_neither_output_nor_secrets() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board)
        for tool, args, result, _how in CALLS:
            started = agent.describe_start(tool, args)
            sent = msgspec.json.encode([started, agent.describe_end(tool, result, started=started)]).decode()
            assert SECRET not in sent
            assert len(sent) < 4_000


def test_the_end_of_a_call_of_unknown_beginning_keeps_nothing_of_its_output() -> None:
    with Board.open("memory:") as board:
        ended = agent_on(board).describe_end("Bash", "the password is hunter2", is_error=False)
        assert "hunter2" not in msgspec.json.encode(ended).decode()


def test_a_check_in_the_background_is_described_where_its_output_is_read() -> None:
    with Board.open("memory:") as board, Board.open("memory:") as machine:
        describer, agent = agent_on(machine), agent_on(board)
        begun = describer.describe_start("Bash", {"command": "pytest -q", "run_in_background": True})
        agent.record_start("c1", begun)
        left = describer.describe_end("Bash", {"backgroundTaskId": "b1", "stdout": ""}, is_error=False, started=begun)
        agent.record_end("c1", left)
        assert left.facts["background"] == "b1"
        reader = describer.describe_start("BashOutput", {"bash_id": "b1"})
        agent.record_start("c2", reader)
        output = {"status": "completed", "exitCode": 0, "stdout": "3 passed in 0.1s"}
        ended = describer.describe_end("BashOutput", output, is_error=False, started=reader, running=begun)
        agent.record_end("c2", ended)
        assert [event.data["told"] for event in board.events() if event.kind == "tool.updated"] == ["passed"]
