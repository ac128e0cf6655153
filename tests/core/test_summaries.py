"""What a summary says outweighs an exit code of 0, and talk does not."""

import pytest

from punchlist.core.checks.outcome import CheckedLine, find_checks, judge_line


def checked(command: str) -> CheckedLine:
    found = find_checks(command)
    assert found is not None
    return found


MAVEN = """[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0 -- in A
[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0 <<< FAILURE! -- in B
[ERROR] Tests run: 5, Failures: 1, Errors: 0, Skipped: 0
[INFO] BUILD SUCCESS"""
GO = "ok  \ta\t0.1s\n--- FAIL: TestX (0.00s)\nFAIL\nFAIL\tb\t0.1s\nFAIL"
CARGO = "test result: ok. 3 passed; 0 failed; 0 ignored\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("mvn test -Dmaven.test.failure.ignore=true", MAVEN),
        ("mvn test", MAVEN),
        ("go test ./...", GO),
        ("cargo test", CARGO),
        ("npx jest", "Test Suites: 1 failed, 1 passed, 2 total\nTests:       5 passed, 5 total"),
        ("npx jest", "Tests:       5 passed, 5 total\nSnapshots:   1 failed, 1 total"),
        ("npx vitest run", " Test Files  1 failed | 1 passed (2)\n      Tests  2 passed (2)"),
        ("npx vitest run", " Test Files  2 passed (2)\n      Tests  7 passed (7)\n     Errors  1 error"),
        ("ruff check . && pytest", "All checks passed!\n1 failed, 2 passed in 1s"),
        ("./gradlew test", "3 tests completed, 1 failed\n\nBUILD SUCCESSFUL in 1s"),
        ("./gradlew test", "There were failing tests. See the report at: file:///x\n\nBUILD SUCCESSFUL in 1s"),
        ("make test", "suite: 12 passed, 1 failed"),
        ("make test", "12/13 tests passed"),
        ("make test", "All checks passed!\n12 passed, 1 failed"),
        ("make test", "Passed: 10, Failed: 1"),
        ("make test", "Total: 11, Failed: 1, Passed: 10"),
        ("make check", "# TOTAL: 3\n# PASS:  2\n# FAIL:  1\n# ERROR: 0"),
        ("./run_tests.sh", "  1 failed\n    [chromium] › a.spec.ts:3:1 › x\n  3 passed (4.2s)"),
        ("npm run build", "src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'."),
        ("npx eslint . --max-warnings 0", "✖ 3 problems (0 errors, 3 warnings)\n\nESLint found too many warnings"),
        ("semgrep --config auto .", "Ran 12 rules on 3 files: 2 findings."),
    ],
)
@pytest.mark.parametrize("exit_code", [0, None])
def test_a_summary_that_tells_of_failures_outweighs_an_exit_code_of_0(
    command: str, output: str, exit_code: int | None
) -> None:
    assert judge_line(checked(command), output, exit_code=exit_code) == "failed"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("./run_tests.sh", "3 failed attempts retried; 10 passed"),
        ("./run_tests.sh", "Passed: 10, Failed: 0"),
        ("pytest -s", "FAILED to connect (expected)\nERROR conn.py refused\n12 passed in 1.2s"),
        ("go test -v ./...", "panic: recovered in log\nmain.go:12:3: warn\nPASS\nok  \ta\t0.1s"),
        ("cargo test", "error[E0001]: shown by trybuild\ntest result: ok. 3 passed; 0 failed"),
        ("npx jest", "FAIL src/a.js is what we print\nTests:       5 passed, 5 total"),
        ("mypy src", "a.py:1: error: in a note\nSuccess: no issues found in 3 source files"),
        ("curl --fail http://x", "12 passed, 1 failed"),
    ],
)
def test_what_a_program_says_of_failures_is_talk_beside_an_exit_code_of_0(command: str, output: str) -> None:
    assert judge_line(checked(command), output, exit_code=0) == "passed"


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ("2 failed logins simulated\nall good", "unknown"),
        ("logins: 2 failed", "unknown"),
        ("2 failed logins retried in 3s", "unknown"),
        ("panic: handled", "unknown"),
        ("error: connection refused", "unknown"),
        ("12 of 13 passed the filter", "passed"),
        # the summaries of Playwright, mypy, Go and Gradle
        ("2 failed", "failed"),
        ("Found 3 errors in the sample", "failed"),
        ("FAIL", "failed"),
        ("BUILD FAILED as it should", "failed"),
        ("1 failed, 2 passed in 1s\n--- once more ---\n3 passed in 1s", "failed"),
    ],
)
def test_a_script_without_a_summary_proves_nothing_by_an_exit_code_of_0(output: str, outcome: str) -> None:
    assert judge_line(checked("make test"), output, exit_code=0) == outcome


