"""A process that reports is killed: what it was told is kept, and whoever looks next has the same sums."""

import os
import random
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from punchlist import Board
from tests.sizes import size

IN_PROGRESS = {"todos": [{"content": "Paint", "activeForm": "Painting", "status": "in_progress"}]}

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

ONE_OF_SEVERAL = """
import os, sys
from punchlist import Board
path, who, told = sys.argv[1:]
main = Board.open(path).agent("main", session="s", dialect="claude-code")
agent = main.spawn("child", id="child") if int(who) % 3 == 0 else main
out = os.open(told, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
for number in range(1_000_000):
    name = f"{who}-{number}"
    agent.tool_started(name, "Edit", {"file_path": name})
    agent.tool_finished(name, result="done")
    os.write(out, f"{name}\\n".encode())
    if number % 40 == 39:
        item = {"content": "Paint", "activeForm": "Painting", "status": "in_progress"}
        main.call("TodoWrite", {"todos": [item]})
"""


@pytest.mark.sqlite
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


@pytest.mark.sqlite
def test_nothing_is_lost_where_the_reporter_used_its_ids_again(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        board.agent("main", session="s").call("todo", {"set": ["A"]})
    told = 0
    for kill in range(size(2, 50)):
        again = REPORTER.replace('f"c{number}"', 'f"c{number % 5}"')
        with subprocess.Popen(
            [sys.executable, "-c", again, str(path), str(kill * 10_000)], stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            for _ in range(9 + 4 * kill):
                told += child.stdout.readline().endswith("\n")
            os.kill(child.pid, signal.SIGKILL)
            told += sum(line.endswith("\n") for line in child.stdout)
        with Board.open(path) as board:
            ended = [event.data["call_id"] for event in board.events() if event.kind == "tool.finished"]
            assert len(ended) == len(set(ended)) >= told
            tally = board.agent("main", session="s").work_on("1")
            assert tally.calls - tally.running == len(ended)
            assert board.report(session="s").items[0].tally.calls == tally.calls


@pytest.mark.sqlite
def test_several_processes_report_for_one_agent_and_are_killed_at_any_time(tmp_path: Path) -> None:
    path, told, rng = tmp_path / "board.db", tmp_path / "told", random.Random(7)
    told.touch()
    with Board.open(path) as board:
        board.agent("main", session="s", dialect="claude-code").call("TodoWrite", IN_PROGRESS)
        numbers = count()

        def another() -> subprocess.Popen[bytes]:
            return subprocess.Popen([sys.executable, "-c", ONE_OF_SEVERAL, str(path), str(next(numbers)), str(told)])

        running = [another() for _ in range(3)]
        for _ in range(size(4, 100)):
            seen = told.stat().st_size
            while told.stat().st_size < seen + 1_000:
                assert all(one.poll() is None for one in running), "a reporter ended by itself"
            victim = running.pop(rng.randrange(len(running)))
            victim.kill()
            victim.wait()
            running.append(another())
        for one in running:
            one.kill()
            one.wait()
    acknowledged = told.read_text().split()
    with Board.open(path) as board:
        events = list(board.events())
        ended = [event.data["call_id"] for event in events if event.kind == "tool.finished"]
        assert set(acknowledged) <= set(ended)
        assert len(ended) == len(set(ended))
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        tally = board.agent("main", session="s", dialect="claude-code").work_on("1")
        assert tally.calls == sum(event.kind == "tool.started" for event in events)
