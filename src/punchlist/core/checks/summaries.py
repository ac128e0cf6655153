"""Read a check's outcome from its output: the summary lines of test frameworks, compilers and linters.

Only the end of an output is read, and of that only the framework's own summary lines: of the framework that ran, where
that is known, else of any. A summary that tells of failures outweighs an exit code of 0.
"""

import re
from collections.abc import Collection, Iterable
from functools import cache
from itertools import islice
from typing import Final, Literal, NamedTuple

from punchlist.core.checks.shell import compiled


class Framework(NamedTuple):
    """Lines that say how a run went. `signs`: an output without any of them is none of this framework's.

    `programs` are those that speak so; where one of them is known to have run, no other lines are looked for.
    `failed`, `passed` and `empty` are verdicts, in the form that the framework gives them and nobody else does by
    chance: they count whatever the exit code is. `built` says that something was built, which is no success of tests
    that did not run. `hints` tell of a failure too, but a program may print the like as talk: they count only where no
    exit code can be trusted.
    Where a run ends with one summary the last line counts; with `every`, each: a run has one for each of its parts.
    `in_lines`: each of them is a line with one of the signs in it. `own`: looked for only where one of the programs is
    known to have run.
    """

    programs: str
    signs: tuple[str, ...]
    failed: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    built: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    every: bool = True
    in_lines: bool = False
    own: bool = False


