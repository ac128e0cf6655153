"""A server with the machines of a team: how soon a line is on its board, and what that costs the server."""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from hashlib import sha256
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from benchmarks.measure import percentile
from benchmarks.report import Must, Row
from benchmarks.scale import Scale
from benchmarks.serve import serve
from punchlist import Board

NOTE = (
    "Each agent makes a call each 5 seconds, of two lines: it began, it ended. A machine has one connection, sends the "
    "lines of a call together, and its heartbeat each 5 seconds. A line is timed from the moment when it is due to the "
    "reply that it is on the board (SQLite). Server and machines are a process each and share the cores."
)
_AGENTS, _PAUSE, _BEAT = 5, 5.0, 5.0
_SOON, _CORE = Must("≤", 500, "ms"), Must("≤", 1, "cores")
_PROJECT = "git.example.org/shop"
_COMMAND = "pytest -q tests/test_cart.py"


def run(scale: Scale) -> Iterator[Row]:
    machines, seconds = scale.count(200, least=2), scale.count(60, least=6)
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as name:
        path = Path(name) / "board.db"
        with Board.open(path) as board:
            for number in range(machines):
                _make_token(board, number)
        with serve(path, Path(name)) as (link, process):
            team = [_Machine(link, number, machines) for number in range(machines)]
            began, before = time.monotonic(), _cpu_seconds(process)
            for machine in team:
                machine.start(began, seconds)
            for machine in team:
                machine.join()
            cores = (_cpu_seconds(process) - before) / (time.monotonic() - began)
        waits = [wait for machine in team for wait in machine.waits]
        with Board.open(path) as board:
            kept = sum(event.kind == "tool.finished" for event in board.events())
    if kept != len(waits):
        raise RuntimeError(f"{len(waits)} calls were acknowledged, {kept} are on the board")
    lines = 2 * len(waits) / seconds
    what = f"{machines} machines × {_AGENTS} agents, {lines:.0f} lines a second"
    half, most = percentile(waits, 50), percentile(waits, 95)
    yield Row(f"a line on the board, {what}, p50 and p95", f"{half:.0f} and {most:.0f} ms", must=_SOON, value=most)
    yield Row("the server's CPU meanwhile", f"{cores:.2f} cores", must=_CORE, value=cores)


class _Machine(threading.Thread):
    """The relay of a machine, as the server sees it."""

    def __init__(self, link: str, number: int, machines: int) -> None:
        super().__init__(daemon=True)
        self.waits: list[float] = []
        self._number = number
        self._offset = number / machines * _PAUSE / _AGENTS
        self._server = HTTPConnection(urlsplit(link).netloc, timeout=30)
        self._token = f"Bearer {_secret(number)}"
        self._began, self._seconds = 0.0, 0.0
        with Board.open("memory:") as board:
            agent = board.agent("main", session="describer", project="/home/x/shop")
            begun = agent.describe_start("Bash", {"command": _COMMAND})
            ended = agent.describe_end("Bash", "3 passed in 0.12s", started=begun, is_error=False, exit_code=0)
        self._calls = [json.loads(msgspec.json.encode(one)) for one in (begun, ended)]

    def start(self, began: float = 0.0, seconds: float = 0.0) -> None:
        self._began, self._seconds = began, seconds
        super().start()

    def run(self) -> None:
        due, beat, number = self._began + self._offset, self._began + self._offset, 0
        while due < self._began + self._seconds:
            time.sleep(max(0.0, due - time.monotonic()))
            self._send(number)
            self.waits.append(1000 * (time.monotonic() - due))
            if time.monotonic() >= beat:
                beat += _BEAT
                self._post("/api/v1/machine/heartbeat", json.dumps({"at": time.time(), "agents": []}))
            due, number = due + _PAUSE / _AGENTS, number + 1
        self._server.close()

    def _send(self, number: int) -> None:
        names = ("PreToolUse", "PostToolUse")
        lines = [self._line(name, number, call) for name, call in zip(names, self._calls, strict=True)]
        reply = json.loads(self._post("/api/v1/hooks", "\n".join(json.dumps(line) for line in lines)))
        if reply["taken"] != len(lines):
            raise RuntimeError(reply)

    def _line(self, event: str, number: int, call: Mapping[str, Any]) -> dict[str, Any]:
        session = f"s-{self._number}-{number % _AGENTS}"
        told = {"session_id": session, "cwd": "/home/x/shop", "tool_name": "Bash", "tool_use_id": f"call-{number}"}
        return {
            "v": 2,
            "id": f"{self._number}-{event}-{number}",
            "host": "claude-code",
            "at": time.time(),
            "attended": True,
            "remote": f"https://{_PROJECT}.git",
            "folder": "/home/x/shop",
            "event": {"hook_event_name": event, **told},
            "call": call,
        }

    def _post(self, path: str, body: str) -> bytes:
        kind = "application/x-ndjson" if path.endswith("/hooks") else "application/json"
        self._server.request("POST", path, body, {"Authorization": self._token, "Content-Type": kind})
        reply = self._server.getresponse()
        said = reply.read()
        if reply.status != 200:
            raise RuntimeError(f"{reply.status}: {said[:300]!r}")
        return said


def _secret(number: int) -> str:
    return f"secret of machine {number}"


def _make_token(board: Board, number: int) -> None:
    digest, now = sha256(_secret(number).encode()).digest(), board.now()
    board.store.transact(
        lambda tx: tx.tokens.add(
            f"m-{number}", digest, "report", None, at=now, machine=f"id-{number}", projects=(_PROJECT,), owner="ada"
        )
    )


def _cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
