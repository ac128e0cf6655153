"""Reports that come thick and fast wait for their commit in a spool; nobody loses one, and nobody sees one twice."""

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest

from punchlist import Agent, Board
from punchlist.store import Transaction, backlog, spool
from punchlist.store.lock import SidecarLock
from punchlist.store.spool import SIZE, Spool, leftovers
from punchlist.store.sqlite import SqliteStore
from punchlist.testing import FakeClock
from tests.store.writers import run

NEVER = float("inf")


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Every report counts as close to the last, and none has waited too long."""
    monkeypatch.setattr(backlog, "BRISK", NEVER)
    monkeypatch.setattr(backlog, "WITHIN", 3600.0)


def reporter(board: Board, name: str = "main") -> Agent:
    agent = board.agent(name, session="s", dialect="claude-code")
    item = {"content": "Paint", "activeForm": "Painting", "status": "in_progress"}
    agent.call("TodoWrite", {"todos": [item]})
    call(agent, "first")
    return agent


def call(agent: Agent, name: str) -> None:
    agent.tool_started(name, "Edit", {"file_path": f"{name}.py"})
    agent.tool_finished(name, result=f"{name} is done")


def waiting(board: Board) -> int:
    store = board.store
    assert isinstance(store, SqliteStore)
    assert store._backlog is not None
    return len(store._backlog.waiting)


def ended(board: Board) -> list[str]:
    return [event.data["call_id"] for event in board.events() if event.kind == "tool.finished"]


def numbers(board: Board) -> list[int]:
    return [event.seq for event in board.events()]


def test_reports_wait_and_the_process_itself_sees_them_at_once(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        agent = reporter(board)
        call(agent, "second")
        assert waiting(board) == 2
        assert ended(board) == ["first", "second"]
        assert waiting(board) == 0
        call(agent, "third")
        assert agent.work_on("1").calls == 3


def test_a_list_is_written_behind_the_reports_that_came_before_it(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        agent = reporter(board)
        call(agent, "second")
        agent.call("TodoWrite", {"todos": []})
        assert waiting(board) == 0
        kinds = [event.kind for event in board.events()]
        assert kinds[-1] == "list.replaced"
        assert kinds.count("tool.finished") == 2
        assert numbers(board) == list(range(1, len(kinds) + 1))


def test_another_process_sees_them_a_little_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "WITHIN", 0.01)
    with Board.open(tmp_path / "board.db") as board, Board.open(tmp_path / "board.db") as other:
        agent = reporter(board)
        last = other.store.last_seq()
        for number in range(20):
            call(agent, f"c{number}")
        found = list(islice(other.follow(last, timeout=30), 40))
        assert [event.seq for event in found] == list(range(last + 1, last + 41))


def test_who_finds_that_another_process_wrote_gives_new_numbers(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board, Board.open(tmp_path / "board.db") as other:
        agent = reporter(board)
        call(agent, "second")
        other.agent("other", session="s").call("todo", {"set": ["A", "B"]})
        assert ended(board) == ["first", "second"]
        call(agent, "third")
        assert ended(board) == ended(other) == ["first", "second", "third"]
        assert numbers(board) == list(range(1, len(numbers(board)) + 1))
        assert agent.work_on("1").calls == 3


def test_however_long_two_processes_report_in_turns_nothing_gets_lost(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board, Board.open(tmp_path / "board.db") as other:
        agent, theirs = reporter(board), other.agent("main", session="s", dialect="claude-code")
        told = ["first"]
        for turn in range(10):
            for who, one in (("a", agent), ("b", theirs)):
                for number in range(9):
                    call(one, f"{who}{turn}-{number}")
                    told.append(f"{who}{turn}-{number}")
            if turn % 3 == 0:
                agent.call("TodoWrite", {"todos": [{"content": "Paint", "activeForm": "x", "status": "in_progress"}]})
        list(board.events()), list(other.events())
        assert sorted(ended(board)) == sorted(ended(other)) == sorted(told)
        assert agent.work_on("1").calls == len(told)


def test_nothing_waits_while_another_process_writes_too(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board, Board.open(tmp_path / "board.db") as other:
        agent, theirs = reporter(board), other.agent("other", session="s")
        for number in range(5):
            theirs.call("todo", {"set": [f"Item {number}"]})
            agent.tool_started(f"c{number}", "Edit", {})
            assert waiting(board) == 0


def test_no_more_wait_than_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "MOST", 10)
    with Board.open(tmp_path / "board.db") as board:
        agent = reporter(board)
        most = 0
        for number in range(40):
            call(agent, f"c{number}")
            most = max(most, waiting(board))
        assert 2 <= most <= 10
        assert len(ended(board)) == 41


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


def test_what_cannot_be_committed_stays_acknowledged_until_it_can(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        store, agent = board.store, reporter(board)
        assert isinstance(store, SqliteStore)
        assert store._writer is not None
        store._writer.connection.execute("PRAGMA max_page_count = 1")
        for number in range(20):
            call(agent, f"c{number}")
        assert ended(board) == ["first"]  # what is committed can be read
        assert store._writer is None  # the next one has no such limit
        assert ended(board) == ["first", *(f"c{number}" for number in range(20))]
        assert agent.work_on("1").calls == 21


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


def test_the_files_are_private_and_gone_when_the_board_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "board.db.reports"
    with Board.open(tmp_path / "board.db") as board:
        agent = reporter(board)
        assert list(folder.iterdir()) if waiting(board) else not folder.exists()
        call(agent, "second")
        (file,) = folder.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not folder.exists()


KILLED = """
import os, signal, sys
from punchlist import Board
from punchlist.store import backlog
backlog.WITHIN = 3600.0
agent = Board.open(sys.argv[1]).agent("main", session="s", dialect="claude-code")
for number in range(int(sys.argv[2])):
    agent.tool_started(f"k{number}", "Edit", {"file_path": f"{number}.py"})
    agent.tool_finished(f"k{number}", result=f"{number} is done")
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(path: Path, calls: int) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), str(calls)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert list(Path(f"{path}.reports").iterdir())


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


