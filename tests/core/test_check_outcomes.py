"""How a check came out, by its exit code and by what it printed."""

import pytest

from punchlist.core.checks.outcome import CheckedLine, find_checks, judge_ends, judge_line
from punchlist.core.checks.summaries import WINDOW, read_any_summary


def checked(command: str) -> CheckedLine:
    found = find_checks(command)
    assert found is not None
    return found


HARD = checked("pytest")
SOFT = checked("pytest | tail; git status")
"""A check whose exit code is swallowed."""


SAID = [
    # pytest
    ("12 passed in 0.31s", "passed"),
    ("============ 12 passed, 1 failed in 0.31s ============", "failed"),
    ("============ 1 failed, 12 passed, 3 warnings in 62.10s (0:01:02) ============", "failed"),
    ("2 passed, 1 skipped, 1 error in 0.12s", "failed"),
    ("1 error in 0.12s", "failed"),
    ("2 passed, 1 skipped, 1 xfailed, 4 warnings in 2.00s", "passed"),
    ("no tests ran in 0.01s", "empty"),
    ("========= 3 skipped in 0.10s =========", "empty"),
    ("5 deselected in 0.02s", "empty"),
    ("collected 0 items", "empty"),
    ("=== short test summary info ===\nFAILED tests/test_a.py::test_b - assert 1", "failed"),
    ("ERROR tests/test_a.py - ModuleNotFoundError", "failed"),
    ("INTERNALERROR> Traceback", "failed"),
    ("1 failed in 0.1s\n\n3 passed in 0.1s", "failed"),  # perhaps two runs: the worst counts
    # unittest
    ("Ran 3 tests in 0.001s\n\nOK", "passed"),
    ("Ran 3 tests in 0.001s\n\nFAILED (failures=2)", "failed"),
    ("Ran 3 tests in 0.001s\n\nFAILED (errors=1)", "failed"),
    ("Ran 0 tests in 0.000s\n\nOK", "empty"),
    ("Ran 0 tests in 0.000s\n\nNO TESTS RAN", "empty"),
    # Cargo
    ("test result: ok. 3 passed; 0 failed; 0 ignored", "passed"),
    ("test result: FAILED. 3 passed; 1 failed; 0 ignored", "failed"),
    ("test result: FAILED. 0 passed; 1 failed\ntest result: ok. 3 passed; 0 failed", "failed"),
    ("    Finished `test` profile\ntest result: ok. 0 passed; 0 failed", "empty"),
    ("error[E0308]: mismatched types", "failed"),
    ("error: could not compile `x` (lib)", "failed"),
    ("    Finished `dev` profile [unoptimized] target(s) in 0.1s", "passed"),
    ("     Summary [   0.1s] 3 tests run: 3 passed, 0 skipped", "passed"),
    ("     Summary [   0.1s] 3 tests run: 2 passed, 1 failed, 0 skipped", "failed"),
    # Go
    ("ok  \texample.com/a\t0.01s", "passed"),
    ("ok  \texample.com/a\t0.01s\nFAIL\texample.com/b\t0.02s\nFAIL", "failed"),
    ("--- FAIL: TestX (0.00s)", "failed"),
    ("FAIL\tpkg [build failed]", "failed"),
    ("?   \texample.com/a\t[no test files]", "empty"),
    ("ok  \texample.com/a\t0.01s [no tests to run]", "empty"),
    ("./a.go:3:5: undefined: x", "failed"),
    ("panic: runtime error", "failed"),
    # JavaScript
    ("Tests:       1 failed, 4 passed, 5 total", "failed"),
    ("Test Suites: 2 passed, 2 total\nTests:       4 passed, 4 total", "passed"),
    ("Test Suites: 1 failed, 1 total\nTests:       0 total", "failed"),
    ("Tests:       0 total", "empty"),
    ("No tests found, exiting with code 1", "empty"),
    (" Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 9 passed (10)", "failed"),
    (" Test Files  2 passed (2)\n      Tests  9 passed (9)", "passed"),
    ("No test files found, exiting with code 1", "empty"),
    ("  3 passing (12ms)", "passed"),
    ("  3 passing (12ms)\n  1 failing", "failed"),
    ("  0 passing (1ms)", "empty"),
    ("  1 failed\n    a.spec.ts\n  5 passed (3.2s)", "failed"),
    ("  5 passed (3.2s)", "passed"),
    ("# tests 3\n# pass 3\n# fail 0", "passed"),
    ("ℹ tests 3\nℹ pass 2\nℹ fail 1", "failed"),
    ("# tests 0\n# pass 0\n# fail 0", "empty"),
    ("ok 1 - a\nnot ok 2 - b", "failed"),
    ("3 pass\n0 fail\n", "passed"),
    ("2 pass\n1 fail\n", "failed"),
    ("ok | 3 passed | 0 failed (10ms)", "passed"),
    ("FAILED | 2 passed | 1 failed (10ms)", "failed"),
    # JVM, .NET, Swift
    ("[INFO] BUILD FAILURE", "failed"),
    ("[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS", "passed"),
    ("[ERROR] Tests run: 5, Failures: 1, Errors: 0", "failed"),
    ("[INFO] No tests to run.\n[INFO] BUILD SUCCESS", "empty"),
    ("BUILD SUCCESSFUL in 3s", "passed"),
    ("> Task :test NO-SOURCE\nBUILD SUCCESSFUL in 3s", "empty"),
    ("FAILURE: Build failed with an exception.\nBUILD FAILED in 3s", "failed"),
    ("Passed!  - Failed:     0, Passed:     3", "passed"),
    ("Failed!  - Failed:     1, Passed:     3", "failed"),
    ("Build succeeded.\n    0 Warning(s)\n    0 Error(s)", "passed"),
    ("Build FAILED.", "failed"),
    ("Executed 5 tests, with 0 failures (0 unexpected) in 0.1 seconds", "passed"),
    ("Executed 5 tests, with 2 failures (0 unexpected) in 0.1 seconds", "failed"),
    ("** BUILD FAILED **", "failed"),
    # Ruby, PHP, Elixir, C++
    ("5 examples, 0 failures", "passed"),
    ("5 examples, 1 failure, 1 pending", "failed"),
    ("0 examples, 0 failures", "empty"),
    ("5 runs, 9 assertions, 0 failures, 0 errors, 0 skips", "passed"),
    ("5 runs, 9 assertions, 0 failures, 1 errors, 0 skips", "failed"),
    ("3 tests, 0 failures", "passed"),
    ("2 doctests, 3 tests, 1 failure", "failed"),
    ("OK (5 tests, 9 assertions)", "passed"),
    ("FAILURES!\nTests: 5, Assertions: 9, Failures: 1.", "failed"),
    ("No tests executed!", "empty"),
    ("100% tests passed, 0 tests failed out of 3", "passed"),
    ("67% tests passed, 1 tests failed out of 3", "failed"),
    ("No tests were found!!!", "empty"),
    ("[  PASSED  ] 3 tests.", "passed"),
    ("[  FAILED  ] 1 test, listed below:", "failed"),
    # types and lint
    ("Found 3 errors in 2 files (checked 5 source files)", "failed"),
    ("Success: no issues found in 5 source files", "passed"),
    ("Found 3 errors.", "failed"),
    ("All checks passed!", "passed"),
    ("0 errors, 2 warnings, 0 informations", "passed"),
    ("3 errors, 0 warnings, 0 informations", "failed"),
    ("src/a.ts(1,2): error TS2304: Cannot find name 'x'.", "failed"),
    ("src/a.ts:1:2 - error TS2304: Cannot find name 'x'.", "failed"),
    ("Found 1 error in src/a.ts:1", "failed"),
    ("✖ 3 problems (2 errors, 1 warning)", "failed"),
    ("1 file would be reformatted, 3 files would be left unchanged.", "failed"),
    ("[warn] Code style issues found in 2 files.", "failed"),
    ("All matched files use Prettier code style!", "passed"),
    ("5 files inspected, no offenses detected", "passed"),
    ("5 files inspected, 2 offenses detected", "failed"),
    ("check yaml.......................................Passed", "passed"),
    ("check yaml.................Passed\nruff.......................Failed", "failed"),
    # those who run others
    ("make: *** [Makefile:3: test] Error 1", "failed"),
    ("npm ERR! Test failed.  See above for more details.", "failed"),
    ("  py311: FAIL code 1 (0.1=setup)\n  evaluation failed :( (0.2 seconds)", "failed"),
    ("  congratulations :) (0.2 seconds)", "passed"),
    # no framework, and nothing at all
    ("suite: 12 passed, 1 failed", "failed"),
    ("suite: 12 passed", "passed"),
    ("ran 0 tests", "empty"),
    ("0 tests", "empty"),
    ("no tests found", "empty"),
    ("", None),
    ("hello", None),
    ("0 failed", None),
    ("the failed login", None),
]  # fmt: skip