def test_talk_of_failures_does_not_take_back_a_success_that_a_swallowed_exit_code_left() -> None:
    assert judge_line(checked("./run_tests.sh | cat"), "3 failed attempts retried; 10 passed", exit_code=0) == "passed"
    assert judge_line(checked("pytest -s | cat"), "ERROR conn.py refused\n12 passed in 1.2s", exit_code=0) == "passed"
    assert judge_line(checked("make test | cat"), "curl: (7) refused\n12 passed in 1.2s", exit_code=0) == "passed"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("go test -v ./...", "panic: recovered in log\nPASS\nok  \ta\t0.1s"),
        ("cargo test", "error[E0001]: shown by trybuild\ntest result: ok. 3 passed; 0 failed"),
        ("docker build .", "ERROR: pip's dependency resolver does not take into account\nSuccessfully built 1a2b3c"),
        ("make test | cat", "Test 1 of 2 passed\nTest 2 of 2 passed"),
    ],
)
def test_where_the_host_says_that_it_went_well_a_summary_that_says_so_too_outweighs_talk(
    command: str, output: str
) -> None:
    assert judge_line(checked(command), output, is_error=False) == "passed"


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ("FAILED (failures=1)", "failed"),
        ("FAILED (skipped=2, errors=1)", "failed"),
        ("OK", "passed"),
        ("Ran 3 tests in 0.001s\n\nOK (skipped=3)", "empty"),
        ("Ran 3 tests in 0.001s\n\nOK (skipped=2)", "passed"),
        ("Ran 13 tests in 0.001s\n\nOK (skipped=3)", "passed"),
        ("FAIL: test_a (t.T.test_a)\n------", "failed"),
    ],
)
def test_unittest_is_understood_by_its_last_line_alone(output: str, outcome: str) -> None:
    assert judge_line(checked("python -m unittest 2>&1 | tail -1"), output, exit_code=0) == outcome


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("python -m unittest", "Ran 3 tests in 0.001s\n\nOK (skipped=3)"),
        ("mvn test", "[WARNING] Tests run: 5, Failures: 0, Errors: 0, Skipped: 5\n[INFO] BUILD SUCCESS"),
        ("npx vitest run", " Test Files  1 skipped (1)\n      Tests  3 skipped (3)"),
        ("rspec", "3 examples, 0 failures, 3 pending"),
        ("rake test", "3 runs, 0 assertions, 0 failures, 0 errors, 3 skips"),
        ("mix test", "3 tests, 0 failures, 3 skipped"),
        ("phpunit", "OK, but some tests were skipped!\nTests: 3, Assertions: 0, Skipped: 3."),
        ("dotnet test", "Skipped! - Failed:     0, Passed:     0, Skipped:     3, Total:     3"),
        ("swift test", "Executed 3 tests, with 3 tests skipped and 0 failures (0 unexpected) in 0.1 seconds"),
        ("node --test", "ℹ tests 3\nℹ pass 0\nℹ fail 0\nℹ skipped 3"),
        ("npx playwright test", "  3 skipped"),
        ("bun test", " 0 pass\n 3 skip\n 0 fail\n"),
        ("npm test", "> x@1.0.0 test\n> echo \"Error: no test specified\"\n\nError: no test specified"),
        ("go test ./...", 'go: warning: "./..." matched no packages\nno packages to test'),
    ],
)  # fmt: skip
def test_where_all_tests_were_skipped_nothing_was_run(command: str, output: str) -> None:
    assert judge_line(checked(command), output, exit_code=0) == "empty"
    assert judge_line(checked(command + " | cat"), output, exit_code=0) == "empty"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pytest | head", "..F..\n=== FAILURES ===\n____ test_x ____"),
        ("curl -f http://x | jq .", "curl: (22) The requested URL returned error: 500"),
        ("cargo test | head", "running 1 test\ntest b ... FAILED"),
        ("cargo clippy | head", "error: this comparison is always true\n  --> src/lib.rs:3:5"),
        ("cargo fmt --check | head", "Diff in /x/src/main.rs:1:\n-fn main(){}"),
        ("npx jest | head", "FAIL src/b.test.js\n  ● sum › adds"),
        ("npx vitest run | head", " FAIL  src/b.test.ts > adds\nAssertionError: expected 1"),
        ("mypy src | head", "a.py:1: error: Incompatible types in assignment  [assignment]"),
        ("pyright | head", '/x/a.py\n  /x/a.py:1:10 - error: Type "str" is not assignable'),
        ("npx eslint . | head", "\n/x/a.js\n  1:7  error  'a' is never used  no-unused-vars"),
        ("ruff check . | head", "a.py:1:8: F401 [*] `os` imported but unused"),
        ("ruff check . | head", "F401 [*] `os` imported but unused\n --> a.py:1:8"),
        ("flake8 | head", "a.py:1:1: F401 'os' imported but unused"),
        ("gradle test | head", "> Task :test FAILED\n\nFooTest > bar FAILED"),
        ("docker buildx build . | cat", '#8 ERROR: process "/bin/sh -c false" did not complete successfully'),
        ("docker build . | cat", "The command '/bin/sh -c false' returned a non-zero code: 1"),
        ("gcc a.c 2>&1 | head", "a.c:1:1: error: unknown type name 'foo'"),
        ("go vet ./... | cat", "# a\nvet: ./a.go:3:2: undefined: x"),
        ("shellcheck a.sh | cat", "In a.sh line 1:\n^-- SC2148 (error): Tips"),
        ("terraform validate | cat", "Error: Unsupported argument"),
    ],
)
def test_a_failure_behind_a_pipe_is_seen_by_the_program_s_own_lines(command: str, output: str) -> None:
    assert judge_line(checked(command), output, exit_code=0) == "failed"


