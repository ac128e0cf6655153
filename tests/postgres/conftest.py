"""What the tests on a real PostgreSQL share."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from punchlist import Board
from tests.postgres.boards import PostgresBoards
from tests.postgres.proxy import Proxy


@pytest.fixture
def database(postgres: str) -> Iterator[psycopg.Connection]:
    """A connection of its own transaction, which is rolled back at the end of the test."""
    with psycopg.connect(postgres) as connection:
        yield connection
        connection.rollback()


@pytest.fixture
def url(postgres: str) -> str:
    """The address of an empty board."""
    return PostgresBoards(postgres).make()


@pytest.fixture
def board(url: str) -> Iterator[Board]:
    with Board.open(url) as board:
        yield board


@pytest.fixture
def proxy(postgres: str) -> Iterator[Proxy]:
    proxy = Proxy(postgres)
    yield proxy
    proxy.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folder = Path(__file__).parent
    for item in items:
        if folder in item.path.parents:
            item.add_marker("postgres")
