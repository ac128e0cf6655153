"""Claude Code's task files: imported, exported, and never lost."""

import logging
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.logs.claude_tasks import ClaudeTasks
from tests.logs.task_folders import SESSION, agent_on, lines, names, put, told


@pytest.mark.requirement("claude-tasks.import")
def test_a_folder_is_imported_with_its_numbers(board: Board, root: Path) -> None:
    folder = root / SESSION
    put(folder, 2, "Paint", status="completed", blocks=["5"], activeForm="Painting", metadata={"pr": 7})
    put(folder, 5, "Sweep", status="in_progress", blockedBy=["2", "7", "99"], owner="ada")
    put(folder, 7, "Later", blockedBy=["5"])
    (folder / ".highwatermark").write_text("9")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert ClaudeTasks(root).import_list(board, SESSION) == 3
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
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


@pytest.mark.requirement("claude-tasks.set-aside")
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


def test_a_file_of_a_task_that_the_board_deleted_is_set_aside_if_others_changed_it(board: Board, root: Path) -> None:
    agent = agent_on(board)
    for subject in ("One", "Two"):
        agent.call("TaskCreate", {"subject": subject, "description": ""})
    agent.call("TaskUpdate", {"taskId": "1", "status": "deleted"})
    put(root / SESSION, 1, "One", description="theirs")
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
    assert names(root / SESSION) == ["1.json", "2.json"]
    assert (root / SESSION / "1.json").read_bytes() == body


def test_an_import_leaves_tasks_alone_that_the_list_has(
    board: Board, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files, agent = ClaudeTasks(root), agent_on(board)
    put(root / SESSION, 1, "Theirs")
    put(root / SESSION, 2, "Sweep")
    files.import_list(board, SESSION)
    agent.call("TaskUpdate", {"taskId": "2", "subject": "Sweep here"})
    with caplog.at_level(logging.WARNING):
        assert files.import_list(board, SESSION) == 0  # the files are merely behind
        assert caplog.text == ""
        put(root / SESSION, 1, "Another one")
        put(root / SESSION, 3, "New")
        assert files.import_list(board, SESSION) == 1
    assert "1.json`: passed over: the list has another task" in caplog.text
    assert lines(agent) == ["#1 [pending] Theirs", "#2 [pending] Sweep here", "#3 [pending] New"]


def test_an_export_keeps_the_fields_that_only_a_file_has(board: Board, root: Path) -> None:
    files, agent = ClaudeTasks(root), agent_on(board)
    first = put(root / SESSION, 1, "Paint", hue="own")
    files.import_list(board, SESSION)
    agent.call("TaskUpdate", {"taskId": "1", "status": "in_progress"})
    files.export(board, agent.task_list)
    assert names(root / SESSION) == ["1.json"]
    assert (told(first)["status"], told(first)["hue"]) == ("in_progress", "own")


def test_an_edge_in_a_circle_is_reported_and_not_lost(
    board: Board, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(root / SESSION, 1, "One", blockedBy=["2"])
    second = put(root / SESSION, 2, "Two", blockedBy=["1"])
    body, files, agent = second.read_bytes(), ClaudeTasks(root), agent_on(board)
    with caplog.at_level(logging.WARNING):
        files.import_list(board, SESSION)
    assert [task.blocked_by for task in board.tasks(agent.task_list).list()] == [("2",), ()]
    assert "2.json`: without its edges to itself, to nothing or in a cycle: is blocked by 1" in caplog.text
    files.export(board, agent.task_list)
    assert (root / SESSION / "2.json.changed-1").read_bytes() == body


def test_a_cleared_list_is_imported_with_its_highest_number(board: Board, root: Path) -> None:
    (root / SESSION).mkdir(parents=True)
    (root / SESSION / ".highwatermark").write_text("4")
    assert ClaudeTasks(root).import_list(board, SESSION) == 0
    agent = agent_on(board)
    assert agent.call("TaskCreate", {"subject": "Five", "description": ""}).data["task"]["id"] == "5"
    ClaudeTasks(root).export(board, agent.task_list)
    assert names(root / SESSION) == [".highwatermark", "5.json"]


def test_what_a_file_calls_done_is_never_confirmed(board: Board, root: Path) -> None:
    put(root / SESSION, 1, "Paint", status="completed")
    ClaudeTasks(root).import_list(board, SESSION)
    assert board.tasks(f"session:{SESSION}").get("1").grade is None
