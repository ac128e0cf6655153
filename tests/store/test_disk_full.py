"""The disk is full: what was acknowledged can be read, and writing goes on when there is room again."""

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.errors import StoreError, StoreFull
from punchlist.store.sqlite import SqliteStore
from tests.sizes import size
from tests.store.writers import code_of, operation, operations_of

SIZES = range(1, 1 + size(3, 40))


def _fill(board: Board, prefix: str, most: int = 20_000) -> list[str]:
    """Writes until there is no more room; what was acknowledged."""
    done: list[str] = []
    for number in range(most):
        name = f"{prefix}n{number}"
        try:
            operation(board, name)
        except StoreFull:
            return done
        done.append(name)
    raise AssertionError("the disk did not fill up")


@pytest.mark.parametrize("pages", [20 + 7 * number for number in SIZES])
def test_a_file_that_may_not_grow_loses_nothing_and_goes_on_when_it_may(tmp_path: Path, pages: int) -> None:
    path = tmp_path / "board.db"
    with Board(SqliteStore(str(path), durability="normal")) as board:
        done: list[str] = []
        for turn in range(3):
            _limit(board, pages * (turn + 1))
            done += _fill(board, f"t{turn}")
            assert operations_of(list(board.events())) == done
            assert board.agent("main", session="storm").todos.revision == len(done)
    with Board.open(path) as board:
        assert operations_of(list(board.events())) == done
        operation(board, "more")


def _limit(board: Board, pages: int) -> None:
    """Sets the limit on the connection that writes next."""
    store = board.store
    assert isinstance(store, SqliteStore)
    if store._writer is None:  # it was replaced after the last fault
        store.transact(lambda _: None)
    assert store._writer is not None
    store._writer.execute(f"PRAGMA max_page_count = {pages}")


@contextmanager
def _small_disk(folder: Path, kilobytes: int) -> Generator[Path]:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.needs("tmpfs")
@pytest.mark.parametrize("kilobytes", [760 + 52 * number for number in SIZES])
def test_a_full_disk_loses_nothing_and_goes_on_when_there_is_room(tmp_path: Path, kilobytes: int) -> None:
    with _small_disk(tmp_path / "disk", kilobytes) as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(b"\0" * 100_000)
        with Board.open(disk / "board.db") as board:
            done = _fill(board, "a")
            assert operations_of(list(board.events())) == done
            assert sum(row.todos.revision for row in board.lists(session="storm")) == len(done)
            for number in range(3):
                code = code_of(lambda number=number: operation(board, f"r{number}"))
                assert code in {"ok", "store_full"}  # a smaller transaction may still fit
                done += [f"r{number}"] if code == "ok" else []
            ballast.unlink()
            operation(board, "room again")
            done.append("room again")
            assert operations_of(list(board.events())) == done
        with Board.open(disk / "board.db") as board:
            assert operations_of(list(board.events())) == done


@pytest.mark.needs("tmpfs")
def test_a_disk_without_room_for_a_new_board_says_so(tmp_path: Path) -> None:
    with _small_disk(tmp_path / "disk", 64) as disk:
        (disk / "ballast").write_bytes(b"\0" * 40_000)
        with pytest.raises(StoreError) as caught:
            Board.open(disk / "board.db")
        assert caught.value.code in {"store_full", "store_failed"}
        assert str(disk / "board.db") in str(caught.value)
        (disk / "ballast").unlink()
