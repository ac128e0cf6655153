"""A board in memory, and a folder for task files that is not there yet."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from punchlist import Board


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "tasks"


@pytest.fixture
def board() -> Iterator[Board]:
    with Board.open("memory:") as made:
        yield made
