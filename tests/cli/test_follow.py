"""`punchlist todos --follow`: the lists live, on a real terminal."""

import re
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from punchlist.board import Board
from tests.cli.conftest import Run
from tests.cli.terminals import Terminal, open_terminal


@contextmanager
def follow(columns: int, rows: int, *arguments: str) -> Generator[Terminal]:
    with open_terminal(columns, rows, "todos", "--follow", *arguments) as terminal:
        yield terminal
        terminal.program.send_signal(signal.SIGINT)
        assert terminal.wait_for_end() == 0


def claude(done: int, count: int) -> dict[str, object]:
    statuses = [*["completed"] * done, "in_progress", *["pending"] * count]
    texts = [f"Step {number}" for number in range(1, count + 1)]
    todos = [
        {"content": text, "activeForm": text.replace("Step", "Doing step"), "status": status}
        for text, status in zip(texts, statuses, strict=False)
    ]
    return {"todos": todos}


def test_lists_are_drawn_as_agents_write_them(board: Board, project: Path) -> None:
    agent = board.agent("main", session="s1", project=project, dialect="claude-code")
    with follow(90, 30) as terminal:
        terminal.wait_for("There are no lists in this project")
        agent.call("TodoWrite", claude(5, 15))
        picture = terminal.wait_for("Doing step 6")
        for text in ("━━━━━────────── 5/15", "+3 before", "● Step 5", "○ Step 7", "+2 more"):
            assert text in picture
        assert re.search(r"Doing step 6 +\d+ s", picture)
        child = agent.spawn("explore")
        child.call("TodoWrite", claude(0, 2))
        picture = terminal.wait_for("└ explore  ── 0/2")
        agent.tool_started("c1", "Bash", {"command": "pytest -q"})
        agent.tool_finished("c1", "1 failed in 0.1s", exit_code=1)
        terminal.wait_for("red · project · main s1")
        agent.call("TodoWrite", claude(6, 15))
        assert "Doing step 7" in terminal.wait_for("main completed “Step 6”")


def test_on_a_small_terminal_there_is_the_item_at_hand_and_the_next(board: Board, project: Path) -> None:
    board.agent("main", session="s1", project=project, dialect="claude-code").call("TodoWrite", claude(5, 15))
    with follow(40, 12, "--session", "s1") as terminal:
        picture = terminal.wait_for("Doing step 6")
        assert re.findall(r"Step (\d+)|\+(\d+) more", picture) == [("7", ""), ("", "8")]
        assert max(map(len, picture.splitlines())) <= 40


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_where_nothing_can_be_drawn_it_says_what_works(run: Run, more: tuple[str, ...]) -> None:
    said = run("todos", "--follow", *more)
    assert (said.code, said.out) == (2, "")
    assert "punchlist events --follow" in said.err


@pytest.mark.usefixtures("project")
def test_tasks_of_a_session_are_shown_live_from_the_first_on(board: Board) -> None:
    with follow(100, 24) as terminal, board:
        terminal.wait_for("There are no lists")
        agent = board.agent("main", session="s1", dialect="claude-tasks")
        agent.call("TaskCreate", {"subject": "Paint", "description": "", "activeForm": "Painting"})
        assert "0/1" in terminal.wait_for("main added task 1 “Paint”")
        agent.call("TaskUpdate", {"taskId": "1", "status": "in_progress"})
        terminal.wait_until(lambda: re.search(r"Painting +\d+ (s|min)", terminal.picture) is not None, "Painting")
        agent.call("TaskUpdate", {"taskId": "1", "status": "completed"})
        assert "━ 1/1" in terminal.wait_for("1 of 1 done")


def test_each_list_and_each_line_of_the_feed_says_of_which_session_it_is(board: Board, project: Path, run: Run) -> None:
    first, second = (board.agent("main", session=session, project=project) for session in ("s1", "s2"))
    first.call("todo", {"set": ["Paint", "Sand"]})
    second.call("todo", {"set": ["Plan"]})
    run("todo", "append", "--mine", "Buy milk")
    with follow(100, 30) as terminal:
        picture = terminal.wait_for("Buy milk")
        assert "of 4 done" in picture.splitlines()[0]
        assert re.findall(r"main  ─+ 0/\d  project · ([\w ]+\w)", picture) == ["yours", "main s2", "main s1"]
        first.ask("Paint", "red or blue?")
        picture = terminal.wait_for("project · main s1  main asks about “Paint”: red or blue?")
        assert "1 thing waits on you; `punchlist answer` shows it." in picture
        assert "blocked" not in picture
        run("todo", "append", "--session", "s2", "Wax")
        terminal.wait_for("project · main s2  anna added “Wax” for main")
