"""The lines by which test frameworks, compilers and linters tell how a run went."""

from typing import Final

TABLE: Final = r"""
    pytest py.test pytest-3: is_final
        failed (?:\d+ \w+, )*{N} (?:failed|errors?)(?:, \d+ [a-z ]+)* in [\d.:]+m?s
        empty no tests (?:ran|collected)\b|(?:\d+ (?:skipped|deselected|warnings?)(?:, )?)+ in [\d.:]+m?s
        passed (?:\d+ (?!failed|error)\w+, )*{N} (?:x?pass|xfail)ed\b(?!.*\b{N} (?:failed|errors?)\b).* in [\d.:]+m?s
    pytest py.test pytest-3:
        failed FAILED \S+::|ERROR \S+\.py\b|INTERNALERROR>|!+ Interrupted|[.sxX]*[FE][.sxXFE]* +\[ *\d+%\]
        failed .*:: ?\S.* (?:FAILED|ERROR) +\[ *\d+%\]|_+ ERROR collecting|= FAILURES =
        failed ImportError while loading conftest
        empty collected 0 items\b|ERROR: (?:file or directory not found|not found):
        passed \.[.sxX]* +\[100%\]$
    unittest manage.py trial nose2 nosetests django-admin: is_final empty_wins
        failed FAILED(?: \(|$)
        empty Ran 0 tests|NO TESTS RAN|Ran (\d+) tests?.*\n\s*OK \(skipped=\1\)
        passed Ran ({N}) tests?.*\n\s*OK\b(?! \(skipped=\1\))|OK \(.*expected failures=
    unittest manage.py: own
        passed OK$|No changes detected$|System check identified no issues
        findings (?:FAIL|ERROR): \w+ \(
    go gotestsum ginkgo:
        failed go: (?:go\.mod file not found|cannot find|errors? |no (?:module|such|packages)|updates? to)
        failed no required module
        findings panic: |(?:vet: )?\S+\.go:\d+:\d+: \S
    go+test gotestsum ginkgo:
        failed --- FAIL: |FAIL\t|FAIL$|FAIL \[|DONE \d+ tests?,.* {N} (?:failures?|errors?)|FAIL! --[ ]
        failed \{.*\"Action\":\"fail\"
        empty \? +\t.*\[no test files\]|ok +\t.*\[no tests to run\]|.*matched no packages|no packages to test
        empty DONE 0 tests
        passed ok +\t(?!.*\[no tests to run\])|DONE {N} tests?|SUCCESS! -- {N} Passed|PASS$
    cargo rustc:
        failed error: could not (?:compile|find)|error: aborting|warning: unused.*-D warnings$
        built Finished [`\w]
        findings error(?:\[E\d+\])?:[ ]
    cargo+fmt rustfmt:
        failed Diff in[ ]
    cargo+test:
        failed test result: FAILED|error: (?:test failed|\d+ targets? failed)|Summary \[.*\b{N} failed
        failed test \S.* \.\.\. FAILED
        empty test result: ok\. 0 passed|Summary \[.*\b0 tests? run|error: no tests to run|Starting 0 tests
        passed test result: ok\. {N} passed|Summary \[.*\b{N} passed
    jest react-scripts vitest: is_total
        failed (?:Tests|Test Suites|Snapshots): +(?:\d+ \w+, )*{N} failed
        failed (?:Test Files|Tests|Snapshots) +(?:\d+ \w+ \| )*{N} failed|(?:Type )?Errors +{N} error
        failed ● Test suite failed
        empty Tests: +(?:\d+ (?:skipped|todo), )*\d+ total|No tests? (?:files )?found|Tests +no tests
        empty Tests +\d+ (?:skipped|todo) \(
        passed Tests: +(?:\d+ \w+, )*{N} passed|Tests +(?:\d+ \w+ \| )*{N} passed
        findings FAIL +(?:\S+ +)?\S+\.[cm]?[jt]sx?\b
    mocha cypress playwright ava tap tape node prove bats uvu: is_total
        failed {N} failing\b|{N} (?:tests? )?failed\b(?! [a-z])|[#ℹ] fail +{N}
        failed not ok \d+(?!.*# (?:TODO|SKIP|todo|skip))|✖ +\d+ of \d+ failed|Result: FAIL|\d+ tests?, {N} failures?
        failed Failed \d+/\d+|Uncaught exception in|✖ {N}[ ]
        empty 0 passing\b|[#ℹ] tests 0$|[#ℹ] pass +0$|Error: No tests found|Result: NOTESTS|1\.\.0\b
        empty 0 tests?, 0 failures|No test files found|\d+ skipped$
        passed {N} passing\b|{N} (?:tests? )?passed\b|[#ℹ] pass +{N}|✔ +All specs passed|Result: PASS
        passed {N} tests?, 0 failures|All tests successful|ok {N}\b
    bun deno: is_total
        failed {N} fail$|FAILED \||error: Test failed|error: TS\d+
        empty 0 pass$|ok \| 0 passed|error: No test modules found|No tests found!|0 tests
        passed {N} pass$|ok \| {N} passed
    mvn mvnw mvnd gradle gradlew sbt ant:
        failed (?:\[\w+\] +)?BUILD FAIL|FAILURE: Build|> Task \S+ FAILED
        failed \[ERROR\] (?:Failed to execute|COMPILATION|The goal)|[^ \n]*+(?: (?!> )[^ \n]*+)* > .* FAILED$
        failed \[error\] \(
        built (?:\[\w+\] +)?BUILD SUCCESS(?:FUL)?|\[success\]
    mvn+test mvnw+test mvnd+test gradle+test gradlew+test sbt+test ant+test:
        failed (?:\[\w+\] +)?Tests run: \d+, +Failures: (?:{N}|0, +Errors: {N})|There were failing tests
        failed \[error\] (?:Failed|Error): Total|\d+ tests? completed, {N} failed
        empty (?:\[\w+\] +)?Tests run: (?:0,|(\d+), +Failures: 0, +Errors: 0, +Skipped: \1\b)
        empty (?:\[\w+\] +)?No tests to run|> Task \S*[tT]est NO-SOURCE|No tests were found
        passed (?:\[\w+\] +)?Tests run: ({N}), +Failures: 0, +Errors: 0(?!, +Skipped: \1\b)
        passed \[info\] Passed: Total [1-9]
    dotnet msbuild vstest.console:
        failed Build FAILED|\S.*: error [A-Z]+\d+:[ ]
        built Build succeeded
    dotnet+test vstest.console: is_total
        failed Failed! +- Failed: +{N}|Test Run (?:Failed|Aborted)|Failed: +{N}
        empty No test is available|Skipped! |No test matches
        passed Passed! |Test Run Successful
    rspec minitest mix rails rake ruby cucumber: is_total
        failed \d+ (?:examples?|tests?|runs|doctests?|properties)(?:, \d+ [a-z]+)*, {N} (?:failures?|errors?)\b
        failed Failed examples:|.*{N} errors? occurred outside|.*\"(?:failure|error)_count\": ?{N}
        failed \d+ scenarios? \(.*{N} failed
        empty There are no tests to run|0 (?:examples|tests|runs),|(\d+) examples?, 0 failures, \1 pending
        empty (\d+) (?:runs|tests), (?:0 assertions, )?0 failures, (?:0 errors, )?\2 skip|0 scenarios
        passed ({N}) (?:examples?|tests?|runs|doctests?)(?:, \d+ [a-z]+)*, 0 failures(?!.*\b\1 (?:pending|skip))
        passed {N} scenarios? \({N} passed\)
    phpunit pest paratest artisan php: is_total
        failed FAILURES!|ERRORS!|Tests: +(?:\d+ \w+, )*{N} failed
        failed Tests: \d+, Assertions: \d+,.*(?:Failures|Errors): {N}|(?:PHP )?(?:Parse|Fatal) error|Errors parsing
        empty No tests (?:executed|found)|Tests: (\d+),.*Skipped: \1\b
        passed OK \({N}|OK, but.*\n+Tests: (\d+),(?!.*Skipped: \1\b)|Tests: +{N} passed|No syntax errors
    swift xcodebuild:
        failed \*\* (?:TEST|BUILD) FAILED|Executed \d+ tests?, with .*{N} failure|✘ Test run with|\S+: error:[ ]
        empty Executed 0 tests|Executed (\d+) tests?, with \1 tests? skipped and 0 fail
        passed \*\* (?:TEST|BUILD) SUCCEEDED|Executed ({N}) tests?, with (?!\1 tests? skipped).*\b0 fail
        passed [✔✓] Test run with {N}|Build complete!
    ctest meson bazel bazelisk: is_total
        failed \d+% tests passed, {N} tests? failed|Fail: +{N}$|\[  FAILED  \]
        failed Executed \d+ out of \d+ tests?: .*\bfails?\b|FAILED: Build
        empty No tests were found|ERROR: No test targets|100% tests passed, 0 tests failed out of 0\b
        empty \[  PASSED  \] 0 tests|No test targets
        passed 100% tests passed|Ok: +{N}|\[  PASSED  \] {N}|Executed \d+ out of \d+ tests?: \d+ tests? pass
    behave robot: is_total
        failed (?:\d+ \w+ passed, )?{N} failed\b(?! [a-z])|\d+ (?:features?|scenarios?|steps?) passed, {N} failed
        failed \d+ tests?, \d+ passed, {N} failed
        empty 0 (?:features?|scenarios?|steps?) passed, 0 failed|0 tests, 0 passed
        passed {N} (?:features?|scenarios?|steps?) passed, 0 failed|{N} tests?, {N} passed, 0 failed
    tox nox:
        failed evaluation failed :\(|\S+: FAIL\b|nox > Session .* failed|nox > Command .* failed
        failed ERROR: +\S+: commands failed
        passed congratulations :\)|\S+: OK\b|nox > Session .* was successful
    ruff: empty_wins
        failed ruff failed|error: (?:Failed|Invalid)
        empty .*No Python files found
    ruff+check:
        failed Found {N} errors?(?! in )(?!.*\b0 remaining\))
        passed All checks passed|Found {N} errors? \(.*\b0 remaining
    ruff+format black: empty_wins
        failed {N} files? would be reformatted|[Ww]ould reformat|Oh no! |error: cannot format
        empty .*No Python files (?:found|are present)
        passed \d+ files? (?:already formatted|would be left unchanged|left unchanged|reformatted)
    mypy dmypy: empty_wins
        failed Found {N} errors? in |{N} errors?$|error: (?:Failed|Invalid)
        empty There are no \.py\[i\] files|mypy: error: .*Missing target|.*no issues found in 0 source files
        passed Success: no issues found
    biome oxlint: empty_wins
        failed Found {N} (?:errors?(?! in )|diagnostics|problems|issues)|Found \d+ warnings? and {N} errors?
        empty Checked 0 files|.*No files were processed|No files found to lint
        passed Found 0 errors|Found \d+ warnings? and 0 errors|Checked {N} files?.*No fixes applied
    tsc vue-tsc tsgo:
        failed .*error TS\d+:|Found {N} errors?
        passed Found 0 errors
    pyright basedpyright: empty_wins
        failed {N} errors?, \d+ warnings?
        empty No source files found
        passed 0 errors?(?:,|$)
    nx turbo: empty_wins
        failed Failed: +\S|.*Failed tasks:|Tasks: +(\d+) successful, (?!\1 )\d+ total
        empty (?:NX +)?No tasks were (?:run|executed)|Tasks: +0 successful, 0 total
        passed Tasks: +({N}) successful, \1 total|(?:NX +)?Successfully ran target
    ty pyrefly: empty_wins
        failed Found {N} diagnostics?|(?:INFO )?{N} errors?\b
        empty (?:WARN )?No (?:python|Python) files found|error: No Python files
        passed All checks passed|(?:INFO )?0 errors
    dart flutter:
        failed {N} issues? found|.*\bSome tests failed\.
        empty No tests (?:ran|were found)
        passed No issues found|.*\bAll tests passed!
    dbt: is_final
        failed (?:[\d:.]+ +)?Done\. PASS=\d+ WARN=\d+ ERROR={N}|(?:[\d:.]+ +)?Completed with {N} errors?
        empty (?:[\d:.]+ +)?Nothing to do
        passed (?:[\d:.]+ +)?Done\. PASS={N} WARN=\d+ ERROR=0
    act:
        failed \[.*\] .*(?:Job failed|❌)
        passed \[.*\] .*Job succeeded
    prettier:
        failed \[(?:warn|error)\] |.*Code style issues
        passed All matched files use
    rubocop:
        failed \d+ files? inspected, (?!({N}) offenses? detected, \1 offenses? corrected){N} offenses?
        passed \d+ files? inspected, (?:no offenses|{N} offenses? detected, {N} offenses? corrected)
    eslint eslint_d biome oxlint pylint svelte-check stylelint flake8 pycodestyle pydocstyle pyflakes standard xo
      : empty_wins
        failed ✖ \d+ problems? \({N} errors?|ESLint found too many warnings|Oops! Something went wrong
        failed svelte-check found {N} errors?|{N} errors?$
        empty No files matching|No inputs were found
        passed ✖ \d+ problems? \(0 errors|0 errors?$|svelte-check found 0 errors|Your code has been rated at 10\.00
    mypy dmypy ruff pyright basedpyright eslint eslint_d pylint flake8 pycodestyle pydocstyle pyflakes black sqlfluff
      yamllint shellcheck bandit markdownlint stylelint golangci-lint actionlint hadolint: own
        findings {PLACE}(?:\d+:?)? (?:error|warning|fatal)\b|{PLACE}\d+ - error|{PLACE}(?:\d+:)? \[?[A-Z]{1,8}\d{1,5}\b
        findings [A-Z]{1,8}\d{1,5} (?:\[\*\] )?.+$|--> \S+:\d+:\d+|\d+:\d+ +(?:error|✖)|In \S+ line \d+:|\^-- SC\d+
        findings L: +\d+ \| P: |>> Issue: |error: |@@ -\d+|.*\[SC\d+\]|.*shellcheck\.net/wiki/SC\d+|{N} issues?:
    bandit semgrep terraform tofu golangci-lint sqlfluff pip-audit trivy hadolint: own
        failed {N} issues?:|[^\w\n]*Findings: {N}|[^\w\n]*Ran \d+ rules? .*: {N} finding|[│╷ ]*Error: |>> Issue:[ ]
        failed == \[.*\] FAIL|(?:Low|Medium|High): {N}$|Found {N} known vulnerabilit
        passed 0 issues|[^\w\n]*Ran \d+ rules? .*: 0 findings|Success! The configuration is valid
        passed No issues identified|All Finished!(?!)|No known vulnerabilities|== \[.*\] PASS
    gcc g++ cc c++ clang clang++ nvcc emcc javac kotlinc cmake make gmake ninja compileall py_compile bash sh: own
        failed g?make(?:\[\d+\])?: \*\*\* |CMake Error|FAILED: |ninja: build stopped|\*\*\* (?:Error compiling|Sorry)
        findings {PLACE}(?:\d+:)? (?:fatal )?error: |{N} errors?(?: generated)?\.?$|\S+: line \d+: syntax error
        findings SyntaxError:[ ]
    gofmt goimports: own
        failed \S+\.go$|diff |[-+]{3}[ ]
    prettier: own
        findings \S+\.\w{1,5}$
    docker docker-compose podman buildah: own
        failed ERROR: (?:failed|Cannot|process|Service|target|[Nn]o such|building|unable)|.*failed to solve:[ ]
        failed #\d+ ERROR: |The command '.*' returned a non-zero code
        passed (?:=> => |#\d+ )naming to |Successfully built
    curl wget http https xh: own
        failed curl: \(\d+\) |HTTP/\S+ [45]\d\d|[\d: -]*ERROR \d{3}: |wget: |[45]\d\d$
        failed (?:Internal Server Error|Not Found|Bad Gateway|Service Unavailable|Bad Request|Unauthorized|Forbidden)$
        passed HTTP/\S+ 2\d\d|2\d\d$
    pre-commit prek:
        failed [^\n.]{1,200}\.{3,}(?:\([^)\n]*\))?Failed$
        empty [^\n.]{1,200}\.{3,}\(no files to check\)Skipped$
        passed [^\n.]{1,200}\.{3,}Passed$
    npm pnpm yarn bun make gmake task:
        failed npm (?:ERR!|error)|ELIFECYCLE|ERR_PNPM_|error Command |error: (?:Script not found|script )
        failed .*Couldn't find a script named|g?make(?:\[\d+\])?: \*\*\*[ ]
        empty Error: no test specified|no tests? (?:yet|specified|configured)|{UP_TO_DATE}
        built {UP_TO_DATE}
        findings g?make(?:\[\d+\])?: \[.*\] Error \d+ \(ignored\)
"""
"""Each framework's own summary lines: programs and flags, then a kind and a pattern in each row."""