@pytest.mark.parametrize(("output", "outcome"), SAID)
def test_the_summary_of_a_framework_is_understood(output: str, outcome: str | None) -> None:
    assert read_any_summary(output) == outcome
    coloured = "\x1b[1m" + output.replace("\n", "\x1b[0m\r\n\x1b[32m") + "\x1b[0m"
    assert read_any_summary("collecting...\n\n" + coloured) == outcome


@pytest.mark.parametrize(
    ("check", "output", "code", "outcome"),
    [
        (HARD, "", 0, "passed"),
        (HARD, "", 1, "failed"),
        (HARD, "12 passed in 0.1s", 1, "failed"),  # coverage too low, a plugin that fails
        (HARD, "1 failed in 0.1s", 0, "failed"),  # a script that swallows the exit code
        (HARD, "no tests ran in 0.1s", 5, "empty"),
        (HARD, "no tests ran in 0.1s", 0, "empty"),
        (SOFT, "", 0, "unknown"),
        (SOFT, "", 1, "unknown"),
        (SOFT, "12 passed in 0.1s", 0, "passed"),
        (SOFT, "12 passed in 0.1s", 1, "passed"),
        (SOFT, "1 failed in 0.1s", 0, "failed"),
        (SOFT, "no tests ran in 0.1s", 0, "empty"),
        (HARD, "", None, "unknown"),
        (HARD, "12 passed in 0.1s", None, "passed"),
    ],
)
def test_exit_code_and_output_are_judged_together(
    check: CheckedLine, output: str, code: int | None, outcome: str
) -> None:
    assert judge_line(check, output, exit_code=code) == outcome


