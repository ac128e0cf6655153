"""`punchlist report --transcript` and `punchlist restore --with-work`."""

import json
from pathlib import Path

import pytest

from punchlist.board import Board
from tests.cli.conftest import Run
from tests.transcripts.sessions import ClaudeSession
from tests.transcripts.test_activity import claude, codex


@pytest.mark.parametrize("session", [claude, codex])
def test_a_transcript_is_reported_on_without_a_board(run: Run, tmp_path: Path, session: type[ClaudeSession]) -> None:
    path = session().save(tmp_path)
    ran = run("report", "--transcript", str(path))
    assert ran.code == 0
    first = "Write the form" if session is claude else "Measure"
    assert first in ran.out
    assert not (tmp_path / "data").exists()


def test_every_form_of_the_report_can_be_had(run: Run, tmp_path: Path) -> None:
    path = str(claude().save(tmp_path))
    items = json.loads(run("report", "--transcript", path, "--json").out)["items"]
    assert [item["content"] for item in items] == ["Write the form", "Test it"]
    assert "Write the form" in run("report", "--transcript", path, "--format", "markdown").out
    page = tmp_path / "page.html"
    assert run("report", "--transcript", path, "--format", "html", "-o", str(page)).code == 0
    assert "Write the form" in page.read_text()
    assert not (tmp_path / "data").exists()


def test_the_board_on_disk_is_left_alone(run: Run, tmp_path: Path, board: Board) -> None:
    board.agent("main", session="s1").call("todo", {"ops": [{"op": "add", "items": ["Mine"]}]})
    before = list(board.events())
    ran = run("report", "--transcript", str(claude().save(tmp_path)))
    assert "Mine" not in ran.out
    assert list(board.events()) == before


def test_a_report_on_a_transcript_takes_no_session(run: Run, tmp_path: Path) -> None:
    path = str(claude().save(tmp_path))
    for more in (("--session", "s1"), ("--all",), ("--project", ".")):
        ran = run("report", "--transcript", path, *more)
        assert (ran.code, "leave out" in ran.err) == (1, True)


def test_a_file_that_is_no_transcript_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("hello\n")
    for name in ("notes.jsonl", "missing.jsonl"):
        ran = run("report", "--transcript", str(tmp_path / name))
        assert ran.code != 0
        assert name in ran.err


def test_an_empty_transcript_has_nothing_to_report(run: Run, tmp_path: Path) -> None:
    path = ClaudeSession().save(tmp_path)
    path.write_text("")
    assert run("report", "--transcript", str(path)).out == "Nothing to report here yet.\n"


def test_restore_with_work_puts_the_calls_on_the_board(run: Run, tmp_path: Path, board: Board) -> None:
    session = claude()
    path = session.save(tmp_path)
    ran = run("restore", str(path), "--with-work")
    assert ran.code == 0
    assert ran.out.startswith(f"Restored 1/2 for shop · claude {session.session[-6:]}")
    assert ran.out.endswith("Put 5 tool calls on the board.\n")
    assert sum(event.kind == "tool.started" for event in board.events()) == 5
    before = list(board.events())
    again = run("restore", str(path), "--with-work")
    assert again.code == 0
    assert again.out.endswith("Its 5 tool calls were on the board already.\n")
    assert list(board.events()) == before


def test_the_report_of_a_restored_session_is_that_of_its_transcript(run: Run, tmp_path: Path) -> None:
    session = claude()
    path = str(session.save(tmp_path))
    told = json.loads(run("report", "--transcript", path, "--json").out)
    run("restore", path, "--with-work")
    found = json.loads(run("report", "--session", session.session, "--json").out)
    for report in (told, found):
        assert [item["content"] for item in report["items"]] == ["Write the form", "Test it"]
    assert [item["grade"] for item in found["items"]] == [item["grade"] for item in told["items"]]


def test_restore_with_work_says_what_a_dry_run_would_find(run: Run, tmp_path: Path) -> None:
    path = str(claude().save(tmp_path))
    assert "It tells of 5 tool calls." in run("restore", path, "--with-work", "--dry-run").out
    found = json.loads(run("restore", path, "--with-work", "--dry-run", "--json").out)
    assert found["tool_calls"] == 5
    restored = json.loads(run("restore", path, "--with-work", "--json").out)
    assert (restored["tool_calls"], restored["new_tool_calls"]) == (5, 5)


def test_restore_with_work_restores_tasks_under_their_own_ids(run: Run, tmp_path: Path, board: Board) -> None:
    session = ClaudeSession()
    session.add_task("7", "Paint")
    session.bash("make test", "ok")
    session.set_task("7", "completed")
    ran = run("restore", str(session.save(tmp_path)), "--with-work")
    assert "Replayed 2 task calls" in ran.out
    (task,) = board.tasks(f"session:{session.session}").list()
    assert (task.id, task.status) == ("7", "completed")


def test_a_list_that_is_all_done_is_restored_with_its_work(run: Run, tmp_path: Path) -> None:
    session = claude()
    session.todo("x Write the form", "x Test it")
    path = str(session.save(tmp_path))
    assert run("restore", path, "--with-work").out.startswith("Restored 2/2 for shop · claude 000001")
    again = run("restore", path, "--with-work").out
    assert again.startswith(f"The list of shop · claude {session.session[-6:]} is already what")