def test_what_a_terminal_takes_for_commands_is_not_read() -> None:
    output = "\x1b]8;;file:///x\x1b\\tests\x1b]8;;\x1b\\\n\x1b(B\x1b[m1 failed, 2 passed in 0.1s"
    assert judge_line(checked("pytest | cat"), output, exit_code=0) == "failed"
    assert (
        judge_line(checked("mypy . | cat"), "\x1b[32mSuccess: no issues found in 3\x1b(B\x1b[m", exit_code=0)
        == "passed"
    )


@pytest.mark.parametrize("filler", ["1", " ", "\n", " > a", "1 a, ", "a...", "a:1:", "=", "\x1b["])
def test_an_output_that_is_all_alike_is_read_in_one_go(filler: str) -> None:
    output = "Tests:  Ran 3 tests error: FAILED " + filler * (60_000 // len(filler))
    assert judge_line(checked("make test | cat"), output, exit_code=0) == "unknown"


@pytest.mark.parametrize("filler", [" ", "\n", " > ", "=", "* "])
@pytest.mark.parametrize("command", ["./gradlew test", "semgrep scan", "rspec"])
def test_a_line_that_is_all_frame_is_read_in_one_go(filler: str, command: str) -> None:
    output = filler * (20_000 // len(filler))
    assert judge_line(checked(command), output + "\nBUILD FAILED" * ("gradlew" in command), exit_code=1) == "failed"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("./gradlew test", "a.BTest > c() > d FAILED\n\nBUILD SUCCESSFUL in 1s"),
        ("semgrep scan", "\n\n┌ Findings: 3"),
        ("semgrep scan", "\n  • Ran 12 rules on 3 files: 2 findings."),
        ("pytest --cov | cat", "5 passed\n\n  FAIL Required test coverage of 90% not reached"),
    ],
)
def test_a_failure_behind_blank_lines_or_marks_is_read(command: str, output: str) -> None:
    assert judge_line(checked(command), output, exit_code=0) == "failed"
