"""A real `punchlist serve` in a process of its own, and boards over HTTP on it."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from punchlist import Board
from punchlist.remote.board import RemoteBoard
from tests.server.conftest import make_token


class Served(NamedTuple):
    """A board that is served: its address, the file of the board, and a token that may change everything."""

    url: str
    path: Path
    token: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("served") / "board.db"
    with Board.open(path) as board:
        token = make_token(board, "laptop", "edit")
    command = [sys.executable, "-m", "punchlist", "--db", str(path), "serve", "--port", "0", "--no-watch", "--no-link"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1].rstrip("/")
            yield Served(url, path, token)
        finally:
            process.terminate()


@pytest.fixture
def connect(served: Served) -> Iterator[Callable[..., RemoteBoard]]:
    """Open the board over HTTP, by default at its server and with its token; all are closed in the end."""
    with ExitStack() as stack:

        def open_board(url: str = served.url, token: str = served.token) -> RemoteBoard:
            return stack.enter_context(RemoteBoard(url, token=token))

        yield open_board


@pytest.fixture
def remote(connect: Callable[..., RemoteBoard]) -> RemoteBoard:
    return connect()
