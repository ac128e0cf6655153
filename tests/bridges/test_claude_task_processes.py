"""Claude Code's task files and processes that come and go, as commands and hooks do: what one saw, the next knows."""

from collections.abc import Callable
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.bridges.claude_tasks import ClaudeTasks
from tests.bridges.task_folders import SESSION, names, put, told

LIST = f"session:{SESSION}"
Process = Callable[[], Board]


@pytest.fixture
def process(tmp_path: Path, root: Path) -> Process:
    """A board as a fresh process opens it, with the folder kept in step."""

    def start() -> Board:
        board = Board.open(tmp_path / "board.db", durability="normal")
        ClaudeTasks(root).attach(board)
        return board

    return start


def test_a_fresh_process_takes_over_what_only_the_file_changed(process: Process, root: Path) -> None:
    with process() as board:
        board.tasks(LIST).create("Paint")
    put(root / SESSION, 1, "Paint it", status="in_progress", hue="own")
    with process() as board:
        board.tasks(LIST).create("Sweep")
        task = board.tasks(LIST).get("1")
        assert (task.subject, task.status.value) == ("Paint it", "in_progress")
    assert names(root / SESSION) == ["1.json", "2.json"]
    assert (told(root / SESSION / "1.json")["subject"], told(root / SESSION / "1.json")["hue"]) == ("Paint it", "own")


def test_a_fresh_process_writes_what_only_the_board_changed(process: Process, root: Path, tmp_path: Path) -> None:
    with process() as board:
        board.tasks(LIST).create("Paint")
    with Board.open(tmp_path / "board.db") as board:  # one that keeps nothing in step
        board.tasks(LIST).update("1", subject="Paint it")
    with process() as board:
        board.tasks(LIST).create("Sweep")
    assert names(root / SESSION) == ["1.json", "2.json"]
    assert told(root / SESSION / "1.json")["subject"] == "Paint it"


def test_a_fresh_process_merges_what_both_changed_field_by_field(process: Process, root: Path, tmp_path: Path) -> None:
    with process() as board:
        board.tasks(LIST).create("Paint", metadata={"a": 1})
    put(root / SESSION, 1, "Paint", description="in red", metadata={"a": 1, "theirs": 2})
    with Board.open(tmp_path / "board.db") as board:
        board.tasks(LIST).update("1", owner="ada", metadata={"ours": 3})
    with process() as board:
        board.tasks(LIST).create("Sweep")
        task = board.tasks(LIST).get("1")
        assert (task.description, task.owner) == ("in red", "ada")
        assert task.metadata == {"a": 1, "theirs": 2, "ours": 3}
    assert names(root / SESSION) == ["1.json", "2.json"]
    assert told(root / SESSION / "1.json")["owner"] == "ada"


def test_a_process_that_stayed_does_not_take_the_boards_own_writes_for_news(process: Process, root: Path) -> None:
    with process() as old, process() as other:
        old.tasks(LIST).create("First")
        other.tasks(LIST).update("1", subject="Second")
        old.tasks(LIST).update("1", subject="Third")
        assert old.tasks(LIST).get("1").subject == "Third"
    assert told(root / SESSION / "1.json")["subject"] == "Third"


def test_a_fresh_process_sees_that_a_task_was_deleted(process: Process, root: Path) -> None:
    with process() as board:
        for subject in ("One", "Two", "Three"):
            board.tasks(LIST).create(subject)
    (root / SESSION / "2.json").unlink()
    (root / SESSION / ".highwatermark").write_text("3")
    with process() as board:
        board.tasks(LIST).create("Four")
        assert [task.id for task in board.tasks(LIST).list()] == ["1", "3", "4"]
