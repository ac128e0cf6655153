"""Long sessions, judged by their transcripts alone, and on a board to which their work was restored."""

from pathlib import Path

import pytest

from punchlist.board import Board
from punchlist.cli import main
from punchlist.core.report import Report
from punchlist.logs.replay import replay_in_memory
from tests.transcripts.sessions import ClaudeSession
from tests.transcripts.stories import STORIES


def grades_of(report: Report) -> dict[str, str | None]:
    """The grade of each item, by its text; a list that was wiped and sent again has each item once."""
    found = {entry.item.content: entry.grade for entry in report.items}
    assert len(found) == len(report.items) == report.totals.items
    return found


@pytest.mark.parametrize("name", STORIES)
def test_the_stories_are_long_sessions(name: str) -> None:
    session = STORIES[name]().session
    children = session.children.values() if isinstance(session, ClaudeSession) else session.children
    assert 60 <= session.calls + sum(child.calls for child in children) <= 150


@pytest.mark.parametrize("name", STORIES)
def test_every_item_has_the_grade_that_it_earned(name: str, tmp_path: Path) -> None:
    story = STORIES[name]()
    board, _ = replay_in_memory(str(story.session.save(tmp_path)))
    with board:
        report = board.report()
        assert grades_of(report) == story.grades
        assert report.state == story.state


@pytest.mark.parametrize("name", STORIES)
def test_restored_work_is_judged_as_its_transcript_is(name: str, tmp_path: Path) -> None:
    story = STORIES[name]()
    path, db = story.session.save(tmp_path), str(tmp_path / "board.db")
    for _ in range(2):
        assert main(["--db", db, "restore", str(path), "--with-work"]) == 0
    memory, _ = replay_in_memory(str(path))
    with memory, Board.open(db) as board:
        assert grades_of(board.report()) == grades_of(memory.report())


@pytest.mark.parametrize(("folder", "grade"), [("backend", "unchecked"), ("frontend", "verified"), ("", "verified")])
def test_a_check_covers_the_folder_in_which_the_session_was(tmp_path: Path, folder: str, grade: str) -> None:
    session = ClaudeSession(str(tmp_path))
    session.todo("> Show prices")
    session.edit("frontend/prices.py")
    session.bash(f"cd {folder}", "")
    session.cwd = str(tmp_path / folder)
    session.bash("pytest -q", "3 passed in 0.1s")
    session.todo("x Show prices")
    board, _ = replay_in_memory(str(session.save(tmp_path)))
    with board:
        assert grades_of(board.report()) == {"Show prices": grade}
