"""What an output says of a check that did not come to its end, where the host says that all went well."""

import pytest

from punchlist.core.checks.outcome import find_checks, judge_line


@pytest.mark.parametrize(
    ("command", "output", "outcome"),
    [
        ("make", "cat: VERSION: No such file or directory\ngcc -o a a.c", "passed"),
        ("./run_tests.sh", "test run timeout handling: ok", "unknown"),
        ("npm run build", "42 modules built\nTimeout plugin: off", "unknown"),
        ("npm run build", "Timeout plugin loaded", "unknown"),
        ("make build", "Killed 2 stale workers\nld -o app", "unknown"),
        ("./test.sh", "user login rejected: ok", "unknown"),
        ("./test.sh", "user login rejected as it should\nall good", "unknown"),
        (
            "pylint --fail-under=8 src",
            "src/a.py:1:0: E0401: Unable to import\n\nYour code has been rated at 8.50/10",
            "passed",
        ),
    ],
)
def test_what_a_check_says_on_its_way_is_talk_where_the_host_vouches_for_it(
    command: str, output: str, outcome: str
) -> None:
    check = find_checks(command)
    assert check is not None
    assert judge_line(check, output, is_error=False) == outcome


@pytest.mark.parametrize(
    ("command", "output", "outcome"),
    [
        ("make", "gcc -o a a.c\nsh: 1: ld: not found", "failed"),
        ("./run_tests.sh", "starting\nTest timeout of 5000ms exceeded", "failed"),
        ("./run_tests.sh", "starting\nCommand timeout", "failed"),
        ("npm run build", "building\nKilled", "failed"),
        ("./run_tests.sh", "Timeout waiting for the server", "failed"),
        ("./run_tests.sh", "SyntaxError: cannot assign to None", "failed"),
        ("make build", "Permission denied by the user", "empty"),
        ("make build", "The command was rejected.\nAsk the user what to do instead.", "empty"),
        ("make build", "User has denied this.\nReason: not now", "empty"),
        ("pylint --fail-under=8 src | tail", "src/a.py:1:0: E0401: Unable to import", "failed"),
    ],
)
def test_what_is_all_or_the_last_of_an_output_speaks_against_the_host(command: str, output: str, outcome: str) -> None:
    check = find_checks(command)
    assert check is not None
    assert judge_line(check, output, is_error=False) == outcome