SOME: Final = r"[1-9]\d{0,8}"
"""A count of at least one. Patterns take a time that is linear in a line, whatever the line is."""


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
        failed=(rf"=* ?{_COUNTS}{SOME} (?:failed|errors?){_MORE}{_TIME}",),
        passed=(rf"=* ?{_SOUND}{SOME} (?:x?passed|xfailed){_PYTEST_MORE}{_TIME}",),
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
        passed=(rf"Ran (?P<ran>{SOME}) tests?[^\n]*\n\s*(?:OK|PASSED)\b(?!{_SKIPPED}(?P=ran)\b)",),
        empty=(
            r"Ran 0 tests\b",
            "NO TESTS RAN",
            rf"Ran (?P<all>{SOME}) tests?[^\n]*\n\s*(?:OK|PASSED){_SKIPPED}(?P=all)\b",
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
            rf"{_NEXTEST}[^\n]*\b{SOME} failed",
            "error: could not compile `",
            r"error: aborting due to (?:\d+ )?previous error",
            r"error: (?:\d+ )?(?:tests?|targets?|test run) failed\b",
        ),
        passed=(rf"test result: ok\. {SOME} passed", rf"{_NEXTEST}[^\n]*\b{SOME} passed"),
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
            rf"DONE \d+ tests?,(?:[^\n]*,)? {SOME} (?:failures?|errors?)\b",
            r"FAIL! -- \d+ Passed",
        ),
        passed=(
            r"ok +\t(?![^\n]*\[no tests to run\])",
            rf"DONE {SOME} tests?(?:, \d+ skipped)? in ",
            rf"SUCCESS! -- {SOME} Passed",
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
        failed=(rf"(?:Tests|Test Suites|Snapshots): +(?:\d+ \w+, )*{SOME} failed, ",),
        passed=(rf"Tests: +(?![^\n]*failed)[^\n]*?{SOME} passed",),
        empty=(r"Tests: +(?:\d+ (?:skipped|todo), )*\d+ (?:of \d+ )?total", "No tests found"),
        hints=(r"FAIL +(?:\S+ +)?\S+\.[cm]?[jt]sx?\b", " *● Test suite failed to run"),
    ),
    # Vitest
    Framework(
        "vitest",
        ("Test Files", "Tests  ", "No test files found", " FAIL ", "Errors  "),
        failed=(
            rf" *(?:Test Files|Tests) {{2,}}(?:\d+ \w+ \| )*{SOME} failed\b",
            rf" *(?:Type )?Errors {{2,}}{SOME} errors?$",
        ),
        passed=(rf" *Tests {{2,}}(?![^\n]*failed)[^\n]*?{SOME} passed",),
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
            rf" *{SOME} failing$",
            rf" {{2,}}{SOME} (?:tests? )?failed$",
            rf"[#ℹ] fail {SOME}$",
            r"not ok \d+(?![^\n]*# (?:TODO|SKIP|todo|skip))",
            r" *✖ +\d+ of \d+ failed \(\d+%\)",
            "Result: FAIL$",
        ),
        passed=(
            rf" *{SOME} passing\b",
            rf" *{SOME} (?:tests? )?passed(?: \([\d.hms]+\))?$",
            rf"[#ℹ] pass {SOME}",
            " *✔ +All specs passed!",
            "Result: PASS$",
        ),
        empty=(
            r" *0 passing\b", r"[#ℹ] tests 0$", r"[#ℹ] pass 0$", "Error: No tests found", rf" *{SOME} skipped$",
            "Result: NOTESTS$",
        ),
    ),
    # Bun, Deno
    Framework(
        "bun deno",
        (" pass\n", " fail\n", " passed |", "No test"),
        failed=(rf" *{SOME} fail$", r"FAILED \|"),
        passed=(rf" *{SOME} pass$", rf"ok \| {SOME} passed"),
        empty=(r" *0 pass$", r"ok \| 0 passed", "error: No test modules found", "No tests found!"),
    ),
    # Maven, Gradle, sbt, Ant
    Framework(
        "mvn mvnw mvnd gradle gradlew sbt ant",
        ("BUILD ", "Tests run:", "[error]", "[success]", "[ERROR]", "tests completed", "failing tests", "FAIL"),
        failed=(
            r"(?:\[\w+\] +)BUILD FAILURE",
            r"BUILD FAILED(?: in \d[\d hms.]*)?$",
            rf"{_MAVEN}Tests run: \d+, +Failures: (?:{SOME}|0, +Errors: {SOME})",
            r"\[error\] (?:Failed|Error): Total \d+",
            rf"\d+ tests? completed, {SOME} failed\b",
            r"(?:> )?There were failing tests\.",
            r"FAILURE: Build (?:failed with an exception|completed with \d+ failures)\.",
        ),
        passed=(
            rf"{_MAVEN}Tests run: (?P<run>{SOME}), +Failures: 0, +Errors: 0(?!, +Skipped: (?P=run)\b)",
            r"\[info\] Passed: Total [1-9]",
        ),
        empty=(
            rf"{_MAVEN}Tests run: 0,",
            rf"{_MAVEN}Tests run: (?P<each>{SOME}), +Failures: 0, +Errors: 0, +Skipped: (?P=each)\b",
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
            rf"[ \t]*Failed! +- Failed: +{SOME}\b",
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
            rf"\d+ {_EXAMPLES}(?:, \d+ [a-z]+)*, {SOME} (?:failures?|errors?)(?=,|\.?$| occurred)",
        ),
        passed=(
            rf"(?P<total>{SOME}) {_EXAMPLES}, (?![^\n]*(?:{SOME} (?:failure|error)|\b(?P=total) (?:pending|skip)))",
        ),
        empty=(
            r"0 (?:examples|tests|runs),",
            rf"(?P<whole>{SOME}) {_EXAMPLES}, (?![^\n]*{SOME} (?:failure|error))[^\n]*\b(?P=whole) (?:pending|skip)",
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
            rf" *Tests: +(?:\d+ \w+, )*{SOME} failed\b",
            rf"Tests: \d+, Assertions: \d+,[^\n]*(?:Failures|Errors): {SOME}",
        ),
        passed=(
            rf"OK \({SOME}",
            r"OK, but [^\n]*\n\s*Tests: (?P<count>[1-9]\d*),(?![^\n]*Skipped: (?P=count)\b)",
            rf" *Tests: +{SOME} passed",
        ),
        empty=("No tests executed!", r"OK, but [^\n]*\n\s*Tests: (?P<sum>[1-9]\d*),[^\n]*Skipped: (?P=sum)\b"),
    ),
    # XCTest, Swift Testing, xcodebuild
    Framework(
        "swift xcodebuild",
        ("Executed ", "** TEST", "** BUILD", "Test run with"),
        failed=(
            r"\*\* (?:TEST|BUILD) FAILED \*\*",
            rf"[ \t]*Executed \d+ tests?, with (?:\d+ tests? skipped and )?{SOME} failure",
            "✘ Test run with",
        ),
        passed=(
            r"\*\* TEST SUCCEEDED",
            rf"[ \t]*Executed (?P<done>{SOME}) tests?, with (?!(?P=done) tests? sk)(?:\d+ tests? skipped and )?0 fail",
            rf"[✔✓] Test run with {SOME}",
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
            rf"\d+% tests passed, {SOME} tests? failed out of",
            rf"Fail: +{SOME}$",
            rf"\[  FAILED  \] {SOME} tests?,",
            r"Executed \d+ out of \d+ tests?: [^\n]*\bfails?\b",
        ),
        passed=(
            r"100% tests passed(?!, 0 tests failed out of 0\b)",
            rf"Ok: +{SOME}",
            rf"\[  PASSED  \] {SOME}",
            r"Executed \d+ out of \d+ tests?: \d+ tests? pass",
        ),
        empty=("No tests were found", r"100% tests passed, 0 tests failed out of 0\b", r"\[  PASSED  \] 0 tests"),
        hints=(r"\[  FAILED  \]",),
    ),
    # Automake
    Framework(
        "",
        ("# PASS: ", "# FAIL: ", "# TOTAL: "),
        failed=(rf"# (?:FAIL|XPASS|ERROR): +{SOME}$",),
        passed=(rf"# PASS: +{SOME}$",),
        empty=(r"# TOTAL: +0$",),
        in_lines=True,
    ),
)  # fmt: skip


