"""Reports on tool calls: each is committed before its call returns, whatever else the board is doing."""

import threading
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest

from punchlist import Agent, Board
from punchlist.errors import StoreClosed
from punchlist.store import Transaction
from punchlist.store.runtime import AgentMemory
from punchlist.store.sidecars import SidecarLock
from tests.store.reporters import call, ended, killed, numbers, reporter
from tests.store.writers import run


def test_all_reports_of_a_process_that_was_killed_are_there(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        agent = reporter(board)
        killed(path, calls=20)
        assert ended(board) == ["first", *(f"k{number}" for number in range(20))]
        assert agent.work_on("1").calls == board.report(session="s").items[0].tally.calls == 21


def test_calls_without_an_id_of_a_killed_process_stay_apart_from_those_of_others(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        agent = reporter(board)
        killed(path, calls=4, ids=False)
        for number in range(3):
            agent.tool_started(None, "Read", {"file_path": f"b{number}"})
        begun = [event.data["call_id"] for event in board.events() if event.kind == "tool.started"]
        assert len(begun) == len(set(begun)) == 8
        assert agent.work_on("1").calls == board.report(session="s").items[0].tally.calls == 8


def test_a_call_that_fails_takes_no_report_with_it(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        agent = reporter(board)
        call(agent, "second")

        def fail(tx: Transaction) -> None:
            row = tx.agent("s", "main")
            assert row is not None
            tx.memory.save(row.number, AgentMemory(ids=99))
            raise ArithmeticError

        with pytest.raises(ArithmeticError):
            board.store.transact(fail, durable=False)
        call(agent, "third")
        assert ended(board) == ["first", "second", "third"]
        assert agent.work_on("1").calls == 3


def test_a_list_is_written_after_the_reports_that_came_before_it(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        agent = reporter(board)
        call(agent, "second")
        agent.call("TodoWrite", {"todos": []})
        kinds = [event.kind for event in board.events()]
        assert kinds[-1] == "list.replaced"
        assert kinds.count("tool.finished") == 2
        assert numbers(board) == list(range(1, len(kinds) + 1))


def test_another_process_sees_each_report(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board, Board.open(tmp_path / "board.db") as other:
        agent = reporter(board)
        last = other.store.last_seq()
        for number in range(20):
            call(agent, f"c{number}")
        found = list(islice(other.follow(last, timeout=120), 40))
        assert [event.seq for event in found] == list(range(last + 1, last + 41))


def test_events_of_two_processes_are_numbered_in_one_order(tmp_path: Path) -> None:
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


def test_parent_and_forked_child_both_report(tmp_path: Path) -> None:
    script = """
import os, sys
from punchlist import Board
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


def test_a_reader_does_not_wait_for_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        agent = reporter(board)
        call(agent, "second")
        lock = SidecarLock(f"{path}.lock")
        with closing(lock), lock.hold():
            assert [item.content for item in agent.todos.items] == ["Paint"]
            assert ended(board) == ["first", "second"]
        assert ended(board) == ["first", "second"]


def test_proof_counts_that_another_process_reported(tmp_path: Path) -> None:
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
        call(agent, "third")
        assert {event.session for event in board.events() if event.data.get("call_id") == "third"} == {"s"}


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
