"""What a killed process left: ids that we made up, rows of an older form, and a prune in the same transaction."""

import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

from punchlist import Board
from punchlist.store.spool import Spool, leftovers
from punchlist.store.sqlite import SqliteStore
from tests.store.reporters import reporter
from tests.store.writers import PATIENCE

_KILLED = """
import os, signal, sys
from punchlist import Board
from punchlist.store import backlog
backlog.BRISK, backlog.WITHIN = float("inf"), 3600.0
agent = Board.open(sys.argv[1]).agent("main", session="s", dialect="claude-code")
for number in range(4):
    agent.tool_started(None, "Edit", {"file_path": f"a{number}"})
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_calls_without_an_id_that_a_killed_process_told_of_stay_apart_from_those_of_others(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        agent = reporter(board)
        subprocess.run([sys.executable, "-c", _KILLED, str(path)], check=False)
        for number in range(3):
            agent.tool_started(None, "Read", {"file_path": f"b{number}"})
        with Board.open(path):
            pass  # who opens a board takes over what was left
        begun = [event.data["call_id"] for event in board.events() if event.kind == "tool.started"]
        assert len(begun) == len(set(begun)) == 8
        assert agent.work_on("1").calls == board.report(session="s").items[0].tally.calls == 8


def test_a_spool_of_the_form_before_is_read(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path / "spools"))
    row = (7, 1, "tool.started", "main", 1, None, 0, b"{}", b"hint")
    spool.add([row])
    spool.close(remove=False)
    (left,) = leftovers(str(tmp_path / "spools"))
    assert left.rows() == [(*row[:5], *row[6:])]
    assert left.is_read
    left.close()


def test_a_prune_forgets_nothing_that_others_of_its_transaction_have_put_off(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db", durability="normal") as board:
        agent = reporter(board)
        agent.finished("done")
        store = board.store
        assert isinstance(store, SqliteStore)
        commits = store._commits
        works = [
            lambda: agent.tool_started("a", "Edit", {"file_path": "a"}),
            lambda: board.prune(datetime(2020, 1, 1, tzinfo=UTC)),
        ]
        threads = [threading.Thread(target=work) for work in works]
        with commits._turn:
            for count, thread in enumerate(threads, 1):
                thread.start()
                while len(commits._queue) < count:
                    assert thread.is_alive()
        commits._call_next()
        for thread in threads:
            thread.join(PATIENCE)
        assert agent.work_on("1").calls == board.report(session="s").items[0].tally.calls == 2
