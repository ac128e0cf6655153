"""The proof that every adapter passes: the same scripted story, with the real framework and its offline model.

A module of an adapter inherits `Proof` and says how its framework plays a script.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from punchlist import Board
from punchlist.adapters import open_board
from punchlist.remote.board import RemoteBoard
from punchlist.store.sqlite import SqliteStore
from punchlist.testing import FaultyStore
from tests.agents.model_api import Call, ModelApi, Say, Turn

Step = str | list[tuple[str, dict[str, Any]]]
"""What the model answers: a text that ends the run, or calls of tools."""

Bash = Callable[[str], str]

PROMPT = "Fix the total of a basket."
STORY: list[Step] = [
    [("todo", {"add": ["Fix the sum", {"text": "Write the changelog"}], "start": "1"})],
    [("bash", {"command": "pytest -q"})],
    [("bash", {"command": "sed -i s/a/b/ shop.py"})],
    [("bash", {"command": "pytest -q"})],
    [("todo", {"done": ["1"]})],
    "All done.",  # two items are open: it is asked once
    "Really done now.",
]
RESULTS = ("E assert 2 == 5\n1 failed in 0.02s", "", "1 passed in 0.02s")


TRIP: list[Turn] = [[Call("todo", {"set": ["Pack", "Fly", "Land"]})], [Say("Which suit, ada?")]]
"""What a model answers to the question of each page."""


class Played(NamedTuple):
    """What a framework made of a script."""

    requests: Sequence[str]
    """All that the model saw, a text for each request, from its beginning to its tail."""
    history: str
    """What the framework keeps for the next run."""
    text: str
    """The answer of the run."""


class Shell:
    """The tool `bash`, scripted. A person edits the list while it runs for the first time."""

    def __init__(self, board: Board, session: str) -> None:
        self._agent = board.agent("main", session=session)
        self._count = 0

    def __call__(self, command: str) -> str:
        self._count += 1
        if self._count == 1:
            self._agent.edit({"op": "append", "items": "Tell ada"}, by="ada", person=True)
        return RESULTS[(self._count - 1) % len(RESULTS)]


@contextmanager
def provider(api: ModelApi) -> Generator[None]:
    """Have the clients of model providers in this process call a scripted API."""
    with pytest.MonkeyPatch.context() as patch, api:
        for name in ("ANTHROPIC", "OPENAI"):
            patch.setenv(f"{name}_API_KEY", "sk-x")
        patch.setenv("ANTHROPIC_BASE_URL", api.url)
        patch.setenv("OPENAI_BASE_URL", f"{api.url}/v1")
        patch.setenv("NO_PROXY", "*")
        yield


def run_page(name: str) -> None:
    """Run the programs of a page in docs/adapters as they stand, on the user's board."""
    text = (Path(__file__).parents[2] / "docs" / "adapters" / f"{name}.md").read_text(encoding="utf-8")
    programs = re.findall(r"(?ms)^```python no-run\n(.*?)^```", text)
    assert programs
    open_board.cache_clear()
    for program in programs:
        exec(compile(program, f"{name}.md", "exec"), {"__name__": "__main__"})
    open_board().close()
    open_board.cache_clear()


