"""The real server, in a thread of its own on a free port, and clients of it."""

import re
import socket
import threading
from collections import deque
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import httpx
import pytest
from starlette.routing import BaseRoute

from punchlist.board import Board
from punchlist.server.access import Access, guard_routes
from punchlist.server.app import BoardServer, bind
from punchlist.server.broadcast import Broadcaster
from punchlist.server.run_files import load_secret
from punchlist.server.state import ServerState


class Running:
    """A server that runs, and what a test needs to reach it."""

    def __init__(self, board: Board, **feed: float) -> None:
        self.board = board
        self._listener = bind("127.0.0.1", 0)
        # A client that stops reading is noticed after little data. The system would hold megabytes for it.
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32_768)
        secret = load_secret(board.store.path if board.store.durable else "")
        self.access = Access(secret, board.store, port=self._listener.getsockname()[1])
        self.state = ServerState(board, self.access)
        if feed:
            self.state.broadcaster = Broadcaster(board, **feed)
        self.server = BoardServer(self.state)
        self._thread = threading.Thread(target=self.server.run, args=([self._listener],), daemon=True)

    @property
    def origin(self) -> str:
        return self.access.origin

    def start(self) -> None:
        self._thread.start()
        while not self.server.started:
            assert self._thread.is_alive(), "the server has not started"
            self._thread.join(0.01)

    def stop(self) -> None:
        """Stop the server; again is nothing."""
        self.server.should_exit = True
        self._thread.join(120)
        assert not self._thread.is_alive(), "the server has not stopped"

    def open_client(self, **settings: object) -> httpx.Client:
        """Return a client without any token."""
        return httpx.Client(base_url=self.origin, timeout=120, **settings)  # pyright: ignore[reportArgumentType]

    def sign_in(self, client: httpx.Client, secret: str = "") -> None:
        """Sign a client in by the link, or another token, as a browser: with its cookie, and its key for changes."""
        link = f"{self.origin}/?token={secret}" if secret else self.access.link
        page = client.get(link, headers={"Accept": "text/html"})
        found = re.search(r'data-key="(\w+)"', page.text)
        assert found is not None
        client.headers["X-Punchlist-Key"] = found[1]

    def open_program(self, **settings: object) -> httpx.Client:
        """Return a client with the token of the link, as a program sends it."""
        return self.open_client(headers={"Authorization": f"Bearer {self.access.secret}"}, **settings)


def add_route(running: Running, route: BaseRoute) -> None:
    """Add a route to a running server, guarded as its own are."""
    running.state.app.router.routes.extend(guard_routes([route]))


def make_token(board: Board, name: str, scope: str, project: str | None = None, *, person: bool = False) -> str:
    """Make a token and return its secret."""
    digest = sha256(f"secret of {name}".encode()).digest()
    board.store.transact(lambda tx: tx.tokens.add(name, digest, scope, project, at=board.now(), is_person=person))
    return f"secret of {name}"


class Ending:
    """Servers that were told to stop. That takes one of them half a second, in which the next tests run."""

    def __init__(self) -> None:
        self._servers: deque[Running] = deque()

    def add(self, server: Running) -> None:
        server.server.should_exit = True
        self._servers.append(server)
        self.finish(most=8)

    def has(self, board: Board) -> bool:
        return any(server.board is board for server in self._servers)

    def finish(self, *, most: int = 0) -> None:
        """Wait for the oldest until no more are left than `most`, and close their boards."""
        while len(self._servers) > most:
            server = self._servers.popleft()
            server.stop()
            server.board.close()


@pytest.fixture(scope="session")
def ending() -> Iterator[Ending]:
    servers = Ending()
    yield servers
    servers.finish()


@pytest.fixture
def board(tmp_path: Path, ending: Ending) -> Iterator[Board]:
    board = Board.open(tmp_path / "data" / "board.db")
    yield board
    if not ending.has(board):
        board.close()


@pytest.fixture
def running(board: Board, ending: Ending) -> Iterator[Running]:
    server = Running(board)
    server.start()
    yield server
    ending.add(server)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One server for all tests of a module that leave each other alone: starting one takes longer than a test."""
    with Board.open(tmp_path_factory.mktemp("shared") / "board.db") as board:
        server = Running(board)
        server.start()
        yield server
        server.stop()


@pytest.fixture(scope="module")
def shared_client(shared: Running) -> Iterator[httpx.Client]:
    """A client of the shared server with the token of its link."""
    with shared.open_client(headers={"Authorization": f"Bearer {shared.access.secret}"}) as client:
        yield client


@pytest.fixture
def client(running: Running) -> Iterator[httpx.Client]:
    """A client with the token of the link, as a program has it."""
    with running.open_program() as client:
        yield client


@pytest.fixture
def browser(running: Running) -> Iterator[httpx.Client]:
    """A client that was signed in by the link, as a browser is: by a cookie, with the headers that one sends."""
    headers = {"Origin": running.origin, "Sec-Fetch-Site": "same-origin", "Accept": "text/html"}
    with running.open_client(headers=headers) as client:
        running.sign_in(client)
        yield client
