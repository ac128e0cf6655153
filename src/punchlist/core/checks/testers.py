"""The summary lines of test frameworks."""

from __future__ import annotations

from typing import Final

from punchlist.core.checks.framework import SOME as _SOME
from punchlist.core.checks.framework import Framework

_COUNTS: Final = r"(?:\d+ [a-z]+(?: [a-z]+)?, )*"
_MORE: Final = r"(?:, \d+ [a-z]+(?: [a-z]+)?)*"
_SOUND: Final = r"(?:\d+ (?!failed|errors?\b)[a-z]+(?: [a-z]+)?, )*"
_TIME: Final = r" in [\d.:]+m?s(?: \([\d:]+\))?(?! ?\w)"
_PYTEST_MORE: Final = r"(?:, \d+ (?!failed|errors?\b)[a-z]+(?: [a-z]+)?)*"
_NEXTEST: Final = r" *Summary \[[^\]\n]{0,40}\] \S+ tests? run: "
_MAVEN: Final = r"(?:\[\w+\] +)?"
_SKIPPED: Final = r" \((?:[a-z ]+=\d+, )*(?:skipped|skips)="
_EXAMPLES: Final = r"(?:examples?|tests?|runs|doctests?|properties)"

TESTERS: Final = (
    # pytest
    Framework(
        "pytest py.test pytest-3",
        (" in ",),
        failed=(rf"=* ?{_COUNTS}{_SOME} (?:failed|errors?){_MORE}{_TIME}",),
        passed=(rf"=* ?{_SOUND}{_SOME} (?:x?passed|xfailed){_PYTEST_MORE}{_TIME}",),
        empty=(
            rf"=* ?no tests (?:ran|collected){_TIME}",
            rf"=* ?(?:\d+ (?:skipped|deselected|warnings?)(?:, )?)+{_TIME}",
        ),
        every=False,
        in_lines=True,
    ),
    # pytest whose last line is missing: `--tb=no -q`, an output that was cut
    Framework(
        "pytest py.test pytest-3",
        ("FAILED ", "ERROR ", "no tests ran", "collected 0 items", "INTERNALERROR>", "Interrupted:", "= FAILURES ="),
        hints=(r"FAILED \S+::", r"ERROR \S+\.py(?:::|$| - )", "INTERNALERROR>", "!+ Interrupted:", "=+ FAILURES =+$"),
        empty=("=* ?no tests ran", r"collected 0 items\b"),
        in_lines=True,
    ),
    # unittest, Django
    Framework(
        "unittest manage.py trial nose2 nosetests",
        ("Ran ", "FAILED ("),
        failed=(
            r"FAILED \((?:[a-z ]+=\d+, )*(?:failures|errors|unexpected successes)=[1-9]",
            r"Ran \d+ tests?[^\n]*\n\s*FAILED\b",
        ),
        passed=(rf"Ran (?P<ran>{_SOME}) tests?[^\n]*\n\s*(?:OK|PASSED)\b(?!{_SKIPPED}(?P=ran)\b)",),
        empty=(
            r"Ran 0 tests\b",
            "NO TESTS RAN",
            rf"Ran (?P<all>{_SOME}) tests?[^\n]*\n\s*(?:OK|PASSED){_SKIPPED}(?P=all)\b",
        ),
        every=False,
    ),
    # unittest, of which only a part is seen
    Framework(
        "unittest manage.py trial nose2 nosetests",
        ("OK", "FAIL: ", "ERROR: "),
        passed=(r"OK(?: \((?:expected failures=\d+|skipped=\d+, expected failures=\d+)\))?$",),
        hints=(r"(?:FAIL|ERROR): \w+ \(",),
        every=False,
        own=True,
    ),
    # Cargo, nextest, rustc
    Framework(
        "cargo rustc",
        ("test result:", "Summary [", "error", "Finished ", "... FAILED", "Diff in "),
        failed=(
            r"test result: FAILED\.",
            rf"{_NEXTEST}[^\n]*\b{_SOME} failed",
            "error: could not compile `",
            r"error: aborting due to (?:\d+ )?previous error",
            r"error: (?:\d+ )?(?:tests?|targets?|test run) failed\b",
        ),
        passed=(rf"test result: ok\. {_SOME} passed", rf"{_NEXTEST}[^\n]*\b{_SOME} passed"),
        empty=(r"test result: ok\. 0 passed",),
        built=(r" *Finished [`\w]",),
        hints=(
            r"error\[E\d+\]:",
            r"error: [^\n]+\n +--> ",
            r"test \S[^\n]* \.\.\. FAILED$",
            "error: (?:could not find `|failed to |no such command|manifest path )",
            r"Diff in \S+:\d+:$",
        ),
    ),
    # Go
    Framework(
        "go gotestsum ginkgo",
        ("FAIL", "ok  ", "[no test", "panic:", ".go:", "go: ", "DONE ", "SUCCESS! "),
        failed=(
            r"--- FAIL: \S+ \([\d.]+s\)",
            r"FAIL\t\S+(?:\t| \[)",
            rf"DONE \d+ tests?,(?:[^\n]*,)? {_SOME} (?:failures?|errors?)\b",
            r"FAIL! -- \d+ Passed",
        ),
        passed=(
            r"ok +\t(?![^\n]*\[no tests to run\])",
            rf"DONE {_SOME} tests?(?:, \d+ skipped)? in ",
            rf"SUCCESS! -- {_SOME} Passed",
        ),
        empty=(
            r"\? +\t[^\n]*\[no test files\]",
            r"ok +\t[^\n]*\[no tests to run\]",
            r"go: warning: [^\n]* matched no packages",
            "no packages to test",
            r"DONE 0 tests\b",
            r"SUCCESS! -- 0 Passed",
        ),
        hints=(
            r"(?:=== |--- )?FAIL(?:[: \t][^\n]*)?$",
            "panic: ",
            r"(?:vet: )?\S+\.go:\d+:\d+: \S",
            r"go: (?:go\.mod file not found|cannot find |errors? |updates? to |inconsistent |no (?:module|such) )",
        ),
    ),
    # Jest
    Framework(
        "jest react-scripts",
        ("Tests:", "Test Suites:", "Snapshots:", "No tests found", "FAIL ", "failed to run"),
        failed=(rf"(?:Tests|Test Suites|Snapshots): +(?:\d+ \w+, )*{_SOME} failed, ",),
        passed=(rf"Tests: +(?![^\n]*failed)[^\n]*?{_SOME} passed",),
        empty=(r"Tests: +(?:\d+ (?:skipped|todo), )*\d+ (?:of \d+ )?total", "No tests found"),
        hints=(r"FAIL +(?:\S+ +)?\S+\.[cm]?[jt]sx?\b", " *● Test suite failed to run"),
    ),
    # Vitest
    Framework(
        "vitest",
        ("Test Files", "Tests  ", "No test files found", " FAIL ", "Errors  "),
        failed=(
            rf" *(?:Test Files|Tests) {{2,}}(?:\d+ \w+ \| )*{_SOME} failed\b",
            rf" *(?:Type )?Errors {{2,}}{_SOME} errors?$",
        ),
        passed=(rf" *Tests {{2,}}(?![^\n]*failed)[^\n]*?{_SOME} passed",),
        empty=(
            r" *Tests {2,}no tests",
            "No test files found",
            r" *Tests {2,}\d+ (?:skipped|todo)(?: \| \d+ (?:skipped|todo))? \(\d+\)",
        ),
        hints=(r" *FAIL +(?:\S+ +)?\S+\.[cm]?[jt]sx?\b",),
    ),
    # Mocha, Cypress, Playwright, AVA, TAP, `node --test`
    Framework(
        "mocha cypress playwright ava tap tape node prove bats",
        (
            "passing", "failing", " passed", " failed", "# fail", "# pass", "# tests", "ℹ ", "not ok ",
            "No tests found", " skipped", "Result: ", "specs passed",
        ),
        failed=(
            rf" *{_SOME} failing$",
            rf" {{2,}}{_SOME} (?:tests? )?failed$",
            rf"[#ℹ] fail {_SOME}$",
            r"not ok \d+(?![^\n]*# (?:TODO|SKIP|todo|skip))",
            r" *✖ +\d+ of \d+ failed \(\d+%\)",
            "Result: FAIL$",
        ),
        passed=(
            rf" *{_SOME} passing\b",
            rf" *{_SOME} (?:tests? )?passed(?: \([\d.hms]+\))?$",
            rf"[#ℹ] pass {_SOME}",
            " *✔ +All specs passed!",
            "Result: PASS$",
        ),
        empty=(
            r" *0 passing\b", r"[#ℹ] tests 0$", r"[#ℹ] pass 0$", "Error: No tests found", rf" *{_SOME} skipped$",
            "Result: NOTESTS$",
        ),
    ),
    # Bun, Deno
    Framework(
        "bun deno",
        (" pass\n", " fail\n", " passed |", "No test"),
        failed=(rf" *{_SOME} fail$", r"FAILED \|"),
        passed=(rf" *{_SOME} pass$", rf"ok \| {_SOME} passed"),
        empty=(r" *0 pass$", r"ok \| 0 passed", "error: No test modules found", "No tests found!"),
    ),
    # Maven, Gradle, sbt, Ant
    Framework(
        "mvn mvnw mvnd gradle gradlew sbt ant",
        ("BUILD ", "Tests run:", "[error]", "[success]", "[ERROR]", "tests completed", "failing tests", "FAIL"),
        failed=(
            r"(?:\[\w+\] +)BUILD FAILURE",
            r"BUILD FAILED(?: in \d[\d hms.]*)?$",
            rf"{_MAVEN}Tests run: \d+, +Failures: (?:{_SOME}|0, +Errors: {_SOME})",
            r"\[error\] (?:Failed|Error): Total \d+",
            rf"\d+ tests? completed, {_SOME} failed\b",
            r"(?:> )?There were failing tests\.",
            r"FAILURE: Build (?:failed with an exception|completed with \d+ failures)\.",
        ),
        passed=(
            rf"{_MAVEN}Tests run: (?P<run>{_SOME}), +Failures: 0, +Errors: 0(?!, +Skipped: (?P=run)\b)",
            r"\[info\] Passed: Total [1-9]",
        ),
        empty=(
            rf"{_MAVEN}Tests run: 0,",
            rf"{_MAVEN}Tests run: (?P<each>{_SOME}), +Failures: 0, +Errors: 0, +Skipped: (?P=each)\b",
            rf"{_MAVEN}No tests to run",
            r"> Task \S*[tT]est NO-SOURCE",
        ),
        built=(rf"{_MAVEN}BUILD SUCCESS", r"\[success\] Total"),
        hints=(
            r"> Task \S+ FAILED$",
            r"\S[^\n]{0,200} > \S[^\n]{0,200} FAILED$",
            r"\[error\] \(",
            r"\[ERROR\] (?:Failed to execute goal|The goal you specified|COMPILATION ERROR|No goals have been)",
        ),
    ),
    # .NET
    Framework(
        "dotnet msbuild vstest.console",
        ("Failed!", "Passed!", "Skipped!", "Build ", "Test Run ", "No test is available", ": error "),
        failed=(
            rf"[ \t]*Failed! +- Failed: +{_SOME}\b",
            r"[ \t]*Build FAILED\.",
            r"[ \t]*Test Run (?:Failed|Aborted)\.",
        ),
        passed=(r"[ \t]*Passed! ", r"[ \t]*Test Run Successful"),
        empty=("No test is available", r"[ \t]*Skipped! "),
        built=(r"[ \t]*Build succeeded",),
        hints=(r"[ \t]*[^\n]{1,400}: error [A-Z]+\d+: ",),
    ),
    # RSpec, minitest, ExUnit
    Framework(
        "rspec minitest mix rails rake",
        (" failure", " examples, ", " runs, ", " tests, "),
        failed=(
            rf"\d+ {_EXAMPLES}(?:, \d+ [a-z]+)*, {_SOME} (?:failures?|errors?)(?=,|\.?$| occurred)",
        ),
        passed=(
            rf"(?P<total>{_SOME}) {_EXAMPLES}, (?![^\n]*(?:{_SOME} (?:failure|error)|\b(?P=total) (?:pending|skip)))",
        ),
        empty=(
            r"0 (?:examples|tests|runs),",
            rf"(?P<whole>{_SOME}) {_EXAMPLES}, (?![^\n]*{_SOME} (?:failure|error))[^\n]*\b(?P=whole) (?:pending|skip)",
        ),
        every=False,
    ),
    # PHPUnit, Pest
    Framework(
        "phpunit pest paratest artisan",
        ("Tests:", "OK (", "OK, but ", "FAILURES!", "ERRORS!", "No tests executed"),
        failed=(
            "FAILURES!$",
            "ERRORS!$",
            rf" *Tests: +(?:\d+ \w+, )*{_SOME} failed\b",
            rf"Tests: \d+, Assertions: \d+,[^\n]*(?:Failures|Errors): {_SOME}",
        ),
        passed=(
            rf"OK \({_SOME}",
            r"OK, but [^\n]*\n\s*Tests: (?P<count>[1-9]\d*),(?![^\n]*Skipped: (?P=count)\b)",
            rf" *Tests: +{_SOME} passed",
        ),
        empty=("No tests executed!", r"OK, but [^\n]*\n\s*Tests: (?P<sum>[1-9]\d*),[^\n]*Skipped: (?P=sum)\b"),
    ),
    # XCTest, Swift Testing, xcodebuild
    Framework(
        "swift xcodebuild",
        ("Executed ", "** TEST", "** BUILD", "Test run with"),
        failed=(
            r"\*\* (?:TEST|BUILD) FAILED \*\*",
            rf"[ \t]*Executed \d+ tests?, with (?:\d+ tests? skipped and )?{_SOME} failure",
            "✘ Test run with",
        ),
        passed=(
            r"\*\* TEST SUCCEEDED",
            rf"[ \t]*Executed (?P<done>{_SOME}) tests?, with (?!(?P=done) tests? sk)(?:\d+ tests? skipped and )?0 fail",
            rf"[✔✓] Test run with {_SOME}",
        ),
        empty=(
            r"[ \t]*Executed 0 tests",
            r"[ \t]*Executed (?P<seen>\d+) tests?, with (?P=seen) tests? skipped and 0 fail",
        ),
        built=(r"\*\* BUILD SUCCEEDED",),
        every=False,
    ),
    # CTest, Meson, Bazel, GoogleTest
    Framework(
        "ctest meson bazel bazelisk",
        ("tests passed", "No tests were found", "Fail:", "[  FAILED  ]", "[  PASSED  ]", "out of "),
        failed=(
            rf"\d+% tests passed, {_SOME} tests? failed out of",
            rf"Fail: +{_SOME}$",
            rf"\[  FAILED  \] {_SOME} tests?,",
            r"Executed \d+ out of \d+ tests?: [^\n]*\bfails?\b",
        ),
        passed=(
            r"100% tests passed(?!, 0 tests failed out of 0\b)",
            rf"Ok: +{_SOME}",
            rf"\[  PASSED  \] {_SOME}",
            r"Executed \d+ out of \d+ tests?: \d+ tests? pass",
        ),
        empty=("No tests were found", r"100% tests passed, 0 tests failed out of 0\b", r"\[  PASSED  \] 0 tests"),
        hints=(r"\[  FAILED  \]",),
    ),
    # Automake
    Framework(
        "",
        ("# PASS: ", "# FAIL: ", "# TOTAL: "),
        failed=(rf"# (?:FAIL|XPASS|ERROR): +{_SOME}$",),
        passed=(rf"# PASS: +{_SOME}$",),
        empty=(r"# TOTAL: +0$",),
        in_lines=True,
    ),
)  # fmt: skip
