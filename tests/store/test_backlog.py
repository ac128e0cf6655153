"""Reports that come thick and fast wait for their commit in a spool; nobody loses one, and nobody sees one twice."""

import os
import stat
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import pytest

from punchlist import Agent, Board
from punchlist.errors import StoreClosed
from punchlist.store import backlog
from punchlist.store.lock import SidecarLock
from punchlist.store.sqlite import SqliteStore
from punchlist.testing import FakeClock
from tests.store.reporters import call, ended, numbers, reporter, waiting
from tests.store.writers import run

pytestmark = pytest.mark.usefixtures("patient")


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
        for each in (board, other):
            assert len(ended(each)) > 0
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
    monkeypatch.setattr(backlog, "_OTHERS", 60.0)
    monkeypatch.setattr(backlog, "WITHIN", 0.01)
    done = {"content": "Paint", "activeForm": "Painting", "status": "completed"}
    with Board.open(tmp_path / "board.db") as board, Board.open(tmp_path / "board.db") as other:
        agent = reporter(board)
        agent.tool_started("check", "Bash", {"command": "pytest -q"})
        agent.tool_finished("check", result="1 failed in 0.1s", is_error=True)
        strict = other.agent("main", session="s", dialect="claude-code", grades="require")
        assert strict.call("TodoWrite", {"todos": [done]}).is_error


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


def test_what_is_decided_anew_keeps_its_time_and_the_item_that_was_in_focus(tmp_path: Path) -> None:
    clock, path = FakeClock(), tmp_path / "board.db"
    with Board.open(path, clock=clock) as board, Board.open(path, clock=clock) as other:
        agent = reporter(board)
        agent.tool_started("check", "Bash", {"command": "pytest -q"})
        clock.advance(2)
        agent.tool_finished("check", result="3 passed in 1.9s", exit_code=0)
        assert waiting(board) == 2
        clock.advance(60)
        done = {"content": "Paint", "activeForm": "Painting", "status": "completed"}
        more = {"content": "Sand", "activeForm": "Sanding", "status": "in_progress"}
        other.agent("main", session="s", dialect="claude-code").call("TodoWrite", {"todos": [done, more]})
        start, end = [event for event in board.events() if event.data.get("call_id") == "check"]
        assert (start.data["item"], end.data["seconds"]) == ("p1/1", 2.0)
        assert clock() - end.at == timedelta(seconds=60)
        assert [item.grade for item in agent.todos.items] == ["verified", None]


def test_who_reads_while_the_board_is_closed_is_told_so_and_nobody_hangs(tmp_path: Path) -> None:
    for number in range(20):
        board = Board.open(tmp_path / f"{number}.db")
        agent = reporter(board)

        def read(board: Board = board, agent: Agent = agent) -> None:
            with suppress(StoreClosed):
                while True:
                    call(agent, "again")
                    list(board.events())

        thread = threading.Thread(target=read)
        thread.start()
        board.close()
        thread.join(60)
        assert not thread.is_alive()
