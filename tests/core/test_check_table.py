"""Check commands of 2026: passed, failed and nothing ran, in the wrappers and the host shapes in which agents run them.

A row is a command, what it prints when it passes, when it fails, and when nothing ran, with the exit code of that.
An empty text is a program that says nothing; `None` is a program that is not installed.
"""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from punchlist.core.grounding.observe import end_facts, start_facts

Row = tuple[str, str, str, tuple[str, int] | None]

PYTEST = ("===== 5 passed in 0.12s =====", "FAILED tests/test_a.py::test_b - assert 1 == 2\n===== 1 failed, 4 passed in 0.12s =====", ("===== no tests ran in 0.01s =====", 5))  # fmt: skip
UNITTEST = ("Ran 5 tests in 0.003s\n\nOK", "FAIL: test_b (t.T)\nRan 5 tests in 0.003s\n\nFAILED (failures=1)", ("Ran 0 tests in 0.000s\n\nNO TESTS RAN", 5))  # fmt: skip
JEST = ("Tests:       5 passed, 5 total\nTime:        1 s", "FAIL src/a.test.ts\nTests:       1 failed, 4 passed, 5 total", ("No tests found, exiting with code 1", 1))  # fmt: skip
VITEST = (" Test Files  1 passed (1)\n      Tests  5 passed (5)", " Test Files  1 failed (1)\n      Tests  1 failed | 4 passed (5)", ("No test files found, exiting with code 1", 1))  # fmt: skip
GO = ("ok  \tx/y\t0.10s", "--- FAIL: TestB (0.00s)\nFAIL\nFAIL\tx/y\t0.10s\nFAIL", ("?   \tx/y\t[no test files]", 0))
CARGO = ("running 5 tests\ntest result: ok. 5 passed; 0 failed; 0 ignored", "test b ... FAILED\ntest result: FAILED. 4 passed; 1 failed\nerror: test failed, to rerun pass `--lib`", None)  # fmt: skip
MOCHA = ("  5 passing (20ms)", "  4 passing (20ms)\n  1 failing", ("  0 passing (1ms)", 0))
MAVEN = ("[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS", "[ERROR] Tests run: 5, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE", ("[INFO] No tests to run.\n[INFO] BUILD SUCCESS", 0))  # fmt: skip
GRADLE = ("BUILD SUCCESSFUL in 3s", "> Task :test FAILED\n5 tests completed, 1 failed\nBUILD FAILED in 3s", None)
RSPEC = ("5 examples, 0 failures", "5 examples, 1 failure\n\nFailed examples:\nrspec ./spec/a_spec.rb:3", ("0 examples, 0 failures", 0))  # fmt: skip
PHPUNIT = ("OK (5 tests, 9 assertions)", "FAILURES!\nTests: 5, Assertions: 9, Failures: 1.", ("No tests executed!", 1))
PEST = ("  Tests:    5 passed (9 assertions)", "  Tests:    1 failed, 4 passed (9 assertions)", ("  INFO  No tests found.", 1))  # fmt: skip
DOTNET = ("Passed!  - Failed:     0, Passed:     5, Skipped:     0, Total:     5", "Failed!  - Failed:     1, Passed:     4, Skipped:     0, Total:     5", ("No test is available in /x.dll.", 0))  # fmt: skip
NODE = ("ℹ tests 5\nℹ pass 5\nℹ fail 0", "ℹ tests 5\nℹ pass 4\nℹ fail 1", ("ℹ tests 0\nℹ pass 0\nℹ fail 0", 0))
RUFF = ("All checks passed!", "src/a.py:1:1: F401 unused\nFound 1 error.", ("warning: No Python files found under the given path(s)\nAll checks passed!", 0))  # fmt: skip
MYPY = ("Success: no issues found in 5 source files", "src/a.py:1: error: bad  [x]\nFound 1 error in 1 file (checked 5 source files)", ("There are no .py[i] files in directory '.'", 2))  # fmt: skip
PYRIGHT = ("0 errors, 0 warnings, 0 informations", "src/a.py:1:1 - error: bad\n1 error, 0 warnings, 0 informations", ("No source files found.\n0 errors, 0 warnings, 0 informations", 0))  # fmt: skip
TSC = ("", "src/a.ts(1,1): error TS2322: Type 'x' is not assignable.", None)
ESLINT = ("", "/p/a.ts\n  1:1  error  bad  no-x\n\n✖ 1 problem (1 error, 0 warnings)", None)
CARGO_BUILD = ("    Finished `dev` profile in 0.10s", "error[E0308]: mismatched types\nerror: could not compile `x`", None)
CLANG = ("", "a.c:1:1: error: unknown type name 'foo'\n1 error generated.", None)
SILENT_GO = ("", "# x/y\n./a.go:3:2: undefined: z", None)
BUNTEST = (" 5 pass\n 0 fail\nRan 5 tests across 1 file.", " 4 pass\n 1 fail\nRan 5 tests across 1 file.", ("error: 0 test files matching pattern\n0 tests", 1))  # fmt: skip
PLAYWRIGHT = ("  5 passed (3.2s)", "  1 failed\n  4 passed (3.2s)", ("Error: No tests found", 1))
CTEST = ("100% tests passed, 0 tests failed out of 5", "80% tests passed, 1 tests failed out of 5", ("No tests were found!!!", 0))  # fmt: skip

