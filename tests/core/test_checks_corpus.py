"""475 real runs of real tools, in the shapes in which hosts report them."""

import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from punchlist import Board

CORPUS = Path(__file__).parent / "data" / "checks_corpus.json"

CHANGED = {
    10: ("empty", "8.1: a path that does not exist"),
    11: ("empty", "8.1: an option that does not exist"),
    245: ("empty", "8.1: a target that does not exist"),
    96: ("unknown", "8.7: behind `sed` a summary is no summary"),
    97: ("unknown", "8.7: behind `awk` a summary is no summary"),
}
"""Labels that section 8 of the rules changes, each with its rule. The corpus itself stays as it was recorded."""


class Report(NamedTuple):
    """One call as a host reports it."""

    tool: str
    args: Any
    result: Any
    is_error: bool | None = None
    exit_code: int | None = None


def claude_code_text(command: str, output: str, code: int) -> Report:
    return Report("Bash", {"command": command}, output)


def claude_code(command: str, output: str, code: int) -> Report:
    shown = output if code == 0 else f"Exit code {code}\n{output}"
    return Report("Bash", {"command": command}, shown, is_error=code != 0)


def codex_array(command: str, output: str, code: int) -> Report:
    return Report("shell", {"command": ["bash", "-lc", command]}, output, exit_code=code)


def codex_text(command: str, output: str, code: int) -> Report:
    lines = f"Exit code: {code}\nWall time: 1.2 seconds\nTotal output lines: {output.count(chr(10))}\nOutput:\n{output}"
    return Report("shell", json.dumps({"command": ["bash", "-lc", command]}), lines)


def codex_json(command: str, output: str, code: int) -> Report:
    result = json.dumps({"output": output, "metadata": {"exit_code": code, "duration_seconds": 1.2}})
    return Report("exec_command", {"cmd": command}, result)


def openai_function(command: str, output: str, code: int) -> Report:
    return Report("run_in_sandbox", json.dumps({"cmd": command}), {"stdout": output, "stderr": "", "returncode": code})


def openai_shell(command: str, output: str, code: int) -> Report:
    action = {"commands": [command], "timeout_ms": 120_000, "max_output_length": 4096}
    part = {"stdout": output, "stderr": "", "outcome": {"type": "exit", "exit_code": code}}
    return Report("shell", {"action": action}, {"type": "shell_call_output", "output": [part]})


CODED = [claude_code, codex_array, codex_text, codex_json, openai_function, openai_shell]


@cache
def read_corpus() -> list[dict[str, Any]]:
    return json.loads(CORPUS.read_text("utf-8"))


def count(shape: Callable[[str, str, int], Report], column: str) -> Counter[str]:
    board = Board.open("memory:")
    agent = board.agent("main", session="s1")
    counts: Counter[str] = Counter()
    for case in read_corpus():
        report = shape(case["cmd"], case["output"], case["rc"])
        agent.tool_started(str(case["id"]), report.tool, report.args)
        agent.tool_finished(str(case["id"]), report.result, is_error=report.is_error, exit_code=report.exit_code)
    ended = {event.data["call_id"]: event.data for event in board.events() if event.kind == "tool.finished"}
    for case in read_corpus():
        outcome = ended[str(case["id"])].get("check_outcome", "nocheck")
        truth, _ = CHANGED.get(case["id"], (case["truth"], ""))
        counts["right"] += outcome == truth or (case["id"] not in CHANGED and outcome == case[column])
        counts["false passed"] += outcome == "passed" and truth != "passed"
        counts["false failed"] += outcome == "failed" and truth != "failed"
        counts["not passed"] += truth != "passed"
        counts["not failed"] += truth != "failed"
    return counts


@pytest.mark.parametrize("shape", CODED)
def test_with_an_exit_code_95_percent_are_right_and_none_is_called_passed_that_did_not_pass(
    shape: Callable[[str, str, int], Report],
) -> None:
    counts = count(shape, "code")
    assert counts["right"] >= 0.95 * len(read_corpus())
    assert counts["false passed"] == 0
    assert counts["false failed"] <= 0.005 * counts["not failed"]


def test_by_its_text_alone_a_run_is_read_nearly_as_well() -> None:
    counts = count(claude_code_text, "text")
    assert counts["right"] >= 0.90 * len(read_corpus())
    assert counts["false passed"] <= 0.02 * counts["not passed"]
    assert counts["false failed"] <= 0.02 * counts["not failed"]
