"""The server is killed while it works: a request that is repeated under its key is applied once."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from punchlist import Board
from tests.server.worlds import OURS, build
from tests.sizes import size

SERVER = """
import os, signal, sys
from punchlist import Board
from punchlist.server.access import Access
from punchlist.server.app import BoardServer, bind
from punchlist.server.state import ServerState
from punchlist.store.sqlite import SqliteStore

class DeadlyStore(SqliteStore):
    def transact(self, work, **options):
        has_events = False

        def run(tx):
            nonlocal has_events
            before = tx.last_seq()
            result = work(tx)
            has_events = tx.last_seq() > before
            return result

        result = super().transact(run, **options)
        if has_events:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

board = Board((DeadlyStore if sys.argv[2] else SqliteStore)(sys.argv[1]))
listener = bind("127.0.0.1", 0)
access = Access("secret of the link", board.store, port=listener.getsockname()[1])
print(access.origin, flush=True)
BoardServer(ServerState(board, access)).run([listener])
"""
"""A server that may kill itself after the first change: after the commit of a change to tasks or of a tool call, but
before the commit of an edit, which is a part of the request's transaction."""

AGENT = f"/api/v1/sessions/{OURS.session}/agents/main"
LIST = f"/api/v1/task-lists/{OURS.list.replace('/', '%2F')}"
EDIT = ("PATCH", f"{AGENT}/todos", {"operations": [{"op": "append", "items": ["Once"]}]})
CREATE = ("POST", f"{LIST}/tasks", {"subject": "Once"})
RENAME = ("PATCH", f"{LIST}/tasks/2", {"subject": "Once"})
CALL = (
    "POST",
    f"{AGENT}/call",
    {"tool": "todo", "arguments": {"add": [{"text": "Once"}]}},
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        build(board, OURS)
    return path


@contextmanager
def serve(path: Path, dies: bool = False) -> Generator[tuple[subprocess.Popen[str], httpx.Client]]:
    """Run a server in a process of its own; kill it in the end."""
    command = [sys.executable, "-c", SERVER, str(path), "dies" if dies else ""]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            origin = process.stdout.readline().strip()
            headers = {"Authorization": "Bearer secret of the link", "Idempotency-Key": "k1"}
            with httpx.Client(base_url=origin, headers=headers, timeout=120) as client:
                yield process, client
        finally:
            process.kill()


def count(path: Path, word: str) -> int:
    """Count the items and tasks of a text."""
    with Board.open(path) as board:
        items = board.agent(session=OURS.session).todos.items
        tasks = board.tasks(OURS.list).list()
        return [*(item.content for item in items), *(task.subject for task in tasks)].count(word)


@pytest.mark.parametrize(
    ("request_", "applied"),
    [(CREATE, 1), (RENAME, 1), (EDIT, 0), (CALL, 1)],
    ids=["a new task", "a change of a task", "an edit", "a tool call"],
)
def test_a_request_without_a_reply_is_applied_once(path: Path, request_: tuple[str, str, Any], applied: int):
    method, url, body = request_
    with serve(path, dies=True) as (process, client):
        with pytest.raises(httpx.TransportError):
            client.request(method, url, json=body)
        assert process.wait(120) == -signal.SIGKILL
    assert count(path, "Once") == applied
    with serve(path) as (_, client):
        first = client.request(method, url, json=body)
        assert first.status_code < 300, first.text
        assert client.request(method, url, json=body).content == first.content
    assert count(path, "Once") == 1


@pytest.mark.parametrize("request_", [EDIT, CREATE], ids=["an edit", "a new task"])
def test_a_server_that_is_killed_at_any_moment_applies_a_request_once(path: Path, request_: tuple[str, str, Any]):
    method, url, body = request_
    moments = random.Random(os.environ.get("PUNCHLIST_SEED", "18"))
    for round_ in range(size(1, 200)):
        headers = {"Idempotency-Key": f"round {round_}"}
        acknowledged: list[bytes] = []

        def send(client: httpx.Client, headers: dict[str, str] = headers, to: list[bytes] = acknowledged) -> None:
            with suppress(httpx.TransportError):
                answer = client.request(method, url, json=body, headers=headers)
                assert answer.status_code < 300
                to.append(answer.content)

        with serve(path) as (process, client):
            assert client.get("/api/v1/dialects").status_code == 200
            thread = threading.Thread(target=send, args=(client,))
            thread.start()
            thread.join(moments.random() * 0.03)
            process.kill()
            thread.join()
        with serve(path) as (_, client):
            again = client.request(method, url, json=body, headers=headers)
            assert again.status_code < 300, again.text
            assert acknowledged in ([], [again.content])
        assert count(path, "Once") == round_ + 1
