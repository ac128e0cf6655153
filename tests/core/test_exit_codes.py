"""What an exit status and an output are said to mean, held against what a shell really does."""

import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from punchlist.core.checks.outcome import find_checks, judge_line
from punchlist.core.shell.exit_status import find_ways, read_states
from tests.sizes import size

SIMPLE = (
    "pytest", "pytest", "pytest", "true", "false", "cat", "echo done", "echo EXIT=$?", "exit 0", "exit 1", "set -e",
    "set +e", "set -o pipefail", "set +o pipefail", "set -eo pipefail", "rc=$?", "exit $rc", "test -d /tmp",
)  # fmt: skip
JOINTS = (" && ", " || ", " | ", " ; ", " ; ", " ; ", "\n")


def a_line(random: Random, depth: int) -> str:
    parts = [a_command(random, depth) for _ in range(random.randint(1, 4))]
    return "".join(part + random.choice(JOINTS) for part in parts[:-1]) + parts[-1]


def a_command(random: Random, depth: int) -> str:
    form = random.randint(0, 13) if depth else 13
    match form:
        case 0 | 1:
            return f"( {a_line(random, depth - 1)} )"
        case 2 | 3:
            return f"{{ {a_line(random, depth - 1)} ; }}"
        case 4:
            return f"bash {random.choice(('-c', '-ec', '-eo pipefail -c'))} '{a_line(random, 0)}'"
        case 5:
            inner = [a_line(random, depth - 1) for _ in range(3)]
            return f"if {inner[0]} ; then {inner[1]} ; else {inner[2]} ; fi"
        case 6:
            return f"! {a_command(random, 0)}"
        case 7:
            return f"for x in a b ; do {a_line(random, depth - 1)} ; done"
        case 8:
            return f"OUT=$( {a_line(random, depth - 1)} )"
        case _:
            return random.choice(SIMPLE)


def numbered(line: str) -> str:
    """The line with a number after each `pytest`, so that a run can be told from another."""
    first, *rest = line.split("pytest")
    return first + "".join(f"pytest n{place}{part}" for place, part in enumerate(rest))


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("seed", range(size(6, 120)))
def test_what_is_said_to_have_passed_or_failed_never_contradicts_the_shell(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    tried = 0
    while tried < 20:
        line = numbered(a_line(random, 2))
        found = find_checks(line)
        if found is None:
            continue
        tried += 1
        codes = [random.randint(0, 1) for _ in range(line.count("pytest"))]
        ended, runs = run(line, codes, tmp_path)
        if "syntax error" in ended.stderr:
            continue
        ways = find_ways(found.table, len(found.checks), exit_code=ended.returncode, output=ended.stdout)
        states = read_states(ways, len(found.checks))
        for place, state in enumerate(states):
            if state is not None:
                truth = "not run" if place not in runs else ("failed" if codes[place] else "passed")
                assert state == truth, (line, codes, ended.returncode, ended.stdout, place)


def run(line: str, codes: list[int], folder: Path) -> tuple[subprocess.CompletedProcess[str], set[int]]:
    log = folder / "log"
    log.write_text("")
    cases = "".join(f"n{place}) exit {code};;\n" for place, code in enumerate(codes))
    check_run = folder / "pytest"
    check_run.write_text(f'#!/bin/sh\necho "$1" >>{log}\ncat >/dev/null\ncase "$1" in\n{cases}esac\n')
    check_run.chmod(0o755)
    ended = subprocess.run(
        ["bash", "-c", line],
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={"PATH": f"{folder}:/usr/bin:/bin"},
    )
    return ended, {int(name[1:]) for name in log.read_text().split()}


@pytest.mark.parametrize("opening", ["(pytest && ", "{ pytest && ", "(a; ", "$(", 'echo "$('])
def test_groups_nested_too_deep_to_be_told_apart_vouch_for_nothing(opening: str) -> None:
    """Each level was walked for each command: 1,400 of them took eight minutes."""
    check = find_checks(opening * 1400 + "pytest")
    assert check is None or {judge_line(check, "", exit_code=code) for code in (0, 1)} == {"unknown"}


@pytest.mark.parametrize("line", ["( " * 24 + "pytest" + " )" * 24, " && ".join(["pytest", "mypy ."] * 6)])
def test_groups_and_chains_that_people_write_are_told_apart(line: str) -> None:
    check = find_checks(line)
    assert check is not None
    assert [judge_line(check, "", exit_code=code) for code in (0, 1)] == ["passed", "failed"]


def test_a_line_with_too_many_ways_vouches_for_nothing() -> None:
    check = find_checks("; ".join(["pytest || git pull"] * 12))
    assert check is not None
    assert judge_line(check, "", exit_code=0) == "unknown"


@pytest.mark.parametrize(
    ("line", "output", "code", "outcome"),
    [
        ("bash -c 'pytest -q &'", "", 0, "unknown"),
        ("bash -lc 'nohup pytest -q > log 2>&1 &'", "", 0, "unknown"),
        ("nohup pytest -q > log 2>&1 & echo started", "started", 0, "unknown"),
        ("pytest -q & wait $!", "", 0, "passed"),
        ("pytest -q & wait $!", "", 1, "failed"),
        ("ruff check .; pytest -q; true", "All checks passed!\n3 passed in 0.1s", 0, "passed"),
        ("ruff check .; pytest -q; true", "Found 2 errors.\n3 passed in 0.1s", 0, "failed"),
        ("ruff check .; pytest -q; true", "3 passed in 0.1s", 0, "unknown"),
        ("pytest -q; rc=$?; echo done; exit $rc", "done", 1, "failed"),
        ("pytest -q >/dev/null", "", 5, "empty"),
        ("pytest -q | tail -1; exit ${PIPESTATUS[0]}", "", 0, "passed"),
        ("pytest -q | tail -1; exit ${PIPESTATUS[0]}", "", 1, "failed"),
    ],
)
def test_each_check_of_a_line_needs_its_own_outcome(line: str, output: str, code: int, outcome: str) -> None:
    check = find_checks(line)
    assert check is not None
    assert judge_line(check, output, exit_code=code) == outcome
