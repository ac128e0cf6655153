"""A fresh list for each test."""

from collections.abc import Iterator

import pytest

from tests.tasks.boards import Desk


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.board.close()
