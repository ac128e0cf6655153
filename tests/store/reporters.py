"""What tests of reports share: an agent that reports, what the log says, and a process that is killed."""

import signal
import subprocess
import sys
from pathlib import Path

from punchlist import Agent, Board


def reporter(board: Board, name: str = "main") -> Agent:
    agent = board.agent(name, session="s", dialect="claude-code")
    item = {"content": "Paint", "activeForm": "Painting", "status": "in_progress"}
    agent.call("TodoWrite", {"todos": [item]})
    call(agent, "first")
    return agent


def call(agent: Agent, name: str) -> None:
    agent.tool_started(name, "Edit", {"file_path": f"{name}.py"})
    agent.tool_finished(name, result=f"{name} is done")


def ended(board: Board) -> list[str]:
    return [event.data["call_id"] for event in board.events() if event.kind == "tool.finished"]


def numbers(board: Board) -> list[int]:
    return [event.seq for event in board.events()]


KILLED = """
import os, signal, sys
from punchlist import Board
agent = Board.open(sys.argv[1]).agent("main", session="s", dialect="claude-code")
for number in range(int(sys.argv[2])):
    call_id = f"k{number}" if sys.argv[3] else None
    agent.tool_started(call_id, "Edit", {"file_path": f"{number}.py"})
    if call_id:
        agent.tool_finished(call_id, result=f"{number} is done")
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(path: Path, calls: int, *, ids: bool = True) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), str(calls), "k" * ids], check=False)
    assert done.returncode == -signal.SIGKILL
