"""Make a board of a night: agents of seven projects worked while their person slept. For pictures and tests."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from typing import Any

from punchlist import Agent, Board
from punchlist.testing import FakeClock

EVENING = datetime(2026, 11, 15, 22, 0).astimezone()
MORNING = EVENING + timedelta(hours=10)
SESSIONS = {
    "infra": "8f0c2a77-5f1e-4f0e-9c55-a1b2c35f2c1a",
    "mobile": "3f1b7c00-9a51-47f4-8d4e-77d02188ab01",
    "batch": "5a2c77f0-3b1d-4b7e-8c0a-6fd3e210c2ee",
    "api": "c6b77a52-0f6f-4f0c-9b1c-1f3c5e0d299b",
    "site": "11f2aa03-77c1-4d2a-9a0e-55e6d177aa00",
    "shop": "f6a0c1de-2c44-4bd0-8f6f-0a4b1cbede30",
    "docs": "6dd0a1b9-1c7e-4a7c-b3d1-92e3a431ad99",
}

PLAN = "# Move to typed routes\n\n1. Type the routes\n2. Move the screens\n3. Delete the old table\n4. Run the tests"
RED = """\
FAILED tests/test_limits.py::test_burst
FAILED tests/test_limits.py::test_reset
2 failed, 118 passed in 9.40s"""


class Night:
    """Writes the work of agents with a clock that each step moves."""

    def __init__(self, board: Board, clock: FakeClock) -> None:
        self.board = board
        self.clock = clock
        self.calls = 0
        self.busy: list[Agent] = []
        """Agents that read on until the next step."""

    def agent(self, project: str, name: str = "claude") -> Agent:
        return self.board.agent(name, session=SESSIONS[project], project=f"/home/ada/{project}")

    def at(self, hours: float) -> None:
        """Move the clock, while the busy agents look at files every ten minutes; then nobody is busy."""
        goal = EVENING + timedelta(hours=hours)
        while self.busy and (step := self.clock() + timedelta(minutes=10)) < goal:
            self.clock.set(step)
            for agent in self.busy:
                self._call(agent, "Read", {"file_path": "README.md"}, "ok", None)
        self.busy = []
        self.clock.set(goal)

    def run(self, agent: Agent, command: str, output: str = "", code: int = 0) -> None:
        self._call(agent, "Bash", {"command": command}, output, code)

    def edit(self, agent: Agent, *files: str) -> None:
        for file in files:
            self._call(agent, "Edit", {"file_path": file, "old_string": "a", "new_string": "b"}, "ok", None)

    def _call(self, agent: Agent, tool: str, args: dict[str, Any], output: str, code: int | None) -> None:
        self.calls += 1
        agent.tool_started(f"call-{self.calls}", tool, args)
        agent.tool_finished(f"call-{self.calls}", output, exit_code=code)


def write_night(board: Board, clock: FakeClock) -> None:
    """Write the night, and leave the clock at the morning."""
    night = Night(board, clock)
    night.at(0.5)
    infra = night.agent("infra")
    infra.call("todo", {"set": ["Plan the change", "Apply to staging", "Apply to production"]})
    night.edit(infra, "main.tf", "modules/db.tf", "variables.tf")
    night.run(infra, "terraform plan -out p", "Plan: 0 to add, 1 to change, 2 to destroy.")
    infra.call("todo", {"done": "1"})
    night.busy = [infra]
    night.at(1)
    infra.call("todo", {"ask": [{"id": "2", "text": "The plan destroys 2 databases in staging. Intended?"}]})
    mobile = night.agent("mobile", "codex")
    mobile.call(
        "todo",
        {"plan": PLAN},
    )
    batch = night.agent("batch", "main")
    batch.call("todo", {"set": ["Load the orders", "Transform them", "Write the report"]})
    batch.call("todo", {"done": "1"})
    batch.tool_started("transform", "Bash", {"command": "python transform.py"})
    night.at(3)
    api = night.agent("api")
    api.call("todo", {"set": ["Read the limits", "Count per token", "Answer 429", "Write the tests"]})
    night.edit(api, "src/limits.py")
    night.run(api, "pytest -q", "118 passed in 9.10s")
    api.call("todo", {"done": "1"})
    site = night.agent("site", "main")
    site.call("todo", {"set": ["Look around", "Choose the colours", "Draw the header", "Write the footer"]})
    night.run(site, "ls", "index.html")
    site.call("todo", {"done": "1"})
    night.busy = [api]
    night.at(4)
    site.call("todo", {"done": ["2", "3", "4"]})
    site.finished()
    docs = night.agent("docs", "codex")
    docs.call("todo", {"set": ["Outline", "Upgrade guide for 3.0", "Examples", "Links", "Proofread"]})
    night.edit(docs, *(f"docs/{name}.py" for name in ("a", "b", "c", "d", "e", "f")))
    docs.call("todo", {"done": ["1"]})
    night.busy = [docs]
    night.at(5.5)
    _write_end(night)
    clock.set(MORNING)


def _write_end(night: Night) -> None:
    api, docs, shop = night.agent("api"), night.agent("docs", "codex"), night.agent("shop")
    shop.call("todo", {"set": ["Parse dates", "Handle time zones", "Round the totals", "Print receipts"]})
    for number, hour in enumerate((6, 6.6, 7.3, 8), start=1):
        night.busy = [shop]
        night.at(hour)
        night.edit(shop, f"src/part{number}.py")
        night.run(shop, "pytest -q", f"{40 + number} passed in 2.1s")
        shop.call("todo", {"done": str(number)})
    shop.finished()
    night.busy = [api]
    night.at(9.2)
    night.edit(api, "src/limits.py", "src/answers.py")
    night.run(
        api,
        "pytest -q",
        RED,
        1,
    )
    api.call("todo", {"done": ["2", "3"]})
    api.finished()
    night.busy = [docs]
    night.at(9.97)
    night.edit(docs, "docs/guide.py")


def main() -> None:
    clock = FakeClock(EVENING)
    with Board.open(sys.argv[1], clock=clock) as board:
        write_night(board, clock)


if __name__ == "__main__":
    main()
