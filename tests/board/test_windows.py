"""Stories: what an agent did, what it called done, and the grades that follow."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from punchlist import Board
from tests.board.work import FAILS, PASSES, Session, todo


def test_work_since_the_previous_completing_write_counts_whatever_was_in_progress() -> None:
    session = Session()
    session.write("a", "b")
    session.edit().run().write("x a", "b")
    session.edit().write("x a", "x b", "c")
    assert session.grades == {"a": "verified", "b": "unchecked", "c": None}


def test_items_of_one_write_share_its_window() -> None:
    session = Session()
    session.write("> a", "b", "c", "d")
    session.edit().run().write("x a", "x b", "x c", "> d")
    assert session.grades == {"a": "verified", "b": "verified", "c": "verified", "d": None}
    assert session.entries["b"].remarks == ("with 2 others",)


def test_work_before_the_list_counts_for_the_first_completing_write() -> None:
    session = Session().edit().run()
    session.write("x a", "b")
    assert session.grades == {"a": "verified", "b": None}


def test_what_was_done_while_an_item_was_in_progress_counts_though_another_was_completed_meanwhile() -> None:
    session = Session()
    session.write("> a", "b", "c")
    session.edit().run().write("> a", "x b", "c")
    session.write("x a", "x b", "c")
    assert session.grades == {"a": "verified", "b": "verified", "c": None}
    session.write("x a", "x b", "x c", "d")
    assert session.grades["c"] == "unseen"


def test_a_finished_item_that_is_sent_again_keeps_its_grade_and_moves_no_window() -> None:
    session = Session()
    session.write("> a")
    session.edit().run().write("x a")  # the dialect wipes a finished list
    session.edit("src/b.py").write("x a", "> b")
    assert session.grades["b"] is None
    assert [item.grade for item in session.agent.todos.items] == ["verified", None]
    session.write("x a", "x b", "c")
    assert [item.grade for item in session.agent.todos.items] == ["verified", "unchecked", None]


def test_what_a_subagent_finished_and_the_agent_sends_again_ends_no_window_of_the_agent() -> None:
    session = Session()
    session.write("> a", "z")
    session.edit().run().write("x a", "z")
    child = session.agent.spawn("explore")
    session.edit("src/c.py", by=child)
    child.call("TodoWrite", {"todos": [todo("c", "completed"), todo("d", "pending")]})
    session.write("x a", "x c", "z")
    session.fail()
    assert session.agent.todos.items[0].grade == "failing"


def test_a_window_that_has_ended_stays_so_when_the_item_that_ended_it_is_completed_again() -> None:
    session = Session()
    session.write("> a", "b", "z")
    session.edit().write("x a", "> b", "z")
    session.edit().write("x a", "x b", "z")
    session.write("x a", "> b", "z")
    session.fail().write("x a", "x b", "z")
    session.fail()
    assert session.grades == {"a": "unchecked", "b": "failing", "z": None}


def test_a_finished_item_that_was_sent_again_is_graded_again_with_the_first() -> None:
    session = Session()
    session.write("> a")
    session.edit().write("x a")
    session.write("x a", "> b")
    session.run()
    assert [item.grade for item in session.agent.todos.items] == ["verified", None]


def test_a_check_after_the_completion_verifies_also_what_left_the_list() -> None:
    session = Session()
    session.write("> a")
    session.edit().write("x a")
    assert (session.agent.todos.items, session.grades) == ((), {"a": "unchecked"})
    session.run()
    assert session.grades == {"a": "verified"}


def test_an_item_that_is_reopened_and_done_again_is_judged_by_what_came_since() -> None:
    session = Session()
    session.write("> a", "b")
    session.edit().run().write("x a", "b")
    session.write("> a", "b")
    session.edit().write("x a", "b")
    assert session.grades["a"] == "unchecked"


def test_a_failed_command_grades_nothing_and_is_named() -> None:
    session = Session()
    session.write("> a", "b")
    session.edit().run().run("docker compose up", "no such service", 1).write("x a", "b")
    assert session.grades["a"] == "verified"
    assert session.entries["a"].remarks == ("1 command failed: docker",)


def test_the_same_program_heals_and_another_does_not() -> None:
    session = Session()
    session.write("> a", "b")
    session.edit().fail("ruff check .", "Found 2 errors.").run().write("x a", "b")
    assert session.grades["a"] == "failing"
    session.run("ruff check .", "All checks passed!")
    assert session.grades["a"] == "verified"


def test_red_after_the_next_completion_is_the_sessions_alone() -> None:
    session = Session()
    session.write("> a", "b", "c")
    session.edit().run().write("x a", "> b", "c")
    session.edit().run().write("x a", "x b", "> c")
    session.edit("src/c.py").fail()
    # 8.5: code changed after "b" was done, for "c", so the red is not charged to "b" but to "c" once it is done.
    assert session.grades == {"a": "verified", "b": "verified", "c": None}
    assert session.report().state == "red"
    session.write("x a", "x b", "x c")
    assert session.grades["c"] == "failing"


@pytest.mark.parametrize(
    ("text", "grade"),
    [("Write a failing test", "unchecked"), ("RED test for login", "unchecked"), ("Fix the failing test", "failing")],
)
def test_an_item_about_a_failure_is_not_accused_of_it(text: str, grade: str) -> None:
    session = Session()
    session.write(f"> {text}", "b")
    session.edit("tests/test_a.py").fail().write(f"x {text}", "b")
    assert session.grades[text] == grade


def test_only_reading_is_unchecked_and_talk_is_unseen() -> None:
    session = Session()
    session.run().write("x z", "> a", "b", "c")
    session.run("cat README.md", "text").write("x z", "x a", "b", "c")
    session.run("echo done", "done").write("x z", "x a", "x b", "c")
    assert session.grades == {"z": "verified", "a": "unchecked", "b": "unseen", "c": None}
    assert session.entries["a"].remarks[0] == "only read"


def test_prose_and_commits_after_the_check_change_no_code() -> None:
    session = Session()
    session.write("> a", "b")
    session.edit().run().edit("CHANGELOG.md").run("git commit -am x", "[main 3fa2b1c] x").write("x a", "b")
    assert session.grades["a"] == "verified"


def test_each_check_of_a_line_has_its_own_outcome() -> None:
    session = Session()
    session.write("> a", "b")
    session.edit().run("ruff check .; pytest -q; true", f"Found 1 error.\n{PASSES}").write("x a", "b")
    assert session.grades["a"] == "failing"
    assert {check.program: check.outcome for check in session.report().checks} == {
        "ruff check": "failed",
        "pytest": "passed",
    }


def test_a_check_in_another_folder_proves_nothing() -> None:
    session = Session()
    session.write("> a", "b")
    session.edit("frontend/app.ts").run("cd backend && pytest -q").write("x a", "b")
    assert session.grades["a"] == "unchecked"
    session.run("npx vitest run", "Tests  3 passed (3)")
    assert session.grades["a"] == "verified"


def test_a_narrow_check_covers_the_files_that_it_names() -> None:
    session = Session()
    session.write("> a", "b", "c")
    session.edit("src/parser.py").run("pytest tests/test_parser.py").write("x a", "> b", "c")
    session.edit("src/lexer.py").run("pytest tests/test_parser.py").write("x a", "x b", "c")
    assert session.grades == {"a": "verified", "b": "unchecked", "c": None}


def test_a_child_works_for_the_item_of_its_parent() -> None:
    session = Session()
    session.write("> a", "b")
    child = session.agent.spawn("helper")
    session.edit(by=child).run(by=child).write("x a", "b")
    assert session.grades["a"] == "verified"
    assert session.entries["a"].tally.child_calls == 2
    session.edit(by=child).fail(by=child)
    assert session.grades["a"] == "failing"


def test_a_delegation_whose_calls_nobody_reports_is_activity_and_no_check() -> None:
    session = Session()
    session.write("> a", "b")
    session.tool("Task", {"description": "run the tests", "prompt": "run pytest"}, PASSES)
    session.write("x a", "b")
    assert session.grades["a"] == "unchecked"


def test_a_check_in_the_background_belongs_to_the_call_that_began_it() -> None:
    session = Session()
    session.write("> a", "b")
    session.edit()
    start = {"command": "pytest -q", "run_in_background": True}
    session.tool("Bash", start, "Command running in background with ID: b1")
    session.write("x a", "b")
    assert session.grades["a"] == "unchecked"
    session.tool(
        "BashOutput",
        {"bash_id": "b1"},
        f"<status>completed</status>\n<exit_code>0</exit_code>\n<stdout>{PASSES}</stdout>",
    )
    assert session.grades["a"] == "verified"


def test_a_change_made_while_a_check_ran_is_not_covered_by_it() -> None:
    session = Session()
    session.write("> a", "b")
    session.agent.tool_started("slow", "Bash", {"command": "pytest -q"})
    session.edit()
    session.agent.tool_finished("slow", PASSES, exit_code=0)
    session.write("x a", "b")
    assert session.grades["a"] == "unchecked"
    assert session.report().state == "unchecked"


def test_a_probe_is_evidence_and_never_enough() -> None:
    session = Session()
    session.write("> a", "b")
    session.edit().run('python -c "import app; assert app.ok"', "").write("x a", "b")
    assert session.grades["a"] == "unchecked"


def test_an_edited_test_is_a_remark() -> None:
    session = Session()
    session.write("> a", "b")
    session.edit().fail().edit("tests/test_a.py").run().write("x a", "b")
    assert session.grades["a"] == "verified"
    assert session.entries["a"].remarks == ("the failing test was edited (tests/test_a.py)",)


def test_a_session_says_its_state_by_which_check_and_how_many_changes_ago() -> None:
    session = Session()
    assert session.report().state == "idle"
    session.write("> a", "b")
    session.edit().edit()
    (state,) = session.report().sessions
    assert (state.state, state.changes_since, state.decided_by) == ("unchecked", 2, None)
    session.run().edit()
    (state,) = session.report().sessions
    assert (state.state, state.changes_since) == ("unchecked", 1)
    session.run()
    assert session.report().state == "green"
    session.fail(result=FAILS)
    session.write("x a", "b")
    (state,) = session.report().sessions
    assert (state.state, state.done_since) == ("red", 1)
    assert [row.session_state for row in session.board.overview()] == ["red"]
    assert session.board.brief(after=0).sessions[0].state == "red"


def test_two_agents_of_a_session_are_not_accused_for_each_other() -> None:
    session = Session()
    other = session.board.agent("other", session="s", dialect="claude-code")
    session.write("> a", "b")
    session.edit().write("x a", "b")
    session.fail(by=other)
    assert session.grades["a"] == "unchecked"
    assert session.report().state == "red"


# Cases that were once graded wrongly.


@pytest.mark.parametrize(
    ("line", "result", "code"),
    [
        ("sed -i s/x/y/ src/b.py; make test", "", 0),
        ("sed -i s/x/y/ src/b.py; pytest -k nothing", "no tests ran in 0.1s", 5),
        ("sed -i s/x/y/ src/b.py; grep -c zzz src/b.py", "0", 1),
        ("git merge feature", "CONFLICT (content): Merge conflict in a.py", 1),
        ("pytest -q; sed -i s/x/y/ src/b.py", PASSES, 0),
    ],
)
def test_a_change_in_a_line_with_a_check_or_a_failure_is_not_lost(line: str, result: str, code: int) -> None:
    session = Session()
    session.write("> a", "b")
    session.edit().run().run(line, result, code).write("x a", "b")
    assert session.grades["a"] == "unchecked"
    assert session.report().state == "unchecked"


def test_a_line_that_changes_and_then_checks_is_checked() -> None:
    session = Session()
    session.write("> a", "b")
    session.edit().run("sed -i s/x/y/ src/b.py && pytest -q").write("x a", "b")
    assert session.grades["a"] == "verified"
    (state,) = session.report().sessions
    assert (state.state, state.changes_since) == ("green", 0)


def test_a_lint_after_a_change_does_not_verify_and_leaves_the_session_unchecked() -> None:
    session = Session()
    session.write("> a", "b")
    session.edit().run().run("sed -i s/x/y/ src/b.py && ruff check .", "All checks passed!").write("x a", "b")
    assert session.grades["a"] == "unchecked"  # 8.6: a linter alone proves too little
    assert session.entries["a"].remarks == ("only linted (ruff check)",)
    assert session.report().state == "unchecked"


def test_another_worktree_proves_nothing() -> None:
    session = Session()
    session.write("> a", "b", "c")
    session.edit("/repo/src/a.py").run("cd /repo-wt && pytest -q").write("x a", "> b", "c")
    session.edit("/repo/src/a.py").run("cd ../repo-wt && pytest -q").write("x a", "x b", "c")
    assert session.grades == {"a": "unchecked", "b": "unchecked", "c": None}


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ("Handle failed payments", "failing"),
        ("Add failure notifications", "failing"),
        ("Write failing test with fixtures (RED)", "unchecked"),
        ("Add failing tests for the DNS resolver", "unchecked"),
    ],
)
def test_words_that_only_look_like_a_failure_or_a_repair(text: str, grade: str) -> None:
    session = Session()
    session.write(f"> {text}", "b")
    session.edit().run("ruff check .", "All checks passed!").fail().write(f"x {text}", "b")
    assert session.grades[text] == grade


def test_a_persons_word_goes_to_no_item_of_another_agent() -> None:
    session = Session()
    session.run()
    session.write("Deploy", "b")
    session.agent.edit([{"op": "done", "item": "Deploy"}], by="ada", person=True)
    other = session.board.agent("other", session="s", dialect="claude-code")
    other.tool_started("x", "Read", {"file_path": "a"})
    other.tool_finished("x", "text")
    other.call("TodoWrite", {"todos": [todo("Deploy", "completed"), todo("c", "pending")]})
    assert other.todos.items[0].grade == "unchecked"


def test_an_edit_that_was_given_up_may_have_been_made() -> None:
    session = Session()
    session.write("> a", "b")
    session.edit().run()
    session.agent.tool_started("lost", "Edit", {"file_path": "src/b.py"})
    session.agent.user_turn()
    session.write("x a", "b")
    assert (session.grades["a"], session.report().state) == ("unchecked", "unchecked")


def test_only_reading_is_known_without_previews() -> None:
    session = Session(previews=0)
    session.write("> z", "a", "b")
    session.edit().run().write("x z", "> a", "b")
    session.run("grep -rn x src", "1").write("x z", "x a", "b")
    assert session.grades["a"] == "unchecked"


def test_red_of_one_agent_is_not_charged_to_old_items_of_another() -> None:
    session = Session()
    alice = session.board.agent("alice", session="s", dialect="claude-code")
    session.fail(by=alice)
    session.write("> a", "b", "c")
    session.edit().write("x a", "> b", "c")
    session.edit().write("x a", "x b", "> c")
    session.fail(result="2 failed in 0.1s")  # 8.4: with the same failure as before nobody would be charged
    assert session.grades == {"a": "unchecked", "b": "failing", "c": None}


def test_how_a_check_ends_counts_and_not_what_it_said_on_the_way() -> None:
    session = Session()
    session.write("> a", "b")
    session.edit()
    session.agent.tool_started("t", "Bash", {"command": "pytest -q"})
    session.agent.tool_updated("t", "1 failed in 0.1s")
    session.agent.tool_finished("t", PASSES, exit_code=0)
    session.write("x a", "b")
    assert session.grades["a"] == "verified"


def test_all_items_of_one_write_change_together() -> None:
    session = Session()
    texts = [f"item {number}" for number in range(300)]
    session.write(*texts, "last")
    session.edit().write(*(f"x {text}" for text in texts), "last")
    session.run()
    assert {item.grade for item in session.agent.todos.items[:300]} == {"verified"}


def test_a_verified_item_stays_so_when_its_check_is_forgotten() -> None:
    session = Session()
    session.write("> a", "b")
    session.edit("src/mod_a.py").run("pytest tests/test_mod_a.py").write("x a", "b")
    for number in range(70):
        session.run(f"pytest tests/test_q{number}.py")
    assert session.grades["a"] == "verified"


def test_items_that_are_sent_again_are_counted_once() -> None:
    session = Session()
    session.write("> a", "b", "c")
    session.edit().fail().write("x a", "x b", "x c")
    for _ in range(3):
        session.write("x a", "x b", "x c")
    report = session.report()
    assert (report.totals.items, report.totals.completed, report.sessions[0].done_since) == (3, 3, 3)


def test_a_task_is_graded_by_the_window_of_its_worker() -> None:
    session = Session()
    one, two = (session.board.agent(name, session="s", dialect="claude-code") for name in ("one", "two"))
    one.tasks("work").create("Fix it")
    one.tasks("work").claim()
    session.edit(by=one).fail(by=one)
    session.run("ruff check .", "All checks passed!", by=two)
    two.tasks("work").complete("1")
    assert session.board.tasks("work").get("1").grade == "failing"


@pytest.mark.sqlite
def test_a_damaged_record_costs_what_it_knew_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    session = Session()
    with Board.open(path) as board:
        session.agent = board.agent("main", session="s", dialect="claude-code")
        session.write("> a", "b")
        session.edit().run()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE sessions SET checks = 'garbage'")
    with Board.open(path) as board:
        session.agent = board.agent("main", session="s", dialect="claude-code")
        assert board.report(session="s").state == "idle"
        session.edit().run().write("x a", "b")
        assert session.agent.todos.items[0].grade == "verified"
        assert board.report(session="s").state == "green"


def test_a_folder_that_the_host_names_covers_files_that_are_named_from_there() -> None:
    session = Session(project="/somewhere")  # outside the project it covers nothing
    session.write("> a", "b")
    session.edit("src/a.py")
    call = {"command": ["bash", "-lc", "pytest -q"], "workdir": "/somewhere"}
    session.tool("shell", call, {"output": PASSES, "metadata": {"exit_code": 0}})
    session.write("x a", "b")
    assert session.grades["a"] == "verified"
