"""`punchlist demo`: what a newcomer sees first."""

import os
import pty
import subprocess
import sys

import pytest

from punchlist.board import Board
from punchlist.cli.demo import Troupe
from punchlist.core.todo import Status
from tests.cli.conftest import Run


def test_into_a_pipe_it_plays_in_plain_lines(run: Run):
    ran = run("demo", "--speed", "0")
    assert (ran.code, ran.err) == (0, "")
    assert "\x1b" not in ran.out
    for said in (
        "you added “Bump the version” for builder",
        "writer is told: One item is in progress at a time",
        "tester blocked “Try on staging”: staging key",
        "builder was refused: TodoWrite is not available in plan mode",
        "and they fail. The board saw that, and says so: failing.",
        "✓ Run the tests — verified: pytest, 12 passed",
        "The builder called this done while pytest failed, 1 of 12. The board had seen the run: failing.",
        "builder — Items (4/5)",
        "punchlist todos --follow",
    ):
        assert said in ran.out


def test_the_script_ends_with_one_item_that_waits_on_a_person():
    with Board.open("memory:") as board:
        for scene in Troupe(board, "demo").scenes():
            scene.act()
        open_items = [item for row in board.lists(session="demo") for item in row.todos.items if item.is_open]
    assert [(item.content, item.status) for item in open_items] == [("Open a pull request", Status.BLOCKED)]


def test_an_item_that_is_done_while_its_tests_fail_turns_failing_and_is_mended():
    seen: list[str | None] = []
    with Board.open("memory:") as board:
        for scene in Troupe(board, "demo").scenes():
            scene.act()
            items = [item for row in board.lists(session="demo") for item in row.todos.items]
            seen += [item.grade for item in items if item.content == "Run the tests" and item.grade not in seen]
    assert [grade for grade in seen if grade] == ["failing", "verified"]


def test_at_speed_1_it_takes_less_than_half_a_minute():
    with Board.open("memory:") as board:
        seconds = 0.0
        for scene in Troupe(board, "demo").scenes():
            scene.act()
            seconds += scene.seconds
    assert seconds < 30


def test_it_plays_on_a_named_board_too_and_says_where_to_look(run: Run):
    ran = run("demo", "--speed", "0", "--db", "own.db")
    session = ran.out.partition("punchlist todos --session ")[2].split()[0]
    assert "builder — Items (4/5)" in run("todos", "--session", session, "--db", "own.db").out
    assert "There are no lists" in run("todos").out


@pytest.mark.parametrize("columns", [30, 80, 140])
def test_on_a_terminal_it_draws_in_place_and_gives_the_cursor_back(columns: int):
    control, terminal = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    with subprocess.Popen(
        [sys.executable, "-m", "punchlist", "demo", "--speed", "0"],
        stdin=terminal,
        stdout=terminal,
        stderr=subprocess.STDOUT,
        env=environment,
    ) as process:
        os.close(terminal)
        body = b""
        try:
            while part := os.read(control, 65_536):
                body += part
        except OSError:  # the other end is closed
            pass
    os.close(control)
    assert process.returncode == 0
    assert body.count(b"\x1b[?25l") == body.count(b"\x1b[?25h") == 1
    assert body.index(b"\x1b[?25h") > body.rindex(b"\x1b[?2026l")
    assert "\x1b[1;36m━".encode() in body  # a bar
