"""Clients that wait, leave or send too much, and a board that another process holds: the server stays at work."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select
from typing import Any

import httpx
import pytest

from punchlist.board import Board
from punchlist.server.access import LONGEST_BODY, MOST_BODIES
from punchlist.server.run_files import load_secret
from punchlist.server.state import MOST_WRITES, WriteQueue
from tests.server.conftest import Running
from tests.server.streams import open_stream
from tests.store.writers import PATIENCE, held_lock

JSON = {"Content-Type": "application/json"}
TASKS = "/api/v1/task-lists/default/tasks"
MCP = {"Accept": "application/json, text/event-stream", **JSON}
THREADS = 40
"""Threads that the server has for reads."""


def call_tool(client: httpx.Client, name: str, arguments: dict[str, Any]) -> httpx.Response:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return client.post("/mcp?session=s1", headers=MCP, json=call)


def add_by_api(client: httpx.Client) -> httpx.Response:
    return client.post(TASKS, json={"subject": "by the API"})


def add_by_form(client: httpx.Client) -> httpx.Response:
    return client.post("/tasks", data={"list": "default", "text": "by a form"})


def add_by_tool(client: httpx.Client) -> httpx.Response:
    return call_tool(client, "task", {"do": "add", "text": "by a tool"})


WRITES = (add_by_api, add_by_form, add_by_tool)


@contextmanager
def serve(board: Board, seconds: float) -> Generator[Running]:
    """Run a server whose writes wait so long for the lock."""
    running = Running(board)
    running.state.writes = WriteQueue(board.store, seconds=seconds)
    running.start()
    yield running
    running.stop()


def wait_for_writes(client: httpx.Client, count: int) -> None:
    """Return when so many writes run or wait. Each look is itself a read."""
    while f"punchlist_writes {count}\n" not in client.get("/metrics").text:
        pass


def test_a_guessed_sign_in_link_does_not_wait_for_the_lock(board: Board):
    with (
        serve(board, 3600) as running,
        running.open_client(headers={"Accept": "text/html"}) as stranger,
        held_lock(board.store.path),
    ):
        assert stranger.get("/?token=si_guessed").status_code == 401


def test_reads_are_answered_while_more_writes_wait_for_the_lock_than_the_server_has_threads(board: Board):
    board.tasks("default").create("the first")
    board.agent(session="s1").call("todo", {"set": [{"text": "Paint"}]})
    limits = httpx.Limits(max_connections=None)
    count = THREADS + 20
    with (
        serve(board, 3600) as running,
        running.open_program(limits=limits) as client,
        ThreadPoolExecutor(count) as pool,
    ):
        with held_lock(board.store.path):
            writes = [pool.submit(WRITES[number % 3], client) for number in range(count)]
            wait_for_writes(client, count)
            assert client.get("/").status_code == 200
            assert "the first" in client.get("/tasks/default").text
            assert client.get(TASKS).json()["tasks"][0]["subject"] == "the first"
            assert "Paint" in call_tool(client, "todo", {}).text
            with open_stream(client, snapshot=1) as stream:
                assert stream.take(1)[0].kind == "snapshot"
            assert not any(write.done() for write in writes)
        answers = [write.result() for write in writes]
    assert [answer.status_code for answer in answers] == [201, 303, 200] * (count // 3)
    lists = board.store.read(lambda tx: [row.name for row, _ in tx.tasks.lists()])
    subjects = [task.subject for name in lists for task in board.tasks(name).list()]
    assert sorted(subjects) == sorted(["the first", *("by the API", "by a form", "by a tool") * (count // 3)])


@pytest.mark.parametrize("write", WRITES)
def test_writes_that_get_no_turn_are_answered_with_503_and_change_nothing(board: Board, write: Any):
    board.tasks("default").create("the first")
    count = MOST_WRITES + 4
    with serve(board, 0.1) as running, running.open_program() as client, ThreadPoolExecutor(count) as pool:
        with held_lock(board.store.path):
            answers: list[Future[httpx.Response]] = [pool.submit(write, client) for _ in range(count)]
            for answer in [one.result() for one in answers]:
                assert answer.status_code == 503
                assert int(answer.headers["retry-after"]) > 0
                assert answer.headers["content-type"] == "application/problem+json"
                assert (answer.json()["code"], answer.json()["status"]) == ("store_busy", 503)
        assert [task.subject for task in board.tasks("default").list()] == ["the first"]
        while (answer := write(client)).status_code == 503:
            pass  # as a client repeats it: those that gave up may get the lock first
        assert answer.status_code < 400


def test_a_form_of_a_browser_gets_a_page_that_says_that_the_board_is_busy(board: Board):
    board.tasks("default").create("the first")
    with serve(board, 0.1) as running:
        headers = {"Origin": running.origin, "Sec-Fetch-Site": "same-origin", "Accept": "text/html"}
        with running.open_client(headers=headers) as browser, held_lock(board.store.path):
            running.sign_in(browser)
            answer = add_by_form(browser)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "Another program holds the board" in answer.text


def test_a_view_over_http_of_a_list_that_a_person_changed_waits_to_be_recorded(board: Board):
    agent = board.agent(session="s1")
    agent.call("todo", {"set": [{"text": "Paint"}]})
    agent.edit([{"op": "append", "items": ["Sweep"]}], by="anna")
    with serve(board, 0.1) as running, running.open_program() as client:
        with held_lock(board.store.path):
            assert call_tool(client, "todo", {}).status_code == 503
        while (answer := call_tool(client, "todo", {})).status_code == 503:
            pass
        assert "Sweep" in answer.text


# Bodies.


class RawClient:
    """A connection on which a test writes what it likes."""

    def __init__(self, running: Running | str, secret: str = "") -> None:
        origin = running if isinstance(running, str) else running.origin
        self._secret = secret if isinstance(running, str) else running.access.secret
        self._host = origin.removeprefix("http://")
        host, _, port = self._host.partition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE)

    def send(self, method: str, path: str, *headers: str, body: bytes = b"") -> None:
        lines = [
            f"{method} {path} HTTP/1.1", f"Host: {self._host}", f"Authorization: Bearer {self._secret}", *headers
        ]  # fmt: skip
        self.socket.sendall("".join(f"{line}\r\n" for line in lines).encode() + b"\r\n" + body)

    def read(self) -> tuple[int, bytes]:
        """Return status and the rest of what comes until the server closes the connection."""
        found = b""
        with suppress(ConnectionResetError):
            while piece := self.socket.recv(65_536):
                found += piece
        return int(found.split(b" ", 2)[1]), found

    def close(self) -> None:
        self.socket.close()


def test_clients_that_leave_within_their_bodies_leave_no_line_in_the_log(tmp_path: Path):
    path = tmp_path / "board.db"
    secret = load_secret(str(path))
    command = [sys.executable, "-m", "punchlist", "--db", str(path), "serve", "--no-watch", "--no-link", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        found = re.search(r"(http://\S+)/$", server.stdout.readline())
        assert found is not None
        for address, kind in ((TASKS, "json"), ("/tasks", "x-www-form-urlencoded"), ("/mcp", "json")):
            for framing, body in (("Content-Length: 900", b"x" * 300), ("Transfer-Encoding: chunked", b"5\r\nhello")):
                client = RawClient(found[1], secret)
                accept = "Accept: application/json, text/event-stream"
                client.send("POST", address, f"Content-Type: application/{kind}", accept, framing, body=body)
                client.close()
        with httpx.Client(base_url=found[1], headers={"Authorization": f"Bearer {secret}"}) as client:
            assert add_by_tool(client).status_code == 200  # `/mcp` begins with its first request
        server.send_signal(signal.SIGTERM)
        out, err = server.communicate(timeout=PATIENCE)
    assert (out, err) == ("", "")


def test_unfinished_bodies_are_bounded_together_and_released_when_their_clients_leave(running: Running):
    size = LONGEST_BODY - 100_000
    most = MOST_BODIES // size
    clients = [RawClient(running) for _ in range(most + 5)]
    for client in clients:
        with suppress(ConnectionError):  # it is refused before all is sent
            client.send(
                "POST", TASKS, "Content-Type: application/json", f"Content-Length: {size + 1}", body=b" " * size
            )
    waiting, refused = {client.socket: client for client in clients}, 0
    while refused < 5:
        ready, _, _ = select(list(waiting), [], [], PATIENCE)
        assert ready, f"only {refused} bodies were refused"
        for one in ready:
            status, text = waiting.pop(one).read()
            assert (status, b"retry-after: 1" in text, b"bodies_too_large" in text) == (503, True, True)
            refused += 1
    for client in clients:
        client.close()
    with running.open_program() as client:
        body = b'{"subject": "one"%s}' % (b" " * (size - 18))
        while (answer := client.post(TASKS, headers=JSON, content=body)).status_code == 503:
            assert answer.headers["retry-after"] == "1"
        assert answer.status_code == 201


@pytest.mark.parametrize("address", ["/healthz", "/", "/nothing", TASKS, "/mcp", "/tasks"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_request_with_two_lengths_is_refused_on_every_route(shared: Running, method: str, address: str):
    client = RawClient(shared)
    lengths = ("Content-Type: application/json", "Content-Length: 2", "Transfer-Encoding: chunked")
    smuggled = b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    client.send(method, address, *lengths, body=smuggled)
    status, text = client.read()
    client.close()
    assert status == 400
    assert text.count(b"HTTP/1.1") == 1  # what follows is not taken for another request
