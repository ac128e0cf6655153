"""What a check is and how it went, as hosts report it: errors that were made once."""

import json
from typing import Any

import pytest

from punchlist import Agent, Board


def a_board() -> tuple[Board, Agent]:
    board = Board.open("memory:")
    return board, board.agent("main", session="s1")


def report(tool: str, args: Any, result: Any, **how: Any) -> dict[str, Any]:
    """Report one call, and return the data of its end."""
    board, agent = a_board()
    agent.tool_started("c1", tool, args)
    agent.tool_finished("c1", result, **how)
    (ended,) = [event.data for event in board.events() if event.kind == "tool.finished"]
    return dict(ended)


def ends(board: Board) -> dict[str, dict[str, Any]]:
    return {event.data["call_id"]: dict(event.data) for event in board.events() if event.kind == "tool.finished"}


def test_the_end_of_a_check_says_what_it_was_and_how_it_went() -> None:
    ended = report("Bash", {"command": "cd backend && pytest -q tests/test_a.py"}, "1 passed in 0.1s", exit_code=0)
    assert ended["check"] == {"name": "pytest", "family": "test", "scope": ["backend", "tests/test_a.py"]}
    assert ended["check_outcome"] == "passed"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("python -m unittest", "\nRan 0 tests in 0.000s\n\nOK\n"),
        ("python manage.py test", "Found 0 test(s).\nRan 0 tests in 0.000s\n\nOK\n"),
        ("ruff check src", "warning: No Python files found under the given path(s)\nAll checks passed!\n"),
        ("npm test", "> echo 'no tests yet'\n\nno tests yet\n"),
        ("pytest -q", "sss                       [100%]\n3 skipped in 0.01s\n"),
    ],
)
def test_a_run_of_nothing_is_empty(command: str, output: str) -> None:
    assert report("Bash", {"command": command}, output, exit_code=0)["check_outcome"] == "empty"


def test_pytest_s_exit_code_for_no_tests_is_empty() -> None:
    assert report("Bash", {"command": "pytest -q -k nothing >/dev/null"}, "", exit_code=5)["check_outcome"] == "empty"


@pytest.mark.parametrize("line", ["pytest -q &", "nohup pytest -q > out.log 2>&1 &", "(pytest -q > log &)"])
def test_a_command_that_a_script_leaves_running_has_not_passed(line: str) -> None:
    args = {"command": ["bash", "-lc", line]}
    assert report("shell", args, "", exit_code=0)["check_outcome"] == "unknown"


@pytest.mark.parametrize("command", ["make test", "./run_tests.sh", "npm run check", "bash scripts/ci.sh"])
def test_a_script_that_is_known_by_its_name_alone_proves_nothing(command: str) -> None:
    assert report("Bash", {"command": command}, "finished\n", exit_code=0)["check_outcome"] == "unknown"
    assert report("Bash", {"command": command}, "3 passed in 0.1s\n", exit_code=0)["check_outcome"] == "passed"
    assert report("Bash", {"command": command}, "finished\n", exit_code=1)["check_outcome"] == "failed"


def test_an_exit_code_before_a_long_output_is_read() -> None:
    text = "Exit code: 1\nWall time: 3 seconds\nOutput:\n" + "collecting …\n" * 10_000
    ended = report("shell", {"command": ["bash", "-lc", "mypy ."]}, text)
    assert (ended["exit_code"], ended["check_outcome"]) == (1, "failed")
    packed = json.dumps({"output": "x" * 300_000, "metadata": {"exit_code": 2}})
    assert report("shell", {"command": ["mypy", "."]}, packed)["check_outcome"] == "failed"


@pytest.mark.parametrize(
    ("codes", "outputs", "outcome"),
    [
        ((0, 0), ("All checks passed!", "3 passed in 0.1s"), "passed"),
        ((0, 1), ("All checks passed!", "1 failed, 2 passed in 0.1s"), "failed"),
        ((1, 0), ("Found 2 errors.", "3 passed in 0.1s"), "failed"),
        ((0, 0), ("", ""), "passed"),
        ((0, 1), ("", ""), "failed"),
    ],
)
def test_openai_s_shell_tool_is_read(codes: tuple[int, int], outputs: tuple[str, str], outcome: str) -> None:
    action = {"type": "exec", "commands": ["ruff check .", "pytest -q"], "timeout_ms": 60_000}
    parts = [
        {"stdout": output, "stderr": "", "outcome": {"type": "exit", "exit_code": code}}
        for code, output in zip(codes, outputs, strict=True)
    ]
    ended = report("shell", {"action": action}, {"type": "shell_call_output", "output": parts})
    assert (ended["check"]["name"], ended["check_outcome"]) == ("ruff check + pytest", outcome)
    listed = report("shell", json.dumps({"action": action}), parts)
    assert listed["check_outcome"] == outcome


def test_a_command_of_openai_s_shell_tool_that_timed_out_has_not_passed() -> None:
    part = {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}}
    ended = report("shell", {"action": {"commands": ["pytest -q"]}}, {"output": [part]})
    assert ended["check_outcome"] == "failed"


