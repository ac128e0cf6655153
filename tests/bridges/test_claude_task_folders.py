"""Which folder a list of tasks has, and what keeps others out of it and us inside."""

import logging
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.bridges.claude_tasks import ClaudeTasks, attach_configured
from punchlist.bridges.task_files import lock_folder
from punchlist.errors import InvalidInput, ListFileRefused
from tests.bridges.task_folders import SESSION, agent_on, lines, names, put


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
    monkeypatch.setenv("PUNCHLIST_CLAUDE_TASKS", str(root))
    put(root / "team", 1, "Paint")
    assert attach_configured(board) is not None
    first, second = agent_on(board), agent_on(board, "another")
    assert lines(first) == lines(second) == ["#1 [pending] Paint"]
    second.call("TaskCreate", {"subject": "Sweep", "description": ""})
    assert names(root / "team") == ["1.json", "2.json"]


def test_all_folders_are_imported(board: Board, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(root.parent))
    put(root / SESSION, 1, "Paint")
    put(root / "team", 1, "Sweep")
    (root / "a file").write_text("")
    assert ClaudeTasks().import_all(board) == 2
    assert [task.subject for task in board.tasks("team").list()] == ["Sweep"]


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
    (root / SESSION / "1.json").unlink()
    (root / SESSION / ".lock").unlink()
    (root / SESSION / ".lock").symlink_to(tmp_path / "lock")
    with pytest.raises(ListFileRefused):
        files.export(board, agent.task_list)
    assert (os.listdir(outside), secret.read_text(), (tmp_path / "lock").exists()) == ([], "{}", False)


@pytest.mark.requirement("claude-tasks.lock")
def test_a_folder_that_another_program_holds_is_left_alone(board: Board, root: Path) -> None:
    agent, files = agent_on(board), ClaudeTasks(root, patience=0)
    agent.call("TaskCreate", {"subject": "One", "description": ""})
    held = root / SESSION / ".lock.lock"
    held.mkdir(parents=True)
    with pytest.raises(ListFileRefused):
        files.export(board, agent.task_list)
    assert names(root / SESSION) == [".lock.lock"]
    long_ago = time.time() - 60
    os.utime(held, (long_ago, long_ago))  # its program is gone
    ClaudeTasks(root).export(board, agent.task_list)
    assert names(root / SESSION) == ["1.json"]
    with lock_folder(str(root / SESSION)), pytest.raises(ListFileRefused), lock_folder(str(root / SESSION), patience=0):
        pass


def test_a_mirror_that_fails_fails_no_call(board: Board, root: Path, caplog: pytest.LogCaptureFixture) -> None:
    root.write_text("a file where the folder should be")
    ClaudeTasks(root).attach(board)
    agent = agent_on(board)
    with caplog.at_level(logging.WARNING):
        assert not agent.call("TaskCreate", {"subject": "One", "description": ""}).is_error
    assert "not in step" in caplog.text


KILLED = """
import os, signal, sys
from punchlist.bridges.task_files import hold_folder
with hold_folder(sys.argv[1]):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nobody_waits_for_one_of_ours_that_was_killed(board: Board, root: Path) -> None:
    ClaudeTasks(root, patience=0, patience_to_change=0).attach(board)
    agent = agent_on(board)
    agent.call("TaskCreate", {"subject": "One", "description": ""})
    subprocess.run([sys.executable, "-c", KILLED, str(root / SESSION)], check=False)
    assert ".lock.lock" in names(root / SESSION)
    agent.call("TaskCreate", {"subject": "Two", "description": ""})
    assert names(root / SESSION) == ["1.json", "2.json"]


def test_a_folder_that_stayed_behind_is_written_by_the_next_look(board: Board, root: Path) -> None:
    ClaudeTasks(root, patience=0, patience_to_change=0).attach(board)
    agent = agent_on(board)
    agent.call("TaskCreate", {"subject": "One", "description": ""})
    lines(agent)
    held = root / SESSION / ".lock.lock"
    held.mkdir()
    agent.call("TaskCreate", {"subject": "Two", "description": ""})
    assert names(root / SESSION) == [".lock.lock", "1.json"]
    long_ago = time.time() - 60
    os.utime(held, (long_ago, long_ago))  # its program is gone
    with suppress(ListFileRefused), lock_folder(str(root / SESSION), patience=0):
        pass  # whoever finds it takes it away for the next
    lines(agent)
    assert names(root / SESSION) == ["1.json", "2.json"]
