"""A server that takes batches of events as a team's server does, or misbehaves as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, cast

Behaviour = Callable[["_Handler", bytes], bool]
"""Answers a request in another way, and returns True; False for the usual one."""


class TeamServer:
    """Keeps the lines that it was sent, each once by its id, and answers those in `answers`, by the event's name."""

    def __init__(self) -> None:
        self.lines: dict[str, dict[str, Any]] = {}
        self.requests: list[tuple[str, str]] = []
        self.beats: list[dict[str, Any]] = []
        self.receipts: list[dict[str, Any]] = []
        self.answers: dict[str, Any] = {}
        self.refused: dict[str, Any] = {}
        self.behaviour: Behaviour = lambda _handler, _body: False
        self.stream: list[tuple[str, dict[str, Any]]] = []
        self.changed = threading.Condition()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.team = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def await_that(self, is_true: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(is_true, 60)

    @property
    def calls(self) -> list[str]:
        """The ids of the calls whose beginnings came, in the order of their lines."""
        events = [line["event"] for line in self.lines.values()]
        return [event["tool_use_id"] for event in events if event["hook_event_name"] == "PreToolUse"]

    def take(self, body: bytes) -> dict[str, Any]:
        given = [json.loads(line) for line in body.splitlines()]
        for line in given:
            self.lines.setdefault(line["id"], line)
        names = {line["id"]: line["event"]["hook_event_name"] for line in given}
        answers = {line: self.answers[name] for line, name in names.items() if name in self.answers}
        refused = {line: self.refused[name] for line, name in names.items() if name in self.refused}
        return {"answers": answers, "refused": refused, "taken": len(given)}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    team: TeamServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def team(self) -> TeamServer:
        return cast("_Server", self.server).team

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        team = self.team
        with team.changed:
            team.requests.append((self.path, self.headers.get("Authorization", "")))
            team.changed.notify_all()
        if self.path != "/api/v1/machine/receipts" and team.behaviour(self, body):
            return
        reply: Any = {}
        with team.changed:
            if self.path == "/api/v1/hooks":
                reply = team.take(body)
            elif self.path == "/api/v1/machine/heartbeat":
                team.beats.append(json.loads(body))
            elif self.path == "/api/v1/machine/receipts":
                team.receipts.append(json.loads(body))
            elif self.path.startswith("/mcp?"):
                asked = json.loads(body)
                reply = {"jsonrpc": "2.0", "id": asked["id"], "result": self._run_tool(asked.get("params", {}))}
            team.changed.notify_all()
        self.send_json(200, reply)

    def _run_tool(self, params: dict[str, Any]) -> dict[str, Any]:
        text = f"{params.get('name')} ran after {len(self.team.lines)} events at {self.path}\x1b[2J"
        return {"content": [{"type": "text", "text": text}], "isError": False}

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        sent = 0
        with suppress(OSError):
            while True:
                with self.team.changed:
                    self.team.changed.wait_for(lambda: len(self.team.stream) > sent, 1)  # noqa: B023 - it is called at once
                    found = self.team.stream[sent:]
                for kind, data in found:
                    self.wfile.write(f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode())
                self.wfile.write(b": still here\n\n")
                sent += len(found)

    def send_json(self, status: int, value: Any, **headers: str) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