ROWS: list[Row] = [
    *((command, *PYTEST) for command in (
        "pytest", "pytest -q", "python -m pytest", "python3 -m pytest tests", "uv run pytest", "poetry run pytest -x",
        "hatch run pytest", "pdm run pytest", "pipenv run pytest", "rye run pytest", "uvx pytest", "pytest -n auto",
        "pytest tests/test_a.py", "pytest tests/test_a.py::test_b", "coverage run -m pytest", "pixi run pytest")),
    *((command, *UNITTEST) for command in (
        "python -m unittest", "python -m unittest discover -s tests", "python manage.py test", "python3 manage.py test app",
        "python tests/runtests.py")),
    *((command, *JEST) for command in ("npx jest", "jest --ci", "yarn jest", "pnpm exec jest", "npx react-scripts test --ci")),
    *((command, *VITEST) for command in ("npx vitest run", "vitest run", "pnpm vitest run", "bunx vitest run")),
    *((command, *GO) for command in ("go test ./...", "go test -race ./...", "go test ./pkg/a", "gotestsum ./...")),
    *((command, *CARGO) for command in ("cargo test", "cargo test --workspace", "cargo test -p core", "cargo t")),
    *((command, *MOCHA) for command in ("npx mocha", "mocha test", "yarn mocha")),
    *((command, *MAVEN) for command in ("mvn test", "mvn -q verify", "./mvnw test")),
    *((command, *GRADLE) for command in ("./gradlew build", "gradle build", "gradle assemble")),
    *((command, *RSPEC) for command in ("bundle exec rspec", "rspec spec", "bin/rspec")),
    *((command, *PHPUNIT) for command in ("vendor/bin/phpunit", "phpunit --testdox")),
    *((command, *PEST) for command in ("vendor/bin/pest", "php artisan test")),
    *((command, *DOTNET) for command in ("dotnet test", "dotnet test --no-build")),
    *((command, *NODE) for command in ("node --test", "node --test test/")),
    *((command, *RUFF) for command in ("ruff check .", "uv run ruff check src", "uvx ruff check")),
    *((command, *MYPY) for command in ("mypy .", "mypy src", "uv run mypy src", "poetry run mypy --strict .")),
    *((command, *PYRIGHT) for command in ("pyright", "npx pyright", "basedpyright src")),
    *((command, *TSC) for command in ("tsc --noEmit", "npx tsc -p .", "npx vue-tsc --noEmit")),
    *((command, *ESLINT) for command in ("eslint .", "npx eslint src", "pnpm exec eslint .")),
    *((command, *CARGO_BUILD) for command in ("cargo build", "cargo check", "cargo clippy -- -D warnings", "cargo b --release")),
    *((command, *CLANG) for command in ("gcc -c a.c", "clang -Wall a.c -o a", "g++ -c a.cpp")),
    *((command, *SILENT_GO) for command in ("go build ./...", "go vet ./...")),
    *((command, *BUNTEST) for command in ("bun test", "bun test src")),
    *((command, *PLAYWRIGHT) for command in ("npx playwright test", "playwright test --project=chromium")),
    *((command, *CTEST) for command in ("ctest", "ctest --test-dir build")),
    ("deno test", "ok | 5 passed | 0 failed (10ms)", "FAILED | 4 passed | 1 failed (10ms)", ("error: No test modules found", 1)),
    ("mix test", "5 tests, 0 failures", "5 tests, 1 failure", ("There are no tests to run", 0)),
    ("swift test", "Executed 5 tests, with 0 failures (0 unexpected)", "Executed 5 tests, with 1 failure (0 unexpected)", ("Executed 0 tests, with 0 failures (0 unexpected)", 0)),
    ("cargo nextest run", "     Summary [   0.1s] 5 tests run: 5 passed, 0 skipped", "     Summary [   0.1s] 5 tests run: 4 passed, 1 failed, 0 skipped\nerror: test run failed", ("     Summary [   0.0s] 0 tests run: 0 passed, 0 skipped\nerror: no tests to run", 4)),
    ("turbo run test", " Tasks:    2 successful, 2 total", " Tasks:    1 successful, 2 total\n Failed:    web#test", (" Tasks:    0 successful, 0 total", 0)),
    ("nx run-many -t test", "NX   Successfully ran target test for 2 projects", "NX   Ran target test for 2 projects\n\n✖ 1/2 failed\nFailed tasks:\n- web:test", ("NX   No tasks were run", 0)),
    ("dbt test", "Done. PASS=5 WARN=0 ERROR=0 SKIP=0 TOTAL=5", "Done. PASS=4 WARN=0 ERROR=1 SKIP=0 TOTAL=5", ("Nothing to do. Try checking your model configs", 0)),
    ("black --check .", "All done! ✨\n5 files would be left unchanged.", "would reformat src/a.py\nOh no! 💥\n1 file would be reformatted.", ("No Python files are present to be formatted. Nothing to do", 0)),
    ("prettier --check .", "All matched files use Prettier code style!", "[warn] src/a.ts\n[warn] Code style issues found in the above file.", None),
    ("ruff format --check", "5 files already formatted", "Would reformat: src/a.py\n1 file would be reformatted", ("warning: No Python files found under the given path(s)", 0)),
    ("flake8 src", "", "src/a.py:1:1: F401 unused", None),
    ("pylint src", "Your code has been rated at 10.00/10", "src/a.py:1:0: C0114: Missing docstring\nYour code has been rated at 9.00/10", None),
    ("golangci-lint run", "0 issues.", "a.go:1:1: bad (x)\n1 issues:\n* x: 1", None),
    ("rubocop", "5 files inspected, no offenses detected", "5 files inspected, 1 offense detected", None),
    ("biome check .", "Checked 5 files in 3ms. No fixes applied.", "Checked 5 files in 3ms. No fixes applied.\nFound 1 error.", ("Checked 0 files in 1ms. No fixes applied.", 1)),
    ("ty check", "All checks passed!", "error[x]: bad\nFound 1 diagnostic", None),
    ("pyrefly check", "INFO 0 errors", "ERROR bad\nINFO 1 error", None),
    ("dart analyze", "No issues found!", "  error - lib/a.dart:1:1 - bad\n1 issue found.", None),
    ("flutter test", "00:01 +5: All tests passed!", "00:01 +4 -1: Some tests failed.", ("No tests ran.", 1)),
    ("pre-commit run -a", "ruff.....................................Passed", "ruff.....................................Failed\n- hook id: ruff", None),
    ("terraform validate", "Success! The configuration is valid.", "│ Error: Unsupported argument", None),
    ("shellcheck a.sh", "", "In a.sh line 1:\n^-- SC2148 (error): Tips", None),
]  # fmt: skip