@pytest.mark.parametrize(("is_error", "outcome"), [(True, "failed"), (False, "passed"), (None, "unknown")])
def test_without_an_exit_code_the_word_of_the_host_counts(is_error: bool | None, outcome: str) -> None:
    assert judge_line(HARD, "", is_error=is_error) == outcome


NEVER_DONE = [
    ("bash: pytest: command not found", "empty"),
    # 8.1: a check that could not start says nothing.
    ("sh: 1: pytest: not found", "empty"),
    ("/usr/bin/python: No module named pytest", "empty"),
    ("'pytest' is not recognized as an internal or external command", "empty"),
    ("Segmentation fault (core dumped)", "failed"),
    ("Killed", "failed"),
    ("ImportError while loading conftest '/x/conftest.py'.", "failed"),
    ("Command timed out after 120s", "failed"),
    ("The tool use was rejected", "empty"),
    ("The user doesn't want to proceed with this tool use.", "empty"),
    ("User denied permission to run the command", "empty"),
    ("Claude requested permissions to use Bash, but you haven't granted it yet.", "empty"),
    ("Permission to use Bash with command pytest has been denied.", "empty"),
    ("PreToolUse:Bash hook error: [guard.py]: not today", "empty"),
    ("exec command rejected by user approval settings", "empty"),
    ("rejected by user approval settings", "empty"),
    ("exec_command failed: rejected by user approval settings", "empty"),
    ("failed in sandbox: denied", "empty"),
]


@pytest.mark.parametrize(("output", "outcome"), NEVER_DONE)
@pytest.mark.parametrize("is_error", [None, False])
def test_a_check_that_did_not_come_to_its_end_is_no_success_whatever_the_host_says(
    output: str, outcome: str, is_error: bool | None
) -> None:
    assert judge_line(HARD, output, is_error=is_error) == outcome


GO_FAILED = "--- FAIL: TestX (0.00s)\nFAIL\tx\t0.1s\nFAIL"
MYPY_FAILED = "src/a.py:1: error: x\nFound 1 error in 1 file (checked 3 source files)"
ESLINT_FAILED = "/p/a.ts\n  1:1  error  x  no-y\n\n✖ 1 problem (1 error, 0 warnings)"
NPM_SCRIPTS = "> x@1 lint\n> eslint .\n\n> x@1 build\n> tsc\n\n> x@1 test\n> jest\n\nTests:       1 failed, 3 total"

