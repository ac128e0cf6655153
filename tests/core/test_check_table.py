"""Check commands of 2026: passed, failed and nothing ran, in the wrappers and the host shapes in which agents run them.

`data/check_table.json` has groups of commands with what they print when they pass, when they fail, and when nothing
ran, with the exit code of that. An empty text is a program that says nothing; null is a program that is not installed.
"""

import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from punchlist.core.grounding.observe import end_facts, start_facts

TABLE = Path(__file__).parent / "data" / "check_table.json"
Row = tuple[str, str, str, tuple[str, int] | None]
Shape = Callable[[str, str, int], dict[str, Any]]


@cache
def read_rows() -> list[Row]:
    """Return a row for each command: what it prints when it passes, fails and runs nothing."""
    groups: list[dict[str, Any]] = json.loads(TABLE.read_text("utf-8"))
    return [
        (command, group["passed"], group["failed"], group["nothing"])
        for group in groups
        for command in group["commands"]
    ]


def keep_code(code: int) -> int:
    return code


def hide_code(_: int) -> int:
    return 0


class Wrapper(NamedTuple):
    """What stands around a command. `code`: the exit code of the line, from that of the command."""

    line: str
    code: Callable[[int], int] = keep_code
    after: str = ""


WRAPPERS = [
    Wrapper("{}"),
    Wrapper("cd app && {}"),
    Wrapper("CI=1 {}"),
    Wrapper("timeout 600 {}"),
    Wrapper("{} 2>&1"),
    Wrapper("{} 2>&1 | tail -40", hide_code),
    Wrapper("{} 2>&1 | tee out.log", hide_code),
    Wrapper("bash -lc '{}'"),
    Wrapper("set -o pipefail; {} 2>&1 | tail -40"),
    Wrapper("time {}"),
    Wrapper("docker compose exec -T app {}"),
    Wrapper("{}; echo EXIT=$?", hide_code, "EXIT={}"),
    Wrapper("({})"),
    Wrapper("env CI=1 nice -n 5 {}"),
    Wrapper("source .venv/bin/activate && {}"),
]


def claude_code(line: str, output: str, code: int) -> dict[str, Any]:
    shown = output if code == 0 else f"Exit code {code}\n{output}"
    facts = start_facts("Bash", {"command": line}, kind="shell", changes=True)
    return end_facts(shown, is_error=code != 0, started=facts)


def codex(line: str, output: str, code: int) -> dict[str, Any]:
    facts = start_facts("shell", json.dumps({"command": ["bash", "-lc", line]}), kind="shell", changes=True)
    return end_facts(json.dumps({"output": output, "metadata": {"exit_code": code}}), started=facts)


def runs_of(row: Row) -> list[tuple[str, str, int]]:
    """Return each truth of a row with its output and exit code."""
    command, passed, failed, nothing = row
    program = command.split()[0]
    output, code = nothing or (f"bash: line 1: {program}: command not found", 127)
    return [("passed", passed, 0), ("failed", failed, 1), ("empty", output, code)]


def judge_all(shape: Shape) -> tuple[Counter[str], list[str]]:
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for row in read_rows():
        for truth, output, code in runs_of(row):
            for wrapper in WRAPPERS:
                text = f"{output}\n{wrapper.after.format(code)}" if wrapper.after else output
                found = shape(wrapper.line.format(row[0]), text, wrapper.code(code)).get("check_outcome", "no check")
                counts["all"] += 1
                # A program that says nothing has not said how it went where its exit code is not seen.
                is_right = found == truth or (found == "unknown" and not output and "| t" in wrapper.line)
                counts["right"] += is_right
                counts["false passed"] += found == "passed" and truth != "passed"
                if not is_right:
                    wrong.append(f"{truth} read as {found}: {wrapper.line.format(row[0])}: {output!r}")
    return counts, wrong


def test_there_are_at_least_a_hundred_commands_and_fifteen_wrappers() -> None:
    assert len({row[0] for row in read_rows()}) >= 100
    assert len(WRAPPERS) >= 15


@pytest.mark.parametrize("shape", [claude_code, codex])
def test_of_all_forms_93_percent_are_right_and_none_is_called_passed_that_did_not_pass(
    shape: Shape,
) -> None:
    counts, wrong = judge_all(shape)
    assert counts["false passed"] == 0, [line for line in wrong if "read as passed" in line][:10]
    assert counts["right"] >= 0.93 * counts["all"], wrong[:20]
