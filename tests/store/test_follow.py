"""Following a board from another process: woken by its notify file, and by nothing when nothing happens."""

import threading
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.core.events import Event
from punchlist.store import sidecars
from punchlist.store.sidecars import Listener
from tests.store.writers import PATIENCE, operation, operations_of, start, two_way, write_some


def _none(_path: str) -> None:
    """No inotify, as on another system."""


def _followed(board: Board, count: int) -> tuple[threading.Thread, list[Event]]:
    """A thread that follows until it saw so many operations, and what it saw."""
    seen: list[Event] = []

    def follow() -> None:
        for event in board.follow():
            seen.append(event)
            if len(operations_of(seen)) == count:
                return

    thread = threading.Thread(target=follow)
    thread.start()
    return thread, seen


@pytest.mark.parametrize("by", ["inotify", "looking"])
def test_a_follower_sees_what_another_process_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    if by == "looking":
        monkeypatch.setattr(sidecars, "_watch_writes", _none)
    here, there = two_way()
    with Board.open(tmp_path / "board.db") as board:
        follower, seen = _followed(board, 30)
        writer = start(write_some, str(tmp_path / "board.db"), "w", 30, there)
        assert here.recv() == "ready"
        here.send("go")
        assert len(here.recv()) == 30
        follower.join(PATIENCE)
        assert not follower.is_alive()
        writer.join(PATIENCE)
        assert operations_of(seen) == [f"wn{number}" for number in range(30)]


def test_a_follower_whose_notify_file_was_deleted_still_sees_what_happens(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        follower, seen = _followed(board, 2)
        operation(board, "one")
        (tmp_path / "board.db.notify").unlink()
        with Board.open(path) as other:
            operation(other, "two")
        follower.join(PATIENCE)
        assert operations_of(seen) == ["one", "two"]


def test_a_follower_that_begins_in_the_middle_misses_nothing(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        for name in ("one", "two", "three"):
            operation(board, name)
        every = list(board.events())
        for event in every:
            assert list(board.follow(after=event.seq, timeout=0)) == every[event.seq :]
            assert list(board.follow(after=event.cursor, timeout=0)) == every[event.seq :]


def test_a_listener_that_is_stopped_leaves_no_thread(tmp_path: Path) -> None:
    (tmp_path / "x.notify").touch()
    listener = Listener(str(tmp_path / "x.notify"), lambda: None)
    listener.stop()
    listener.stop()
    assert not listener._thread.is_alive()
