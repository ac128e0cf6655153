"""Stories for section 8 of the rules of grounded progress: `failing` means something, and `verified` is earned."""

import pytest
from msgspec.structs import replace

from punchlist.core.checks.commands import hash_words
from punchlist.core.checks.outcome import analyse_command, find_bare_command, judge_line
from punchlist.core.grounding.grades import Completion, judge
from punchlist.core.grounding.session import NO_RECORD
from punchlist.core.todo import NamedCheck
from tests.board.work import FAILS, PASSES, Session
from tests.core.test_grades import run_of

TWO = "FAILED tests/test_a.py::test_x - no\nFAILED tests/test_a.py::test_y - no\n2 failed, 3 passed in 0.1s"
MAVEN = "[ERROR] com.x.ATest.adds -- Time elapsed: 0.01 s <<< FAILURE!\n[ERROR] Tests run: 3, Failures: 1, Errors: 0"
ONE = "FAILED tests/test_a.py::test_x - no\n1 failed, 4 passed in 0.1s"
OTHER = "FAILED tests/test_a.py::test_z - no\n1 failed, 4 passed in 0.1s"


@pytest.fixture
def session() -> Session:
    """A session with an item in progress, and another one to come."""
    opened = Session()
    opened.write("> a", "b")
    return opened


def finish(session: Session) -> str | None:
    session.write("x a", "b")
    return session.grades["a"]


# 8.1 A check that could not start says nothing.


def test_a_runner_that_is_not_installed_accuses_nobody(session: Session) -> None:
    session.edit().run("python -m pytest", "/usr/bin/python: No module named pytest", 1)
    assert finish(session) == "unchecked"
    assert session.report().state == "unchecked"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("uv run pytest", "error: Failed to spawn: `pytest`\n  Caused by: No such file or directory (os error 2)"),
        ("npm test", "npm error enoent Could not read package.json: Error: ENOENT: no such file or directory"),
        ("make test", "make: *** No targets specified and no makefile found.  Stop."),
    ],
)
def test_a_runner_without_what_it_needs_accuses_nobody(session: Session, command: str, output: str) -> None:
    session.edit().run(command, output, 1)
    assert finish(session) == "unchecked"


def test_what_could_not_start_leaves_red_red_and_green_as_old_as_it_was(session: Session) -> None:
    session.edit().fail().run("pytest -q", "bash: pytest: command not found", 127)
    assert session.report().state == "red"
    session.run().run("pytest tests/no.py", "ERROR: file or directory not found: tests/no.py", 4)
    assert finish(session) == "verified"


def test_tests_that_cannot_be_collected_are_a_failure(session: Session) -> None:
    session.edit().run("pytest -q", "ImportError while loading conftest '/p/conftest.py'.", 4)
    assert finish(session) == "failing"


def test_a_label_that_does_not_exist_is_no_failed_test(session: Session) -> None:
    output = (
        "E\nERROR: nothere (unittest.loader._FailedTest)\nImportError: Failed to import test module: nothere\n"
        "ModuleNotFoundError: No module named 'nothere'\n\nRan 1 test in 0.0s\n\nFAILED (errors=1)"
    )
    session.edit().run("python tests/runtests.py nothere", output, 1)
    assert finish(session) == "unchecked"


# 8.2 A script run by an interpreter is a probe.


@pytest.mark.parametrize(
    "command", ["python repro.py", "node try.js", "./run_me.py", "go run .", "python -c 'assert 0'"]
)
def test_a_script_that_crashes_accuses_nobody(session: Session, command: str) -> None:
    session.edit().fail(command, "Traceback (most recent call last):\nValueError: no")
    assert finish(session) == "unchecked"


def test_a_test_script_of_the_project_is_a_check_and_one_of_the_session_is_not(session: Session) -> None:
    session.edit().fail("bin/test", "1 failed, 3 passed")
    assert finish(session) == "failing"
    mine = Session()
    mine.write("> a", "b")
    mine.edit().tool("Write", {"file_path": "bin/test", "content": "exit 1"})
    mine.fail("bin/test", "1 failed, 3 passed")
    assert finish(mine) == "unchecked"


def test_a_script_that_ends_well_without_a_summary_heals_what_it_left_and_proves_nothing(session: Session) -> None:
    session.edit().fail("./scripts/check.sh", "boom")
    assert session.report().state == "red"
    session.edit().run("./scripts/check.sh --fast", "", 0)
    assert session.report().state == "red"
    session.run("./scripts/check.sh", "", 0)
    assert session.report().state == "unchecked"
    assert finish(session) == "unchecked"