def test_a_forked_child_leaves_what_waits_to_its_parent(tmp_path: Path) -> None:
    script = """
import os, sys
from punchlist import Board
from punchlist.store import backlog
backlog.WITHIN = 3600.0
board = Board.open(sys.argv[1])
agent = board.agent("main", session="s")
for number in range(10):
    agent.tool_started(f"p{number}", "Edit", {})
pid = os.fork()
if not pid:
    for number in range(10):
        agent.tool_started(f"c{number}", "Edit", {})
    board.close()
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
board.close()
print("fine")
"""
    path = tmp_path / "board.db"
    done = run(script, str(path))
    assert done.stdout.strip() == "fine", done.stdout + done.stderr
    with Board.open(path) as board:
        begun = [event.data["call_id"] for event in board.events() if event.kind == "tool.started"]
        assert sorted(begun) == sorted(f"{who}{number}" for who in "cp" for number in range(10))
    assert not Path(f"{path}.reports").exists()


def _row(number: int) -> tuple[object, ...]:
    return number, 1, "tool.started", "main", 1, None, 0, b"{}" * number, b"hint"


def _left(folder: Path) -> list[int]:
    found = leftovers(str(folder))
    rows = [row[0] for left in found for row in left.rows()]
    for left in found:
        left.close()
    return rows


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