_PLACED: Final = r"[^\s:][^:\n]{0,400}:\d+:"
"""`src/a.py:12:`"""

_FINDINGS: Final = "(?:errors?|diagnostics|problems|issues)"

_ALL_CORRECTED: Final = r"(?P<offenses>[1-9]\d{0,8}) offenses? detected, (?P=offenses) offenses? corrected\b"

TOOLS: Final = (
    # mypy, Ruff, Pyright, tsc, ESLint, Biome, Black, Prettier, RuboCop, Pylint
    Framework(
        """mypy dmypy ruff pyright basedpyright tsc vue-tsc tsgo eslint eslint_d biome oxlint black prettier rubocop
        pylint svelte-check stylelint flake8 pycodestyle pydocstyle pyflakes""",
        (
            "error", "problem", "issues", "All checks passed", "All matched", "ould ", " inspected, ", "Oh no!",
            "Oops!", "already formatted", "too many warnings",
        ),
        failed=(
            rf"Found {SOME} {_FINDINGS}(?:\.|$| in (?:{SOME} (?:\w+ )?files?|the same file|\S+:\d+)\b)",
            rf"Found {SOME} {_FINDINGS} \(\d+ fixed, {SOME} remaining\)",
            rf"Found \d+ warnings? and {SOME} errors?\.",
            rf"[ \t]*{SOME} errors?, \d+ warnings?(?:, \d+ \w+)?\s*$",
            rf"[ \t]*✖ \d+ problems? \({SOME} errors?, \d+ warnings?\)",
            "ESLint found too many warnings",
            "Oops! Something went wrong!",
            rf"{SOME} files? would be reformatted[,.]",
            "Would reformat: ",
            "Oh no! 💥",
            r"\[warn\] Code style issues",
            rf"\d+ files? inspected, (?!{_ALL_CORRECTED}){SOME} offenses?",
            rf"svelte-check found {SOME} errors?",
            r"\S[^\n]{0,400}?(?:\(\d+,\d+\):|:\d+:\d+ -) error TS\d+:",
            r"error TS\d+: ",
        ),
        passed=(
            "All checks passed!",
            "Success: no issues found",
            r"[ \t]*0 errors, \d+ warnings?",
            r"Found 0 errors",
            r"Found \d+ warnings? and 0 errors\.",
            rf"Found {SOME} errors? \([^\n]*\b0 remaining\)",
            r"[ \t]*✖ \d+ problems? \(0 errors, ",
            r"\d+ files? (?:already formatted|would be left unchanged\.)$",
            "All matched files use Prettier",
            rf"\d+ files? inspected, (?:no offenses|{_ALL_CORRECTED})",
            "svelte-check found 0 errors",
        ),
    ),
    # their findings one by one, where the summary is missing
    Framework(
        "mypy dmypy ruff pyright basedpyright eslint eslint_d pylint flake8 pycodestyle pydocstyle pyflakes",
        ("error", ": ", "-->"),
        hints=(
            rf"{_PLACED}(?:\d+:)? error: ",  # mypy
            rf" *{_PLACED}\d+ - error: ",  # Pyright
            rf"{_PLACED}(?:\d+:)? [A-Z]{{1,8}}\d{{1,4}}:? ",  # Ruff, Flake8, Pylint
            r"[A-Z]{1,8}\d{1,4} (?:\[\*\] )?[^\n]+\n *--> ",  # Ruff at length
            r" +\d+:\d+ +error  ",  # ESLint
            r"ruff failed$",
            r"error: (?:Failed to |Invalid |unexpected argument)",
            r"mypy: (?:error: |can't )",
        ),
        own=True,
    ),
    # shellcheck, golangci-lint, Semgrep, Terraform
    Framework(
        "shellcheck golangci-lint semgrep terraform tofu",
        ("line ", " issues", "rror: ", "Findings: ", " finding", "Success!", ".go:"),
        failed=(
            rf"{SOME} issues?:$",
            rf"[^\w\n]{{0,8}}Findings: {SOME}\b",
            rf"[^\w\n]{{0,8}}Ran \d+ rules? on \d+ files?: {SOME} finding",
        ),
        passed=(
            r"0 issues\.",
            r"[^\w\n]{0,8}Ran \d+ rules? on \d+ files?: 0 findings",
            "Success! The configuration is valid",
        ),
        hints=(r"In \S[^\n]* line \d+:$", r"\S+\.go:\d+:\d+: \S", r"[│╷ ]*Error: \S"),
        own=True,
    ),
    # C, C++
    Framework(
        "gcc g++ cc c++ clang clang++ nvcc emcc",
        ("error",),
        hints=(rf"{_PLACED}(?:\d+:)? (?:fatal )?error: ", r"(?:\S+: )?(?:fatal )?error: ", r"\d+ errors? generated\."),
        own=True,
    ),
    # Docker
    Framework(
        "docker docker-compose podman buildah",
        ("ERROR", "non-zero code", "naming to", "Successfully built", "failed to solve", "rror: "),
        failed=("ERROR: failed to (?:build|solve)", r"(?:target \S+: )?failed to solve: "),
        built=(r"(?: => => |#\d+ )naming to \S", "Successfully built [0-9a-f]"),
        hints=(
            r"#\d+ ERROR: ",
            r"(?:ERROR|Error): (?:Cannot connect|failed |process |Service |target |[Nn]o such |building at |unable )",
            r"The command '[^\n]*' returned a non-zero code",
        ),
        own=True,
    ),
    # curl, wget
    Framework(
        "curl wget",
        ("curl: (", "ERROR ", "wget: ", "failed: "),
        hints=(r"curl: \(\d+\) ", r"[\d: -]*ERROR \d{3}: ", "wget: ", r"[^\n]{0,200}\.\.\. failed: "),
        own=True,
    ),
    # pre-commit, make, npm and its kin, tox, Docker
    Framework(
        "pre-commit prek",
        (
            "...", ": ***", "npm ", "ELIFECYCLE", "ERR_PNPM_", "evaluation failed", "congratulations", ": FAIL ",
            "ERROR:", "error Command ", "error: ", "no test specified", "find a script named",
        ),
        failed=(
            r"[^\n.]{1,200}\.{3,}(?:\([^)\n]*\))?Failed$",
            r"g?make(?:\[\d+\])?: \*\*\* ",
            r"npm (?:ERR!|error) (?:Test failed|code |Lifecycle|Missing script)",
            r" *ELIFECYCLE\b",
            r" *ERR_PNPM_",
            r"error Command (?:failed with exit code \d|\"[^\"\n]+\" not found)",
            r"error: (?:Script not found|script \"[^\"\n]+\" (?:exited|was terminated))",
            "(?:Usage Error: )?Couldn't find a script named",
            r"[ \t]*evaluation failed :\(",
            r"[ \t]*\w[\w.-]*: FAIL (?:code|✖)",
            "ERROR: failed to (?:build|solve)",
        ),
        passed=(r"[^\n.]{1,200}\.{3,}Passed$", r"[ \t]*congratulations :\)"),
        empty=("Error: no test specified$",),
    ),
)  # fmt: skip