SEVERAL = [
    ("go vet ./... && go test ./...", GO_FAILED, "passed failed"),
    ("go vet ./... && go test ./...", "# x\nvet: ./a.go:3:5: undefined: y", "failed empty"),
    ("cargo fmt --check && cargo clippy && cargo test", "test result: FAILED. 1 failed", "passed passed failed"),
    ("cargo clippy && cargo test", "error: could not compile `x` (lib)", "failed empty"),
    ("dotnet build && dotnet test", "Build succeeded.\nFailed!  - Failed:     1, Passed:     3", "passed failed"),
    ("npm run lint && npm run build && npm test", NPM_SCRIPTS, "passed passed failed"),
    ("black --check . && ruff check .", "5 files would be left unchanged.\nF401 x\nFound 1 error.", "passed failed"),
    ("black --check . && ruff check .", "would reformat a.py\nOh no!\n1 file would be reformatted.", "failed empty"),
    ("ruff check . && ruff format --check .", "All checks passed!\nWould reformat: a.py", "passed failed"),
    ("ruff check . && mypy src", f"All checks passed!\n{MYPY_FAILED}", "passed failed"),
    ("ruff check . && mypy src && pytest", MYPY_FAILED, "passed failed empty"),
    ("ruff check .; mypy src", f"All checks passed!\n{MYPY_FAILED}", "passed failed"),
    ("npx tsc --noEmit && npx eslint .", ESLINT_FAILED, "passed failed"),
    ("npx eslint . && npx tsc --noEmit", "src/a.ts(1,2): error TS2322: x\nFound 1 error.", "passed failed"),
    ("pytest tests/a; pytest tests/b", "3 passed in 0.1s\n1 failed in 0.1s", "passed failed"),
    ("pytest tests/a && pytest tests/b", "3 passed in 0.1s\n1 failed in 0.1s", "passed failed"),
    ("pytest -q && npm run build", "3 passed in 0.1s\n> build\n> vite build\nerror during build: x", "passed failed"),
    ("pytest -q && npm test", "3 passed in 0.1s\n> jest\nTests: 1 failed, 3 total", "passed failed"),
    ("pytest -q && python -c 'assert 0'", "3 passed in 0.1s\nAssertionError", "passed failed"),
    ("ruff check . && pytest --cov", "All checks passed!\nFAIL Required test coverage of 90%", "passed failed"),
    ("ruff check . && pytest", "", "unknown failed"),
    ("ruff check . && pytest", "no tests ran in 0.1s", "passed empty"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "output", "outcomes"), SEVERAL)
def test_of_several_checks_in_a_failed_line_each_has_its_own_outcome(command: str, output: str, outcomes: str) -> None:
    assert [end.outcome for end in judge_ends(checked(command), output, exit_code=1)] == outcomes.split()
    assert [end.outcome for end in judge_ends(checked(command), output, is_error=True)] == outcomes.split()


def test_of_two_runs_of_one_program_each_has_the_summary_that_it_printed() -> None:
    line = checked("pytest tests/a; pytest tests/b")
    both = judge_ends(line, "1 failed in 0.1s\n3 passed in 0.1s", exit_code=0)
    assert [end.outcome for end in both] == ["failed", "passed"]
    one = judge_ends(line, "1 failed in 0.1s\n", exit_code=0)
    assert [end.outcome for end in one] == ["failed", "failed"]


@pytest.mark.parametrize(
    ("command", "output", "code"),
    [
        ("cd backendd && pytest", "bash: line 1: cd: backendd: No such file or directory", 1),
        ("cd backendd && pytest", "cd: backendd: No such file or directory", 1),
        ("cd backendd && pytest", "sh: 1: cd: can't cd to backendd", 2),
        ("pytest tests/typo.py", "no tests ran in 0.01s\nERROR: file or directory not found: tests/typo.py", 1),
        ("pytest tests/typo.py", "ERROR: file or directory not found: tests/typo.py", 4),
        ("pytest a.py::test_typo", "ERROR: not found: /p/a.py::test_typo", 4),
        ("pytest --typo", "ERROR: usage: pytest\npytest: error: unrecognized arguments: --typo", 4),
    ],
)
def test_a_check_that_found_nothing_to_run_is_empty(command: str, output: str, code: int) -> None:
    assert judge_line(checked(command), output, exit_code=code) == "empty"


