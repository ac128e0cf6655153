"""Numbers of tasks that Claude Code and the board give at the same time: never the same one twice."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from punchlist import Board, Task
from punchlist.bridges.claude_tasks import ClaudeTasks
from tests.bridges.task_folders import SESSION, agent_on, lines, names, put, told
from tests.sizes import size

LIST = f"session:{SESSION}"
CREATE: list[Callable[[Board], object]] = [
    lambda board: board.tasks(LIST).create("Ours"),
    lambda board: agent_on(board).call("TaskCreate", {"subject": "Ours", "description": ""}),
]


class Claude:
    """Creates a task as Claude Code does, under the folder's lock, whenever it is let; a clock for the board."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.waits = False
        self.wants = False

    def __call__(self) -> datetime:
        if self.wants:
            self.try_to_create()
        return datetime(2025, 1, 1, tzinfo=UTC)

    def try_to_create(self) -> None:
        try:
            os.mkdir(self.folder / ".lock.lock")
        except FileExistsError:
            self.waits = True
            return
        self.wants = False
        number = max(int(path.stem) for path in self.folder.glob("*.json")) + 1
        put(self.folder, number, "Theirs")
        os.rmdir(self.folder / ".lock.lock")


@pytest.mark.requirement("claude-tasks.lock")
@pytest.mark.parametrize("create", CREATE, ids=["by a handle", "by a call"])
def test_a_number_is_given_while_the_folder_is_held(root: Path, create: Callable[[Board], object]) -> None:
    claude = Claude(root / SESSION)
    with Board.open("memory:", clock=claude) as board:
        ClaudeTasks(root).attach(board)
        board.tasks(LIST).create("One")
        agent = agent_on(board)
        claude.wants = True  # from now on the clock lets it try within our transaction
        create(board)
        assert claude.waits
        claude.try_to_create()
        assert [told(root / SESSION / f"{number}.json")["subject"] for number in (1, 2, 3)] == ["One", "Ours", "Theirs"]
        assert lines(agent) == ["#1 [pending] One", "#2 [pending] Ours", "#3 [pending] Theirs"]


def test_a_folder_is_free_while_gates_are_asked(board: Board, root: Path) -> None:
    ClaudeTasks(root).attach(board)
    board.tasks(LIST).create("One")
    free: list[bool] = []

    def gate(_task: Task) -> None:
        free.append(not (root / SESSION / ".lock.lock").exists())

    board.gate("create", gate)
    board.gate("complete", gate)
    agent_on(board).call("TaskCreate", {"subject": "Two", "description": ""})
    agent_on(board).call("TaskUpdate", {"taskId": "1", "status": "completed"})
    board.tasks(LIST).complete("2")
    assert free == [True, True, True]


def test_a_change_that_is_refused_lets_the_folder_go(board: Board, root: Path) -> None:
    ClaudeTasks(root).attach(board)
    agent = agent_on(board)
    assert agent.call("TaskUpdate", {"taskId": "7", "status": "completed"}).is_error
    assert names(root / SESSION) == []
    agent.call("TaskCreate", {"subject": "One", "description": ""})
    assert names(root / SESSION) == ["1.json"]


def test_a_folder_that_is_held_for_too_long_fails_no_change(
    board: Board, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ClaudeTasks(root, patience=0, patience_to_change=0).attach(board)
    board.tasks(LIST).create("One")
    (root / SESSION / ".lock.lock").mkdir()
    assert board.tasks(LIST).create("Two").id == "2"
    assert "without the lock" in caplog.text
    assert names(root / SESSION) == [".lock.lock", "1.json"]
    (root / SESSION / ".lock.lock").rmdir()
    board.tasks(LIST).create("Three")
    assert names(root / SESSION) == ["1.json", "2.json", "3.json"]


def test_two_mirrors_of_one_folder_do_not_wait_for_each_other(board: Board, root: Path) -> None:
    for _ in range(2):
        ClaudeTasks(root, patience=0, patience_to_change=0).attach(board)
    assert board.tasks(LIST).create("One").id == "1"
    assert names(root / SESSION) == ["1.json"]


def test_threads_that_create_at_once_get_a_number_each(board: Board, root: Path) -> None:
    ClaudeTasks(root).attach(board)
    given: list[str] = []

    def create() -> None:
        given.extend(board.tasks(LIST).create("One of many").id for _ in range(5))

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, given)) == list(range(1, 21))
    assert names(root / SESSION) == sorted(f"{number}.json" for number in range(1, 21))


CLAUDE = """
import json, os, sys, time
folder, name, count = sys.argv[1:]
for place in range(int(count)):
    while True:
        try:
            os.mkdir(folder + "/.lock.lock")
            break
        except FileExistsError:
            time.sleep(0.002)
    number = max([0, *(int(each[:-5]) for each in os.listdir(folder) if each.endswith(".json"))]) + 1
    task = {"id": str(number), "subject": f"{name} {place}", "description": "", "status": "pending"}
    with open(f"{folder}/{number}.json", "w") as file:
        json.dump({**task, "blocks": [], "blockedBy": []}, file)
    os.rmdir(folder + "/.lock.lock")
    print(number, f"{name} {place}")
"""
OURS = """
import sys
from punchlist import Board
from punchlist.bridges.claude_tasks import ClaudeTasks
folder, name, count, board, root, session = sys.argv[1:]
with Board.open(board, durability="normal") as board:
    ClaudeTasks(root).attach(board)
    for place in range(int(count)):
        print(board.tasks(session).create(f"{name} {place}").id, f"{name} {place}")
"""


def test_no_number_is_given_twice_by_many_processes_of_both(root: Path, tmp_path: Path) -> None:
    folder, count, where = root / SESSION, str(size(8, 100)), str(tmp_path / "board.db")
    folder.mkdir(parents=True)
    commands = [[CLAUDE, str(folder), f"claude-{each}", count] for each in range(2)]
    commands += [[OURS, str(folder), f"board-{each}", count, where, str(root), LIST] for each in range(2)]
    running = [
        subprocess.Popen([sys.executable, "-c", *command], stdout=subprocess.PIPE, text=True) for command in commands
    ]
    said = [line.split(" ", 1) for process in running for line in process.communicate()[0].splitlines()]
    given = {int(number): subject for number, subject in said}
    assert len(said) == len(given) == 4 * int(count)
    with Board.open(where, durability="normal") as board:
        ClaudeTasks(root).attach(board)
        assert {int(task.id): task.subject for task in board.tasks(LIST).list()} == given
    assert {int(path.stem): told(path)["subject"] for path in folder.glob("*.json")} == given
