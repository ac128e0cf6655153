"""`punchlist statusline`: one line, quick, and never loud."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from punchlist.board import Board
from tests.cli.conftest import Run


def _line(given: str, *arguments: str, **settings: str) -> tuple[int, str, str]:
    import os

    result = subprocess.run(
        [sys.executable, "-m", "punchlist", "statusline", *arguments],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, **settings},
    )
    return result.returncode, result.stdout, result.stderr


@pytest.fixture
def tracked(board: Board) -> None:
    with board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": ["Read", {"text": "Run tests", "doing": "Running tests"}, "Ship"]})
        agent.call("todo", {"done": "1"})


@pytest.mark.usefixtures("tracked")
def test_it_shows_what_is_being_done_and_how_far_it_is(run: Run, project: Path):
    expected = (0, "▸ Running tests (1/3)\n", "")
    assert _line(json.dumps({"session_id": "s1"})) == expected
    assert _line(json.dumps({"workspace": {"current_dir": str(project)}})) == expected
    assert _line(json.dumps({"cwd": str(project)})) == expected
    assert _line("") == expected
    assert run("statusline", "--session", "s1").out == expected[1]
    assert run("statusline", "--session", "s1", "--agent", "main").out == expected[1]


@pytest.mark.parametrize("given", ['{"session_id": "other"}', '{"cwd": "/nowhere"}'])
@pytest.mark.usefixtures("tracked")
def test_it_shows_nothing_for_what_is_not_tracked(given: str):
    assert _line(given) == (0, "", "")


@pytest.mark.parametrize("given", ["{", "[]", "null", '{"session_id": 7, "cwd": []}', "\x00\xff"])
def test_it_survives_whatever_it_is_given(given: str):
    assert _line(given) == (0, "", "")


def test_it_makes_no_board_and_complains_about_none(tmp_path: Path):
    assert _line("{}") == (0, "", "")
    assert not (tmp_path / "data").exists()
    (tmp_path / "broken.db").write_text("not a board" * 100)
    assert _line("{}", "--db", str(tmp_path / "broken.db")) == (0, "", "")
    assert _line("{}", "--db", "oracle://x") == (0, "", "")


def test_it_does_not_wait_for_an_input_that_never_comes():
    with subprocess.Popen(
        [sys.executable, "-m", "punchlist", "statusline"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.wait(timeout=60) == 0


def test_after_the_focus_comes_what_is_next_and_then_that_all_is_done(run: Run):
    run("todo", "append", "only")
    assert run("statusline").out == "○ Next: only (0/1)\n"
    run("todo", "block", "only")
    assert run("statusline").out == "⊘ only (0/1)\n"
    run("todo", "done", "only")
    assert run("statusline").out == "✓ All done (1/1)\n"


def test_a_session_that_only_has_tasks_shows_those(run: Run, board: Board, project: Path):
    with board:
        agent = board.agent("main", session="s2", project=str(project), dialect="claude-tasks")
        for subject in ("Read", "Paint", "Ship"):
            agent.call("TaskCreate", {"subject": subject, "description": "", "activeForm": f"{subject}ing"})
        agent.call("TaskUpdate", {"taskId": "1", "status": "completed"})
        agent.call("TaskUpdate", {"taskId": "2", "status": "in_progress"})
    assert run("statusline", "--session", "s2").out == "▸ Painting (1/3)\n"
    assert _line(json.dumps({"cwd": str(project)}))[1] == "▸ Painting (1/3)\n"
    assert run("statusline", "--session", "s2", "--agent", "main").out == "▸ Painting (0/1)\n"
    assert "punchlist tasks list --list session:s2" in run("todos", "--session", "s2").out


@pytest.mark.parametrize("words", [(), ("--session", "s3")])
def test_the_list_of_a_child_that_has_finished_gives_way_to_its_parents(
    run: Run, board: Board, project: Path, words: tuple[str, ...]
) -> None:
    with board:
        main = board.agent("main", session="s3", project=str(project))
        main.call("todo", {"set": ["Paint"]})
        child = main.spawn("explore")
        child.call("todo", {"set": ["Look around"]})
        deeper = child.spawn("deeper")
        deeper.call("todo", {"set": ["Look closer"]})
        if not words:
            assert run("statusline").out == "▸ Look closer (0/1)\n"
        deeper.tool_started("1", "Bash", {"command": "make"})
        deeper.finished("Seen.")
        deeper.tool_finished("1", result="late to be told of")
        child.finished("Looked.")
        assert run("statusline", *words).out == "▸ Paint (0/1)\n"
        assert run("statusline", *words, "--agent", "deeper").out == "▸ Look closer (0/1)\n"
        child.call("todo", {"set": ["Look again"]})
        if not words:
            assert run("statusline").out == "▸ Look again (0/1)\n"
        child.finished("Looked.")
        main.finished("Done.")
        assert run("statusline", *words).out.startswith("▸ Paint" if words else "▸ Look")  # all is over: the latest


def test_a_child_that_has_finished_does_not_stand_in_for_a_parent_without_a_list(
    run: Run, board: Board, project: Path
) -> None:
    with board:
        child = board.agent("main", session="s3", project=str(project)).spawn("explore")
        child.call("todo", {"set": ["Look around"]})
        assert run("statusline", "--session", "s3").out == "▸ Look around (0/1)\n"
        child.finished("Looked.")
        assert run("statusline", "--session", "s3").out == run("statusline").out == ""
