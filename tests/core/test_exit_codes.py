"""What the exit code of a line is said to mean, held against what a shell really does."""

import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from punchlist.core.checks import find_check
from tests.sizes import size

SIMPLE = (
    "pytest", "pytest", "pytest", "true", "false", "cat", "echo x", "exit 0", "exit 1", "set -e", "set +e",
    "set -o pipefail", "set +o pipefail", "set -eo pipefail",
)  # fmt: skip
JOINTS = (" && ", " || ", " | ", " ; ", " ; ", " ; ")


def a_line(random: Random, depth: int) -> str:
    parts = [a_command(random, depth) for _ in range(random.randint(1, 4))]
    return "".join(part + random.choice(JOINTS) for part in parts[:-1]) + parts[-1]


def a_command(random: Random, depth: int) -> str:
    form = random.randint(0, 9) if depth else 9
    match form:
        case 0 | 1:
            return f"( {a_line(random, depth - 1)} )"
        case 2 | 3:
            return f"{{ {a_line(random, depth - 1)} ; }}"
        case 4:
            return f"bash {random.choice(('-c', '-ec', '-eo pipefail -c'))} '{a_line(random, 0)}'"
        case _:
            return random.choice(SIMPLE)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("seed", range(size(2, 40)))
@pytest.mark.parametrize("code", [0, 1])
def test_a_zero_that_counts_is_never_that_of_a_line_whose_check_failed_or_did_not_run(
    seed: int, code: int, tmp_path: Path
) -> None:
    check_run = tmp_path / "pytest"
    check_run.write_text(f"#!/bin/sh\necho it ran >&2\nexit {code}\n")
    check_run.chmod(0o755)
    random = Random(seed)
    tried = 0
    while tried < 20:
        line = a_line(random, 2)
        check = find_check(line)
        if check is None or not check.zero_counts:
            continue
        tried += 1
        ended = subprocess.run(
            ["bash", "-c", line],
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        )
        ran = ended.stderr.count(b"it ran")
        assert ended.returncode != 0 or (code == 0 and ran == line.count("pytest")), line


@pytest.mark.parametrize("opening", ["(pytest && ", "{ pytest && ", "(a; ", "$(", 'echo "$('])
def test_groups_nested_too_deep_to_be_told_apart_vouch_for_nothing(opening: str) -> None:
    """Each level was walked for each command: 1,400 of them took eight minutes."""
    check = find_check(opening * 1400 + "pytest")
    assert check is None or not (check.zero_counts or check.failure_counts)


def test_groups_that_people_write_are_told_apart() -> None:
    check = find_check("(" * 32 + "pytest" + ")" * 32)
    assert check is not None
    assert check.zero_counts


def test_an_exit_code_of_a_long_chain_of_checks_counts() -> None:
    check = find_check(" && ".join(["pytest"] * 250))
    assert check is not None
    assert check.zero_counts
