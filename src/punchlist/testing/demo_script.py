"""The script of the demo: three agents with subagents at work on a board, scene by scene."""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from punchlist.agent import Agent
from punchlist.board import Board
from punchlist.core import commands as do
from punchlist.core.commands import Target
from punchlist.settings.environment import Folder

PERSON = "you"


STORY_ITEM = "Run the tests"
_STORY = (
    "The builder called this done while pytest failed, 1 of 12. The board had seen the run: failing.",
    "It changed src/parser.py and ran pytest again: 12 passed.",
    "The grade followed by itself, and the builder was not asked: verified.",
)


class Scene(Struct, frozen=True):
    """An act, the seconds to look at it, and the caption (None: the one before)."""

    act: Callable[[], Any]
    seconds: float
    caption: str | None = None


class Troupe:
    """Three agents: one speaks Claude Code's dialect, two our own."""

    def __init__(self, board: Board, session: str, *, project: Folder = None) -> None:
        self.builder = board.agent("builder", session=session, dialect="claude-code", project=project)
        self.tester = board.agent("tester", session=session, project=project)
        self.writer = board.agent("writer", session=session, project=project)
        self.explorer: Agent  # these two are started by the script
        self.fuzzer: Agent
        self.calls = 0
        self.told: list[tuple[str, str]] = []
        """Agents and what they were told besides the events: what our own dialect repaired and said."""

    @property
    def tools(self) -> dict[str, str]:
        return {agent.name: agent.dialect for agent in (self.builder, self.tester, self.writer)}

    def scenes(self) -> Iterator[Scene]:
        caption = "Three agents plan their work, each with the todo tool that it already knows."
        yield Scene(lambda: None, 0.5, caption)
        yield Scene(lambda: self._builder_writes("find"), 1.0)
        yield Scene(lambda: self._todo(self.tester, set=["Reproduce the crash", "Write a test", "Try on staging"]), 1.0)
        yield Scene(
            lambda: self._todo(self.writer, set=["Update the guide", "Write the notes", "Check the links"]), 1.0
        )
        yield Scene(self._spawn_explorer, 1.4, "A subagent gets a list of its own, below the agent that started it.")
        yield Scene(lambda: self._todo(self.tester, done="1"), 1.0, "Work goes on. Whoever finishes an item moves on.")
        yield Scene(lambda: self._explorer_writes("trace"), 1.0)
        started = [
            {"text": "Update the guide", "status": "in_progress"},
            {"text": "Write the notes", "status": "doing"},
        ]
        caption = "The writer starts two items at once: Punchlist keeps one in focus and tells it so."
        yield Scene(lambda: self._todo(self.writer, set=[*started, "Check the links"]), 1.8, caption)
        append = do.Append((do.Entry(content="Bump the version"),))
        yield Scene(
            lambda: self.builder.edit(append, by=PERSON), 1.5, "You add an item by hand, while the agent is at work."
        )
        caption = "The agent rewrites its whole list and knows nothing of your item: it stays all the same."
        yield Scene(lambda: self._builder_writes("fix"), 1.8, caption)
        yield Scene(lambda: self._explorer_writes("all"), 0.8)
        caption = "An item that has to wait says why, and nobody nags about it."
        yield Scene(lambda: self._todo(self.tester, done="2", block={"3": "staging key"}), 1.8, caption)
        yield Scene(self._spawn_fuzzer, 1.0)
        caption = "In plan mode an agent may think, not write: the call is refused, and nothing is lost."
        yield Scene(self.builder.enter_plan_mode, 0.9, caption)
        yield Scene(lambda: self._builder_writes("test"), 1.8)
        yield Scene(lambda: self.builder.exit_plan_mode(by=PERSON), 0.6, "You approve the plan, and work goes on.")
        yield Scene(lambda: self._builder_writes("test"), 0.9)
        unblock = [do.Unblock(Target(item="3", by="id")), do.Start(Target(item="3", by="id"))]
        yield Scene(lambda: self.tester.edit(unblock, by=PERSON), 1.0, "You bring the key: the tester goes on.")
        yield Scene(lambda: self._todo(self.writer, done="1"), 0.5)
        yield Scene(lambda: self._todo(self.fuzzer, done="1"), 0.5)
        caption = "The builder calls its tests done, and they fail. The board saw that, and says so: failing."
        yield Scene(self._builder_edits, 0.1)
        yield Scene(lambda: self._builder_tests("1 failed, 11 passed in 0.8s", 1), 0.1, caption)
        yield Scene(lambda: self._builder_writes("version"), 1.7)
        caption = "It mends the parser, the tests pass, and the grade follows what was seen: verified."
        yield Scene(self._builder_edits, 0.2, caption)
        yield Scene(lambda: self._builder_tests("12 passed in 0.9s", 0), 1.2)
        yield Scene(lambda: self._todo(self.writer, done="2"), 0.5)
        yield Scene(lambda: self._todo(self.fuzzer, done="2"), 0.5)
        yield Scene(lambda: self._todo(self.tester, done="3", evidence="pytest -q"), 0.5)
        yield Scene(lambda: self._builder_writes("request"), 0.5)
        last = next(item.id for item in self.builder.todos.items if item.content == "Open a pull request")
        hold = do.Block(Target(item=last, by="id"), "your review", PERSON)
        yield Scene(lambda: self._todo(self.writer, done="3"), 0.5)
        caption = "All is done but one item, and it says what it waits for. That is a punch list."
        yield Scene(lambda: self.builder.edit(hold, by=PERSON), 1.0, caption)
        caption = f"Open “{STORY_ITEM}”: it was called done while it failed, and nobody had to find out."
        yield Scene(self._tell_story, 1.3, caption)

    def _tell_story(self) -> None:
        """Write down what became of the item that was failing, in sentences, where it is opened."""
        told = next(item for item in self.builder.todos.items if item.content == STORY_ITEM)
        notes = [do.Note(Target(item=told.id, by="id"), words) for words in _STORY]
        self.builder.edit(notes, by=PERSON)

    # What the agents say.

    def _todo(self, agent: Agent, **args: Any) -> None:
        reply = agent.call("todo", args)
        self.told.extend((agent.name, problem.text) for problem in reply.problems if not problem.fatal)

    _BUILDING = (
        ("find", "Find the bug", "Finding the bug"),
        ("fix", "Fix the parser", "Fixing the parser"),
        ("test", STORY_ITEM, "Running the tests"),
        ("request", "Open a pull request", "Opening a pull request"),
    )
    _EXPLORING = (("read", "Read the logs", "Reading the logs"), ("trace", "Trace the token", "Tracing the token"))

    def _builder_writes(self, busy: str) -> None:
        """Write the whole list, as its tool wants it; `version` is the item that a person added."""
        rows = list(self._BUILDING)
        if busy in ("version", "request"):
            rows.insert(3, ("version", "Bump the version", "Bumping the version"))
        self.builder.call("TodoWrite", _build_list(tuple(rows), busy))

    def _builder_edits(self) -> None:
        self._builder_runs("Edit", {"file_path": "src/parser.py"}, "ok", None)

    def _builder_tests(self, result: str, code: int) -> None:
        self._builder_runs("Bash", {"command": "pytest -q"}, result, code)

    def _builder_runs(self, tool: str, args: dict[str, str], result: str, code: int | None) -> None:
        self.calls += 1
        self.builder.tool_started(f"call-{self.calls}", tool, args)
        self.builder.tool_finished(f"call-{self.calls}", result, exit_code=code)

    def _explorer_writes(self, busy: str) -> None:
        self.explorer.call("TodoWrite", _build_list(self._EXPLORING, busy))

    def _spawn_explorer(self) -> None:
        self.explorer = self.builder.spawn("explore", label="Explore the code")
        self._explorer_writes("read")

    def _spawn_fuzzer(self) -> None:
        self.fuzzer = self.tester.spawn("fuzz", label="Fuzz the parser")
        self._todo(self.fuzzer, set=["Collect samples", "Fuzz the parser"])


def _build_list(rows: tuple[tuple[str, str, str], ...], busy: str) -> dict[str, Any]:
    """Return a list in which everything before `busy` is completed; `all` completes everything."""
    place = next((place for place, (name, _, _) in enumerate(rows) if name == busy), len(rows))
    statuses = [*["completed"] * place, "in_progress", *["pending"] * len(rows)]
    return {
        "todos": [
            {"content": content, "status": status, "activeForm": doing}
            for status, (_, content, doing) in zip(statuses, rows, strict=False)
        ]
    }
