"""A list is on disk before its reply goes out: a process that is killed right after any reply has lost nothing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from punchlist import Board
from tests.sizes import size

_CHILD = """
import sys
from punchlist import Board
board = Board.open(sys.argv[1])
agent = board.agent("main", session="s", dialect="claude-code")
done = agent.todos.revision
for number in range(done + 1, done + 1 + int(sys.argv[2])):
    todos = [{"content": f"Item {n}", "status": "pending", "activeForm": "x"} for n in range(number)]
    reply = agent.call("TodoWrite", {"todos": todos}, call_id=f"c{number}")
    print(len(reply.data["newTodos"]), flush=True)
sys.stdin.read()  # nothing is closed in order: whoever comes back from here was not killed
"""


@pytest.mark.sqlite
def test_after_a_kill_right_behind_any_reply_nothing_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    total = 0
    for replies in range(1, size(6, 60)):
        command = [sys.executable, "-c", _CHILD, str(path), str(replies)]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert child.stdin is not None
        assert child.stdout is not None
        said = [int(child.stdout.readline()) for _ in range(replies)]
        os.kill(child.pid, signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
        child.stdin.close()
        child.stdout.close()
        total += replies
        assert said[-1] == total
        with Board.open(path) as board:
            agent = board.agent("main", session="s", dialect="claude-code")
            assert len(agent.todos.items) == agent.todos.revision == total
            past = agent.at(total - 1)
            assert past is not None
            assert len(past.items) == total - 1
