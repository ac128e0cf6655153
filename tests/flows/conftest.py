"""A fresh board for each test."""

from collections.abc import Iterator

import pytest

from tests.flows.boards import Desk


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.board.close()
