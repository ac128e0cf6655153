"""Claude Code's task files: imported, exported, kept in step, and never lost."""

import json
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from punchlist import Agent, Board
from punchlist.bridges.claude_tasks import ClaudeTasks, attach_configured
from punchlist.bridges.task_lock import locked
from punchlist.errors import InvalidInput, ListFileRefused

SESSION = "5c1de2a0-0000-4000-8000-000000000001"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "tasks"


@pytest.fixture
def board() -> Any:
    with Board.open("memory:") as made:
        yield made


def agent_on(board: Board, session: str = SESSION) -> Agent:
    return board.agent("main", session=session, dialect="claude-tasks")


def put(folder: Path, number: int, subject: str, **fields: Any) -> Path:
    """A file as Claude Code writes it."""
    folder.mkdir(parents=True, exist_ok=True)
    values = {"id": str(number), "subject": subject, "description": "", "status": "pending"}
    path = folder / f"{number}.json"
    path.write_text(json.dumps({**values, "blocks": [], "blockedBy": [], **fields}, indent=2))
    return path


def told(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def lines(agent: Agent) -> list[str]:
    return agent.call("TaskList").text.splitlines()


def names(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name != ".lock")


@pytest.mark.requirement("claude-tasks.import")
def test_a_folder_is_imported_with_its_numbers(board: Board, root: Path) -> None:
    folder = root / SESSION
    put(folder, 2, "Paint", status="completed", blocks=["5"], activeForm="Painting", metadata={"pr": 7})
    put(folder, 5, "Sweep", status="in_progress", blockedBy=["2", "7", "99"], owner="ada")
    put(folder, 7, "Later", blockedBy=["5"])
    (folder / ".highwatermark").write_text("9")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert ClaudeTasks(root).import_list(board, SESSION) == 3
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"} == before
    agent = agent_on(board)
    assert lines(agent) == [
        "#2 [completed] Paint",
        "#5 [in_progress] Sweep (ada) [blocked by #7]",
        "#7 [pending] Later",  # the other way round would be a circle
    ]
    paint = board.tasks(agent.task_list).get("2")
    assert (paint.active_form, paint.metadata, paint.blocks) == ("Painting", {"pr": 7}, ("5",))
    assert agent.call("TaskCreate", {"subject": "Next", "description": ""}).data["task"]["id"] == "10"
    assert ClaudeTasks(root).import_list(board, SESSION) == 0


@pytest.mark.requirement("claude-tasks.export")
def test_a_list_is_exported_as_claude_code_writes_it(board: Board, root: Path) -> None:
    agent = agent_on(board)
    agent.call("TaskCreate", {"subject": "Paint", "description": "red", "activeForm": "Painting"})
    agent.call("TaskCreate", {"subject": "Sweep", "description": ""})
    agent.call("TaskUpdate", {"taskId": "2", "addBlockedBy": ["1"], "owner": "ada", "metadata": {"a": 1}})
    folder = Path(ClaudeTasks(root).export(board, agent.task_list))
    assert folder == root / SESSION
    assert names(folder) == ["1.json", "2.json"]
    assert (folder / "1.json").read_text() == (
        '{\n  "id": "1",\n  "subject": "Paint",\n  "description": "red",\n  "activeForm": "Painting",\n'
        '  "status": "pending",\n  "blocks": [\n    "2"\n  ],\n  "blockedBy": []\n}'
    )
    assert told(folder / "2.json") == {
        "id": "2",
        "subject": "Sweep",
        "description": "",
        "status": "pending",
        "owner": "ada",
        "blocks": [],
        "blockedBy": ["1"],
        "metadata": {"a": 1},
    }
    assert (folder.stat().st_mode & 0o777, (folder / "1.json").stat().st_mode & 0o777) == (0o700, 0o600)


@pytest.mark.requirement("claude-tasks.watermark")
def test_a_deleted_task_leaves_its_number_in_the_watermark(board: Board, root: Path) -> None:
    agent, files = agent_on(board), ClaudeTasks(root)
    for subject in ("One", "Two", "Three"):
        agent.call("TaskCreate", {"subject": subject, "description": ""})
    files.export(board, agent.task_list)
    agent.call("TaskUpdate", {"taskId": "3", "status": "deleted"})
    board.tasks(agent.task_list).cancel("2")
    files.export(board, agent.task_list)
    assert names(root / SESSION) == [".highwatermark", "1.json"]
    assert (root / SESSION / ".highwatermark").read_text() == "3"


@pytest.mark.requirement("claude-tasks.mirror")
def test_every_change_reaches_the_files_and_theirs_the_board(board: Board, root: Path) -> None:
    files = ClaudeTasks(root)
    files.attach(board)
    agent = agent_on(board)
    agent.call("TaskCreate", {"subject": "Paint", "description": ""})
    first = root / SESSION / "1.json"
    assert told(first)["subject"] == "Paint"
    agent.call("TaskUpdate", {"taskId": "1", "status": "in_progress"})
    assert told(first)["status"] == "in_progress"
    put(first.parent, 1, "Paint it", status="in_progress", description="in red", hue="own")  # Claude Code at work …
    put(first.parent, 2, "Sweep", blockedBy=["1"])
    board.tasks(agent.task_list).update("1", owner="ada")  # … and somebody here
    assert lines(agent) == ["#1 [in_progress] Paint it (ada)", "#2 [pending] Sweep [blocked by #1]"]
    assert (told(first)["owner"], told(first)["description"], told(first)["hue"]) == ("ada", "in red", "own")
    assert told(first)["blocks"] == ["2"]
    kinds = [event.kind for event in board.tasks(agent.task_list).history("2")]
    assert kinds == ["task.created", "task.linked"]


def test_lists_that_are_no_sessions_are_kept_in_step_where_there_is_a_folder(board: Board, root: Path) -> None:
    ClaudeTasks(root).attach(board)
    board.tasks("shared").create("One")
    board.tasks().create("The project's own has no folder name")
    assert not root.exists()
    (root / "shared").mkdir(parents=True)
    board.tasks("shared").create("Two")
    assert names(root / "shared") == ["1.json", "2.json"]


def test_an_agent_finds_the_tasks_that_its_session_has_on_disk(board: Board, root: Path) -> None:
    put(root / SESSION, 1, "Paint")
    ClaudeTasks(root).attach(board)
    assert lines(agent_on(board)) == ["#1 [pending] Paint"]


def test_claude_codes_clearing_takes_nothing_off_the_board(board: Board, root: Path) -> None:
    ClaudeTasks(root).attach(board)
    agent = agent_on(board)
    folder = root / SESSION
    for subject in ("One", "Two"):
        agent.call("TaskCreate", {"subject": subject, "description": ""})
    for number in "12":
        agent.call("TaskUpdate", {"taskId": number, "status": "completed"})
    for number in "12":
        (folder / f"{number}.json").unlink()
    (folder / ".highwatermark").write_text("2")
    agent.call("TaskCreate", {"subject": "Three", "description": ""})
    assert lines(agent) == ["#1 [completed] One", "#2 [completed] Two", "#3 [pending] Three"]
    assert names(folder) == [".highwatermark", "3.json"]  # and what was cleared is not written again
    agent.call("TaskUpdate", {"taskId": "1", "status": "in_progress"})
    assert names(folder) == [".highwatermark", "1.json", "3.json"]


def test_a_file_that_was_deleted_alone_is_a_deleted_task(board: Board, root: Path) -> None:
    ClaudeTasks(root).attach(board)
    agent = agent_on(board)
    for subject in ("One", "Two", "Three"):
        agent.call("TaskCreate", {"subject": subject, "description": ""})
    (root / SESSION / "2.json").unlink()
    agent.call("TaskUpdate", {"taskId": "1", "subject": "Uno"})
    assert names(root / SESSION) == ["1.json", "2.json", "3.json"]  # without the watermark it was an accident
    (root / SESSION / "2.json").unlink()
    (root / SESSION / ".highwatermark").write_text("2")
    agent.call("TaskUpdate", {"taskId": "1", "subject": "One"})
    assert lines(agent) == ["#1 [pending] One", "#3 [pending] Three"]


def test_a_folder_that_is_gone_is_made_again(board: Board, root: Path) -> None:
    ClaudeTasks(root).attach(board)
    agent = agent_on(board)
    agent.call("TaskCreate", {"subject": "One", "description": ""})
    for path in (root / SESSION).iterdir():
        path.unlink()
    (root / SESSION).rmdir()
    agent.call("TaskCreate", {"subject": "Two", "description": ""})
    assert names(root / SESSION) == ["1.json", "2.json"]
    assert len(lines(agent)) == 2


def test_a_file_of_unknown_age_is_kept_beside_the_boards(board: Board, root: Path) -> None:
    agent = agent_on(board)
    agent.call("TaskCreate", {"subject": "Board", "description": ""})
    put(root / SESSION, 1, "File")
    ClaudeTasks(root).export(board, agent.task_list)
    assert names(root / SESSION) == ["1.json", "1.json.changed-1"]
    assert told(root / SESSION / "1.json")["subject"] == "Board"
    assert told(root / SESSION / "1.json.changed-1")["subject"] == "File"


def test_a_file_that_is_merely_behind_is_written_over(board: Board, root: Path) -> None:
    agent = agent_on(board)
    agent.call("TaskCreate", {"subject": "Board", "description": ""})
    ClaudeTasks(root).export(board, agent.task_list)
    agent.call("TaskUpdate", {"taskId": "1", "subject": "Newer"})
    ClaudeTasks(root).export(board, agent.task_list)  # another process, which has seen nothing
    assert names(root / SESSION) == ["1.json"]
    assert told(root / SESSION / "1.json")["subject"] == "Newer"


def test_a_file_of_a_task_that_the_board_deleted_is_set_aside(board: Board, root: Path) -> None:
    agent = agent_on(board)
    for subject in ("One", "Two"):
        agent.call("TaskCreate", {"subject": subject, "description": ""})
    agent.call("TaskUpdate", {"taskId": "1", "status": "deleted"})
    put(root / SESSION, 1, "One")
    ClaudeTasks(root).export(board, agent.task_list)
    assert names(root / SESSION) == [".highwatermark", "1.json.changed-1", "2.json"]
    assert lines(agent) == ["#2 [pending] Two"]


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"[]", b'{"id": "2"}', b'{"id": "1", "status": "pending"}', b"\xff", b"[" * 100_000,
        b'{"id": "1", "subject": "x", "status": "odd"}', b'{"id": "1", "subject": 7, "status": "pending"}',
    ],
)  # fmt: skip
def test_an_unreadable_file_is_logged_and_not_lost(
    board: Board, root: Path, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (root / SESSION).mkdir(parents=True)
    (root / SESSION / "1.json").write_bytes(body)
    put(root / SESSION, 2, "Fine")
    files = ClaudeTasks(root)
    with caplog.at_level(logging.WARNING):
        assert files.import_list(board, SESSION) == 1
    assert "passed over" in caplog.text
    agent = agent_on(board)
    files.export(board, agent.task_list)
    assert (root / SESSION / "1.json").read_bytes() == body
    assert lines(agent) == ["#2 [pending] Fine"]


def test_a_write_in_the_place_of_an_unreadable_file_sets_it_aside(board: Board, root: Path) -> None:
    agent = agent_on(board)
    agent.call("TaskCreate", {"subject": "One", "description": ""})
    (root / SESSION).mkdir(parents=True)
    (root / SESSION / "1.json").write_bytes(b"{broken")
    ClaudeTasks(root).export(board, agent.task_list)
    assert (root / SESSION / "1.json.invalid-1").read_bytes() == b"{broken"
    assert told(root / SESSION / "1.json")["subject"] == "One"


def test_what_cannot_be_a_task_here_is_left_alone(board: Board, root: Path) -> None:
    body = put(root / SESSION, 1, " ").read_bytes()
    files = ClaudeTasks(root)
    assert files.import_list(board, SESSION) == 0
    agent = agent_on(board)
    agent.call("TaskCreate", {"subject": "Two", "description": ""})
    files.export(board, agent.task_list)
    kept = [path.read_bytes() for path in (root / SESSION).glob("1.json*")]
    assert body in kept


class Racing(ClaudeTasks):
    """Claude Code writes between our look at the files and our write."""

    def __init__(self, folder: Path, then: Callable[[], object]) -> None:
        super().__init__(folder)
        self._then: Callable[[], object] | None = then

    def _bring(self, *args: Any) -> Any:
        state = super()._bring(*args)
        then, self._then = self._then, None
        if then is not None:
            then()
        return state


def test_a_write_between_our_look_and_our_write_is_not_lost(board: Board, root: Path) -> None:
    agent, folder = agent_on(board), root / SESSION
    agent.call("TaskCreate", {"subject": "One", "description": ""})
    files = Racing(root, lambda: None)
    files.export(board, agent.task_list)

    def meanwhile() -> None:
        put(folder, 1, "One", description="theirs")
        put(folder, 2, "Two")

    files._then = meanwhile
    board.tasks(agent.task_list).update("1", owner="ada")
    files.export(board, agent.task_list)
    assert names(folder) == ["1.json", "2.json"]
    assert (told(folder / "1.json")["description"], told(folder / "1.json")["owner"]) == ("theirs", "ada")
    assert lines(agent) == ["#1 [pending] One (ada)", "#2 [pending] Two"]


# Names, links, locks.


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
    with locked(str(root / SESSION)), pytest.raises(ListFileRefused), locked(str(root / SESSION), patience=0):
        pass


def test_a_mirror_that_fails_fails_no_call(board: Board, root: Path, caplog: pytest.LogCaptureFixture) -> None:
    root.write_text("a file where the folder should be")
    ClaudeTasks(root).attach(board)
    agent = agent_on(board)
    with caplog.at_level(logging.WARNING):
        assert not agent.call("TaskCreate", {"subject": "One", "description": ""}).is_error
    assert "not in step" in caplog.text