def test_a_check_that_was_not_let_run_has_not_failed() -> None:
    assert judge_line(HARD, "The tool use was rejected", is_error=True) == "empty"
    assert judge_line(HARD, "The tool use was rejected\n" + "x" * 2000, is_error=True) == "failed"


def test_an_exit_code_goes_before_what_an_output_speaks_of() -> None:
    assert judge_line(HARD, "log: sh: x: command not found", exit_code=0) == "passed"
    assert judge_line(HARD, "Exit code 0", exit_code=0, is_error=True) == "failed"


def test_a_check_that_speaks_by_its_output_alone_fails_when_it_says_something() -> None:
    silent = checked("gofmt -l .")
    assert (judge_line(silent, "", exit_code=0), judge_line(silent, "a.go\n", exit_code=0)) == (
        "passed",
        "failed",
    )


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pytest a -q | tail -1; pytest b -q | tail -1", "1 failed, 2 passed in 0.10s\n3 passed in 0.10s\n"),
        ("python -m unittest a; python -m unittest b", "FAILED (failures=1)\nRan 1 test in 0.0s\n\nOK\n"),
        ("rspec a; rspec b", "3 examples, 1 failure\n2 examples, 0 failures\n"),
        ("make test || true", "1 failed in 0.1s\n3 passed in 0.1s\n"),
        ("make test || true", "12/13 tests passed\n"),
        ("ruff check . ; ./run_tests.sh | tail", "All checks passed!\n12 passed, 1 failed\n"),
    ],
)
def test_of_several_runs_in_one_line_each_summary_counts(command: str, output: str) -> None:
    assert judge_line(checked(command), output, exit_code=0) == "failed"


@pytest.mark.parametrize(
    "noise", ["FAIL\ta\t0.1s", "--- FAIL: TestX (0.00s)", "Found 3 errors in 2 files", "error: could not compile `x`"]
)
def test_what_another_framework_would_say_is_noise(noise: str) -> None:
    output = f"{noise}\n12 passed in 1.0s"
    assert judge_line(checked("pytest -s"), output, exit_code=0) == "passed"
    assert judge_line(checked("pytest -s | tail"), output, exit_code=0) == "passed"
    assert judge_line(checked("make test"), noise, exit_code=0) == "failed"  # any framework may have run


def test_a_success_with_an_exit_code_of_its_own_outweighs_what_only_looks_like_a_failure() -> None:
    assert judge_line(checked("go test ./..."), "panic: handled\nok  \ta\t0.1s", exit_code=0) == "passed"
    assert judge_line(checked("go test ./... | cat"), "panic: handled\nok  \ta\t0.1s", exit_code=0) == "passed"
    assert judge_line(checked("go test ./... | cat"), "panic: handled\n", exit_code=0) == "failed"


def test_a_lint_that_repaired_all_has_passed_and_one_that_hides_its_exit_code_has_not() -> None:
    assert judge_line(checked("ruff check --fix ."), "Found 3 errors (3 fixed, 0 remaining).", exit_code=0) == "passed"
    assert judge_line(checked("ruff check --fix ."), "Found 3 errors (1 fixed, 2 remaining).", exit_code=0) == "failed"
    assert judge_line(checked("ruff check --exit-zero"), "Found 3 errors.", exit_code=0) == "failed"


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        ("no offenses detected", "passed"),
        ("3 offenses detected, 3 offenses corrected", "passed"),
        ("1 offense detected, 1 offense corrected", "passed"),
        ("3 offenses detected, 2 offenses corrected", "failed"),
        ("13 offenses detected, 1 offense corrected, 3 more offenses can be corrected with `rubocop -A`", "failed"),
        ("3 offenses detected, 3 offenses autocorrectable", "failed"),
        ("1 offense detected", "failed"),
    ],
)
def test_offenses_that_were_all_corrected_are_none(found: str, outcome: str) -> None:
    output = f"Inspecting 12 files\n............\n\n12 files inspected, {found}\n"
    assert judge_line(checked("bundle exec rubocop -a"), output, exit_code=0) == outcome
    assert judge_line(checked("rubocop -a | tail -1"), output, exit_code=0) == outcome


