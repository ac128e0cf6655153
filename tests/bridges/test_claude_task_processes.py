"""Claude Code's task files and processes that come and go, as commands and hooks do: what one saw, the next knows."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.bridges.claude_tasks import ClaudeTasks
from punchlist.testing import FakeClock
from tests.bridges.task_folders import SESSION, agent_on, lines, names, put, told

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


@pytest.mark.parametrize("by_agent", [False, True])
def test_a_new_file_keeps_its_number_when_the_board_creates_next(process: Process, root: Path, by_agent: bool) -> None:
    with process() as board:
        board.tasks(LIST).create("One")
        put(root / SESSION, 2, "Theirs")
        if by_agent:
            assert "#3" in agent_on(board).call("TaskCreate", {"subject": "Ours", "description": ""}).text
        else:
            assert board.tasks(LIST).create("Ours").id == "3"
        assert [task.subject for task in board.tasks(LIST).list()] == ["One", "Theirs", "Ours"]
    assert names(root / SESSION) == ["1.json", "2.json", "3.json"]


def test_the_first_number_comes_after_the_watermark(process: Process, root: Path) -> None:
    (root / SESSION).mkdir(parents=True)
    (root / SESSION / ".highwatermark").write_text("7")
    with process() as board:
        assert board.tasks(LIST).create("Eight").id == "8"


def test_whoever_reads_sees_what_claude_code_did(process: Process, root: Path) -> None:
    with process() as board:
        tasks, agent = board.tasks(LIST), agent_on(board)
        tasks.create("One")
        put(root / SESSION, 1, "Uno")
        assert tasks.get("1").subject == "Uno"
        put(root / SESSION, 2, "Two")
        assert lines(agent) == ["#1 [pending] Uno", "#2 [pending] Two"]
        put(root / SESSION, 2, "Two", status="in_progress")
        assert [task.status.value for task in tasks.list()] == ["pending", "in_progress"]


def test_a_read_of_files_that_nobody_touched_takes_no_lock(process: Process, root: Path) -> None:
    with process() as board:
        board.tasks(LIST).create("One")
        board.tasks(LIST).list()
        (root / SESSION / ".lock").unlink()  # whoever asks for the lock would make it again
        assert [task.subject for task in board.tasks(LIST).list()] == ["One"]
        assert not (root / SESSION / ".lock").exists()


def test_an_edge_in_a_circle_is_reported_and_stays_in_the_file(
    process: Process, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(root / SESSION, 1, "One", blockedBy=["2"])
    put(root / SESSION, 2, "Two", blockedBy=["1"])
    with process() as board, caplog.at_level(logging.WARNING):
        board.tasks(LIST).create("Three")
        assert [task.blocked_by for task in board.tasks(LIST).list()] == [("2",), (), ()]
    assert "2.json` says what the board cannot: is blocked by 1" in caplog.text
    with process() as board:
        board.tasks(LIST).update("2", subject="Two, then")
    assert (told(root / SESSION / "2.json")["subject"], told(root / SESSION / "2.json")["blockedBy"]) == (
        "Two, then",
        ["1"],
    )
    put(root / SESSION, 2, "Two, then", blocks=["1"])  # Claude Code takes it back
    with process() as board:
        board.tasks(LIST).create("Four")
    assert told(root / SESSION / "2.json")["blockedBy"] == []


def test_an_edge_that_the_board_took_away_leaves_a_file_that_changed_meanwhile(
    process: Process, root: Path, tmp_path: Path
) -> None:
    with process() as board:
        board.tasks(LIST).create("One")
        board.tasks(LIST).create("Two", blocked_by=["1"])
    put(root / SESSION, 2, "Dos", blockedBy=["1"])
    with Board.open(tmp_path / "board.db") as board:
        board.tasks(LIST).update("2", remove_blocked_by=["1"])
    with process() as board:
        board.tasks(LIST).create("Three")
    assert (told(root / SESSION / "2.json")["subject"], told(root / SESSION / "2.json")["blockedBy"]) == ("Dos", [])


def test_a_file_with_a_blank_subject_is_reported_and_keeps_its_place(
    process: Process, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    body = put(root / SESSION, 1, " ").read_bytes()
    with process() as board, caplog.at_level(logging.WARNING):
        assert board.tasks(LIST).create("Two").id == "2"
        board.tasks(LIST).update("2", subject="Dos")
    assert "1.json` is passed over" in caplog.text
    assert names(root / SESSION) == ["1.json", "2.json"]
    assert (root / SESSION / "1.json").read_bytes() == body


def test_the_stop_guard_of_an_agent_that_stayed_sees_what_claude_code_did(process: Process, root: Path) -> None:
    with process() as board:
        agent = agent_on(board)
        agent.call("TaskCreate", {"subject": "One", "description": ""})
        put(root / SESSION, 1, "One", status="completed")
        assert agent.work.is_finished
        put(root / SESSION, 2, "Two")
        stopped = agent.about_to_stop(last_text="All done.")
        assert stopped is not None
        assert "Two" in stopped.text
        put(root / SESSION, 2, "Two", status="completed")
        assert agent.compaction_block() is None


def test_files_are_told_of_a_lease_that_is_over(tmp_path: Path, root: Path) -> None:
    clock = FakeClock()
    with Board.open(tmp_path / "board.db", durability="normal", clock=clock) as board:
        ClaudeTasks(root).attach(board)
        for number, look in enumerate((board.tick, lambda: board.tasks(LIST).list()), 1):
            board.tasks(LIST).create("One")
            board.tasks(LIST).claim("ada", id=str(number), lease=60)
            assert told(root / SESSION / f"{number}.json")["status"] == "in_progress"
            clock.advance(61)
            look()
            assert told(root / SESSION / f"{number}.json")["status"] == "pending"