class Proof:
    """The claims. `start` makes one agent of the framework, which then plays scripts in sessions."""

    def start(self, board: Board, bash: Bash) -> Callable[[str, list[Step]], Played]:
        raise NotImplementedError

    def test_a_list_is_made_checked_and_graded_and_a_stop_is_asked_about_once(self, tmp_path: Path) -> None:
        with Board.open(tmp_path / "board.db") as board:
            played = self.start(board, Shell(board, "s"))("s", STORY)
            items = board.agent("main", session="s").todos.items
            assert [(item.content, item.status.value) for item in items] == [
                ("Fix the sum", "completed"),
                ("Write the changelog", "in_progress"),
                ("Tell ada", "pending"),
            ]
            assert items[0].grade == "verified"
            assert board.report(session="s").state == "green"
            ended = [event.data["name"] for event in board.events() if event.kind in ("tool.finished", "tool.failed")]
        assert ended == ["bash"] * 3, "each call is reported once, and none of ours"
        assert ["ada added 'Tell ada'" in text for text in played.requests].index(True) == 2, "in the next request"
        assert sum("ada added 'Tell ada'" in text for text in played.requests) == 1, "and in no other"
        assert "ada added" not in played.history
        assert len(played.requests) == len(STORY)
        assert "still open. Continue" in played.requests[-1]
        assert played.text == "Really done now."

    def test_calls_of_one_message_are_applied_in_its_order(self, tmp_path: Path) -> None:
        with Board.open(tmp_path / "board.db") as board:
            play = self.start(board, str)
            for run in range(5):
                adds: Step = [("todo", {"add": [f"Item {number}"]}) for number in range(4)]
                play(f"s{run}", [adds, "Shall I go on, ada?"])
                items = board.agent("main", session=f"s{run}").todos.items
                assert [item.content for item in items] == [f"Item {number}" for number in range(4)]

    def test_two_conversations_of_one_agent_stay_apart(self, tmp_path: Path) -> None:
        with Board.open(tmp_path / "board.db") as board:
            play = self.start(board, str)
            for session in ("a", "b"):
                play(session, [[("todo", {"add": [f"Work of {session}"]})], "Which one first, ada?"])
            told = play("a", ["Which one first, ada?"]).requests[0]
            for session in ("a", "b"):
                items = board.agent("main", session=session).todos.items
                assert [item.content for item in items] == [f"Work of {session}"]
        assert "Work of b" not in told

    def test_after_a_kill_the_list_and_the_open_work_are_there(self, tmp_path: Path) -> None:
        path = tmp_path / "board.db"
        kind = type(self)
        code = f"from {kind.__module__} import {kind.__name__} as proof; proof().run_and_kill({str(path)!r})"
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=False, timeout=120)
        assert done.returncode == -signal.SIGKILL
        with Board.open(path) as board:
            played = self.start(board, str)("s", ["Shall I go on, ada?"])
            items = board.agent("main", session="s").todos.items
            assert [item.content for item in items] == ["Fix the sum", "Write the changelog"]
        assert "Fix the sum" in played.requests[0]
        assert "resumed" in played.requests[0]

    def run_and_kill(self, path: str) -> None:
        """Run the story in this process, which its first command kills."""

        def bash(command: str) -> str:
            os.kill(os.getpid(), signal.SIGKILL)
            return command

        self.start(Board.open(path), bash)("s", STORY)

    def test_the_agent_finishes_where_the_store_cannot_be_written(self, tmp_path: Path) -> None:
        with Board(FaultyStore(SqliteStore(str(tmp_path / "board.db")), fail_before=1.0)) as board:
            played = self.start(board, str)("s", [*STORY[:-2], "Finished without a list."])
        assert played.text == "Finished without a list."
        assert any("cannot be reached" in text for text in played.requests)

    def test_the_agent_finishes_where_the_server_of_the_board_cannot_be_reached(self) -> None:
        with RemoteBoard("http://127.0.0.1:9", token="a" * 40) as board:
            played = self.start(board, str)("s", [*STORY[:-2], "Finished without a list."])
        assert played.text == "Finished without a list."
        assert any("cannot be reached" in text for text in played.requests)

    def test_each_request_begins_as_the_one_before_so_that_a_provider_s_cache_holds(self, tmp_path: Path) -> None:
        with Board.open(tmp_path / "board.db") as board:
            played = self.start(board, str)("s", STORY)
        for before, after in zip(played.requests, played.requests[1:], strict=False):
            assert after.startswith(before.partition("<punchlist>")[0])


class AsyncProof(Proof):
    """The claim about frameworks that run in an event loop, that of this thread."""

    def test_the_event_loop_does_not_wait_for_the_board(self, tmp_path: Path) -> None:
        threads = set[int]()

        def clock() -> datetime:
            threads.add(threading.get_ident())
            return datetime.now(UTC)

        with Board.open(tmp_path / "board.db", clock=clock) as board:
            play = self.start(board, str)
            threads.clear()
            play("s", STORY)
        assert threads
        assert threading.get_ident() not in threads