class Wrapper(NamedTuple):
    """What stands around a command. `shown`: the exit code of the line, from that of the command."""

    line: str
    code: Callable[[int], int] = lambda code: code
    after: str = ""


WRAPPERS = [
    Wrapper("{}"),
    Wrapper("cd app && {}"),
    Wrapper("CI=1 {}"),
    Wrapper("timeout 600 {}"),
    Wrapper("{} 2>&1"),
    Wrapper("{} 2>&1 | tail -40", lambda _: 0),
    Wrapper("{} 2>&1 | tee out.log", lambda _: 0),
    Wrapper("bash -lc '{}'"),
    Wrapper("set -o pipefail; {} 2>&1 | tail -40"),
    Wrapper("time {}"),
    Wrapper("docker compose exec -T app {}"),
    Wrapper("{}; echo EXIT=$?", lambda _: 0, "EXIT={}"),
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


def judge_all(shape: Callable[[str, str, int], dict[str, Any]]) -> tuple[Counter[str], list[str]]:
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for row in ROWS:
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
    assert len({row[0] for row in ROWS}) >= 100
    assert len(WRAPPERS) >= 15


@pytest.mark.parametrize("shape", [claude_code, codex])
def test_of_all_forms_93_percent_are_right_and_none_is_called_passed_that_did_not_pass(
    shape: Callable[[str, str, int], dict[str, Any]],
) -> None:
    counts, wrong = judge_all(shape)
    assert counts["false passed"] == 0, [line for line in wrong if "read as passed" in line][:10]
    assert counts["right"] >= 0.93 * counts["all"], wrong[:20]
