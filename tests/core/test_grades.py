"""The record of a session's checks, the state that it tells, and the grades of completions."""

from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.core.checks.commands import Family
from punchlist.core.checks.outcome import Outcome
from punchlist.core.grounding.grades import GRADES, Completion, covers, is_about_failure, judge
from punchlist.core.grounding.session import NO_RECORD, Change, CheckRun, SessionRecord, session_state
from punchlist.core.shell.touches import Touch
from tests.core.build import NOW


def run_of(
    name: str = "pytest",
    outcome: Outcome = "passed",
    *,
    family: Family = "test",
    started: int = 1,
    folder: str = "",
    scope: tuple[str, ...] = (),
    agent: int = 1,
) -> CheckRun:
    at = NOW + timedelta(seconds=started)
    return CheckRun(
        name=name,
        family=family,
        outcome=outcome,
        started=started,
        finished=started + 1,
        at=at,
        agent=agent,
        call=f"c{started}",
        folder=folder,
        scope=scope,
    )


@dataclass
class Session:
    """Checks and changes, one after the other."""

    record: SessionRecord = NO_RECORD
    position: int = 0
    changes: list[int] = field(default_factory=list[int])

    def check(self, name: str = "pytest", outcome: Outcome = "passed", **more: object) -> "Session":
        self.position += 2
        run = run_of(name, outcome, started=self.position - 1, **more)  # pyright: ignore[reportArgumentType]
        self.record = self.record.add_run(run, (run.agent,), changes_since=0)
        return self

    def change(self, *files: str, agent: int = 1) -> "Session":
        self.position += 1
        touches = [Touch("edited", path) for path in files or ("src/a.py",)]
        self.record = self.record.add_change(Change(touches, self.position, (agent,)))
        return self

    @property
    def state(self) -> str:
        return session_state("s", self.record).state

    def done(self, **more: object) -> Completion:
        last, changes = self.record.last_change.get(1, 0), self.record.changes
        known = {"last_change": last, "calls": 1, "files": ("src/a.py",), "changes": changes, **more}
        known = {"since": 0, **known}
        return Completion(key="p1/1", agent=1, position=self.position, at=NOW, **known)  # pyright: ignore[reportArgumentType]


def test_a_session_without_checks_and_changes_is_idle_and_with_changes_unchecked() -> None:
    assert (Session().state, Session().change().state) == ("idle", "unchecked")


def test_a_session_is_green_while_nothing_changed_since_the_last_green_test() -> None:
    session = Session().change().check()
    assert session.state == "green"
    assert session.change().state == "unchecked"
    assert session_state("s", session.record).changes_since == 1
    assert session.check("ruff", family="lint").state == "unchecked"  # a lint does not replace the test
    assert session.check().state == "green"


def test_a_lint_is_enough_where_nothing_else_ever_ran() -> None:
    assert Session().change().check("ruff", family="lint").state == "green"


def test_a_session_is_red_until_the_same_program_passes_on_as_much() -> None:
    session = Session().check("pytest", "failed")
    assert session.check("ruff", family="lint").state == "red"
    assert session.check("pytest", scope=("tests/test_a.py",)).state == "red"
    assert session.check("pytest").state == "green"


def test_a_wider_pass_heals_a_narrow_failure_and_another_worktree_heals_nothing() -> None:
    narrow = Session().check("pytest", "failed", scope=("tests/test_a.py::test_b",))
    assert narrow.check("pytest", scope=("tests/test_a.py",)).state == "green"
    folder = Session().check("pytest", "failed", folder="backend")
    assert folder.check("pytest", folder="frontend").state == "red"
    assert folder.check("pytest").state == "green"
    tree = Session().check("pytest", "failed", folder="/another/tree")
    assert tree.check("pytest").state == "red"
    chosen = Session().check("pytest", "failed")
    assert chosen.check("pytest", scope=("-k parser",)).state == "red"


def test_a_record_is_bounded_and_keeps_what_is_red() -> None:
    session = Session().check("first", "failed")
    for number in range(300):
        session.check(f"check{number}").change(agent=number + 10)
    assert len(session.record.checks) == 64
    assert len(session.record.last_change) == 256
    assert session.state == "red"


def test_a_check_after_the_last_change_verifies_and_a_later_edit_does_not_take_that_back() -> None:
    session = Session().change().check()
    done = session.done()
    assert judge(done, session.record).grade == "verified"
    assert judge(done, session.change().record).grade == "verified"
    assert judge(session.done(), session.record).grade == "unchecked"
    assert judge(session.done(), session.check().record).grade == "verified"


def test_red_at_the_completion_or_before_the_next_one_is_failing_until_it_is_healed() -> None:
    session = Session().change().check("pytest", "failed")
    done = session.done()
    assert judge(done, session.record).grade == "failing"
    assert judge(done, session.check("ruff", family="lint").record).grade == "failing"
    assert judge(done, session.check().record).grade == "verified"


def test_red_that_comes_after_the_next_completion_is_the_sessions_alone() -> None:
    session = Session().change().check()
    done = session.done(until=session.position + 1)
    session.change().change().check("pytest", "failed")
    assert (session.state, judge(done, session.record).grade) == ("red", "verified")