@pytest.mark.parametrize(
    "args",
    [
        {"command": "pytest -q"},
        {"cmd": "pytest -q"},
        {"commands": ["cd app", "pytest -q"]},
        {"script": "set -e\npytest -q\n"},
        {"command": ["pytest", "-q"]},
    ],
)
@pytest.mark.parametrize("tool", ["mcp__box__start_process", "sandbox.run", "do_it"])
def test_an_unknown_tool_that_is_told_what_to_run_is_a_shell(tool: str, args: Any) -> None:
    ended = report(tool, args, "1 failed, 2 passed in 0.1s", exit_code=1)
    assert (ended["check"]["name"], ended["check_outcome"]) == ("pytest", "failed")


READERS = [
    (
        {"command": "pytest -q", "run_in_background": True},
        "Command running in background with ID: bash_1",
        "BashOutput",
        {"bash_id": "bash_1"},
        "<status>completed</status>\n\n<exit_code>{code}</exit_code>\n\n<stdout>\n{text}\n</stdout>",
    ),
    (
        {"command": "pytest -q", "run_in_background": True},
        "Command running in background with ID: b7f3. Output is being written to: /tmp/b7f3.output",
        "TaskOutput",
        {"task_id": "b7f3"},
        "<status>completed</status>\n\n<exit_code>{code}</exit_code>\n\n<output>\n{text}\n</output>",
    ),
    (
        {"cmd": "pytest -q"},
        "Process running with session ID 4711\nOutput:\n",
        "write_stdin",
        {"session_id": 4711, "chars": ""},
        "Process exited with code {code}\nOutput:\n{text}",
    ),
]


@pytest.mark.parametrize(("args", "started", "reader", "reads", "result"), READERS)
@pytest.mark.parametrize(("code", "text", "outcome"), [(0, "", "passed"), (1, "", "failed"), (5, "", "empty")])
def test_a_call_that_reads_the_output_of_a_background_check_tells_how_that_check_went(
    args: Any, started: str, reader: str, reads: Any, result: str, code: int, text: str, outcome: str
) -> None:
    board, agent = a_board()
    agent.tool_started("c1", "exec_command" if "cmd" in args else "Bash", args)
    agent.tool_finished("c1", started, is_error=False)
    agent.tool_started("c2", reader, reads)
    agent.tool_finished("c2", result.format(code=code, text=text), is_error=False)
    assert ends(board)["c1"]["check_outcome"] == "unknown"
    assert (ends(board)["c2"]["check_of"], ends(board)["c2"]["check"]["name"]) == ("c1", "pytest")
    assert ends(board)["c2"]["check_outcome"] == outcome
    (told,) = [event.data for event in board.events() if event.kind == "tool.updated"]
    assert (told["call_id"], told["told"]) == ("c1", outcome)


def test_a_background_check_that_still_runs_has_not_passed() -> None:
    board, agent = a_board()
    agent.tool_started("c1", "Bash", {"command": "pytest -q", "run_in_background": True})
    agent.tool_finished("c1", {"backgroundTaskId": "b1", "stdout": ""}, is_error=False)
    agent.tool_started("c2", "BashOutput", {"bash_id": "b1"})
    agent.tool_finished("c2", "<status>running</status>\n\n<stdout>\n.....\n</stdout>", is_error=False)
    agent.tool_started("c3", "BashOutput", {"bash_id": "another"})
    agent.tool_finished("c3", "<status>completed</status>\n\n<exit_code>0</exit_code>", is_error=False)
    assert [("check" in data, data.get("check_outcome")) for data in ends(board).values()] == [
        (True, "unknown"),
        (False, None),
        (False, None),
    ]


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pytest --cov | tail -5", "FAIL Required test coverage of 90% not reached.\n3 passed in 0.1s\n"),
        ("npx jest | tail", 'Tests:  3 passed, 3 total\nJest: "global" coverage threshold for lines (90%) not met'),
        ("npx vitest run; true", "Tests  3 passed (3)\nERROR: Coverage for lines (50%) does not meet threshold"),
    ],
)
def test_a_threshold_of_coverage_that_was_missed_is_a_failure(command: str, output: str) -> None:
    assert report("Bash", {"command": command}, output, exit_code=0)["check_outcome"] == "failed"


@pytest.mark.parametrize("result", ["The user doesn't want to proceed.", "User rejected this command"])
def test_a_check_that_was_not_let_run_is_empty(result: str) -> None:
    assert report("Bash", {"command": "pytest"}, result, is_error=True)["check_outcome"] == "empty"


def test_no_secret_of_a_line_is_kept_with_its_check() -> None:
    board, agent = a_board()
    line = "cd /srv/a && TOKEN=ghp_abcdefghijklmnopqrstuvwxyz0123456789 pytest; echo password=hunter2secret $?"
    agent.tool_started("c1", "Bash", {"command": line})
    kept = json.dumps([dict(event.data) for event in board.events()])
    assert "hunter2secret" not in kept
    assert "ghp_abc" not in kept
