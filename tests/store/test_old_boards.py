"""Boards live on: a board that an older version made is opened with everything that was on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from punchlist import Board
from punchlist.cli import main
from tests.store.boards import OLD_BOARDS, unpack_board
from tests.store.boards.make_board import list_empty_tables


@pytest.fixture(params=OLD_BOARDS, ids=lambda packed: packed.name)
def old_board(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return unpack_board(request.param, tmp_path)


def test_a_board_of_the_past_has_a_row_in_every_table(old_board: Path) -> None:
    assert list_empty_tables(old_board) == []


def test_a_board_of_the_past_is_opened_with_all_that_was_on_it(old_board: Path) -> None:
    with Board.open(old_board) as board:
        night = board.agent("main", session="night").todos
        assert [item.content for item in night.items] == ["Next plan", "Ask the users", "Überprüfe die Preise"]
        grades = {item.item.content: item.grade for item in board.report(session="checked").items}
        assert grades == {
            "Fix the form": "failing",
            "Test it": "failing",
            "Write it down": "unseen",
            "Ship it": None,
            "Read the code": None,
        }
        assert board.tasks("default").get("2").blocked_by == ("1",)
        assert [event.seq for event in board.events(0)] == list(range(1, board.store.last_seq() + 1))


def test_doctor_is_content_with_a_board_of_the_past(old_board: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Board.open(old_board).close()
    assert main(["doctor", "--db", str(old_board)]) == 0, capsys.readouterr().out
