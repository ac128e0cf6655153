"""Print the functions that one report and one list write walk through, by file, and the statements that they run.

    python tools/trace_walk.py [--functions] [--statements]

Each call is made once before it is traced, so that imports and first writes do not count. A board on disk is used.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from punchlist import Agent, Board

PACKAGE = str(Path(__file__).resolve().parent.parent / "src" / "punchlist")


class Walk(NamedTuple):
    """The functions of the package that an action calls, by file, in the order of their first visit; its statements."""

    visited: dict[str, list[str]]
    statements: list[str]


def trace(board: Board, action: Callable[[], object]) -> Walk:
    visited: dict[str, list[str]] = {}
    statements: list[str] = []

    def profile(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        functions = visited.setdefault(code.co_filename[len(PACKAGE) + 1 :], [])
        if code.co_qualname not in functions:
            functions.append(code.co_qualname)

    def watch(callback: Callable[[str], object] | None) -> None:
        board.store.transact(lambda tx: tx.connection.set_trace_callback(callback))

    watch(statements.append)
    statements.clear()
    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
        watch(None)
    return Walk(visited, statements[: statements.index("COMMIT") + 1])


def write(agent: Agent, done: int) -> None:
    statuses = ["completed"] * done + ["in_progress"] + ["pending"] * (19 - done)
    todos = [
        {"content": f"Step {number}", "activeForm": f"Doing step {number}", "status": status}
        for number, status in enumerate(statuses)
    ]
    agent.call("TodoWrite", {"todos": todos})


def walks(board: Board, agent: Agent) -> dict[str, Walk]:
    """Return the walks of a beginning, of an end and of a write that completes an item."""
    write(agent, 0)
    arguments = {"file_path": "src/app.py", "old_string": "a", "new_string": "b"}
    for number in range(3):
        agent.tool_started(f"warm-{number}", "Edit", arguments | {"new_string": f"b{number}"})
        agent.tool_finished(f"warm-{number}", "The file was changed.")
    write(agent, 1)
    return {
        "tool_started": trace(board, lambda: agent.tool_started("c1", "Edit", arguments)),
        "tool_finished": trace(board, lambda: agent.tool_finished("c1", "The file was changed.")),
        "TodoWrite": trace(board, lambda: write(agent, 2)),
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, Board.open(Path(folder) / "board.db") as board:
        found = walks(board, board.agent("main", session="s", dialect="claude-code"))
    for name, (visited, statements) in found.items():
        functions = sum(map(len, visited.values()))
        print(f"{name}: {len(visited)} files, {functions} functions, {len(statements)} statements")
        for file, names in visited.items():
            print(f"  {file}: {', '.join(names) if '--functions' in sys.argv else len(names)}")
        for statement in statements if "--statements" in sys.argv else ():
            print(f"    {' '.join(statement.split())[:110]}")


if __name__ == "__main__":
    main()