def test_a_script_that_ends_in_the_summary_of_a_runner_is_a_test_run(session: Session) -> None:
    session.edit().run("python manage_all.py", "Ran 5 tests in 0.1s\n\nOK", 0)
    assert finish(session) == "verified"


def test_a_file_of_the_session_is_checked_by_a_known_runner(session: Session) -> None:
    session.edit().tool("Write", {"file_path": "test_x.py", "content": "def test_x(): assert 0"})
    session.fail("pytest test_x.py")
    assert session.report().state == "red"
    session.run("rm test_x.py", "", 0)  # the script is gone, and with it what it left
    assert session.report().state == "unchecked"


def test_a_scratch_script_that_is_written_and_fails_in_one_line_accuses_nobody(session: Session) -> None:
    session.edit().fail("cat > /tmp/test_x.py <<'E'\nassert 0\nE\npython /tmp/test_x.py", "AssertionError").run()
    assert finish(session) == "verified"


# 8.3 Scratch files of the session are no changes once they are gone.


def test_a_scratch_file_that_was_run_and_removed_is_no_change(session: Session) -> None:
    session.edit().run()
    session.run("cat > repro.py <<'E'\nprint(1)\nE", "", 0).run("python repro.py", "1", 0)
    assert session.report().state == "unchecked"  # until it is gone it is a change
    session.run("rm repro.py", "", 0)
    assert session.report().state == "green"
    assert finish(session) == "verified"


def test_a_scratch_file_may_be_written_twice_and_removed_with_others_that_are_not_there(session: Session) -> None:
    session.edit().run()
    for _ in range(2):
        session.run("cat > repro.py <<'E'\nprint(1)\nE\npython repro.py", "1", 0)
        session.run("rm repro.py no.py", "rm: cannot remove 'no.py': No such file or directory", 1)
    assert finish(session) == "verified"


@pytest.mark.parametrize("path", ["src/helper.py", "conftest.py", "package.json"])
def test_removing_any_other_file_is_a_change(session: Session, path: str) -> None:
    session.tool("Write", {"file_path": path, "content": "x = 1"})
    session.run(f"python {path}", "", 0).run().run(f"rm {path}", "", 0)
    assert finish(session) == "unchecked"


def test_a_scratch_file_that_was_never_run_is_no_scratch_file(session: Session) -> None:
    session.edit().tool("Write", {"file_path": "notes.py", "content": "x = 1"})
    session.run().run("rm notes.py", "", 0)
    assert finish(session) == "unchecked"


FIX = "cat > /tmp/fix.py <<'E'\nopen('src/a.py', 'w').write('x')\nE"


def test_a_scratch_script_that_writes_files_changes_the_project_when_it_runs(session: Session) -> None:
    session.edit().run().run(FIX, "", 0)
    assert session.report().state == "green"
    session.run("python /tmp/fix.py", "", 0)
    assert finish(session) == "unchecked"


def test_a_check_after_a_scratch_script_that_writes_files_covers_its_change(session: Session) -> None:
    session.run(FIX, "", 0).run("python /tmp/fix.py", "", 0).run("rm /tmp/fix.py", "", 0).run()
    assert finish(session) == "verified"


def test_failures_before_a_scratch_script_that_writes_files_are_failures_without_the_change(session: Session) -> None:
    red = "FAILED tests/test_a.py::test_x\n1 failed, 3 passed in 0.1s"
    session.fail("pytest -q", red).run(FIX, "", 0).run("python /tmp/fix.py && rm /tmp/fix.py", "", 0)
    session.fail("pytest -q", red)
    assert finish(session) == "unchecked"


def test_failures_after_a_scratch_script_that_writes_files_are_not_failures_without_the_change(
    session: Session,
) -> None:
    red = "FAILED tests/test_a.py::test_x\n1 failed, 3 passed in 0.1s"
    session.run(FIX, "", 0).run("python /tmp/fix.py", "", 0).fail("pytest -q", red)
    session.edit().fail("pytest -q", red)
    assert finish(session) == "failing"