def test_a_check_of_another_agent_accuses_nobody_and_may_prove() -> None:
    session = Session().change().check("pytest", "failed", agent=2)
    assert judge(session.done(), session.record).grade == "unchecked"
    assert judge(session.done(), session.check("pytest", agent=2).record).grade == "verified"


def test_only_reading_is_unchecked_and_nothing_at_all_unseen() -> None:
    session = Session().change().check()
    only_read = session.done(only_read=True, files=(), changed=False, since=session.position)
    assert judge(only_read, session.record).grade == "unchecked"
    assert judge(only_read, session.record).remarks == ("only read",)
    assert judge(session.done(calls=0, files=()), session.record).grade == "unseen"
    assert judge(session.done(calls=0, files=(), is_lossy=True), session.record).grade == "unchecked"


def test_a_check_that_covers_none_of_the_changes_does_not_verify_and_the_remark_says_so() -> None:
    session = Session().change("frontend/app.ts").check("pytest", folder="backend")
    found = judge(session.done(files=("frontend/app.ts",)), session.record)
    assert found.grade == "unchecked"
    assert "covers none of the changes in frontend/" in found.remarks[0]


def test_remarks_name_edited_tests_failed_commands_and_the_batch() -> None:
    session = Session().check("pytest", "failed").change("tests/test_a.py").check()
    done = session.done(failed=("docker", "docker"), batch=3, files=("tests/test_a.py",))
    assert judge(done, session.record).remarks == (
        "the failing test was edited (tests/test_a.py)",
        "2 commands failed: docker",
        "with 2 others",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write a failing test for the parser", True),
        ("RED: test the login", True),
        ("Reproduce the crash", True),
        ("Find out why the build is broken", True),
        ("Fix the failing test", False),
        ("Make the failing tests pass", False),
        ("Resolve the failure in CI", False),
        ("Redraw the chart", False),
        ("Add retries to the client", False),
    ],
)
def test_an_item_about_a_failure_is_not_accused_unless_it_asks_for_the_repair(text: str, expected: bool) -> None:
    assert is_about_failure(text) is expected
    session = Session().check("pytest", "failed")
    done = session.done(is_about_failure=is_about_failure(text))
    assert judge(done, session.record).grade == ("unchecked" if expected else "failing")


@pytest.mark.parametrize(
    ("folder", "scope", "files", "expected"),
    [
        ("", (), ("src/a.py",), True),
        ("", ("docs",), ("src/a.py",), False),
        ("", ("!-m not slow",), ("src/a.py",), True),
        ("backend", (), ("frontend/a.ts",), False),
        ("backend", (), ("frontend/a.ts", "backend/b.py"), True),
        ("", ("tests/test_parser.py",), ("src/parser.py",), True),
        ("", ("tests/test_parser.py",), ("src/lexer.py",), False),
        ("", ("tests/test_parser.py",), ("src/_parser.py",), True),
        ("", ("tests/test_parser.py::test_a",), ("src/parser.py",), True),
        ("", ("src/app.test.ts",), ("src/app.ts",), True),
        ("", ("AppTest.java",), ("src/App.java",), True),
        ("", ("tests",), ("src/lexer.py",), True),
        ("", ("-k lexer",), ("src/lexer.py",), True),
        ("", ("-k lexer",), ("src/parser.py",), False),
        ("", ("-run TestParser",), ("pkg/parser.go",), True),
        ("", ("spec/parser_spec.rb::12",), ("lib/parser.rb",), True),
        ("", (), (), True),
        ("web", (), ("/home/ada/shop/web/a.ts",), True),
        ("web", (), ("/home/ada/shop/api/a.py",), False),
    ],
)
def test_a_check_covers_its_folder_or_the_files_that_it_names(
    folder: str, scope: tuple[str, ...], files: tuple[str, ...], expected: bool
) -> None:
    runners = {"ts": "vitest", "go": "go test", "rb": "rspec", "java": "mvn test"}
    name = runners.get(files[-1].rpartition(".")[2], "pytest") if files else "pytest"
    assert covers(run_of(name, folder=folder, scope=scope), files) is expected


@given(st.lists(st.sampled_from(["pass", "fail", "change", "lint"]), max_size=12), st.integers(0, 12))
def test_every_completion_has_a_grade_and_verified_means_a_pass_after_the_last_change(
    steps: list[str], place: int
) -> None:
    session, done, last_change, last_pass = Session(), None, 0, 0
    for number, step in enumerate([*steps, "end"]):
        if number == min(place, len(steps)):
            done, last_change = session.done(), session.record.last_change.get(1, 0)
        if step == "change":
            session.change()
        elif step in ("pass", "fail", "lint"):
            session.check("ruff" if step == "lint" else "pytest", "failed" if step == "fail" else "passed")
            last_pass = last_pass if step == "fail" else session.position - 1
    assert done is not None
    grade = judge(done, session.record).grade
    assert grade in GRADES
    assert grade != "confirmed"
    if grade == "verified":
        assert last_pass > last_change
