"""Kill the server again and again while clients write through it: nothing that it acknowledged is lost or doubled."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path

import httpx

from punchlist.board import Board
from punchlist.server.run_files import load_secret
from tests.server.streams import open_stream
from tests.sizes import size

LIST = "storm"
ADDRESS = f"/api/v1/task-lists/{LIST}/tasks"


class Storm:
    """A server that is killed and started again on the same port, and what its clients saw."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.secret = load_secret(str(path))
        self.origin = ""
        self.is_over = threading.Event()
        self.acknowledged: list[str] = []
        self.seen: list[int] = []

    def start(self) -> subprocess.Popen[str]:
        port = self.origin.rpartition(":")[2] or "0"
        command = [sys.executable, "-m", "punchlist", "--db", str(self.path), "serve", "--no-watch", "--no-link"]
        command += ["--port", port]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        line = server.stdout.readline()
        found = re.search(r"(http://[^/\s]+)/", line)
        assert found is not None, line
        self.origin = found[1]
        return server

    def open_client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.secret}"}
        return httpx.Client(base_url=self.origin, headers=headers, timeout=120)

    def write(self, name: str) -> None:
        """Create one task after the other, each until it is acknowledged, under a key of its own."""
        number = 0
        with self.open_client() as client:
            while not self.is_over.is_set():
                number += 1
                key = f"{name}-{number}"
                while True:
                    with suppress(httpx.TransportError):
                        answer = client.post(ADDRESS, json={"subject": key}, headers={"Idempotency-Key": key})
                        assert answer.status_code < 300, answer.text
                        self.acknowledged.append(key)
                        break

    def read(self) -> None:
        """Follow the feed; come back after each end with the number of the last event."""
        with self.open_client() as client:
            while True:
                after = self.seen[-1] if self.seen else 0
                with suppress(httpx.TransportError), open_stream(client, after=after) as stream:
                    for frame in stream:
                        self.seen.append(int(frame.id))
                        if frame.data["kind"] == "task.created" and frame.data["data"]["subject"] == "the end":
                            return


def test_nothing_acknowledged_is_lost_or_doubled_and_the_feed_has_no_gap(tmp_path: Path):
    moments = random.Random(os.environ.get("PUNCHLIST_SEED", "18"))
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        board.tasks(LIST).create("the first")
    storm = Storm(path)
    server = storm.start()
    writers = [threading.Thread(target=storm.write, args=(f"w{number}",)) for number in range(size(3, 8))]
    reader = threading.Thread(target=storm.read)
    for thread in (*writers, reader):
        thread.start()
    for _ in range(size(1, 300)):
        known = len(storm.acknowledged)
        while len(storm.acknowledged) < known + 3:
            threading.Event().wait(moments.random() * 0.05)
        server.kill()
        server.communicate()
        server = storm.start()
    storm.is_over.set()
    for thread in writers:
        thread.join()
    with Board.open(path) as board:
        board.tasks(LIST).create("the end")
        reader.join()
        subjects = Counter(task.subject for task in board.tasks(LIST).list(limit=100_000))
        events = [event.seq for event in board.events() if event.seq <= storm.seen[-1]]
    server.terminate()
    assert server.communicate()[0] == ""
    assert set(storm.acknowledged) <= set(subjects)
    assert set(subjects.values()) == {1}
    assert storm.seen == events