@pytest.mark.parametrize(("output", "outcome"), [("12/13 tests passed", "failed"), ("13 of 13 passed", "passed")])
def test_a_part_of_all_is_a_failure(output: str, outcome: str) -> None:
    assert read_any_summary(output) == outcome


def test_only_the_end_of_an_output_is_read() -> None:
    assert read_any_summary("1 failed in 0.1s\n" + "x" * WINDOW) is None
    assert read_any_summary("x" * 10 * WINDOW + "\n1 failed in 0.1s") == "failed"


@pytest.mark.parametrize(
    ("command", "output", "outcome"),
    [
        ("make test", "make: 'test' is up to date.", "empty"),
        ("make test", "make: Nothing to be done for 'test'.", "empty"),
        ("make check", "make: Nothing to be done for `check'.", "empty"),
        ("make lint test", "make: Nothing to be done for 'lint'.\n3 passed in 0.1s", "passed"),
        ("make all test", "make: Nothing to be done for 'all'.\nall good", "unknown"),
        ("make check", "make[1]: Nothing to be done for 'check'.\nall good", "unknown"),
        ("make", "make: 'all' is up to date.", "passed"),
        ("task test", 'task: Task "test" is up to date', "empty"),
    ],
)
def test_a_target_that_was_there_already_was_not_made(command: str, output: str, outcome: str) -> None:
    assert judge_line(checked(command), output, exit_code=0) == outcome


def test_a_failure_that_make_went_on_from_is_no_success() -> None:
    ignored = "gcc a.c\nmake: [Makefile:3: test] Error 1 (ignored)"
    assert judge_line(checked("make -i test"), ignored, exit_code=0) == "failed"
    assert judge_line(checked("make test"), ignored, exit_code=0) == "unknown"
    assert judge_line(checked("make test"), f"{ignored}\n3 passed in 0.1s", exit_code=0) == "passed"
    assert judge_line(checked("make clean test"), ignored.replace("test]", "clean]"), exit_code=0) == "unknown"
    assert judge_line(checked("flake8 --exit-zero"), "a.py:1:1: F401 'os' imported but unused", exit_code=0) == "failed"
    assert judge_line(checked("pylint --exit-zero a"), "a.py:1:0: E0401: Unable to import", exit_code=0) == "failed"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("curl --fail http://x", "curl: (7) Failed to connect to x port 80: Connection refused"),
        ("tsc", "error TS5083: Cannot read file '/x/tsconfig.json'."),
        ("eslint .", "Oops! Something went wrong! :("),
        ("ruff check", "ruff failed\n  Cause: Failed to parse /x/pyproject.toml"),
        ("gradle test", "FAILURE: Build failed with an exception."),
    ],
)
@pytest.mark.parametrize("is_error", [None, False])
def test_a_check_that_says_why_it_could_not_run_has_failed(command: str, output: str, is_error: bool | None) -> None:
    assert judge_line(checked(command), output, is_error=is_error) == "failed"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("npm test", 'npm error Missing script: "test"'),
        # Without a project nothing is tested, so by 8.1 nothing failed.
        ("cargo test", "error: could not find `Cargo.toml` in `/x` or any parent directory"),
        ("mvn test", "[ERROR] The goal you specified requires a project to execute but there is no POM"),
        ("gradle test", "FAILURE: Build failed with an exception.\nDirectory '/x' does not contain a Gradle build."),
        ("docker build .", "ERROR: Cannot connect to the Docker daemon at unix:///var/run/docker.sock."),
        ("pnpm test", " ERR_PNPM_NO_SCRIPT  Missing script: test"),
        ("yarn test", 'error Command "test" not found.'),
        ("go test ./...", "go: go.mod file not found in current directory or any parent directory"),
        ("pytest", "ERROR: usage: pytest [options]\npytest: error: unrecognized arguments: --foo"),
        ("pytest tests/no.py", "ERROR: file or directory not found: tests/no.py"),
        ("./run_tests.sh", "usage: run_tests.sh [-h]\nrun_tests.sh: error: unrecognized arguments: --foo"),
        ("mypy", "usage: mypy [-h]\nmypy: error: Missing target module, package, files, or command."),
        ("make test", "make: *** No rule to make target 'test'.  Stop."),
        ("python tests/run.py", "python: can't open file '/p/tests/run.py': [Errno 2] No such file or directory"),
    ],
)
@pytest.mark.parametrize("is_error", [None, False, True])
def test_a_check_that_could_not_start_is_empty(command: str, output: str, is_error: bool | None) -> None:
    assert judge_line(checked(command), output, is_error=is_error) == "empty"


