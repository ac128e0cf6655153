"""The summary lines of test frameworks, compilers and linters, as patterns from the beginning of a line."""

from __future__ import annotations

from typing import Final, NamedTuple


class Framework(NamedTuple):
    """Lines that say how a run went. `signs`: an output without any of them is none of this framework's.

    `programs` are those that speak so; where one of them is known to have run, no other lines are looked for.
    `built` says that something was built, which is no success of tests that did not run.
    Where a run ends with one summary the last line counts; with `every`, each: a run has one for each of its parts.
    `in_lines`: each of them is a line with one of the signs in it.
    """

    programs: str
    signs: tuple[str, ...]
    failed: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    built: tuple[str, ...] = ()
    every: bool = True
    in_lines: bool = False


_SOME: Final = r"[1-9]\d*"
_PYTEST_END: Final = r"[^\n]* in [\d.:]+m?s"
_NO_FAILURE: Final = r"(?:\d+ (?!failed|error)\w+, )*"

FRAMEWORKS: Final = (
    # pytest
    Framework(
        "pytest py.test pytest-3",
        (" in ",),
        failed=(rf"=* ?(?:\d+ \w+, )*{_SOME} (?:failed|errors?)\b{_PYTEST_END}",),
        passed=(rf"=* ?{_NO_FAILURE}{_SOME} (?:x?passed|xfailed)\b(?![^\n]* (?:failed|errors?)\b){_PYTEST_END}",),
        empty=(
            rf"=* ?no tests (?:ran|collected){_PYTEST_END}",
            r"=* ?(?:\d+ (?:skipped|deselected|warnings?),? ?)+ in [\d.:]+m?s",
        ),
        every=False,
        in_lines=True,
    ),
    # pytest whose last line is missing: `--tb=no -q`, an output that was cut
    Framework(
        "pytest py.test pytest-3",
        ("FAILED ", "ERROR ", "no tests ran", "collected 0 items", "INTERNALERROR>", "Interrupted:"),
        failed=(r"FAILED \S+::", r"ERROR \S+\.py", "INTERNALERROR>", "!+ Interrupted:"),
        empty=("=* ?no tests ran", r"collected 0 items\b"),
        in_lines=True,
    ),
    # unittest, Django
    Framework(
        "unittest manage.py trial nose2 nosetests",
        ("Ran ",),
        failed=(r"FAILED \((?:failures|errors|unexpected)", r"FAILED$"),
        passed=(rf"Ran {_SOME} tests?[^\n]*\s+OK\b",),
        empty=(r"Ran 0 tests\b", "NO TESTS RAN"),
        every=False,
    ),
    # Cargo, nextest, rustc
    Framework(
        "cargo rustc",
        ("test result:", "Summary [", "error[E", "error: ", "Finished "),
        failed=(
            "test result: FAILED",
            rf" *Summary \[[^\n]*{_SOME} failed",
            r"error\[E\d+\]:",
            "error: could not compile",
            "error: aborting due to",
            r"error: test failed",
        ),
        passed=(rf"test result: ok\. {_SOME} passed", rf" *Summary \[[^\n]*{_SOME} passed"),
        empty=(r"test result: ok\. 0 passed",),
        built=(r" *Finished [`\w]",),
    ),
    # Go
    Framework(
        "go gotestsum ginkgo",
        ("FAIL", "ok  ", "[no test", "panic:", ".go:"),
        failed=(r"(?:--- )?FAIL(?:[:\t][^\n]*)?$", "panic: ", r"\S+\.go:\d+:\d+: \S"),
        passed=(r"ok +\t(?![^\n]*\[no tests to run\])",),
        empty=(r"\? +\t[^\n]*\[no test files\]", r"ok +\t[^\n]*\[no tests to run\]"),
    ),
    # Jest
    Framework(
        "jest react-scripts",
        ("Tests:", "Test Suites:", "No tests found"),
        failed=(rf"(?:Tests|Test Suites): +[^\n]*?{_SOME} failed",),
        passed=(rf"Tests: +(?![^\n]*failed)[^\n]*?{_SOME} passed",),
        empty=(r"Tests: +(?:\d+ (?:skipped|todo), )*\d+ (?:of \d+ )?total", "No tests found"),
    ),
    # Vitest
    Framework(
        "vitest",
        ("Test Files", "Tests  ", "No test files found"),
        failed=(rf" *(?:Test Files|Tests|Type Errors|Errors) {{2,}}[^\n]*?{_SOME} (?:failed|errors?)\b",),
        passed=(rf" *Tests {{2,}}(?![^\n]*failed)[^\n]*?{_SOME} passed",),
        empty=(r" *Tests {2,}no tests", "No test files found"),
    ),
    # Mocha, Cypress, Playwright, AVA, TAP, `node --test`
    Framework(
        "mocha cypress playwright ava tap tape node",
        ("passing", "failing", " passed", " failed", "# fail", "# pass", "# tests", "ℹ ", "not ok ", "No tests found"),
        failed=(
            rf" *{_SOME} failing\b",
            rf" *{_SOME} (?:tests? )?failed(?: \([\d.hms]+\))?$",
            rf"[#ℹ] fail {_SOME}",
            r"not ok \d+(?![^\n]*# (?:TODO|SKIP|todo|skip))",
        ),
        passed=(rf" *{_SOME} passing\b", rf" *{_SOME} (?:tests? )?passed(?: \([\d.hms]+\))?$", rf"[#ℹ] pass {_SOME}"),
        empty=(r" *0 passing\b", r"[#ℹ] tests 0$", "Error: No tests found"),
    ),
    # Bun, Deno
    Framework(
        "bun deno",
        (" pass\n", " fail\n", " passed |", "No test"),
        failed=(rf" *{_SOME} fail$", r"FAILED \|"),
        passed=(rf" *{_SOME} pass$", rf"ok \| {_SOME} passed"),
        empty=(r"ok \| 0 passed", "error: No test modules found", "No tests found!"),
    ),
    # Maven, Gradle, sbt
    Framework(
        "mvn mvnw mvnd gradle gradlew sbt",
        ("BUILD ", "Tests run:", "[error]", "[success]"),
        failed=(
            r"(?:\[\w+\] +)?BUILD FAIL(?:URE|ED)",
            rf"(?:\[\w+\] +)?Tests run: \d+, +Failures: (?:{_SOME}|0, +Errors: {_SOME})",
            r"\[error\] \(",
        ),
        passed=(rf"(?:\[\w+\] +)?Tests run: {_SOME}, +Failures: 0, +Errors: 0", r"\[info\] Passed: Total [1-9]"),
        empty=(r"(?:\[\w+\] +)?Tests run: 0,", r"(?:\[\w+\] +)?No tests to run", r"> Task \S*[tT]est NO-SOURCE"),
        built=(r"(?:\[\w+\] +)?BUILD SUCCESS", r"\[success\] Total"),
    ),
    # .NET
    Framework(
        "dotnet msbuild vstest.console",
        ("Failed!", "Passed!", "Build succeeded", "Build FAILED", "Test Run ", "No test is available"),
        failed=(r"\s*Failed! ", r"\s*Build FAILED", r"\s*Test Run (?:Failed|Aborted)"),
        passed=(r"\s*Passed! ", r"\s*Test Run Successful"),
        empty=("No test is available",),
        built=(r"\s*Build succeeded",),
    ),
    # RSpec, minitest, ExUnit
    Framework(
        "rspec minitest mix rails rake",
        (" failure", " examples, ", " runs, ", " tests, "),
        failed=(rf"\d+ (?:examples?|tests?|runs|doctests?|properties),[^\n]*?{_SOME} (?:failures?|errors?)\b",),
        passed=(
            rf"{_SOME} (?:examples?|tests?|runs|doctests?|properties), (?![^\n]*{_SOME} (?:failure|error))",
        ),
        empty=(r"0 (?:examples|tests|runs),",),
        every=False,
    ),
    # PHPUnit, Pest
    Framework(
        "phpunit pest paratest artisan",
        ("Tests:", "OK (", "FAILURES!", "ERRORS!", "No tests executed"),
        failed=(
            "FAILURES!",
            "ERRORS!",
            rf" *Tests: +[^\n]*?{_SOME} failed",
            rf"Tests: \d+,[^\n]*(?:Failures|Errors): {_SOME}",
        ),
        passed=(rf"OK \({_SOME}", rf" *Tests: +{_SOME} passed"),
        empty=("No tests executed!",),
    ),
    # XCTest, Swift Testing, xcodebuild
    Framework(
        "swift xcodebuild",
        ("Executed ", "** TEST", "** BUILD", "Test run with"),
        failed=(r"\*\* (?:TEST|BUILD) FAILED", rf"\s*Executed \d+ tests?, with {_SOME} failure", "✘ Test run with"),
        passed=(
            r"\*\* TEST SUCCEEDED",
            rf"\s*Executed {_SOME} tests?, with 0 fail",
            rf"[✔✓] Test run with {_SOME}",
        ),
        empty=(r"\s*Executed 0 tests",),
        built=(r"\*\* BUILD SUCCEEDED",),
        every=False,
    ),
    # CTest, Meson, Bazel, GoogleTest
    Framework(
        "ctest meson bazel bazelisk",
        ("tests passed", "No tests were found", "Fail:", "[  FAILED  ]", "[  PASSED  ]", "out of "),
        failed=(
            rf"\d+% tests passed, {_SOME} tests? failed",
            rf"Fail: +{_SOME}",
            r"\[  FAILED  \]",
            r"Executed \d+ out of [^\n]*\bfails?\b",
        ),
        passed=(
            "100% tests passed",
            rf"Ok: +{_SOME}",
            rf"\[  PASSED  \] {_SOME}",
            r"Executed \d+ out of \d+ tests?: \d+ tests? pass",
        ),
        empty=(r"No tests were found", r"\[  PASSED  \] 0 tests"),
    ),
    # mypy, Ruff, Pyright, tsc, ESLint, Biome, Black, Prettier, RuboCop, Pylint
    Framework(
        "mypy ruff pyright basedpyright tsc vue-tsc eslint biome black prettier rubocop pylint svelte-check",
        ("error", "problem", "issues", "All checks passed", "All matched", "ould ", "offenses", "Oh no!"),
        failed=(
            rf"Found {_SOME} (?:errors?|diagnostics|problems|issues)\b(?![^\n]*\b0 remaining)",
            rf"\s*{_SOME} errors?, \d+ warnings?",
            r"\s*✖ \d+ problems? \((?!0 errors)",
            r"\S[^\n]{0,400}error TS\d+:",
            rf"{_SOME} files? would be reformatted",
            "Would reformat:",
            "Oh no!",
            r"\[warn\] Code style issues",
            rf"\d+ files? inspected, {_SOME} offenses?",
            rf"svelte-check found {_SOME} errors?",
        ),
        passed=(
            "All checks passed!",
            "Success: no issues found",
            r"\s*0 errors, \d+ warnings?",
            "Found 0 errors",
            rf"Found {_SOME} errors? \([^\n]*\b0 remaining\)",
            "All matched files use Prettier",
            r"\d+ files? inspected, no offenses",
            "svelte-check found 0 errors",
        ),
    ),
    # pre-commit, make, npm, tox, Docker
    Framework(
        "pre-commit prek",
        ("...", ": ***", "npm ", "ELIFECYCLE", "evaluation failed", "congratulations", ": FAIL ", "ERROR:"),
        failed=(
            r"[^\n.]{1,200}\.{3,}(?:\([^)\n]*\))?Failed$",
            r"g?make(?:\[\d+\])?: \*\*\*",
            r"npm (?:ERR!|error) (?:Test failed|code |Lifecycle)",
            r" *ELIFECYCLE",
            r"\s*evaluation failed",
            r"\s*\w[\w.-]*: FAIL (?:code|✖)",
            "ERROR: failed to (?:build|solve)",
        ),
        passed=(r"[^\n.]{1,200}\.{3,}Passed$", r"\s*congratulations :\)"),
    ),
)  # fmt: skip
