"""Spools: what a process acknowledged and did not commit is in its file, and whoever comes next takes it in, once."""

import os
import threading
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.store import Transaction, backlog, codec, spool
from punchlist.store.spool import SIZE, Spool, in_use, leftovers, waiting_in
from punchlist.store.sqlite import SqliteStore
from punchlist.testing import FakeClock
from tests.store.reporters import call, ended, killed, numbers, reporter, waiting
from tests.store.writers import run

pytestmark = pytest.mark.usefixtures("patient")


def _row(number: int) -> tuple[object, ...]:
    return number, 1, "tool.started", "main", 1, 0, b"{}" * number, b"hint"


def _left(folder: Path) -> list[int]:
    found = leftovers(str(folder))
    rows = [row[0] for left in found for row in left.rows()]
    for left in found:
        left.close()
    return rows


def test_a_spool_that_is_full_is_committed_and_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "SIZE", 4096)
    monkeypatch.setattr(backlog, "MOST", 10_000)
    with Board.open(tmp_path / "board.db") as board:
        agent = reporter(board)
        for number in range(100):
            call(agent, f"c{number}")
        assert waiting(board) < 50
        assert len(ended(board)) == 101


def test_a_report_that_fails_takes_none_back_that_were_acknowledged(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        agent = reporter(board)
        call(agent, "second")

        def fail(tx: Transaction) -> None:
            row = tx.agent("s", "main")
            assert row is not None
            tx.save_ledger(row, b"broken")
            raise ArithmeticError

        for soon in (True, False):
            with pytest.raises(ArithmeticError):
                board.store.transact(fail, lasting=False, soon=soon)
            assert waiting(board) == 2
        call(agent, "third")
        assert ended(board) == ["first", "second", "third"]
        assert agent.work_on("1").calls == 3


def test_a_board_that_cannot_write_when_it_is_closed_leaves_the_rest_to_the_next(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    board = Board.open(path)
    store, agent = board.store, reporter(board)
    assert isinstance(store, SqliteStore)
    assert store._writer is not None
    store._writer.connection.execute("PRAGMA max_page_count = 1")
    for number in range(20):
        call(agent, f"c{number}")
    board.close()
    with Board.open(path) as again:
        assert len(ended(again)) == 21
    assert not (tmp_path / "board.db.reports").exists()


def test_what_a_killed_process_acknowledged_is_there_for_whoever_opens_the_board(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        reporter(board)
    killed(path, 20)
    for _ in range(2):
        with Board.open(path) as board:
            assert ended(board) == ["first", *(f"k{number}" for number in range(20))]
            assert board.agent("main", session="s").work_on("1").calls == 21
        assert not Path(f"{path}.reports").exists()


def test_a_follower_takes_over_from_a_process_that_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        reporter(board)
        known = len(numbers(board))
        killed(path, 20)
        assert len(numbers(board)) < known + 40
        found = list(islice(board.follow(timeout=60), known + 40))
        assert [event.seq for event in found] == list(range(1, known + 41))


def test_what_was_committed_before_its_process_was_killed_is_not_taken_in_again(tmp_path: Path) -> None:
    path, folder = tmp_path / "board.db", tmp_path / "board.db.reports"
    with Board.open(path) as board:
        agent = reporter(board)
        call(agent, "second")
        (file,) = folder.iterdir()
        content = file.read_bytes()
        assert ended(board) == ["first", "second"]
    folder.mkdir()
    (folder / "1-left").write_bytes(content)
    with Board.open(path) as board:
        assert ended(board) == ["first", "second"]
    assert not folder.exists()


def test_two_who_open_the_board_at_once_take_over_once(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        reporter(board)
    killed(path, 50)

    def look() -> None:
        with Board.open(path) as board:
            list(board.events())

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Board.open(path) as board:
        assert ended(board) == ["first", *(f"k{number}" for number in range(50))]


def test_the_spool_of_a_process_that_lives_is_its_own(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        agent = reporter(board)
        call(agent, "second")
        assert leftovers(f"{tmp_path}/board.db.reports") == []
        with Board.open(tmp_path / "board.db") as other:
            assert "second" not in ended(other)
        assert ended(board) == ["first", "second"]


@pytest.mark.parametrize("cut", [0, 3, 15, 17, 40, 5_000])
def test_a_spool_is_read_up_to_the_first_record_that_is_not_whole(tmp_path: Path, cut: int) -> None:
    one = Spool(str(tmp_path / "spools"))
    sizes: list[int] = []
    for number in range(1, 200):
        assert one.add([_row(number)])
        sizes.append(one._used)
    one.close(remove=False)
    (file,) = (tmp_path / "spools").iterdir()
    content = bytearray(file.read_bytes())
    content[cut] ^= 0xFF
    file.write_bytes(content)
    whole = sum(size <= cut for size in sizes)
    assert _left(tmp_path / "spools") == list(range(1, whole + 1))


def test_a_spool_that_was_begun_anew_tells_nothing_of_what_was_in_it(tmp_path: Path) -> None:
    one = Spool(str(tmp_path / "spools"))
    for number in (7, 8, 9):
        assert one.add([_row(number)])
    one.clear()
    assert one.add([_row(7)])
    one.close(remove=False)
    assert _left(tmp_path / "spools") == [7]
    one = Spool(str(tmp_path / "others"))
    assert one.add([_row(1)])
    one.clear()
    one.close(remove=False)
    assert _left(tmp_path / "others") == []


def test_a_record_that_is_larger_than_the_spool_has_no_room(tmp_path: Path) -> None:
    one = Spool(str(tmp_path / "spools"))
    assert not one.add([_row(SIZE)])
    assert one.add([_row(1)])
    one.close(remove=True)
    assert not (tmp_path / "spools").exists()


def test_leftovers_that_are_no_spools_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "board.db.reports"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    (folder / "empty").touch()
    with Board.open(tmp_path / "board.db") as board:
        reporter(board)
    assert (folder / "link").is_symlink()
    assert not (folder / "empty").exists()


def test_one_who_knows_the_agent_counts_what_it_takes_over(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        agent = reporter(board)
        killed(path, 20)
        call(agent, "second")
        assert agent.work_on("1").calls < 22
        board.store.wait_for_others()
        call(agent, "third")
        assert agent.work_on("1").calls == len(ended(board)) == 23


def test_a_clock_that_was_set_back_loses_nothing_that_is_taken_over(tmp_path: Path) -> None:
    path, clock = tmp_path / "board.db", FakeClock()
    clock.set(datetime(2100, 1, 1, tzinfo=UTC))
    with Board.open(path, clock=clock) as board:
        reporter(board)
    killed(path, 20)
    with Board.open(path) as board:
        assert len(ended(board)) == 21


def test_what_cannot_be_read_of_a_spool_is_kept_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        reporter(board)
    killed(path, 20)
    (file,) = Path(f"{path}.reports").iterdir()
    content = bytearray(file.read_bytes())
    content[2_000] ^= 0xFF
    file.write_bytes(content)
    for _ in range(2):
        with Board.open(path) as board:
            assert 1 < len(ended(board)) < 21
    assert [left.name for left in Path(f"{path}.reports").iterdir()] == [f"{file.name}.unread"]
    assert caplog.text.count(".unread") == 1


def test_a_folder_among_the_spools_is_in_nobody_s_way(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        reporter(board)
    killed(path, 20)
    os.mkdir(f"{path}.reports/0-folder")
    os.mkfifo(f"{path}.reports/1-pipe")
    with Board.open(path) as board:
        assert len(ended(board)) == 21


def test_a_new_spool_that_somebody_took_for_a_leftover_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(tmp_path / "spools")
    make = Spool._make

    def taken(one: Spool) -> int:
        handle = make(one)
        for left in leftovers(folder):
            left.remove()
            left.close()
        return handle

    monkeypatch.setattr(Spool, "_make", taken)
    with pytest.raises(FileNotFoundError):
        Spool(folder)


def test_a_process_that_ends_without_closing_its_board_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    script = """
import sys
from punchlist import Board
from punchlist.store import backlog
backlog.WITHIN = 3600.0
agent = Board.open(sys.argv[1]).agent("main", session="s")
for number in range(10):
    agent.tool_started(f"c{number}", "Edit", {"file_path": f"{number}.py"})
    agent.tool_finished(f"c{number}", result="done")
print("fine")
"""
    with Board.open(path) as board:
        assert run(script, str(path)).stdout.strip() == "fine"
        assert len(ended(board)) == 10
    assert not Path(f"{path}.reports").exists()


def test_the_end_of_a_call_that_was_given_up_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    script = """
import os, signal, sys
from punchlist import Board
from punchlist.store import backlog
backlog.BRISK = float("inf")
backlog.WITHIN = 3600.0
agent = Board.open(sys.argv[1]).agent("main", session="s", dialect="claude-code")
agent.tool_started("check", "Bash", {"command": "pytest -q"})
agent.user_turn()
agent.tool_updated("other", "")
agent.tool_finished("check", result="1 failed in 0.1s", is_error=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    with Board.open(path) as board:
        reporter(board)
    run(script, str(path))
    with Board.open(path) as board:
        assert ended(board) == ["first", "check"]
        assert board.agent("main", session="s", dialect="claude-code").work_on("1").failures == 1


def test_a_spool_that_this_program_does_not_understand_keeps_no_board_shut(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        reporter(board)
        row = board.store.agent("s", "main")
        assert row is not None
    one = Spool(f"{path}.reports")
    hint = codec.sealed(b"no hint of ours")
    assert one.add([(1000, 1, "tool.started", "main", row.number, 0, b'{"call_id":"x","name":"Edit"}', hint)])
    one.close(remove=False)
    for _ in range(2):
        with Board.open(path) as board:
            assert ended(board) == ["first"]
    (file,) = Path(f"{path}.reports").iterdir()
    assert file.name.endswith(".unread")


def test_what_comes_into_a_spool_later_is_told_from_what_was_there(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        agent, folder = reporter(board), f"{tmp_path}/board.db.reports"
        call(agent, "second")
        ((path, number),) = in_use(folder, "").items()
        assert in_use(folder, path) == {}
        assert waiting_in(path) == number
        assert ended(board) == ["first", "second"]
        assert waiting_in(path) == 0
        call(agent, "third")
        assert waiting_in(path) not in (0, number)
    assert in_use(folder, "") == {}
    assert waiting_in(path) == 0
