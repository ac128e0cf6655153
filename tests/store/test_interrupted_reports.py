"""Ctrl-C while reports wait, go in or are led for others: no lock stays held, and nothing comes in twice."""

import fcntl
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from punchlist import Agent, Board
from punchlist.store.backlog import Backlog
from punchlist.store.sqlite import SqliteStore
from tests.sizes import size
from tests.store.reporters import call, ended, reporter
from tests.store.writers import PATIENCE

pytestmark = pytest.mark.usefixtures("patient")


def _interrupted(point: int, work: Callable[[], object]) -> bool:
    """Does work that is interrupted where Python looks for signals for that time; False if it does not come so far."""
    seen = 0

    def look(frame: FrameType, event: str, _arg: object) -> None:
        nonlocal seen
        if event in ("call", "c_return") and "/punchlist/store/" in frame.f_code.co_filename:
            seen += 1
            if seen == point:
                sys.setprofile(None)
                raise KeyboardInterrupt

    sys.setprofile(look)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return seen >= point


def _is_free(path: Path) -> bool:
    handle = os.open(f"{path}.lock", os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True


def _nothing(_agent: Agent) -> None:
    """The report is kept in the backlog."""


def _needs_a_statement(agent: Agent) -> None:
    store = agent.board.store
    assert isinstance(store, SqliteStore)
    assert store._writer is not None
    store._writer._agents.clear()


@pytest.mark.parametrize("prepare", [_nothing, _needs_a_statement])
def test_wherever_a_report_is_interrupted_the_next_call_of_anybody_works(
    tmp_path: Path, prepare: Callable[[Agent], None]
) -> None:
    point, step = 1, size(11, 1)
    went_on = True
    while went_on:
        path = tmp_path / f"{point}.db"
        with Board.open(path) as board:
            agent = reporter(board)
            call(agent, "second")
            prepare(agent)
            went_on = _interrupted(point, lambda agent=agent: agent.tool_started("x", "Edit", {"file_path": "x"}))
            assert _is_free(path), point
            other = threading.Thread(target=agent.call, args=("TodoWrite", {"todos": []}))
            other.start()
            other.join(PATIENCE)
            call(agent, "third")
            assert ended(board) == ["first", "second", "third"]
            assert not agent.todos.items
        point += step


def test_a_report_that_another_thread_took_in_counts_once_though_that_one_was_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, keep, struck = threading.get_ident(), Backlog.keep, list[bool]()

    def kept_and_interrupted(backlog: Backlog, work: Callable[[object], object], events: list[tuple[object]]) -> bool:
        is_kept = keep(backlog, work, events)
        if threading.get_ident() == leader and commits._queue and not struck:
            return is_kept
        if threading.get_ident() == leader and other.is_alive() and not struck:
            struck.append(True)
            raise KeyboardInterrupt
        return is_kept

    with Board.open(tmp_path / "board.db") as board:
        agent = reporter(board)
        call(agent, "second")
        store = board.store
        assert isinstance(store, SqliteStore)
        commits = store._commits
        other = threading.Thread(target=lambda: agent.tool_started(None, "Edit", {"file_path": "other"}))
        with commits._turn:
            other.start()
            while not commits._queue:
                assert other.is_alive()
        commits._called = float("-inf")  # so the next who has the turn leads for it
        monkeypatch.setattr(Backlog, "keep", kept_and_interrupted)
        with pytest.raises(KeyboardInterrupt):
            agent.tool_started("mine", "Edit", {"file_path": "mine"})
        other.join(PATIENCE)
        begun = [event.data["call_id"] for event in board.events() if event.kind == "tool.started"]
        assert struck
        assert sorted(begun) == ["#1", "first", "mine", "second"]
        assert agent.work_on("1").calls == 4
