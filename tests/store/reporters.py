"""What tests of waiting reports share: an agent that reports, what the log says, and a process that is killed."""

import signal
import subprocess
import sys
from pathlib import Path

from punchlist import Agent, Board
from punchlist.store.sqlite import SqliteStore


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


KILLED = """
import os, signal, sys
from punchlist import Board
from punchlist.store import backlog
backlog.BRISK, backlog.WITHIN = float("inf"), 3600.0
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