def test_a_temporary_file_is_no_change_and_what_it_left_goes_with_it(session: Session) -> None:
    session.edit().run().run("cat > /tmp/test_x.py <<'E'\nassert 0\nE", "", 0)
    assert session.report().state == "green"
    session.fail("pytest /tmp/test_x.py")
    assert session.report().state == "red"
    session.run("rm /tmp/test_x.py", "", 0)
    assert finish(session) == "verified"


# 8.4 The same failures without the change.


def test_failures_that_were_there_before_the_change_are_not_the_items(session: Session) -> None:
    session.fail(result=TWO).edit().fail(result=TWO)
    assert finish(session) == "unchecked"
    assert session.entries["a"].remarks == ("the same 2 tests fail without the change",)
    (check,) = session.report().checks
    assert (session.report().state, check.as_before) == ("red", 2)


def test_one_of_them_mended_is_no_accusation_and_one_that_is_new_is(session: Session) -> None:
    session.fail(result=TWO).edit().fail(result=ONE)
    assert finish(session) == "unchecked"
    new = Session()
    new.write("> a", "b")
    new.fail(result=ONE).edit().fail(result=OTHER)
    assert finish(new) == "failing"


def test_where_names_are_not_printed_both_numbers_have_to_be_equal(session: Session) -> None:
    session.fail(result="2 failed, 3 passed in 0.1s").edit().fail(result="2 failed, 3 passed in 0.2s")
    assert finish(session) == "unchecked"
    fewer = Session()
    fewer.write("> a", "b")
    fewer.fail(result="2 failed, 3 passed in 0.1s").edit().fail(result="2 failed, 2 passed in 0.1s")
    assert finish(fewer) == "failing"


def test_a_run_while_the_change_is_stashed_tells_what_fails_without_it(session: Session) -> None:
    session.edit().fail(result=ONE)
    session.run("git stash", "Saved working directory", 0).fail(result=ONE).run("git stash pop", "Dropped", 0)
    session.fail(result=ONE)
    assert finish(session) == "unchecked"
    assert session.entries["a"].remarks == ("the same test fails without the change",)


def test_the_stash_may_be_in_the_line_of_the_check(session: Session) -> None:
    line = "git stash; pytest -q; git stash pop"
    session.edit().fail(result=ONE).run(line, ONE, 0).fail(
        result=ONE
    )  # the line ends as its last command, which went well
    assert finish(session) == "unchecked"


def test_a_stash_that_does_not_come_back_without_an_error_tells_nothing(session: Session) -> None:
    session.edit().fail(result=ONE).run("git stash", "Saved", 0).fail(result=ONE)
    session.run("git stash pop", "CONFLICT (content): Merge conflict in src/a.py", 1)
    assert finish(session) == "failing"


def test_a_file_that_was_checked_out_and_comes_back_tells_it_too(session: Session) -> None:
    session.edit("src/a.py").fail(result=ONE)
    session.run("cp src/a.py src/a.py.bak; git checkout src/a.py", "Updated 1 path from the index", 0)
    session.fail(result=ONE).run("mv src/a.py.bak src/a.py", "", 0).fail(result=ONE)
    assert finish(session) == "unchecked"


def test_a_part_of_the_change_that_is_checked_out_tells_nothing(session: Session) -> None:
    session.edit("src/a.py").edit("src/b.py").fail(result=ONE).run("git checkout src/a.py", "Updated", 0)
    session.fail(result=ONE).edit("src/a.py").fail(result=ONE)
    assert finish(session) == "failing"


@pytest.mark.parametrize(
    ("command", "before", "other"),
    [
        (
            "mypy src",
            "src/a.py:3: error: bad\nFound 1 error in 1 file",
            "src/a.py:3: error: no\nFound 1 error in 1 file",
        ),
        ("ruff check", "src/a.py:3:1: F401 unused\nFound 1 error.", "src/a.py:3:1: E501 long\nFound 1 error."),
        ("mvn test", MAVEN, MAVEN.replace("ATest", "BTest")),
    ],
)
def test_findings_of_a_checker_are_compared_by_name_too(
    session: Session, command: str, before: str, other: str
) -> None:
    file = "src/A.java" if command == "mvn test" else "src/a.py"
    session.fail(command, before).edit(file).fail(command, before)
    assert finish(session) == "unchecked"
    mine = Session()
    mine.write("> a", "b")
    mine.fail(command, before).edit(file).fail(command, other)
    assert finish(mine) == "failing"


def test_other_options_are_another_check(session: Session) -> None:
    session.fail("pytest -q -W error", ONE).edit().fail(result=ONE)
    assert finish(session) == "failing"