def test_threads_that_report_and_write_lists_lose_nothing(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        agents = [reporter(board, f"a{number}") for number in range(4)]

        def several(agent: Agent) -> Callable[[], None]:
            def work() -> None:
                for number in range(30):
                    call(agent, f"c{number}")
                    if number % 7 == 0:
                        agent.call("TodoWrite", {"todos": [{"content": "x", "activeForm": "x", "status": "pending"}]})

            return work

        threads = [threading.Thread(target=several(agent)) for agent in agents]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        events = list(board.events())
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert sum(event.kind == "tool.finished" for event in events) == 4 * 31
    assert "board.db.reports" not in os.listdir(tmp_path)


def test_a_reader_waits_neither_for_the_lock_nor_for_room_on_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        agent = reporter(board)
        call(agent, "second")
        lock = SidecarLock(f"{path}.lock")
        with closing(lock), lock.held():
            assert [item.content for item in agent.todos.items] == ["Paint"]
            assert ended(board) == ["first"]
        assert ended(board) == ["first", "second"]


def test_an_interruption_behind_the_commit_commits_nothing_twice(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        store, agent = board.store, reporter(board)
        assert isinstance(store, SqliteStore)
        call(agent, "second")
        committed, struck = store._committed, list[bool]()

        def interrupted(*, lasting: bool) -> None:
            if not struck:
                struck.append(True)
                raise KeyboardInterrupt
            committed(lasting=lasting)

        store._committed = interrupted
        with pytest.raises(KeyboardInterrupt):
            agent.call("TodoWrite", {"todos": [{"content": "x", "activeForm": "x", "status": "pending"}]})
        call(agent, "third")
        assert ended(board) == ["first", "second", "third"]
        assert numbers(board) == list(range(1, len(numbers(board)) + 1))


def test_what_waits_is_decided_anew_when_another_process_called_the_item_done(tmp_path: Path) -> None:
    done = {"content": "Paint", "activeForm": "Painting", "status": "completed"}
    with Board.open(tmp_path / "board.db") as board, Board.open(tmp_path / "board.db") as other:
        agent = reporter(board)
        agent.tool_started("check", "Bash", {"command": "pytest -q"})
        agent.tool_finished("check", result="1 failed in 0.1s", is_error=True)
        assert waiting(board) == 2
        theirs = other.agent("main", session="s", dialect="claude-code")
        more = {"content": "Sand", "activeForm": "Sanding", "status": "pending"}
        theirs.call("TodoWrite", {"todos": [done, more]})
        assert theirs.todos.items[0].grade == "worked"
        assert ended(board) == ["first", "check"]
        assert agent.todos.items[0].grade == theirs.todos.items[0].grade == "contradicted"


def test_who_requires_proof_lets_other_processes_commit_what_they_saw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog, "WITHIN", 0.01)
    done = {"content": "Paint", "activeForm": "Painting", "status": "completed"}
    with Board.open(tmp_path / "board.db") as board, Board.open(tmp_path / "board.db") as other:
        agent = reporter(board)
        agent.tool_started("check", "Bash", {"command": "pytest -q"})
        agent.tool_finished("check", result="1 failed in 0.1s", is_error=True)
        strict = other.agent("main", session="s", dialect="claude-code", grades="require")
        assert strict.call("TodoWrite", {"todos": [done]}).is_error


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


def test_a_report_on_a_closed_board_is_refused_as_any_call_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    board = Board.open(tmp_path / "board.db")
    agent = reporter(board)
    board.close()
    call(agent, "second")
    assert "StoreClosed" in caplog.text


def test_a_list_is_written_while_another_thread_reports_without_pause(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        agent, writer, over = reporter(board), board.agent("other", session="s"), threading.Event()

        def report() -> None:
            for number in range(100_000):
                if over.is_set():
                    return
                call(agent, f"c{number}")

        thread = threading.Thread(target=report)
        thread.start()
        for number in range(20):
            writer.call("todo", {"set": [f"Item {number}"]})
        over.set()
        thread.join()
        assert len([event for event in board.events() if event.kind == "list.replaced"]) == 21


def test_agents_that_were_pruned_meanwhile_begin_anew(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board, Board.open(tmp_path / "board.db") as other:
        agent = reporter(board)
        call(agent, "second")
        other.prune(datetime(2100, 1, 1, tzinfo=UTC))
        assert {event.session for event in board.events() if event.data.get("call_id") == "second"} == {"s"}
        assert agent.work_on("").calls == 1