FRAMEWORKS: Final = TESTERS + TOOLS
_ANY: Final = tuple(framework for framework in FRAMEWORKS if not framework.own)

WINDOW: Final = 65_536
"""Characters at the end of an output that are looked at."""

Said = Literal["failed", "passed", "empty"]
_Word = Literal["failed", "passed", "empty", "built"]
_WORDS: Final[tuple[_Word, ...]] = ("failed", "passed", "empty", "built")

_LINE: Final = r"(?:[\w-]+(?: [\w-]+)?: +)?(?:\d+ (?:tests? )?\w+(?:, |; | \| | / ))*"
_REST: Final = r"(?:(?:,|;| \|| /) \d+ (?:tests? )?\w+)*(?: \([\d.]+ ?m?s\)| in [\d.]+ seconds)?[.!]?$"
_COUNTED: Final = (
    rf"(?=[^\n]*(?:passed|tests?\b)){_LINE}{SOME} (?:tests? )?failed{_REST}",
    rf"[^\n]{{0,60}}\b(?:[Pp]assed: *\d+[,;| ]+[Ff]ailed: *{SOME}|[Ff]ailed: *{SOME}[,;| ]+[Pp]assed: *\d+)\b",
)
"""A line that is nothing but counts of tests, some of which failed: `12 passed, 1 failed`."""

