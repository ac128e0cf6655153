"""A project and a board for the servers of a test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from punchlist.board import Board
from punchlist.core.programs import AGENT_VARIABLES
from tests.mcp_server.client import Client

Start = Callable[..., Client]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project to stand in, and none of the variables of an agent that runs the tests."""
    for name in (*AGENT_VARIABLES, "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_TASK_LIST_ID", "CLAUDE_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PUNCHLIST_DB", str(tmp_path / "board.db"))
    monkeypatch.setenv("LOGNAME", "anna")
    return folder


@pytest.fixture
def start(project: Path) -> Iterator[Start]:
    """Start servers that end with the test; `initialized=False` for one that has had no handshake."""
    with ExitStack() as stack:

        def start_client(*options: str, initialized: bool = True, **variables: str) -> Client:
            client = stack.enter_context(Client(project, *options, **variables))
            if initialized:
                client.initialize()
            return client

        yield start_client


@pytest.fixture
def board() -> Iterator[Board]:
    with Board.open() as board:
        yield board
