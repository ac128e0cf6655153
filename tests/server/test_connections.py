"""Connections that send nothing, or half a request: they are closed, they are few, and they keep nobody out."""

import os
import resource
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from punchlist.board import Board
from punchlist.server.connections import MOST_STRANGERS
from punchlist.server.run_files import RunningServer, load_secret, log_path, start_in_background, stop_running
from tests.server.conftest import Ending, Running
from tests.server.streams import open_stream
from tests.sizes import size

HALVES = {
    "nothing": b"",
    "half a header": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX",
    "half a body": b"POST /demo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\nhalf",
    "half a second request": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /",
}
FLOOD = """
import resource, select, socket, sys
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
opened = [socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=120) for _ in range(int(sys.argv[2]))]
print("open", flush=True)
sys.stdin.readline()
poll = select.poll()
for one in opened:
    poll.register(one, select.POLLIN)
print(len(opened) - len(poll.poll(0)), flush=True)
sys.stdin.readline()
"""
"""Opens idle connections, says so, and then how many of them the server has left open."""


@pytest.fixture
def hasty(board: Board, ending: Ending):
    """Return a server that waits for a complete request for a moment only."""
    server = Running(board)
    server.server.connections.request_seconds = 0.2
    server.start()
    yield server
    ending.add(server)


def connect(running: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", running.access.port), timeout=120)


@pytest.mark.parametrize("sent", HALVES.values(), ids=HALVES)
def test_a_connection_without_a_complete_request_is_closed(hasty: Running, sent: bytes):
    with connect(hasty) as client:
        client.sendall(sent)
        received = b""
        try:
            while more := client.recv(10_000):
                received += more
        except ConnectionResetError:
            pass
    assert received.count(b"HTTP/1.1 200") == sent.count(b"/healthz")


def test_a_response_may_take_longer_than_a_request(hasty: Running, board: Board):
    with hasty.open_program() as program, open_stream(program) as stream:
        with connect(hasty) as client:
            assert client.recv(1) == b""  # the time of a request is over
        board.tasks("default").create("Sweep")
        assert stream.take(1)[0].data["kind"] == "task.created"


@pytest.fixture
def served(tmp_path: Path):
    """Return a server in a process of its own, which few files were allowed at its start."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    path = str(tmp_path / "board.db")
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        server = start_in_background(path, ["--port", "0", "--no-watch"])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    yield path, server
    stop_running(path)


def test_idle_connections_of_others_keep_nobody_out(served: tuple[str, RunningServer]):
    path, server = served
    assert resource.prlimit(server.pid, resource.RLIMIT_NOFILE)[0] > MOST_STRANGERS
    port = server.origin.rpartition(":")[2]
    command = [sys.executable, "-c", FLOOD, port, str(size(MOST_STRANGERS + 100, 1500))]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as flood,
        httpx.Client(base_url=server.origin, headers={"Authorization": f"Bearer {load_secret(path)}"}) as client,
    ):
        assert flood.stdin is not None
        assert flood.stdout is not None
        assert flood.stdout.readline() == "open\n"
        assert client.get("/api/v1/now", timeout=120).status_code == 200
        print(file=flood.stdin, flush=True)
        assert int(flood.stdout.readline()) <= MOST_STRANGERS
        print(file=flood.stdin, flush=True)


def test_the_log_of_a_running_server_is_cut(served: tuple[str, RunningServer]):
    path, server = served
    log = Path(log_path(path))
    with log.open("ab") as file:
        file.write(b"x" * 1_000_001)
    while log.stat().st_size > 1_000_000:
        os.kill(server.pid, 0)
    with socket.create_connection(("127.0.0.1", int(server.origin.rpartition(":")[2])), timeout=120) as client:
        client.sendall(b"no request\r\n\r\n")
        while client.recv(1000):
            pass
    assert b"Invalid HTTP request" in log.read_bytes()[:100]
