"""Claude Code's task files: imported, exported, kept in step, and never lost."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.bridges.claude_tasks import ClaudeTasks
from punchlist.bridges.task_files import TaskFolder
from punchlist.bridges.task_sync import CLEARED, TaskFilesState
from tests.bridges.task_folders import SESSION, agent_on, lines, names, put, told


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


def test_what_a_file_calls_done_is_graded_by_the_work_and_never_confirmed(board: Board, root: Path) -> None:
    ClaudeTasks(root).attach(board)
    agent = agent_on(board)
    put(root / SESSION, 1, "Paint", status="in_progress")
    lines(agent)
    agent.tool_started("c1", "Bash", {"command": "pytest -q"})
    agent.tool_finished("c1", "3 passed", is_error=False)
    put(root / SESSION, 1, "Paint", status="completed")
    assert board.tasks(agent.task_list).get("1").grade == "verified"


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


def test_the_last_task_that_is_deleted_is_owed_no_more(board: Board, root: Path) -> None:
    ClaudeTasks(root).attach(board)
    agent, folder = agent_on(board), root / SESSION
    for subject in ("One", "Two"):
        agent.call("TaskCreate", {"subject": subject, "description": ""})
    for number in "21":
        (folder / f"{number}.json").unlink()
        (folder / ".highwatermark").write_text("2")
        lines(agent)
    assert lines(agent) == ["No tasks found"]
    assert agent.about_to_stop(last_text="All done.") is None
    (last,) = board.tasks(agent.task_list).list()  # it may have been finished: that is not for us to forget
    assert (last.status, last.failure) == ("cancelled", CLEARED)
    agent.call("TaskCreate", {"subject": "Three", "description": ""})
    assert names(folder) == [".highwatermark", "3.json"]


def test_a_task_that_was_changed_here_survives_the_clearing_of_its_list(board: Board, root: Path) -> None:
    ClaudeTasks(root).attach(board)
    agent, folder = agent_on(board), root / SESSION
    agent.call("TaskCreate", {"subject": "One", "description": ""})
    board.store.transact(lambda tx: board.tasks(agent.task_list).within(tx).update("1", subject="Uno"))
    (folder / "1.json").unlink()
    (folder / ".highwatermark").write_text("1")
    assert lines(agent) == ["#1 [pending] Uno"]
    agent.call("TaskUpdate", {"taskId": "1", "description": "again"})
    assert names(folder) == [".highwatermark", "1.json"]


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

    def _import_changes(self, board: Board, list: str, folder: TaskFolder, project: str) -> TaskFilesState:
        state = super()._import_changes(board, list, folder, project)
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