@pytest.mark.parametrize(
    ("command", "code", "output"),
    [
        (
            "pytest",
            4,
            "ImportError while loading conftest '/p/conftest.py'.\nE   ModuleNotFoundError: No module named 'app'",
        ),
        ("pytest", 2, "_ ERROR collecting tests/test_a.py _\nE   SyntaxError: invalid syntax\n1 error in 0.1s"),
        (
            "python -m unittest",
            1,
            "ImportError: Failed to import test module: test_a\nRan 1 test in 0.0s\n\nFAILED (errors=1)",
        ),
        ("python tests/run.py", 1, "Traceback (most recent call last):\nModuleNotFoundError: No module named 'app'"),
        ("make build", 2, "make: *** No rule to make target 'a.c', needed by 'a.o'.  Stop."),
        ("make test", 2, "cc -c a.c\nsh: 1: ld: not found\nmake: *** [Makefile:2: test] Error 127"),
    ],
)
def test_code_of_the_project_that_cannot_be_loaded_is_a_failure_whatever_the_code(
    command: str, code: int, output: str
) -> None:
    assert judge_line(checked(command), output, exit_code=code) == "failed"


@pytest.mark.parametrize(
    ("command", "output", "outcome"),
    [
        ("make test; echo EXIT=$?", "boom\nEXIT=1", "failed"),
        ("make test; echo EXIT=$?", "fine\nEXIT=0", "unknown"),
        ('npx tsc --noEmit; echo "exit $?"', "exit 0", "passed"),
        ("npx tsc --noEmit\necho $?", "2", "failed"),
        ('npx tsc --noEmit; echo "tsc exit $?"', "tsc exit 0", "passed"),
        ("npx tsc --noEmit; echo TSC_EXIT=$?", "TSC_EXIT=2", "failed"),
        ('npm run lint; echo "npm run lint exit: $?"', "> eslint .\nnpm run lint exit: 0", "passed"),
        ('npx tsc --noEmit; echo "hunter2 exit $?"', "hunter2 exit 0", "passed"),
        ("make test 2>&1 | tail -5; echo ${PIPESTATUS[0]}", "boom\n2", "failed"),
        ('set -o pipefail; make test | tail -5; echo "exit code: $?"', "boom\nexit code: 2", "failed"),
        ("make test; echo EXIT=$?", "EXIT=0\nboom\nEXIT=1", "failed"),
        ("pytest -q; echo EXIT=$?", "fine\nEXIT=0", "passed"),
        ("make test; echo EXIT=$?", "12 passed, 1 failed\nEXIT=0", "failed"),
        # not the code of the check
        ("make test | tail -5; echo EXIT=$?", "boom\nEXIT=0", "unknown"),
        ("ls | xargs make test; echo ${PIPESTATUS[0]}", "0", "unknown"),
        ("make test; ls; echo EXIT=$?", "EXIT=0", "unknown"),
        ("make test; echo EXIT=0", "EXIT=0", "unknown"),
        ("make -i test; echo EXIT=$?", "EXIT=0", "unknown"),
        ("make test & echo EXIT=$?", "EXIT=0", "unknown"),
        ("make test; echo EXIT=$?", "the end of it was cut", "unknown"),
    ],
)
def test_an_exit_code_that_the_line_prints_itself_is_read(command: str, output: str, outcome: str) -> None:
    assert judge_line(checked(command), output, exit_code=0) == outcome
    assert judge_line(checked(command), output, is_error=False) == outcome


def test_a_check_within_a_substitution_is_judged_by_what_it_printed() -> None:
    check = checked('OUT=$(pytest -q); echo "$OUT"')
    assert judge_line(check, "1 failed, 2 passed in 0.1s", exit_code=0) == "failed"
    assert judge_line(check, "3 passed in 0.1s", exit_code=0) == "passed"
    assert judge_line(check, "", exit_code=0) == "unknown"
