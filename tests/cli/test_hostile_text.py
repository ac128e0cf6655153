"""What a model writes is data: no field of a board reaches a terminal with anything to obey in it."""

from pathlib import Path

import pytest

from punchlist.board import Board
from punchlist.core import commands as do
from punchlist.core.todo import Blocker, Phase, Status, TodoItem, TodoList
from punchlist.store import ListRow
from punchlist.terminal.lists import Frame, board_lines, frame_lines
from punchlist.terminal.spans import Display, plain
from tests.cli.conftest import Run

EVIL = "a\x1b[2Jb\x1b]0;owned\x07c\x9b31md\ne\rf\u202eg\u200bh"
BAD = ("\x1b", "\x07", "\x9b", "\r", "\u202e", "\u200b", "owned")


def _assert_clean(text: str) -> None:
    assert [char for char in BAD if char in text] == []
    assert all(char == "\n" or char.isprintable() for char in text)


@pytest.fixture
def evil_row() -> ListRow:
    """A row as a careless store might hand it out: nothing in it was cleaned."""
    from datetime import UTC, datetime

    statuses = list(Status)
    items = tuple(
        TodoItem(
            id=f"{number}{EVIL}",
            content=f"content {EVIL}",
            active_form=f"form {EVIL}",
            status=status,
            phase_id="f1" if number % 2 else None,
            notes=(EVIL,),
            blocker=Blocker(EVIL, EVIL),
        )
        for number, status in enumerate(statuses)
    )
    todos = TodoList(items=items, phases=(Phase("f1", EVIL),), omitted=items[:1], revision=1)
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return ListRow(1, f"s{EVIL}", f"agent{EVIL}", None, EVIL, EVIL, "plan", at, todos)


def test_every_field_of_a_list_is_cleaned_on_its_way_to_the_terminal(evil_row: ListRow):
    rows = [evil_row, evil_row._replace(number=2, parent=1)]
    for shown in (rows, rows[:1]):
        for projects in (True, False):
            lines = list(board_lines(shown, Display(), now=evil_row.updated_at, projects=projects, ids=True))
            text = "\n".join(plain(line) for line in lines)
            assert text.count("\n") == len(lines) - 1
            _assert_clean(text)


def test_every_field_of_the_panel_is_cleaned(evil_row: ListRow):
    rows = [evil_row, evil_row._replace(number=2, parent=1)]
    frame = Frame("Title", "0:01", "caption", rows, [], {})
    _assert_clean("\n".join(plain(line) for line in frame_lines(frame, Display(columns=80), 60)))


@pytest.mark.usefixtures("person")  # one of them clears what waits on a person
def test_what_reaches_standard_output_is_clean_for_every_command(run: Run, board: Board, project: Path):
    with board:
        agent = board.agent("main", session="s1", dialect="claude-code")
        agent.call("TodoWrite", {"todos": [{"content": EVIL, "status": "in_progress", "activeForm": EVIL}]})
        agent.call("TodoWrite", {"todos": [{"content": EVIL, "status": EVIL, "activeForm": EVIL}]})
        agent.call("TodoWrite", {EVIL: 1})
        agent.edit([do.Append((do.Entry(content=EVIL),), EVIL), do.Note(do.Target(item="1"), EVIL)], by="anna")
        agent.edit([do.Block(do.Target(item="1"), EVIL, EVIL)], by="anna")
        agent.spawn("child", label=EVIL).call("TodoWrite", {"todos": []})
    for arguments in (
        ("todos",),
        ("todos", "--all", "--ids"),
        ("todos", "--json"),
        ("events",),
        ("events", "--json"),
        ("sessions", "--all"),
        ("sessions", "--json"),
        ("statusline", "--session", "s1"),
        ("todo", "export", "-"),
        ("todo", "append", EVIL),
        ("todo", "append", EVIL, EVIL),
        ("todo", "start", "1"),
        ("todo", "block", "1", EVIL),
        ("todo", "reword", "1", EVIL),
        ("todo", "done", "1"),
    ):
        ran = run(*arguments)
        assert ran.code == 0, arguments
        # JSON keeps what a text says, as escapes that no terminal obeys.
        _assert_clean(ran.out.replace("owned", "") if "--json" in arguments else ran.out)


def test_what_reaches_standard_error_is_clean_too(run: Run):
    run("todo", "append", "one")
    for arguments in (
        (f"cmd{EVIL}",),
        ("todos", f"--opt{EVIL}"),
        ("todos", "--db", f"oracle://{EVIL}"),
        ("todo", "start", EVIL),
        ("todo", "done", EVIL),
        ("todo", "import", EVIL),
        ("todo", "export", "-", "--format", EVIL),
        ("todo", "undo", "--by", EVIL),
        ("sessions", "copy", EVIL, "x"),
    ):
        ran = run(*arguments)
        assert ran.code in (1, 2), arguments
        _assert_clean(ran.err)


def test_a_byte_that_is_no_text_in_an_argument_is_taken_as_a_replacement(run: Run):
    assert run("todo", "append", "bad \udcff byte").code == 0
    assert run("todos").out == "1 item: yours\n  ○ bad \ufffd byte\n"
