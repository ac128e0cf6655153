"""The real command, run in this process, on a board and in a project of its own."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from punchlist.board import Board
from punchlist.cli import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


def read_rows(text: str) -> list[str]:
    """Return the rows of a status line without the clock of the focus and without the bar, which move."""
    rows = [re.sub(r"^[━─]+ ", "", row) for row in text.splitlines()]
    return [re.sub(r"  (\d+ h )?\d+ (s|min|h)$", "", row) for row in rows]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project to stand in."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PUNCHLIST_DB", str(tmp_path / "data" / "board.db"))
    monkeypatch.setenv("LOGNAME", "anna")
    return folder


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: str) -> Ran:
        capsys.readouterr()
        code = main(list(arguments))
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return command


@pytest.fixture
def board() -> Iterator[Board]:
    """The board of the command, for what only agents can do."""
    with Board.open() as board:
        yield board
