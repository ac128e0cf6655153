"""Which folder a list of tasks has, and what keeps us inside."""

import os
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.errors import InvalidInput, ListFileRefused
from punchlist.logs.claude_tasks import ClaudeTasks
from tests.logs.task_folders import SESSION, agent_on, lines, names, put


@pytest.mark.requirement("claude-tasks.list-id")
def test_a_session_may_have_a_folder_by_its_first_eight(board: Board, root: Path) -> None:
    files = ClaudeTasks(root)
    assert files.folder_of(f"session:{SESSION}") == SESSION
    (root / "session-5c1de2a0").mkdir(parents=True)
    assert files.folder_of(f"session:{SESSION}") == "session-5c1de2a0"
    assert files.list_of(board, SESSION) == f"session:{SESSION}"
    assert files.list_of(board, "session-5c1de2a0") == "session-5c1de2a0"  # nobody knows whose
    agent_on(board).call("TaskList")
    assert files.list_of(board, "session-5c1de2a0") == f"session:{SESSION}"
    assert files.list_of(board, "team") == "team"


@pytest.mark.requirement("claude-tasks.list-id")
def test_the_environment_names_a_list_for_all(board: Board, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_TASK_LIST_ID", "team")
    put(root / "team", 1, "Paint")
    assert ClaudeTasks(root).import_list(board, "team") == 1
    first, second = agent_on(board), agent_on(board, "another")
    assert lines(first) == lines(second) == ["#1 [pending] Paint"]
    second.call("TaskCreate", {"subject": "Sweep", "description": ""})
    assert first.task_list == second.task_list
    assert ClaudeTasks(root).export(board, second.task_list) == str(root / "team")
    assert names(root / "team") == ["1.json", "2.json"]


def test_the_folder_is_claude_codes_own_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    assert ClaudeTasks().folder == str(tmp_path / "tasks")
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert ClaudeTasks().folder == str(tmp_path / "home" / ".claude" / "tasks")


def test_what_is_no_folder_holds_no_tasks(board: Board, root: Path) -> None:
    root.mkdir()
    (root / "a file").write_text("")
    for name in ("a file", "missing"):
        assert ClaudeTasks(root).import_list(board, name) == 0
        assert board.store.read(lambda tx, name=name: tx.tasks.find_list(name)) is None


def test_a_folder_that_cannot_be_written_is_a_clear_error(board: Board, root: Path) -> None:
    root.write_text("a file where the folder should be")
    board.tasks("team").create("One")
    with pytest.raises(ListFileRefused):
        ClaudeTasks(root).export(board, "team")


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "a\\b", "x" * 300, "nul", "a\0b"])
def test_a_name_that_leads_elsewhere_is_refused(board: Board, root: Path, name: str) -> None:
    files = ClaudeTasks(root)
    with pytest.raises(InvalidInput):
        files.import_list(board, name)
    with pytest.raises(InvalidInput):
        files.export(board, f"session:{name}")
    assert not root.exists()


def test_nothing_is_written_through_a_link(board: Board, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root.mkdir()
    (root / SESSION).symlink_to(outside)
    agent, files = agent_on(board), ClaudeTasks(root)
    agent.call("TaskCreate", {"subject": "One", "description": ""})
    with pytest.raises(ListFileRefused):
        files.export(board, agent.task_list)
    (root / SESSION).unlink()
    (root / SESSION).mkdir()
    secret = tmp_path / "secret.json"
    secret.write_text("{}")
    (root / SESSION / "1.json").symlink_to(secret)
    with pytest.raises(ListFileRefused):
        files.export(board, agent.task_list)
    assert (os.listdir(outside), secret.read_text()) == ([], "{}")
