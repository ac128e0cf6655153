"""What happens in `punchlist demo`: real agents on a real board, by a script."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from punchlist.agent import Agent
from punchlist.board import Board
from punchlist.core import commands as do
from punchlist.core.commands import Target

PERSON = "you"


class Step(NamedTuple):
    """Something that happens, what to say about it (None: as before), and how many seconds to look at it."""

    act: Callable[[], Any]
    seconds: float
    caption: str | None = None


class Troupe:
    """Three agents: one speaks Claude Code's dialect, two our own."""

    def __init__(self, board: Board, session: str) -> None:
        self.builder = board.agent("builder", session=session, dialect="claude-code")
        self.tester = board.agent("tester", session=session)
        self.writer = board.agent("writer", session=session)
        self.explorer: Agent | None = None
        self.fuzzer: Agent | None = None
        self.told: list[tuple[str, str]] = []
        """Who was told what, beyond the events: what our own dialect mended and said."""

    @property
    def tools(self) -> dict[str, str]:
        return {agent.name: agent.dialect for agent in (self.builder, self.tester, self.writer)}

    def steps(self) -> Iterator[Step]:
        yield from self._plan()
        yield from self._work()
        yield from self._interrupt()
        yield from self._finish()

    # Scenes.

    def _plan(self) -> Iterator[Step]:
        caption = "Three agents plan their work, each with the todo tool that it already knows."
        yield Step(lambda: None, 0.5, caption)
        yield Step(lambda: self._builder_writes("find"), 1.0)
        yield Step(lambda: self._todo(self.tester, set=["Reproduce the crash", "Write a test", "Try on staging"]), 1.0)
        yield Step(lambda: self._todo(self.writer, set=["Update the guide", "Write the notes", "Check the links"]), 1.0)
        yield Step(self._spawn_explorer, 2.0, "A subagent gets a list of its own, below the agent that started it.")

    def _work(self) -> Iterator[Step]:
        yield Step(lambda: self._todo(self.tester, done="1"), 1.0, "Work goes on. Whoever finishes an item moves on.")
        yield Step(lambda: self._explorer_writes("trace"), 1.0)
        started = [
            {"text": "Update the guide", "status": "in_progress"},
            {"text": "Write the notes", "status": "doing"},
        ]
        caption = "The writer starts two items at once: Punchlist keeps one in focus and tells it so."
        yield Step(lambda: self._todo(self.writer, set=[*started, "Check the links"]), 1.8, caption)
        append = do.Append((do.Entry(content="Bump the version"),))
        yield Step(
            lambda: self.builder.edit(append, by=PERSON), 2.0, "You add an item by hand, while the agent is at work."
        )
        caption = "The agent rewrites its whole list and knows nothing of your item: it stays all the same."
        yield Step(lambda: self._builder_writes("fix"), 1.8, caption)
        yield Step(lambda: self._explorer_writes("all"), 0.8)

    def _interrupt(self) -> Iterator[Step]:
        caption = "An item that has to wait says why, and nobody nags about it."
        yield Step(lambda: self._todo(self.tester, done="2", block={"3": "staging key"}), 1.8, caption)
        yield Step(self._spawn_fuzzer, 1.0)
        caption = "In plan mode an agent may think, not write: the call is refused, and nothing is lost."
        yield Step(self.builder.enter_plan_mode, 0.9, caption)
        yield Step(lambda: self._builder_writes("test"), 1.8)
        yield Step(lambda: self.builder.exit_plan_mode(by=PERSON), 0.6, "You approve the plan, and work goes on.")
        yield Step(lambda: self._builder_writes("test"), 0.9)
        unblock = [do.Unblock(Target(item="3", by="id")), do.Start(Target(item="3", by="id"))]
        yield Step(lambda: self.tester.edit(unblock, by=PERSON), 1.0, "You bring the key: the tester goes on.")

    def _finish(self) -> Iterator[Step]:
        yield Step(lambda: self._todo(self.writer, done="1"), 0.5)
        yield Step(lambda: self._todo(self._fuzzer, done="1"), 0.5)
        yield Step(lambda: self._builder_writes("version"), 0.5)
        yield Step(lambda: self._todo(self.writer, done="2"), 0.5)
        yield Step(lambda: self._todo(self._fuzzer, done="2"), 0.5)
        yield Step(lambda: self._todo(self.tester, done="3", evidence="pytest -q"), 0.5)
        yield Step(lambda: self._builder_writes("request"), 0.5)
        hold = do.Block(Target(item=self._id_of("Open a pull request"), by="id"), "your review", PERSON)
        yield Step(lambda: self._todo(self.writer, done="3"), 0.5)
        caption = "All is done but one item, and it says what it waits for. That is a punch list."
        yield Step(lambda: self.builder.edit(hold, by=PERSON), 0.8, caption)

    # What the agents say.

    def _todo(self, agent: Agent, **args: Any) -> None:
        reply = agent.call("todo", args)
        self.told.extend((agent.name, problem.text) for problem in reply.problems if not problem.fatal)

    _BUILDING = (
        ("find", "Find the bug", "Finding the bug"),
        ("fix", "Fix the parser", "Fixing the parser"),
        ("test", "Run the tests", "Running the tests"),
        ("request", "Open a pull request", "Opening a pull request"),
    )
    _EXPLORING = (("read", "Read the logs", "Reading the logs"), ("trace", "Trace the token", "Tracing the token"))

    def _builder_writes(self, busy: str) -> None:
        """The whole list, as its tool wants it; `version` is the item that a person added."""
        rows = list(self._BUILDING)
        if busy in ("version", "request"):
            rows.insert(3, ("version", "Bump the version", "Bumping the version"))
        self.builder.call("TodoWrite", _whole(tuple(rows), busy))

    def _explorer_writes(self, busy: str) -> None:
        assert self.explorer is not None
        self.explorer.call("TodoWrite", _whole(self._EXPLORING, busy))

    def _spawn_explorer(self) -> None:
        self.explorer = self.builder.spawn("explore", label="Explore the code")
        self._explorer_writes("read")

    def _spawn_fuzzer(self) -> None:
        self.fuzzer = self.tester.spawn("fuzz", label="Fuzz the parser")
        self._todo(self.fuzzer, set=["Collect samples", "Fuzz the parser"])

    @property
    def _fuzzer(self) -> Agent:
        assert self.fuzzer is not None
        return self.fuzzer

    def _id_of(self, content: str) -> str:
        return next(item.id for item in self.builder.todos.items if item.content == content)


def _whole(rows: tuple[tuple[str, str, str], ...], busy: str) -> dict[str, Any]:
    """A list in which everything before `busy` is completed; `all` completes everything."""
    place = next((place for place, (name, _, _) in enumerate(rows) if name == busy), len(rows))
    return {
        "todos": [
            {"content": content, "status": _status(at, place), "activeForm": doing}
            for at, (_, content, doing) in enumerate(rows)
        ]
    }


def _status(at: int, busy: int) -> str:
    return "completed" if at < busy else "in_progress" if at == busy else "pending"
