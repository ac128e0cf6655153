"""The words for grades and sessions: the mark carries the grade, the line gives the reason, on every surface."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from punchlist.board import Board
from punchlist.core.todo import Status, TodoItem
from punchlist.terminal.lists import mark_item
from punchlist.terminal.reports import report_lines
from punchlist.terminal.spans import ASCII, UNICODE, Glyphs, plain_text
from punchlist.testing import FakeClock
from punchlist.views.reports import Around
from tests.board.work import Session
from tests.cli.conftest import Run

MARKS = {"verified": "✓", "failing": "✗", "unchecked": "?", "unseen": "·", "confirmed": "★"}
ONE_FAILS = "FAILED tests/test_a.py::test_x - no\n1 failed in 0.1s"


def read(session: Session) -> str:
    return plain_text(report_lines(session.report(), Around(), UNICODE))


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_the_mark_of_a_done_item_is_that_of_its_grade_and_never_that_of_an_open_one(glyphs: Glyphs) -> None:
    marks = {
        grade: mark_item(TodoItem(id="1", content="a", status=Status.COMPLETED, grade=grade), glyphs).text
        for grade in MARKS
    }
    assert len(set(marks.values())) == len(marks)
    still_open = {glyphs.boxes[status] for status in ("pending", "in_progress", "blocked")}
    assert still_open.isdisjoint(marks.values())
    assert marks["failing"] != glyphs.boxes["completed"]
    if glyphs is UNICODE:
        assert marks == MARKS


def test_the_line_of_an_item_gives_its_reason() -> None:
    session = Session()
    session.write("> a", "b", "c", "d")
    session.edit().run("pytest -q", "388 passed in 2s")
    session.write("x a", "> b", "c", "d")
    session.edit("src/b.ts").run("npx tsc --noEmit", "", 0)
    session.write("x a", "x b", "> c", "d")
    session.edit("tests/test_a.py").fail("pytest tests/test_a.py", ONE_FAILS)
    session.write("x a", "x b", "x c", "> d")
    session.write("x a", "x b", "x c", "x d")
    said = read(session)
    assert re.search(r"✓ a  verified: pytest, 388 passed, .*09:00\n", said)
    assert re.search(r"✓ b  verified \(build\): tsc, passed, .*09:00\n", said)
    assert re.search(r"✗ c  failing: pytest tests/test_a.py, 1 failed, .*09:00\n", said)
    assert "· d  unseen: no work on it was seen\n" in said


def test_a_check_of_another_day_is_told_with_the_weekday_as_in_the_brief(run: Run, tmp_path: Path) -> None:
    clock = FakeClock(datetime.now(UTC) - timedelta(days=3))
    with Board.open(tmp_path / "past.db", clock=clock) as board:
        agent = board.agent("main", session="s1", project=tmp_path)
        agent.call("todo", {"set": ["Paint"]})
        agent.tool_started("c1", "Edit", {"file_path": "src/door.py"})
        agent.tool_finished("c1", result="ok")
        agent.tool_started("c2", "Bash", {"command": "pytest -q"})
        agent.tool_finished("c2", result="1 failed", exit_code=1)
        agent.call("todo", {"done": "1"})
    at = f"{clock().astimezone():%a %H:%M}"
    said = run("--db", str(tmp_path / "past.db"), "report", "--all").out
    assert f"pytest failed {at} and was not green since" in said
    assert f"failing: pytest, 1 failed, {at}" in said


def test_no_command_line_begins_with_a_folder_and_files_are_three_at_most() -> None:
    session = Session()
    session.write("> a")
    for name in "abcde":
        session.edit(f"/p/src/{name}.py")
    session.fail("cd /p/backend && pytest -q", ONE_FAILS)
    session.write("x a")
    said = read(session)
    assert "cd /p" not in said
    assert "  $ pytest -q\n" in said
    assert said.count(".py") - said.count("test_a.py") == 3
    assert "2 more" in said


def test_files_are_named_from_the_folder_of_their_project(run: Run, board: Board, project: Path) -> None:
    agent = board.agent("main", session="s1", project=project)
    agent.call("todo", {"set": ["Paint"]})
    agent.tool_started("c1", "Edit", {"file_path": str(project / "src/door.py")})
    agent.tool_finished("c1", result="ok")
    agent.call("todo", {"done": "1"})
    assert "files: src/door.py\n" in run("report", "--all").out


def test_a_session_says_how_many_changes_were_not_checked() -> None:
    session = Session()
    session.write("> a")
    for name in ("a", "b", "c"):
        session.edit(f"src/{name}.py")
    assert "session not checked since 3 changes: no check ran\n" in read(session)
    session.run("ruff check .", "All checks passed!")
    session.edit("src/d.py")
    assert "session not checked since 1 change: the last one was ruff check, " in read(session)
    assert "session unchecked" not in read(session)


def test_red_that_was_there_before_says_so() -> None:
    session = Session()
    session.write("> a")
    session.fail("pytest -q", ONE_FAILS).edit().fail("pytest -q", ONE_FAILS)
    assert "and was not green since, as before: the same 1\n" in read(session)


def test_commands_that_only_look_are_not_named_when_they_fail() -> None:
    session = Session()
    session.write("> a")
    session.edit().run("grep -rn needle src", "", 1).run("docker compose up", "no daemon", 1)
    session.write("x a")
    assert session.entries["a"].remarks == ("1 command failed: docker",)


def test_lists_in_a_terminal_have_the_marks_and_reasons_too(run: Run, board: Board) -> None:
    agent = board.agent("main", session="s1")
    agent.call("todo", {"set": ["Paint", "Sand"]})
    agent.tool_started("c1", "Edit", {"file_path": "src/door.py"})
    agent.tool_finished("c1", result="ok")
    agent.tool_started("c2", "Bash", {"command": "cd door && pytest -q"})
    agent.tool_finished("c2", result="1 failed, 3 passed in 0.1s", exit_code=1)
    agent.call("todo", {"done": "1"})
    said = run("todos").out
    assert re.search(r"✗ Paint — failing: pytest door, 1 of 4 failed, \d\d:\d\d\n", said)
    assert "✓" not in said
    agent.tool_started("c3", "Bash", {"command": "cd door && pytest -q"})
    agent.tool_finished("c3", result="4 passed in 0.1s", exit_code=0)
    agent.tool_started("c4", "Edit", {"file_path": "src/door.py"})
    agent.tool_finished("c4", result="ok")
    assert "session not checked since 1 change\n" in run("todos").out
    (row,) = json.loads(run("todos", "--json").out)
    assert row["session_state"] == "unchecked"


def test_a_replayed_transcript_says_nothing_of_presence(run: Run, tmp_path: Path) -> None:
    from tests.transcripts.sessions import ClaudeSession

    session = ClaudeSession()
    session.todo("> Paint", "Sand")
    said = run("report", "--transcript", str(session.save(tmp_path))).out
    assert "Paint" in said
    assert "stopped" not in said.lower()
