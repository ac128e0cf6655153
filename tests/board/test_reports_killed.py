"""A process that reports is killed: what it was told is kept, and whoever looks next has the same sums."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from punchlist import Board
from tests.sizes import size

REPORTER = """
import sys
from punchlist import Board
board = Board.open(sys.argv[1])
agent = board.agent("main", session="s")
first = int(sys.argv[2])
for number in range(first, first + 1_000_000):
    agent.tool_started(f"c{number}", "Bash", {"command": f"pytest -k part{number}"})
    agent.tool_finished(f"c{number}", result="1 passed in 1s", exit_code=0)
    print(number, flush=True)
"""


def test_nothing_that_was_reported_is_lost_or_counted_twice_when_the_reporter_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        board.agent("main", session="s").call("todo", {"set": ["A", "B"]})
    acknowledged: set[str] = set()
    for kill in range(size(3, 100)):
        command = [sys.executable, "-c", REPORTER, str(path), str(kill * 1_000)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for _ in range(7 + 13 * (kill % 5)):
                acknowledged.add(f"c{child.stdout.readline().strip()}")
            os.kill(child.pid, signal.SIGKILL)
            acknowledged.update(f"c{line.strip()}" for line in child.stdout if line.endswith("\n"))
        with Board.open(path) as board:
            agent = board.agent("main", session="s")
            ended = [event.data["call_id"] for event in board.events() if event.kind == "tool.finished"]
            assert acknowledged <= set(ended)
            assert len(ended) == len(set(ended))
            tally = agent.work_on("1")
            assert tally.calls - tally.running == len(ended)
            assert board.report(session="s").items[0].tally.calls == tally.calls
    with Board.open(path) as board:
        agent = board.agent("main", session="s")
        agent.finished()
        agent.call("todo", {"done": "1"})
        assert agent.todos.items[0].grade == board.report(session="s").items[0].grade
