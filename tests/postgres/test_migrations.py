"""Boards in PostgreSQL that an older or a newer program made."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from punchlist import Board
from punchlist.errors import StoreOutdated, StoreTooNew
from punchlist.store.files import SCHEMA
from punchlist.store.postgres import PostgresStore
from punchlist.store.records import migrations
from tests.postgres.boards import PostgresBoards

_LATER = """
-- A script as the next one may be: a column, what it holds so far, and an index.
ALTER TABLE sessions ADD COLUMN colour TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN weight INTEGER;
UPDATE sessions SET colour = 'red' WHERE project LIKE '/projects/%';
CREATE INDEX sessions_by_colour ON sessions (colour) WHERE weight IS NOT NULL;
"""


@pytest.fixture
def url(postgres: str) -> str:
    """A schema of its own, which no other test uses again."""
    made = PostgresBoards(postgres).make()
    with Board.open(made) as board:
        board.agent("main", session="s1", project="/projects/shop").call("todo", {"set": ["Read"]})
    return made


def _add_script(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("punchlist.store.postgres.migrations", lambda: (*migrations(), _LATER))
    patch.setattr("punchlist.store.postgres.SCHEMA", SCHEMA + 1)


def test_a_later_script_runs_once_when_several_servers_start_at_once(url: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        _add_script(patch)
        with ThreadPoolExecutor(8) as pool:
            for store in pool.map(PostgresStore, [url] * 8):
                store.close()
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT version FROM board").fetchall() == [(SCHEMA + 1,)]
        assert connection.execute("SELECT id, colour, weight FROM sessions").fetchall() == [("s1", "red", None)]


def test_several_servers_may_start_at_once_whatever_isolation_is_the_default(postgres: str) -> None:
    url = PostgresBoards(postgres).make().replace("//postgres:@", "//strict@")
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE ROLE strict LOGIN SUPERUSER")
        connection.execute("ALTER ROLE strict SET default_transaction_isolation = 'repeatable read'")
    with ThreadPoolExecutor(8) as pool:
        for store in pool.map(PostgresStore, [url] * 8):
            store.close()


def test_a_program_that_is_older_than_the_board_is_refused(url: str) -> None:
    with Board.open(url) as running:
        with pytest.MonkeyPatch.context() as patch:
            _add_script(patch)
            PostgresStore(url).close()
        with pytest.raises(StoreTooNew, match="restart"):
            running.agent("main", session="s1").call("todo", {"set": ["Read", "Write"]})
        with pytest.raises(StoreTooNew, match="restart"):
            running.lists()
    with pytest.raises(StoreTooNew):
        Board.open(url)


def test_a_script_that_fails_leaves_the_board_as_it_was(url: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        _add_script(patch)
        patch.setattr("punchlist.store.postgres.migrations", lambda: (*migrations(), _LATER + "DROP TABLE nothing;\n"))
        with pytest.raises(Exception, match="nothing"):
            PostgresStore(url)
    with Board.open(url) as board:
        assert [item.content for item in board.lists()[0].todos.items] == ["Read"]


def test_scripts_from_before_the_first_release_on_postgres_are_never_run(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE board SET version = 111")
    with pytest.raises(StoreOutdated, match="unreleased"):
        Board.open(url)
