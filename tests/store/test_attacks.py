"""Files that somebody else put next to a board, damaged schemas, stopped processes, and boards that nobody closed."""

import gc
import os
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.errors import StoreDamaged, StoreUnavailable
from punchlist.store.sidecars import SidecarLock
from punchlist.store.sqlite import SqliteStore, inspect
from punchlist.testing import FakeClock
from tests.store.reporters import call, ended, reporter
from tests.store.writers import PATIENCE, hold, operation, operations_of, start, two_way

SIDE_FILES = (".lock", ".notify", "-wal", "-shm", "-journal")


def _plant_link(place: Path, target: Path) -> None:
    place.symlink_to(target)


def _plant_dangling_link(place: Path, target: Path) -> None:
    place.symlink_to(target.with_name("made by nobody"))


def _plant_folder(place: Path, _: Path) -> None:
    place.mkdir()


def _plant_fifo(place: Path, _: Path) -> None:
    os.mkfifo(place)


@pytest.mark.parametrize("suffix", SIDE_FILES)
@pytest.mark.parametrize("plant", [_plant_link, _plant_dangling_link, _plant_folder, _plant_fifo])
def test_whatever_was_put_in_place_of_a_side_file_is_refused_and_left_alone(
    tmp_path: Path, plant: Callable[[Path, Path], None], suffix: str
) -> None:
    folder, victim = tmp_path / "boards", tmp_path / "victim"
    folder.mkdir()
    victim.write_text("precious")
    plant(folder / f"board.db{suffix}", victim)
    with pytest.raises(StoreUnavailable, match=f"board.db{suffix}"):
        Board.open(folder / "board.db")
    assert victim.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["boards", "victim"]
    assert (folder / f"board.db{suffix}").lstat()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("suffix", ["", *SIDE_FILES])
def test_a_file_of_another_user_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "board.db"
    Board.open(path).close()
    planted = tmp_path / f"board.db{suffix}"
    planted.touch()
    os.chown(planted, 12345, 12345)
    with pytest.raises(StoreUnavailable, match="belongs to another user"):
        Board.open(path)


def test_files_that_are_none_of_ours_are_left_alone(tmp_path: Path) -> None:
    names = ("board.db.reports", "board.db.pulse", "board.db.bell", "board.db.other", "board.db.lock.old")
    for name in names:
        (tmp_path / name).write_text(name)
    with Board.open(tmp_path / "board.db") as board:
        call(reporter(board), "second")
    assert {path.name for path in tmp_path.iterdir()} == {"board.db", "board.db.lock", "board.db.notify", *names}
    assert all((tmp_path / name).read_text() == name for name in names)


def _use(path: Path) -> None:
    with Board.open(path) as board:
        list(board.events())
        operation(board, "two")


def test_a_schema_that_is_not_text_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        operation(board, "one")
    data = path.read_bytes()
    found = 0
    for text in (b"CREATE TABLE events", b"CREATE TABLE agents", b"CREATE INDEX tasks_ready"):
        for place in (0, 3, 7, 13, len(text) - 1):
            start_at = data.index(text) + place
            path.write_bytes(data[:start_at] + b"\xff\xfe" + data[start_at + 2 :])
            with pytest.raises(StoreDamaged, match=str(path)) as caught:
                _use(path)
            found += isinstance(caught.value.__cause__, UnicodeDecodeError)
            path.with_name("board.db-wal").unlink(missing_ok=True)
            path.with_name("board.db-shm").unlink(missing_ok=True)
    assert found


