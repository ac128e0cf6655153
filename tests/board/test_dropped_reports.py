"""Reports that cannot be recorded: dropped, counted, and never taken for work that was not done."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from punchlist import Agent, Board
from punchlist.agent import context
from punchlist.store.sqlite import SqliteStore
from punchlist.testing import FaultyStore


@contextmanager
def somebody_writes(path: Path) -> Generator[None]:
    """Hold the lock of a board, as a process does that was stopped within a transaction."""
    begun, over = threading.Event(), threading.Event()

    def hold() -> None:
        with Board.open(path) as other:
            other.store.transact(lambda tx: (tx.last_seq(), begun.set(), over.wait(60)))  # it has the lock

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert begun.wait(60)
        yield
    finally:
        over.set()
        thread.join(60)


def _call(agent: Agent, number: int, command: str = "make test", result: str = "3 passed") -> None:
    agent.tool_started(f"c{number}", "Bash", {"command": command})
    agent.tool_finished(f"c{number}", result=result, exit_code=0)


def _dropped(board: Board) -> list[int]:
    return [event.data["count"] for event in board.events() if event.kind == "reports.dropped"]


@pytest.fixture(autouse=True)
def brief_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "REPORT_WAIT", 0.05)


def test_a_report_waits_a_second_at_most_and_the_next_one_tells_how_many_were_dropped(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        agent = board.agent("main", session="s")
        agent.call("todo", {"set": ["Paint"]})
        _call(agent, 1)
        with somebody_writes(tmp_path / "board.db"):
            _call(agent, 2)
            board.agent("main", session="s").tool_started("c3", "Read", {"path": "a"})
        assert _dropped(board) == []
        _call(agent, 4)
        assert _dropped(board) == [3]
        _call(agent, 5)
        assert _dropped(board) == [3]
        assert agent.work_on("1").calls == 3


def test_a_completion_with_dropped_reports_is_not_called_unseen(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        agent = board.agent("main", session="s", grades="require")
        agent.call("todo", {"set": ["Read", "Paint", "Ship"]})
        _call(agent, 1)
        agent.call("todo", {"done": "1"})
        with somebody_writes(tmp_path / "board.db"):
            _call(agent, 2)
        assert not agent.call("todo", {"done": "2"}).is_error
        assert agent.call("todo", {"done": "3"}).is_error
        grades = [item.grade for item in agent.todos.items]
        assert grades == [item.grade for item in board.report(session="s").items] == ["verified", "unchecked", None]
        assert _dropped(board) == [2]


def test_what_was_seen_of_the_work_is_still_graded_but_never_verified(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        agent = board.agent("main", session="s")
        agent.call("todo", {"set": ["Paint"]})
        with somebody_writes(tmp_path / "board.db"):
            _call(agent, 1)
        _call(agent, 2)
        agent.call("todo", {"done": "1"})
        assert agent.todos.items[0].grade == board.report(session="s").items[0].grade == "unchecked"


def test_a_report_that_the_disk_refuses_is_told_of_too() -> None:
    store = FaultyStore(SqliteStore(""))
    with Board(store) as board:
        agent = board.agent("main", session="s")
        agent.call("todo", {"set": ["Paint"]})
        _call(agent, 1)
        store.plan("fail_before", at=1)
        agent.tool_started("c2", "Read", {"path": "a"})
        agent.tool_started("c3", "Read", {"path": "b"})
        assert _dropped(board) == [1]