@pytest.mark.parametrize("text", ["Make the tests pass", "Fix test_div", "CI green", "Fix the failing tests"])
def test_an_item_that_asks_for_the_check_is_failing_all_the_same(text: str) -> None:
    session = Session()
    session.write(f"> {text}", "b")
    session.fail(result=ONE).edit().fail(result=ONE).write(f"x {text}", "b")
    assert session.grades[text] == "failing"


# 8.5 Who is charged for red.


def test_red_at_the_completion_is_charged_to_what_changed_code_or_ran_the_check(session: Session) -> None:
    session.edit().fail()
    assert finish(session) == "failing"
    session.write("x a", "> b", "c")
    session.edit("README.md").write("x a", "x b", "c")
    assert session.grades["b"] == "unchecked"
    assert session.entries["b"].remarks[0].startswith("only prose")


def test_red_that_runs_before_any_later_change_is_charged(session: Session) -> None:
    session.edit()
    assert finish(session) == "unchecked"
    session.fail()
    assert session.grades["a"] == "failing"


def test_red_after_later_changes_is_charged_to_the_item_that_is_open_then(session: Session) -> None:
    session.edit().run()
    assert finish(session) == "verified"
    session.edit("src/b.py").fail()
    assert session.grades["a"] == "verified"
    assert session.entries["a"].remarks[0].startswith("pytest red since ")
    assert session.entries["a"].remarks[0].endswith(", after later changes")
    session.write("x a", "x b", "c")
    assert session.grades["b"] == "failing"


def test_code_changed_in_the_same_turn_while_nothing_is_open_is_charged(session: Session) -> None:
    session.edit().run().write("x a", "x b")
    session.edit("src/b.py").fail()
    assert session.grades["a"] == "failing"


def test_after_the_next_prompt_it_is_not(session: Session) -> None:
    session.edit().run().write("x a", "x b")
    session.agent.user_turn()
    session.edit("src/b.py").fail()
    assert session.grades["a"] == "verified"
    assert session.report().state == "red"


def test_a_model_hears_only_of_red_that_is_its_own() -> None:
    session = Session(grades="tell")
    session.write("> a", "b", "c")
    session.edit().run().write("x a", "> b", "c")
    session.edit("src/b.py").fail()
    assert [one for one in session.agent.assistant_turn(["Bash"]) if one.kind == "finding"] == []
    reply = session.write("x a", "x b", "> c")
    assert "'" in reply.text or "b" in reply.text
    assert session.grades["b"] == "failing"


# 8.6 Verified is earned by the item.


def test_prose_and_reading_are_not_verified_by_the_tests_of_others(session: Session) -> None:
    session.edit().run()
    assert finish(session) == "verified"
    session.write("x a", "> Write the plan", "Review", "c")
    session.edit("docs/plan.md").write("x a", "x Write the plan", "> Review", "c")
    session.tool("Read", {"file_path": "src/a.py"}, "text")
    session.write("x a", "x Write the plan", "x Review", "c")
    assert (session.grades["Write the plan"], session.grades["Review"]) == ("unchecked", "unchecked")
    assert session.entries["Write the plan"].remarks == ("only prose",)
    assert session.entries["Review"].remarks == ("only read",)


def test_a_check_without_a_change_says_that_nothing_was_changed(session: Session) -> None:
    session.run()
    assert finish(session) == "verified"
    assert session.entries["a"].remarks == ("nothing was changed",)


@pytest.mark.parametrize(
    "command", ["mypy src", "pyright", "tsc --noEmit", "cargo check", "go vet ./...", "go build ./..."]
)
def test_type_checkers_and_compilers_count_as_a_build(command: str) -> None:
    found = analyse_command(command).check
    assert found is not None
    assert found.family == "build"


def test_the_judgement_says_what_verified_it() -> None:
    done = Completion(key="p/1", agent=1, position=9, at=run_of().at, since=0, calls=1, changed=True)
    for family, is_named, expected in (("test", False, "test"), ("build", False, "build"), ("test", True, "named")):
        run = replace(run_of(family=family), named="x" * is_named)  # pyright: ignore[reportArgumentType]
        found = judge(done, NO_RECORD.add_run(run, (1,), changes_since=0))
        assert (found.grade, found.verified_by) == ("verified", expected)