def test_a_stopped_holder_of_the_lock_stops_no_reader_and_no_report(tmp_path: Path) -> None:
    path = tmp_path / "board.db"

    def open_patiently() -> Board:
        # A write waits an hour for the lock: if a reader or a report waited like a write, the test would not end.
        return Board(SqliteStore(str(path), lock_timeout=3600))

    with open_patiently() as board:
        agent = reporter(board)
        operation(board, "before")
        here, there = two_way()
        holder = start(hold, str(path), there)
        assert holder.pid is not None
        assert here.recv() == "held"
        os.kill(holder.pid, signal.SIGSTOP)
        try:
            with open_patiently() as other:
                assert operations_of(list(other.events())) == ["Paint", "before"]
                assert other.agent("main", session="storm").todos.revision
                assert other.lists()
                assert inspect(str(path)).agents == 2
            call(agent, "second")
        finally:
            os.kill(holder.pid, signal.SIGCONT)
        here.send("let go")
        assert here.recv() == "done"
        here.send("end")
        holder.join(PATIENCE)
        call(agent, "third")
        assert ended(board) == ["first", "third"]
        (dropped,) = [event for event in board.events() if event.kind == "reports.dropped"]
        assert dropped.data["count"] == 2


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files as Linux shows them")
@pytest.mark.parametrize("follows", [False, True])
def test_boards_that_are_dropped_without_close_leave_no_handle_open(tmp_path: Path, follows: bool) -> None:
    def use(number: int) -> None:
        board = Board.open(tmp_path / f"{number}.db")
        operation(board, "one")
        assert list(board.events())
        if follows:
            assert not board.store.wait(10_000, 0.001)

    def wait_for_threads() -> int:
        count = 0
        for _ in range(1000):
            gc.collect()
            count = len(os.listdir("/proc/self/fd"))
            if count <= before:
                return count
            time.sleep(0.01)
        raise AssertionError(f"{count} files are open, {before} were")

    use(0)
    before = 10_000
    before = wait_for_threads()
    for number in range(1, 11):
        use(number)
    assert wait_for_threads() <= before
    for number in range(11):
        with closing(sqlite3.connect(tmp_path / f"{number}.db")) as connection:
            assert connection.execute("PRAGMA quick_check").fetchone() == ("ok",)


def test_a_board_leaves_at_most_its_database_and_four_files(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    known = {"board.db", "board.db-wal", "board.db-shm", "board.db.lock", "board.db.notify"}
    with Board.open(path) as board:
        call(reporter(board), "second")
        board.tasks("default").create("one")
        assert not board.store.wait(10_000, 0.001)
        assert {file.name for file in tmp_path.iterdir()} == known
    assert {file.name for file in tmp_path.iterdir()} == {"board.db", "board.db.lock", "board.db.notify"}


def test_tasks_that_came_due_are_read_as_they_stand_while_a_stopped_process_holds_the_lock(tmp_path: Path) -> None:
    path, clock = tmp_path / "board.db", FakeClock()
    with Board.open(path, clock=clock) as board:
        tasks = board.tasks("default", lease=10)
        tasks.create("one")
        tasks.claim("worker")
        clock.advance(60)
        lock = SidecarLock(f"{path}.lock")
        with closing(lock), lock.hold():
            assert [task.status.value for task in tasks.list()] == ["in_progress"]
        assert [task.status.value for task in tasks.list()] == ["pending"]


def test_a_model_sees_tasks_and_flows_as_they_stand_while_a_stopped_process_holds_the_lock(tmp_path: Path) -> None:
    path, clock = tmp_path / "board.db", FakeClock()
    with Board.open(path, clock=clock) as board:
        board.tasks("session:s1", lease=10).create("one")
        board.tasks("session:s1", lease=10).claim("worker")
        flows = board.agent(session="s1", dialect="taskflow")
        started = flows.call("taskflow", {"action": "start", "controller_id": "kate", "goal": "Sort"}).data
        timer = {"kind": "timer", "at": (board.now() + timedelta(seconds=10)).isoformat()}
        wait = {"action": "wait", "flow_id": started["flow"]["id"], "wait_condition": timer}
        assert not flows.call("taskflow", wait).is_error
        clock.advance(60)
        lock = SidecarLock(f"{path}.lock")
        with closing(lock), lock.hold():
            tasks = board.agent(session="s1", dialect="claude-tasks")
            assert "in_progress" in tasks.call("TaskList", {}).text
            assert '"status":"waiting"' in flows.call("taskflow", {"action": "list_mine"}).text
        while "in_progress" in tasks.call("TaskList", {}).text:
            pass  # a thread that gave up may get the lock first
        while '"status":"running"' not in flows.call("taskflow", {"action": "list_mine"}).text:
            pass
