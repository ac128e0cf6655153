"""What the tests of Claude Code's task files share: files as it writes them, and short ways to look at them."""

import json
import os
from pathlib import Path
from typing import Any

from punchlist import Agent, Board

SESSION = "5c1de2a0-0000-4000-8000-000000000001"


def agent_on(board: Board, session: str = SESSION) -> Agent:
    return board.agent("main", session=session, dialect="claude-tasks")


def put(folder: Path, number: int, subject: str, **fields: Any) -> Path:
    """A file as Claude Code writes it."""
    folder.mkdir(parents=True, exist_ok=True)
    values = {"id": str(number), "subject": subject, "description": "", "status": "pending"}
    path = folder / f"{number}.json"
    path.write_text(json.dumps({**values, "blocks": [], "blockedBy": [], **fields}, indent=2))
    return path


def told(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def lines(agent: Agent) -> list[str]:
    return agent.call("TaskList").text.splitlines()


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))
