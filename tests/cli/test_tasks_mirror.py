"""`punchlist tasks` with a folder of Claude Code that is kept in step: each command is a process of its own."""

from pathlib import Path

import pytest

from tests.bridges.task_folders import names, put, told
from tests.cli.conftest import Run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PUNCHLIST_CLAUDE_TASKS", str(tmp_path / "tasks"))
    monkeypatch.setenv("PUNCHLIST_TASK_LIST", "shared")
    made = tmp_path / "tasks" / "shared"
    made.mkdir(parents=True)
    return made


def test_commands_see_what_claude_code_did_and_give_no_number_twice(run: Run, folder: Path) -> None:
    (folder / ".highwatermark").write_text("4")
    assert run("tasks", "add", "Five").out.startswith("Added 5")
    put(folder, 6, "Theirs")
    put(folder, 5, "Five of theirs")
    listed = run("tasks", "list").out
    assert "Five of theirs" in listed
    assert "Theirs" in listed
    put(folder, 7, "Theirs, too")
    assert run("tasks", "add", "Ours").out.startswith("Added 8")
    put(folder, 6, "Theirs", status="completed")
    assert run("tasks", "add", "Last").code == 0
    assert names(folder) == [".highwatermark", "5.json", "6.json", "7.json", "8.json", "9.json"]
    assert told(folder / "6.json")["status"] == "completed"
