"""`punchlist statusline`: up to five rows, quick, and never loud."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from punchlist.board import Board
from tests.cli.conftest import Run, read_rows


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


def _rows(given: str, *arguments: str, **settings: str) -> list[str]:
    code, out, err = _line(given, *arguments, NO_COLOR="1", **settings)
    assert (code, err) == (0, "")
    return read_rows(out)


@pytest.fixture
def tracked(board: Board) -> None:
    with board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": ["Read", {"text": "Run tests", "doing": "Running tests"}, "Ship"]})
        agent.call("todo", {"done": "1"})


@pytest.mark.usefixtures("tracked")
def test_it_shows_what_is_being_done_and_how_far_it_is(run: Run, project: Path):
    expected = ["1/3 · no test ran yet", "▸ Running tests"]
    assert _rows(json.dumps({"session_id": "s1"})) == expected
    assert _rows(json.dumps({"workspace": {"current_dir": str(project)}})) == expected
    assert _rows(json.dumps({"cwd": str(project)})) == expected
    assert _rows("") == expected
    assert _rows("", PUNCHLIST_SESSION="s1") == expected
    assert _rows("", "--session", "s1") == expected
    assert _rows("", "--session=s1", "--db", str(project.parent / "data" / "board.db"), PUNCHLIST_DB="") == expected
    assert read_rows(run("statusline", "--session", "s1").out) == expected
    assert read_rows(run("statusline", "--session", "s1", "--agent", "main").out) == expected


def test_without_a_session_an_agent_that_goes_on_comes_before_a_later_one_that_finished(run: Run, board: Board):
    first, later = board.agent("main", session="s1"), board.agent("main", session="s2")
    first.call("todo", {"set": ["Run tests", "Ship"]})
    later.call("todo", {"set": ["Paint", "Sweep"]})
    assert "▸ Paint" in read_rows(run("statusline").out)
    later.finished()
    assert "▸ Run tests" in read_rows(run("statusline").out)
    first.finished()
    assert read_rows(run("statusline").out)[0].startswith("0/")


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
    assert read_rows(run("statusline").out) == ["0/1"]
    run("todo", "block", "only")
    assert read_rows(run("statusline").out) == ["0/1", "◆ waits for you: only", "  answer here, or: punchlist answer"]
    run("todo", "done", "only")
    assert read_rows(run("statusline").out) == ["1/1 · no test ran yet"]


def test_a_session_that_only_has_tasks_shows_those(run: Run, board: Board, project: Path):
    with board:
        agent = board.agent("main", session="s2", project=str(project), dialect="claude-tasks")
        for subject in ("Read", "Paint", "Ship"):
            agent.call("TaskCreate", {"subject": subject, "description": "", "activeForm": f"{subject}ing"})
        agent.call("TaskUpdate", {"taskId": "1", "status": "completed"})
        agent.call("TaskUpdate", {"taskId": "2", "status": "in_progress"})
    expected = ["1/3 · no test ran yet", "▸ Painting"]
    assert _rows('{"session_id": "s2"}') == expected
    assert read_rows(run("statusline", "--session", "s2").out) == expected
    assert _rows(json.dumps({"cwd": str(project)})) == expected
    assert read_rows(run("statusline", "--session", "s2", "--agent", "main").out) == expected


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
        at_work = ["0/1 · no test ran yet", "▸ Paint", "  2 subagents: explore 0/1, deeper 0/1"]
        assert read_rows(run("statusline", *words).out) == at_work
        deeper.tool_started("1", "Bash", {"command": "make"})
        deeper.finished("Seen.")
        deeper.tool_finished("1", result="late to be told of")
        assert read_rows(run("statusline", *words).out) == [
            "0/1 · no test ran yet",
            "▸ Paint",
            "  1 subagent: explore 0/1",
        ]
        child.finished("Looked.")
        assert read_rows(run("statusline", *words).out) == ["0/1 · no test ran yet", "▸ Paint"]
        assert read_rows(run("statusline", *words, "--agent", "deeper").out) == ["0/1"]
        main.finished("Done.")
        assert read_rows(run("statusline", *words).out) == ["0/1"]


def test_a_child_that_has_finished_does_not_stand_in_for_a_parent_without_a_list(
    run: Run, board: Board, project: Path
) -> None:
    with board:
        child = board.agent("main", session="s3", project=str(project)).spawn("explore")
        child.call("todo", {"set": ["Look around"]})
        assert read_rows(run("statusline", "--session", "s3").out) == ["0/1 · no test ran yet", "▸ Look around"]
        child.finished("Looked.")
        assert run("statusline", "--session", "s3").out == run("statusline").out == ""


SESSION = "0ddba11e-0000-4000-8000-000000000001"


def _write_task_file(folder: Path, number: int, **fields: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    whole: dict[str, Any] = {"id": str(number), "description": "", "blocks": [], "blockedBy": [], **fields}
    (folder / f"{number}.json").write_text(json.dumps(whole))


@pytest.mark.parametrize("name", [SESSION, f"session-{SESSION[:8]}"])
def test_of_a_session_that_the_board_does_not_know_it_shows_claude_codes_own_tasks(tmp_path: Path, name: str):
    folder = tmp_path / "claude" / "tasks" / name
    _write_task_file(folder, 1, subject="Read", status="completed")
    _write_task_file(folder, 2, subject="Paint", status="in_progress", activeForm="Painting")
    (folder / "3.json").write_text("{broken")
    given = json.dumps({"session_id": SESSION, "transcript_path": str(tmp_path / "none.jsonl")})
    expected = ["1/2 · no test ran yet", "▸ Painting"]
    assert _rows(given, CLAUDE_CONFIG_DIR=str(tmp_path / "claude")) == expected
    assert _line('{"session_id": "../.."}', CLAUDE_CONFIG_DIR=str(tmp_path / "claude")) == (0, "", "")
    assert not (tmp_path / "data").exists()


def _write_transcript(path: Path) -> None:
    todos = [
        {"content": "Read", "status": "completed", "activeForm": "Reading"},
        {"content": "Paint", "status": "in_progress", "activeForm": "Painting"},
    ]
    shared = {"sessionId": SESSION, "cwd": "/x", "version": "2.1.0", "isSidechain": False}
    call = {"type": "tool_use", "id": "toolu_1", "name": "TodoWrite", "input": {"todos": todos}}
    answer = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Todos have been modified successfully."}
    records = [
        {
            **shared,
            "type": "assistant",
            "uuid": "a",
            "parentUuid": None,
            "message": {"role": "assistant", "content": [call]},
        },
        {**shared, "type": "user", "uuid": "b", "parentUuid": "a", "message": {"role": "user", "content": [answer]}},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def test_of_a_session_that_the_board_does_not_know_it_shows_the_list_in_the_transcript(tmp_path: Path, board: Board):
    path = tmp_path / "projects" / "x" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    _write_transcript(path)
    given = json.dumps({"session_id": SESSION, "transcript_path": str(path)})
    assert _rows(given) == ["1/2 · no test ran yet", "▸ Painting"]
    with board:
        board.agent("main", session=SESSION).call("todo", {"set": ["Known here"]})
    assert _rows(given) == ["0/1 · no test ran yet", "▸ Known here"]
    path.write_text("no transcript\n")
    assert _line(given.replace(SESSION, "other")) == (0, "", "")
