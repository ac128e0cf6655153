"""The hooks' socket of the server: it takes the place of a session's own `mcp` process."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from punchlist.board import Board
from punchlist.hooks.sockets import HookServer
from tests.hooks.hosts import Host
from tests.server.conftest import Running


@pytest.fixture
def board() -> Iterator[Board]:
    """A board with a short path: the sockets lie next to it."""
    with tempfile.TemporaryDirectory(prefix="punchlist-") as name, Board.open(Path(name) / "board.db") as board:
        yield board


@pytest.fixture
def host(board: Board, tmp_path: Path) -> Host:
    return Host(Path(board.store.path).resolve(), tmp_path)


def test_the_server_takes_and_answers_the_hooks_of_every_agent(running: Running, board: Board, host: Host):
    for session in ("one", "two"):
        agent = Host(host.board, host.project, session=session)
        agent.write_todos("t1", Fix="in_progress")
        assert [item.content for item in board.agent("main", session=session).todos.items] == ["Fix"]
        assert (
            "still open"
            in agent.hook("Stop", last_assistant_message="Done.")["hookSpecificOutput"]["additionalContext"]
        )
    assert not host.inbox.exists()
    running.stop()
    host.write_todos("t2", Later="pending")
    assert host.inbox.exists()
    assert host.problems() == []


def test_a_process_of_the_agents_own_is_asked_first(running: Running, board: Board, host: Host):
    asked: list[socket.socket] = []

    class CountingServer(HookServer):
        def _answer(self, hook: socket.socket) -> None:
            asked.append(hook)
            super()._answer(hook)

    with CountingServer(board, os.getpid()):
        host.write_todos("t1", Fix="in_progress")
    assert len(asked) == 2
