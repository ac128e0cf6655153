"""A program that uses the library loads all of it at once: a fork during a later import would hang the child."""

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
from punchlist import Board

loaded = set(sys.modules)
with Board.open(sys.argv[1]) as board:
    agent = board.agent("main", session="s1", dialect="claude-code", plan_tools=True, guardrail=True, rounds=True)
    todo = {"content": "Paint", "activeForm": "Painting"}
    agent.call("TodoWrite", {"todos": [{**todo, "status": "in_progress"}]}, call_id="1")
    agent.tool_started("c1", "Bash", {"command": "pytest -q && ls"})
    agent.tool_updated("c1", "1 passed")
    agent.tool_finished("c1", result="1 failed in 0.1s", exit_code=1)
    agent.user_turn()
    agent.assistant_turn(tools_used=["Bash"])
    agent.about_to_stop(last_text="Done.")
    agent.compaction_block()
    agent.edit([{"op": "append", "items": ["Sand"]}], by="ada")
    agent.undo(by="ada")
    agent.ask("1", "Which colour?")
    agent.answer("1", "Red", by="ada")
    agent.propose_plan("1. Paint")
    agent.approve_plan()
    agent.enter_plan_mode()
    agent.permits("Bash", {"command": "rm x"})
    agent.exit_plan_mode()
    child = agent.spawn("explore", label="Look around")
    child.tool_started("d", "Read", {})
    child.finished("Seen.")
    agent.call("TodoWrite", {"todos": [{**todo, "status": "completed"}]}, call_id="2")
    tasks = board.tasks()
    tasks.create("Ship it")
    task = tasks.claim("worker")
    tasks.complete(task.id, fence=task.fence)
    list(board.events())
    board.report(session="s1")
    board.brief()
    board.overview()
print(sorted(name for name in set(sys.modules) - loaded if name.startswith("punchlist")))
"""


def test_nothing_is_imported_once_the_board_is(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "board.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