@pytest.mark.parametrize(
    ("named", "line", "code", "outcome"),
    [
        ("npm run build", "cd web && CI=1 npm run build", 0, "passed"),
        ("npm run build", "cd web && CI=1 npm run build", 1, "failed"),
        ("curl -fsS localhost:8000/health", "timeout 5 curl -fsS localhost:8000/health", 0, "passed"),
        ("./smoke.sh", "bash -lc './smoke.sh'", 3, "failed"),
        ("./smoke.sh", "./smoke.sh || true", 0, None),
        ("./smoke.sh", "./smoke.sh | tee log", 0, None),
        ("./smoke.sh", "./smoke.sh; echo done", 0, None),
        ("./smoke.sh", "./smoke.sh --fast", 0, None),
    ],
)
def test_a_named_check_is_matched_whole_as_it_was_run(named: str, line: str, code: int, outcome: str | None) -> None:
    found = analyse_command(line, named=[NamedCheck(named, "project")]).check
    is_named = found is not None and found.checks[0].named != ""
    assert is_named == (outcome is not None)
    if found is not None and is_named:
        assert judge_line(found, "whatever\n1 failed", exit_code=code) == outcome


def test_an_item_with_its_own_check_is_verified_by_that_alone() -> None:
    smoke = replace(run_of("smoke.sh", started=3), named=hash_words(("./smoke.sh",)))
    record = NO_RECORD.add_run(run_of(), (1,), changes_since=0)
    check = NamedCheck("./smoke.sh", "person")
    done = Completion(
        key="p/1",
        agent=1,
        position=9,
        at=run_of().at,
        since=0,
        calls=1,
        changed=True,
        check=check,
        is_check_accepted=True,
    )
    assert judge(done, record).remarks == ("its check did not pass: ./smoke.sh",)
    assert judge(done, record.add_run(smoke, (1,), changes_since=0)).verified_by == "named"
    refused = replace(done, check=NamedCheck("true", "model"), is_check_accepted=False)
    assert judge(refused, record).remarks == ("its check counts for nothing: true",)
    assert find_bare_command("cd x && FOO=1 timeout 3 ./smoke.sh") == ("./smoke.sh",)


# 8.8 Errors that were mended.


def test_a_call_that_the_person_declined_is_no_failure(session: Session) -> None:
    session.edit().run()
    session.tool(
        "Bash", {"command": "docker push x"}, "The user doesn't want to proceed with this tool use.", is_error=True
    )
    assert finish(session) == "verified"
    assert session.entries["a"].remarks == ("1 command declined by you: docker",)


def test_a_commit_is_no_change_whatever_its_message_says(session: Session) -> None:
    session.edit().run().run('git commit -m "fix"', "[main 1a2b3c4] fix", 0).run("git commit fix -m checkout", "", 0)
    assert finish(session) == "verified"


def test_a_commit_that_a_hook_refuses_is_a_failed_check_until_one_goes_through(session: Session) -> None:
    session.edit().run().run("git commit -m x", "ruff....Failed\n- hook id: ruff\n- exit code: 1", 1)
    assert session.report().state == "red"
    session.run("git commit -m x", "nothing to commit, working tree clean", 1)
    assert session.report().state == "red"
    session.run("git commit -m x", "[main 1a2b3c4] x", 0)
    assert finish(session) == "verified"


@pytest.mark.parametrize(
    ("command", "output", "code", "outcome"),
    [
        ("python tests/runtests.py", "Ran 60 tests in 1s\n\nOK (skipped=9, expected failures=2)", 0, "passed"),
        (
            "cargo test | tail -5",
            "   Doc-tests x\n\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed",
            0,
            "unknown",
        ),
        ("mix test", "There are no tests to run", 0, "empty"),
        ("nx run-many -t test", "NX   No tasks were run", 0, "empty"),
        ("turbo run test", " Tasks:    0 successful, 0 total", 0, "empty"),
        ("pyright", "No source files found.\n0 errors, 0 warnings", 0, "empty"),
        (
            "cargo nextest run",
            "     Summary [   0.001s] 0 tests run: 0 passed, 0 skipped\nerror: no tests to run",
            4,
            "empty",
        ),
        ("bazel test //...", "ERROR: No test targets were found, yet testing was requested", 4, "empty"),
        ("biome check .", "Checked 0 files in 1ms. No fixes applied.", 1, "empty"),
        ("mypy .", "There are no .py[i] files in directory '.'", 2, "empty"),
        ("pest", "  INFO  No tests found.", 1, "empty"),
        ("gradle build | tail", "BUILD SUCCESSFUL in 3s", 0, "passed"),
        ("ty check | tail", "All checks passed!", 0, "passed"),
        ("dart analyze | tail", "No issues found!", 0, "passed"),
        ("dbt test", "Done. PASS=3 WARN=0 ERROR=1 SKIP=0 TOTAL=4", 1, "failed"),
    ],
)
def test_summaries_are_read_as_their_programs_mean_them(command: str, output: str, code: int, outcome: str) -> None:
    found = analyse_command(command).check
    assert found is not None
    assert judge_line(found, output, exit_code=code) == outcome