_LOOSE: Final[tuple[tuple[Said, str], ...]] = (
    (
        "failed",
        r"(?<![\w.-])[1-9]\d* (?:tests? )?failed(?! (?!tests?\b|in\b|of\b|out\b|and\b|with\b|after\b|\d)\w)(?![\w-])",
    ),
    ("passed", r"(?<![\w./-])[1-9]\d* (?:tests? )?passed(?![\w-])"),
    (
        "empty",
        r"(?<![\w.-])(?:0 tests?(?: ran| run| found|[.,;]?$)|[Nn]o tests? (?:ran|run|found|collected|executed)\b)",
    ),
)
"""How most would say it, anywhere in a line."""

_NO_NUMBER: Final = r"(?<![\w.-])(?<!\b[Tt]est )(?<!\b[Cc]ase )"
_OF_ALL: Final = rf"{_NO_NUMBER}(\d{{1,9}}) ?(?:/|of|out of) ?({SOME}) (?:\w+ )?(?:passed|succeeded|ok)\b"
"""`12/13 tests passed`."""

_CONTROLS: Final = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]+[0-~]|[0-~])"
"""What a terminal takes for a command: colours, links, character sets."""


class Run(NamedTuple):
    """Facts about a run besides its output. `programs`: those that ran, none if any may have.

    `several`: more than one of them ran, so that each summary counts. `trusted`: an exit code of 0 is theirs.
    `builds`: they are no tests, so that something built is a success though no test was run. `vouched`: whoever ran
    them says that they went well, though not by an exit code.
    """

    programs: frozenset[str] = frozenset()
    several: bool = False
    trusted: bool = False
    builds: bool = False
    vouched: bool = False


