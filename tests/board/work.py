"""A session of one agent: list writes, tool calls and the time between them."""

from typing import Any

from punchlist import Agent, Board
from punchlist.core.report import ItemReport, Report
from punchlist.testing import FakeClock

PASSES, FAILS = "3 passed in 0.1s", "1 failed in 0.1s"


def todo(content: str, status: str) -> dict[str, str]:
    return {"content": content, "status": status, "activeForm": content}


class Session:
    """Everything takes a second. `x` before an item means completed, `>` in progress; else it is pending."""

    def __init__(self, dialect: str = "claude-code", **options: Any) -> None:
        self.clock = FakeClock()
        self.board = Board.open("memory:", clock=self.clock)
        self.agent = self.board.agent("main", session="s", dialect=dialect, **options)
        self.calls = 0

    def write(self, *items: str) -> Any:
        self.clock.advance(1)
        marks = {"x": "completed", ">": "in_progress"}
        split = [(text[2:], marks[text[0]]) if text[:2] in ("x ", "> ") else (text, "pending") for text in items]
        return self.agent.call("TodoWrite", {"todos": [todo(*item) for item in split]})

    def tool(self, name: str, args: dict[str, Any], result: Any = "ok", *, by: Agent | None = None, **end: Any) -> None:
        agent, call_id = by or self.agent, f"c{self.calls}"
        self.calls += 1
        self.clock.advance(1)
        agent.tool_started(call_id, name, args)
        self.clock.advance(1)
        agent.tool_finished(call_id, result, **end)

    def run(
        self, command: str = "pytest -q", result: str = PASSES, code: int = 0, *, by: Agent | None = None
    ) -> "Session":
        self.tool("Bash", {"command": command}, result, by=by, exit_code=code)
        return self

    def fail(self, command: str = "pytest -q", result: str = FAILS, *, by: Agent | None = None) -> "Session":
        return self.run(command, result, 1, by=by)

    def edit(self, path: str = "src/a.py", *, by: Agent | None = None) -> "Session":
        self.tool("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, by=by)
        return self

    def report(self) -> Report:
        return self.board.report(session="s")

    @property
    def entries(self) -> dict[str, ItemReport]:
        return {entry.item.content: entry for entry in self.report().items}

    @property
    def grades(self) -> dict[str, str | None]:
        """The grades of all items, as the report has them; those on the list have the same."""
        found = {text: entry.grade for text, entry in self.entries.items()}
        for item in self.agent.todos.items:
            assert item.grade == found[item.content]
        return found
