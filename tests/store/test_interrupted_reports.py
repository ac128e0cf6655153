"""Ctrl-C at any point of a report: no lock stays held, and nothing is recorded twice."""

import fcntl
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from punchlist import Board
from tests.sizes import size
from tests.store.reporters import call, ended, reporter
from tests.store.writers import PATIENCE


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


def test_wherever_a_report_is_interrupted_the_next_call_of_anybody_works(tmp_path: Path) -> None:
    point, step = 1, size(11, 1)
    went_on = True
    while went_on:
        path = tmp_path / f"{point}.db"
        with Board.open(path) as board:
            agent = reporter(board)
            call(agent, "second")
            went_on = _interrupted(point, lambda agent=agent: agent.tool_started("x", "Edit", {"file_path": "x"}))
            assert _is_free(path), point
            other = threading.Thread(target=agent.call, args=("TodoWrite", {"todos": []}))
            other.start()
            other.join(PATIENCE)
            call(agent, "third")
            assert ended(board) == ["first", "second", "third"]
            assert not agent.todos.items
        point += step