ANY: Final = Run()


def outcome_in_output(output: str, run: Run = ANY) -> Said | None:
    """Return failed if a summary in the output says so, else passed, else empty; None if there is no summary.

    Where the exit code can be trusted, nothing but a framework's own summary, or a line of counts, speaks against it:
    what else looks like a failure is talk.
    """
    text = _plain(output[-WINDOW:])
    known = _frameworks(run.programs)
    each = run.several or (bool(run.programs) and not known and not run.trusted)  # a script may run several
    found: set[_Word] = set()
    hinted = False
    for framework in known or _ANY:
        if any(sign in text for sign in framework.signs):
            lines = _lines_of(framework, text)
            found |= _said_by(framework, lines, every=framework.every or each)
            hinted = hinted or (not run.trusted and _has(framework.hints, lines))
    if not known and "ailed" in text and _has(_COUNTED, text):
        found.add("failed")
    if not (known and run.trusted) and (not found or (not known and run.several and not run.trusted)):
        found |= _common(text, trusted=run.trusted)
    if hinted and ("passed" not in found or (known and not run.vouched)):
        return "failed"
    return _summed(found, run)


def _plain(text: str) -> str:
    if "\x1b" in text:
        text = compiled(_CONTROLS, re.MULTILINE).sub("", text)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _summed(found: Collection[_Word], run: Run) -> Said | None:
    if "failed" in found:
        return "failed"
    if "passed" in found or (run.builds and "built" in found):
        return "passed"
    return "empty" if "empty" in found else "passed" if found else None


def _frameworks(programs: Iterable[str]) -> tuple[Framework, ...]:
    """Those of these programs; none if one of them is not known, and so may speak as any other."""
    found: dict[int, Framework] = {}
    for program in programs:
        places = _by_program_name().get(program)
        if places is None:
            return ()
        found |= {place: FRAMEWORKS[place] for place in places}
    return tuple(found.values())


@cache
def _by_program_name() -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place, framework in enumerate(FRAMEWORKS):
        for program in framework.programs.split():
            found.setdefault(program, []).append(place)
    return found


def _lines_of(framework: Framework, text: str) -> str:
    if not framework.in_lines:
        return text
    return "\n".join(line for line in text.split("\n") if any(sign in line for sign in framework.signs))


def _has(patterns: tuple[str, ...], text: str) -> bool:
    return bool(patterns) and _any_of(patterns).search(text) is not None


def _said_by(framework: Framework, text: str, *, every: bool) -> set[_Word]:
    found: list[tuple[int, _Word]] = []
    lines = (framework.failed, framework.passed, framework.empty, framework.built)
    for word, patterns in zip(_WORDS, lines, strict=True):
        if patterns:
            matches = _any_of(patterns).finditer(text)
            found.extend((match.start(), word) for match in (islice(matches, 1) if every else matches))
    return {word for _, word in found} if every or not found else {max(found)[1]}


def _common(text: str, *, trusted: bool) -> set[_Word]:
    """Return the outcome told in common words; with an exit status that can be trusted, never a failure."""
    for passed, total in compiled(rf"^{_OF_ALL}[.!]?$" if trusted else _OF_ALL, re.MULTILINE).findall(text):
        if int(passed) < int(total):
            return {"failed"}
        return {"passed"} if trusted or compiled(_LOOSE[0][1], re.MULTILINE).search(text) is None else {"failed"}
    for word, pattern in _LOOSE[trusted:]:
        if compiled(pattern, re.MULTILINE).search(text) is not None:
            return {word}
    return set()


@cache
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:^{line})" for line in patterns), re.MULTILINE)