def test_old_words_stay(session: Session) -> None:
    session.edit().fail().run()
    assert (PASSES, FAILS) == ("3 passed in 0.1s", "1 failed in 0.1s")
    assert finish(session) == "verified"


# What a second reviewer tried.

VITEST = " Tests  1 failed | 4 passed (5)"
GO = "--- FAIL: TestB (0.00s)\nFAIL\nFAIL\tx\t0.1s"


@pytest.mark.parametrize(
    ("command", "before", "after"),
    [
        ("go test ./...", GO, f"{GO}\nFAIL\ty [build failed]"),
        ("pytest -q", ONE, f"{ONE}\nINTERNALERROR> x"),
        ("npx vitest run", f" FAIL  a.test.ts > b\n{VITEST}", f" FAIL  a.test.ts > c\n{VITEST}"),
        ("gradle test", "T > a FAILED\n5 tests completed, 1 failed", "T > b FAILED\n5 tests completed, 1 failed"),
    ],
)
def test_another_failure_than_before_is_the_items(session: Session, command: str, before: str, after: str) -> None:
    session.fail(command, before).edit("src/a.x").fail(command, before).write("x a", "> b")
    assert session.grades["a"] == "unchecked"
    session.edit("src/a.x").fail(command, after).write("x a", "x b")
    assert session.grades["b"] == "failing"


@pytest.mark.parametrize("text", ["Ensure all tests pass", "Run the tests and verify they pass", "All tests must pass"])
def test_an_item_that_asks_for_passing_tests_is_failing_without_them(text: str) -> None:
    session = Session()
    session.write(f"> {text}")
    session.fail(result=ONE).edit().fail(result=ONE).write(f"x {text}")
    assert session.grades[text] == "failing"


def test_a_check_in_a_folder_that_the_host_names_outside_the_project_covers_nothing() -> None:
    session = Session(project="/repo")
    session.write("> a", "b")
    session.edit("/repo/src/a.py").tool("Bash", {"command": "pytest -q", "cwd": "/other"}, PASSES, exit_code=0)
    assert finish(session) == "unchecked"
    session.tool("Bash", {"command": "pytest -q", "cwd": "/repo"}, PASSES, exit_code=0)
    assert session.grades["a"] == "verified"


def test_the_root_that_git_names_is_the_project(session: Session) -> None:
    session.edit().run('cd "$(git rev-parse --show-toplevel)" && pytest -q')
    assert finish(session) == "verified"


def test_a_pass_with_the_options_of_the_red_run_ends_the_remark(session: Session) -> None:
    session.edit().fail().run("pytest -q -p no:randomly").run()
    assert finish(session) == "verified"
    assert session.entries["a"].remarks == ()


def test_a_change_that_was_made_again_is_not_taken_back(session: Session) -> None:
    session.edit().fail().run("git restore src/a.py", "").edit().run()
    assert finish(session) == "verified"
    assert session.entries["a"].remarks == ()


def test_what_the_check_wrote_itself_is_its_summary(session: Session) -> None:
    session.edit().run("pytest -q > out.log 2>&1; tail -3 out.log")
    assert finish(session) == "verified"


def test_a_check_in_the_background_proves_nothing_before_it_has_ended(session: Session) -> None:
    started = "Command running in background with ID: bash_1"
    session.edit().tool("Bash", {"command": "pytest -q", "run_in_background": True}, started)
    session.tool("BashOutput", {"bash_id": "bash_1"}, f"{PASSES}\nrunning more")
    assert finish(session) == "unchecked"
    ended = f"<status>completed</status>\n<exit_code>0</exit_code>\n<stdout>\n{PASSES}\n</stdout>"
    session.tool("BashOutput", {"bash_id": "bash_1"}, ended)
    assert session.grades["a"] == "verified"
