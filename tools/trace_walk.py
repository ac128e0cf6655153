"""Print the functions that one report and one list write walk through, by file, in the order of their first visit.

    python tools/trace_walk.py [--functions]

Each call is made once before it is traced, so that imports and first writes do not count. A board on disk is used.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from punchlist import Agent, Board

PACKAGE = str(Path(__file__).resolve().parent.parent / "src" / "punchlist")


def trace(action: Callable[[], object]) -> dict[str, list[str]]:
    """Return the functions of the package that an action calls, by file, in the order of their first visit."""
    visited: dict[str, list[str]] = {}

    def profile(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        functions = visited.setdefault(code.co_filename[len(PACKAGE) + 1 :], [])
        if code.co_qualname not in functions:
            functions.append(code.co_qualname)

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return visited


def write(agent: Agent, done: int) -> None:
    statuses = ["completed"] * done + ["in_progress"] + ["pending"] * (19 - done)
    todos = [
        {"content": f"Step {number}", "activeForm": f"Doing step {number}", "status": status}
        for number, status in enumerate(statuses)
    ]
    agent.call("TodoWrite", {"todos": todos})


def walks(agent: Agent) -> dict[str, dict[str, list[str]]]:
    """Return the walks of a beginning, of an end and of a write that completes an item."""
    write(agent, 0)
    arguments = {"file_path": "src/app.py", "old_string": "a", "new_string": "b"}
    for number in range(3):
        agent.tool_started(f"warm-{number}", "Edit", arguments | {"new_string": f"b{number}"})
        agent.tool_finished(f"warm-{number}", "The file was changed.")
    write(agent, 1)
    return {
        "tool_started": trace(lambda: agent.tool_started("c1", "Edit", arguments)),
        "tool_finished": trace(lambda: agent.tool_finished("c1", "The file was changed.")),
        "TodoWrite": trace(lambda: write(agent, 2)),
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, Board.open(Path(folder) / "board.db") as board:
        found = walks(board.agent("main", session="s", dialect="claude-code"))
    for name, visited in found.items():
        print(f"{name}: {len(visited)} files, {sum(map(len, visited.values()))} functions")
        for file, names in visited.items():
            print(f"  {file}: {', '.join(names) if '--functions' in sys.argv else len(names)}")


if __name__ == "__main__":
    main()
